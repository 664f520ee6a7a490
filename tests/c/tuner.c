/**
 * @file tuner.c
 * Tuner plugins: that what they say is run, with right values, and that what is wrong with one does
 * no harm. The shared objects are made from tests/c/tuner and lie beside this program.
 */
#include <dlfcn.h>

#include "check.h"

#include "hccl/hccl.h"
#include "hccl/hccl_tuner.h"

enum { RANKS = 4, COUNT_MAX = 40000 };

struct rank {
    const HcclRootInfo *root;
    uint32_t number;
    HcclComm comm;
    aclrtStream stream;
    float *send;
    float *receive;
    float *host;
};

/* ---- the log ---- */

static FILE *lines;

/** From here on what the library writes goes to a file. To be called before the library is used. */
static void read_log(const char *plugin, const char *test)
{
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "2", 1);
    setenv("HCCL_TUNER_PLUGIN", plugin, 1);
    setenv("TUNER_TEST", test, 1);
    lines = tmpfile();
    if (lines == NULL || dup2(fileno(lines), STDOUT_FILENO) < 0) {
        perror("log");
        _exit(2);
    }
}

/** How many lines of the log have both words. */
static int logged(const char *word, const char *other)
{
    static char line[4096];
    int count = 0;
    fflush(NULL);
    rewind(lines);
    while (fgets(line, sizeof line, lines) != NULL) {
        count += strstr(line, word) != NULL && strstr(line, other) != NULL;
    }
    fseek(lines, 0, SEEK_END);
    return count;
}

/** A counter of the plugin; it is loaded already. */
static int counter(const char *name)
{
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_NOLOAD);
    int *number = plugin == NULL ? NULL : dlsym(plugin, name);
    return number == NULL ? -1 : *number;
}

/* ---- ranks ---- */

static void join(struct rank *rank)
{
    const size_t bytes = COUNT_MAX * sizeof(float);
    NEED(aclrtSetDevice((int32_t)rank->number));
    NEED(aclrtCreateStream(&rank->stream));
    NEED(aclrtMalloc((void **)&rank->send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc((void **)&rank->receive, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMallocHost((void **)&rank->host, bytes));
    for (int i = 0; i < COUNT_MAX; ++i) {
        rank->host[i] = (float)(rank->number + (uint32_t)i % 5);
    }
    NEED(aclrtMemcpy(rank->send, bytes, rank->host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    NEED(HcclCommInitRootInfo(RANKS, rank->root, rank->number, &rank->comm));
}

static void leave(struct rank *rank)
{
    OK(HcclCommDestroy(rank->comm));
    OK(aclrtFree(rank->send));
    OK(aclrtFree(rank->receive));
    OK(aclrtFreeHost(rank->host));
    OK(aclrtDestroyStream(rank->stream));
}

/** Element i of the sum over all ranks. */
static float sum(int i)
{
    return (float)(RANKS * (RANKS - 1) / 2 + RANKS * (i % 5));
}

static void compare(struct rank *rank, int count, float (*expected)(int i))
{
    const size_t bytes = (size_t)count * sizeof(float);
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtMemcpy(rank->host, bytes, rank->receive, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < count; ++i) {
        if (rank->host[i] != expected(i)) {
            fprintf(stderr, "rank %u, element %d of %d: %f, expected %f\n", rank->number, i, count,
                    (double)rank->host[i], (double)expected(i));
            atomic_fetch_add(&check_failures, 1);
            return;
        }
    }
}

static HcclResult all_reduce(struct rank *rank, int count)
{
    return HcclAllReduce(rank->send, rank->receive, (uint64_t)count, HCCL_DATA_TYPE_FP32,
                         HCCL_REDUCE_SUM, rank->comm, rank->stream);
}

static void run_ranks(void *(*body)(void *))
{
    static HcclRootInfo root;
    pthread_t threads[RANKS];
    struct rank ranks[RANKS];
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    for (uint32_t i = 0; i < RANKS; ++i) {
        ranks[i] = (struct rank){&root, i, NULL, NULL, NULL, NULL, NULL};
        pthread_create(&threads[i], NULL, body, &ranks[i]);
    }
    for (int i = 0; i < RANKS; ++i) {
        pthread_join(threads[i], NULL);
    }
}

/** All-reduces of several sizes, some twice; the values must be right. */
static const int sizes[] = {3, 5000, 3, COUNT_MAX, 5000, 17};
enum { SIZES = sizeof sizes / sizeof sizes[0], DIFFERENT = 4 };

static void *reduces(void *argument)
{
    struct rank *rank = argument;
    join(rank);
    for (int i = 0; i < SIZES; ++i) {
        OK(all_reduce(rank, sizes[i]));
        compare(rank, sizes[i], sum);
    }
    leave(rank);
    return NULL;
}

/* ---- what a plugin says is run ---- */

static void prefers(const char *test, const char *algorithm)
{
    read_log("./plugin.so", test);
    run_ranks(reduces);
    THAT(counter("plugin_inits") == RANKS);
    THAT(counter("plugin_asked") == RANKS * DIFFERENT);
    THAT(counter("plugin_faults") == 0);
    THAT(logged("AllReduce, 20000 bytes of float32, by ", algorithm) == RANKS);
    THAT(logged("AllReduce, 12 bytes of float32, by ", algorithm) == RANKS);
}

static void a_preferred_algorithm_runs(void)
{
    prefers("prefer=ring", "by ring (tuned: ");
}

static void another_one_too(void)
{
    prefers("prefer=meshtwoshot", "by mesh:two-shot (tuned: ");
}

static void a_forbidden_algorithm_does_not_run(void)
{
    read_log("./plugin.so", "forbid=mesh");
    run_ranks(reduces);
    THAT(logged("AllReduce, 20000 bytes", "(tuned: ") == RANKS);
    THAT(logged("AllReduce, 20000 bytes", "by mesh (") == 0);
}

static float blocks(int i)
{
    return (float)(i / 100 + i % 100 % 5);
}

static float root_has(int i)
{
    return (float)(2 + i % 5);
}

static void *other_operators(void *argument)
{
    struct rank *rank = argument;
    join(rank);
    OK(HcclAllGather(rank->send, rank->receive, 100, HCCL_DATA_TYPE_FP32, rank->comm,
                     rank->stream));
    compare(rank, 100 * RANKS, blocks);
    OK(HcclScatter(rank->send, rank->receive, 100, HCCL_DATA_TYPE_FP32, 2, rank->comm,
                   rank->stream));
    compare(rank, 100, root_has);
    OK(HcclReduceScatter(rank->send, rank->receive, 100, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                         rank->comm, rank->stream));
    compare(rank, 100, sum);
    OK(HcclBarrier(rank->comm, rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    leave(rank);
    return NULL;
}

static void other_operators_are_asked_about(void)
{
    read_log("./plugin.so", "prefer=nhr");
    run_ranks(other_operators);
    THAT(counter("plugin_asked") == 3 * RANKS);
    THAT(counter("plugin_faults") == 0);
    THAT(logged("AllGather, 400 bytes", "by nhr (") == RANKS);
    THAT(logged("Scatter, 400 bytes", "by nhr (") == 2 * RANKS);
}

static void the_plugin_knows_the_servers(void)
{
    setenv("SOFTNPU_TOPOLOGY", "2x2", 1);
    setenv("SOFTNPU_DEVICES", "4", 1);
    setenv("HCCL_BUFFSIZE", "3", 1);
    read_log("./plugin.so", "prefer=mesh+nhr");
    run_ranks(reduces);
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_NOLOAD);
    const hcclTunerCommInfo_t *comm = plugin == NULL ? NULL : dlsym(plugin, "plugin_comm");
    THAT(comm != NULL && comm->nRanks == 4 && comm->nNpusPerServer == 2 && comm->nServers == 2);
    THAT(comm != NULL && comm->nPods == 1 && comm->nSuperPods == 1);
    THAT(comm != NULL && comm->bufferSize == 3 << 20);
    THAT(logged("AllReduce, 20000 bytes", "by hierarchy:2*mesh,2*nhr (tuned") == RANKS);
    THAT(logged("hello from init, 7", "plugin.c") == RANKS);
    THAT(logged("...[truncated]", "plugin") == RANKS);
}

/* ---- what is wrong with one does no harm ---- */

static void left_out(const char *plugin, const char *test, const char *why)
{
    read_log(plugin, test);
    run_ranks(reduces);
    THAT(logged("HCCL_TUNER", why) > 0);
    THAT(logged(", by ", "tuned") == 0);
}

static void a_plugin_that_is_not_there(void)
{
    left_out("./no_such_plugin.so", "", "cannot be loaded");
}

static void a_plugin_without_its_symbol(void)
{
    left_out("./no_symbol.so", "", "has no variable hcclTunerPlugin_v1");
}

static void a_plugin_without_a_function(void)
{
    left_out("./null_member.so", "", "getCollInfo is NULL");
}

static void a_plugin_whose_init_fails(void)
{
    left_out("./plugin.so", "init=4", "init returned 4");
    THAT(counter("plugin_asked") == 0);
}

static void a_plugin_that_fails_when_asked(void)
{
    left_out("./plugin.so", "error", "getCollInfo returned 4");
    THAT(counter("plugin_asked") == RANKS * DIFFERENT);
}

static void a_plugin_that_answers_nonsense(void)
{
    left_out("./plugin.so", "garbage", "no number");
}

static void a_plugin_that_does_not_say_that_it_changed_costs(void)
{
    left_out("./plugin.so", "unsaid=ring", "is loaded");
    THAT(counter("plugin_asked") == RANKS * DIFFERENT);
}

static void a_plugin_that_forbids_everything(void)
{
    left_out("./plugin.so", "forbid=all", "is loaded");
    THAT(logged("the tuner plugin forbids everything", "mesh runs all the same") > 0);
}

static void a_slow_plugin_is_asked_three_times(void)
{
    left_out("./plugin.so", "slow", "asked no more");
    THAT(counter("plugin_asked") == 3 * RANKS);
    THAT(logged("asked no more", "") == RANKS);
}

static void a_plugin_that_starts_operators(void)
{
    left_out("./plugin.so", "reenter", "is loaded");
    THAT(counter("plugin_reentered") == RANKS * DIFFERENT);
}

static void a_plugin_that_makes_communicators(void)
{
    left_out("./plugin.so", "nest", "is loaded");
    THAT(counter("plugin_inits") == RANKS);
    THAT(counter("plugin_faults") == 0);
}

static void words_for_no_plugin(const char *word)
{
    read_log(word, "");
    run_ranks(reduces);
    THAT(logged("HCCL_TUNER", "left out") == 0);
    THAT(logged("[HCCL_TUNER]", "") == 0);
}

static void none_is_no_plugin(void)
{
    words_for_no_plugin("none");
}

static void nothing_is_no_plugin(void)
{
    words_for_no_plugin("");
}

static void the_users_words_come_first(void)
{
    setenv("HCCL_ALGO", "level0:ring", 1);
    read_log("./plugin.so", "prefer=nhr");
    run_ranks(reduces);
    THAT(counter("plugin_asked") == 0);
}

/* ---- ranks that choose differently ---- */

static atomic_int told;

static void *differs(void *argument)
{
    struct rank *rank = argument;
    join(rank);
    if (all_reduce(rank, 5000) == 0) {
        AT("aclrtSynchronizeStream of ranks whose plugins differ");
        FAILS(aclrtSynchronizeStream(rank->stream));
    }
    const char *text = aclGetRecentErrMsg();
    /* What the plugin was refused is no affair of the program's. */
    THAT(text == NULL || strstr(text, "ctxCreate") == NULL);
    if (text != NULL && strstr(text, "different") != NULL &&
        strstr(text, "by plan #") != NULL && strstr(text, "HCCL_TUNER_PLUGIN") != NULL) {
        atomic_fetch_add(&told, 1);
    }
    return NULL;
}

static void ranks_that_choose_differently_are_told(void)
{
    read_log("./plugin.so", "differ=ring");
    run_ranks(differs);
    THAT(atomic_load(&told) > 0);
}

int main(void)
{
    RUN(a_preferred_algorithm_runs);
    RUN(another_one_too);
    RUN(a_forbidden_algorithm_does_not_run);
    RUN(other_operators_are_asked_about);
    RUN(the_plugin_knows_the_servers);
    RUN(a_plugin_that_is_not_there);
    RUN(a_plugin_without_its_symbol);
    RUN(a_plugin_without_a_function);
    RUN(a_plugin_whose_init_fails);
    RUN(a_plugin_that_fails_when_asked);
    RUN(a_plugin_that_answers_nonsense);
    RUN(a_plugin_that_does_not_say_that_it_changed_costs);
    RUN(a_plugin_that_forbids_everything);
    RUN(a_slow_plugin_is_asked_three_times);
    RUN(a_plugin_that_starts_operators);
    RUN(a_plugin_that_makes_communicators);
    RUN(none_is_no_plugin);
    RUN(nothing_is_no_plugin);
    RUN(the_users_words_come_first);
    RUN(ranks_that_choose_differently_are_told);
    return check_end();
}
