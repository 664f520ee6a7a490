/**
 * @file hccl_misuse.c
 * HCCL called wrongly: each mistake has its code, and a message that tells what was given and what
 * is allowed.
 */
#include "check.h"

#include <sys/mman.h>

#include "hccl/hccl.h"

#define COUNT 1024

static HcclComm comm;
static aclrtStream stream;
static void *input, *output;

static void need_device(int32_t device)
{
    NEED(aclrtSetDevice(device));
}

/** A communicator of one rank on device 0, a stream, and two buffers of COUNT floats. */
static void need_communicator(void)
{
    static HcclRootInfo root;
    NEED(aclInit(NULL));
    need_device(0);
    NEED(HcclGetRootInfo(&root));
    NEED(HcclCommInitRootInfo(1, &root, 0, &comm));
    NEED(aclrtCreateStream(&stream));
    NEED(aclrtMalloc(&input, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc(&output, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    forget_messages();
}

static HcclResult all_reduce(uint64_t count, int type, int op)
{
    return HcclAllReduce(input, output, count, (HcclDataType)type, (HcclReduceOp)op, comm, stream);
}

/* ---- texts and constants ---- */

static void texts_of_results(void)
{
    static const char *const texts[] = {
        "no error",
        "parameter error",
        "empty pointer",
        "memory error",
        "internal error",
        "not support feature",
        "not found specific resource",
        "resource unavailable",
        "call system interface error",
        "timeout",
        "open file fail",
        "tcp connect fail",
        "roce connect fail",
        "tcp transfer fail",
        "roce transfer fail",
        "call runtime api fail",
        "call driver api fail",
        "call profiling api fail",
        "call cce api fail",
        "call network api fail",
        "try again",
        "error cqe",
        "error communicator suspending",
        "retry constraint",
        "out of memory",
    };
    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); ++i) {
        const char *found = HcclGetErrorString((HcclResult)i);
        THAT(found != NULL && strcmp(found, texts[i]) == 0);
    }
    THAT(strcmp(HcclGetErrorString((HcclResult)25), "unknown err") == 0);
    THAT(strcmp(HcclGetErrorString((HcclResult)1041), "unknown err") == 0);
    THAT(strcmp(HcclGetErrorString((HcclResult)1042), "unknown error") == 0);
    THAT(strcmp(HcclGetErrorString((HcclResult)-1), "unknown error") == 0);
    THAT(HcclGetCommConfigCapability() == 12);
}

static void the_config_is_filled(void)
{
    HcclCommConfig config;
    size_t size = 0;
    uint32_t words[2] = {0, 0};
    HcclCommConfigInit(NULL);
    memset(&config, 0x77, sizeof config);
    HcclCommConfigInit(&config);
    memcpy(&size, config.reserved, sizeof size);
    memcpy(words, config.reserved + 8, sizeof words);
    THAT(size == 2248 && words[0] == 0xf0f0f0f0U && words[1] == 11);
    THAT(config.hcclBufferSize == 0xffffffffU && config.hcclDeterministic == 0xffffffffU);
    THAT(config.hcclCommName[0] == '\0' && config.hcclCommName[1] == 0x77);
    THAT(config.hcclExecTimeOut == -1 && config.hcclSymWinMaxMemSizePerRank == 16);
    THAT(config.hcclQos == 0xffffffffU && config.hcclChannelSqDepth == 0xffffffffU);
}

/* ---- making communicators ---- */

static void null_pointers_when_joining(void)
{
    HcclRootInfo root;
    HcclComm made = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    CODE(HCCL_E_PTR, HcclGetRootInfo(NULL));
    MESSAGE("EI0003", "HcclGetRootInfo", "nullptr", "rootInfo", "non-null pointer");
    NEED(HcclGetRootInfo(&root));
    CODE(HCCL_E_PTR, HcclCommInitRootInfo(1, NULL, 0, &made));
    MESSAGE("EI0003", "rootInfo", "non-null pointer");
    CODE(HCCL_E_PTR, HcclCommInitRootInfo(1, &root, 0, NULL));
    MESSAGE("EI0003", "comm", "non-null pointer");
    CODE(HCCL_E_PTR, HcclCommInitRootInfoConfig(1, &root, 0, NULL, &made));
    MESSAGE("EI0003", "config");
    /* None of that has spoilt the root info. */
    OK(HcclCommInitRootInfo(1, &root, 0, &made));
    OK(HcclCommDestroy(made));
}

static void ranks_out_of_range(void)
{
    HcclRootInfo root;
    HcclComm made = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    NEED(HcclGetRootInfo(&root));
    CODE(HCCL_E_PARA, HcclCommInitRootInfo(0, &root, 0, &made));
    MESSAGE("nRanks", "0");
    CODE(HCCL_E_PARA, HcclCommInitRootInfo(1, &root, 1, &made));
    MESSAGE("rank", "1");
    CODE(HCCL_E_PARA, HcclCommInitRootInfo(4, &root, UINT32_MAX, &made));
    MESSAGE("rank", "4294967295");
    OK(HcclCommInitRootInfo(1, &root, 0, &made));
    OK(HcclCommDestroy(made));
}

static void garbage(unsigned char fill, int random)
{
    HcclRootInfo root;
    HcclComm made = NULL;
    const double begin = now_ms();
    NEED(aclInit(NULL));
    need_device(0);
    for (size_t i = 0; i < sizeof root.internal; ++i) {
        root.internal[i] = (char)(random ? rand() : fill);
    }
    CODE(HCCL_E_PARA, HcclCommInitRootInfo(2, &root, 1, &made));
    MESSAGE("root info");
    THAT(now_ms() - begin < 30000);
}

static void a_root_info_of_zeros(void) { garbage(0, 0); }
static void a_root_info_of_ones(void) { garbage(0xff, 0); }
static void a_root_info_of_letters(void) { garbage('A', 0); }
static void a_root_info_of_noise(void) { garbage(0, 1); }

static void no_device_is_set(void)
{
    HcclRootInfo root;
    NEED(aclInit(NULL));
    FAILS(HcclGetRootInfo(&root));
    MESSAGE("evice");
}

static void *joins_without_a_device(void *root)
{
    HcclComm made = NULL;
    FAILS(HcclCommInitRootInfo(1, root, 0, &made));
    MESSAGE("evice");
    return NULL;
}

static void a_thread_without_a_device(void)
{
    HcclRootInfo root;
    NEED(aclInit(NULL));
    need_device(0);
    NEED(HcclGetRootInfo(&root));
    on_thread(joins_without_a_device, &root);
}

struct joiner {
    const HcclRootInfo *root;
    uint32_t count;
    uint32_t rank;
    int32_t device;
    HcclResult result;
    char message[2048];
};

static void *joins(void *argument)
{
    struct joiner *joiner = argument;
    HcclComm made = NULL;
    NEED(aclrtSetDevice(joiner->device));
    AT("HcclCommInitRootInfo in a thread");
    joiner->result = HcclCommInitRootInfo(joiner->count, joiner->root, joiner->rank, &made);
    const char *text = aclGetRecentErrMsg();
    snprintf(joiner->message, sizeof joiner->message, "%s", text == NULL ? "" : text);
    return NULL;
}

static void join_both(struct joiner *joiners)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, joins, &joiners[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
}

static void the_same_rank_twice(void)
{
    HcclRootInfo root;
    NEED(aclInit(NULL));
    need_device(0);
    NEED(HcclGetRootInfo(&root));
    struct joiner joiners[2] = {{&root, 2, 0, 0, HCCL_SUCCESS, ""}, {&root, 2, 0, 1, HCCL_SUCCESS, ""}};
    join_both(joiners);
    for (int i = 0; i < 2; ++i) {
        THAT(joiners[i].result != HCCL_SUCCESS);
        THAT(strstr(joiners[i].message, "rank 0") != NULL || strstr(joiners[i].message, "[0") != NULL);
    }
}

static void ranks_that_disagree_about_their_number(void)
{
    HcclRootInfo root;
    NEED(aclInit(NULL));
    need_device(0);
    NEED(HcclGetRootInfo(&root));
    struct joiner joiners[2] = {{&root, 2, 0, 0, HCCL_SUCCESS, ""}, {&root, 3, 1, 1, HCCL_SUCCESS, ""}};
    join_both(joiners);
    for (int i = 0; i < 2; ++i) {
        THAT(joiners[i].result != HCCL_SUCCESS);
        THAT(joiners[i].message[0] != '\0');
    }
}

static void devices_of_init_all(void)
{
    int32_t devices[3] = {0, 1, 2};
    HcclComm made[3] = {NULL, NULL, NULL};
    uint32_t number = 0;
    NEED(aclInit(NULL));
    CODE(HCCL_E_PARA, HcclCommInitAll(0, devices, made));
    CODE(HCCL_E_PTR, HcclCommInitAll(3, NULL, made));
    CODE(HCCL_E_PTR, HcclCommInitAll(3, devices, NULL));
    devices[2] = 1;
    FAILS(HcclCommInitAll(3, devices, made));
    MESSAGE("1");
    devices[2] = 99;
    FAILS(HcclCommInitAll(3, devices, made));
    MESSAGE("99");
    devices[2] = 2;
    OK(HcclCommInitAll(3, devices, made));
    for (uint32_t i = 0; i < 3; ++i) {
        OK(HcclGetRankId(made[i], &number));
        THAT(number == i);
        OK(HcclGetRankSize(made[i], &number));
        THAT(number == 3);
    }
    for (uint32_t i = 0; i < 3; ++i) {
        OK(HcclCommDestroy(made[i]));
    }
}

/* ---- configs ---- */

/** Joins alone with the given config. */
static HcclResult join_with(const HcclCommConfig *config, HcclComm *made)
{
    static HcclRootInfo root;
    NEED(HcclGetRootInfo(&root));
    forget_messages();
    AT("HcclCommInitRootInfoConfig");
    return HcclCommInitRootInfoConfig(1, &root, 0, config, made);
}

static void set_header(HcclCommConfig *config, size_t size, uint32_t magic, uint32_t version)
{
    memcpy(config->reserved, &size, sizeof size);
    memcpy(config->reserved + 8, &magic, sizeof magic);
    memcpy(config->reserved + 12, &version, sizeof version);
}

static void a_wrong_magic_word(void)
{
    HcclCommConfig config;
    HcclComm made = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    HcclCommConfigInit(&config);
    set_header(&config, sizeof config, 0xdeadbeefU, 11);
    CODE(HCCL_E_PARA, join_with(&config, &made));
    MESSAGE("EI0003", "magic word");
    memset(&config, 0, sizeof config);
    CODE(HCCL_E_PARA, join_with(&config, &made));
    MESSAGE("magic word");
}

/** Zeroed memory of at most a page, behind which nothing can be read. */
static char *before_the_guard(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) {
        perror("mmap");
        _exit(2);
    }
    return pages + page - size;
}

/** Each size and version that a caller may have been compiled with, at the end of readable memory. */
static void older_and_newer_configs(void)
{
    static const struct {
        size_t size;
        uint32_t version;
    } forms[] = {{32, 1}, {160, 2}, {288, 3}, {296, 4}, {304, 5}, {312, 6},
                 {320, 7}, {2104, 8}, {2232, 9}, {2240, 10}, {2248, 11}, {4096, 12}};
    HcclCommConfig config;
    HcclComm made = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    char wanted[32];
    NEED(aclInit(NULL));
    need_device(0);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
        char *copy = before_the_guard(forms[i].size);
        HcclCommConfigInit(&config);
        config.hcclBufferSize = 20;
        snprintf(wanted, sizeof wanted, "named_%u", (unsigned)forms[i].version);
        strcpy(config.hcclCommName, wanted);
        set_header(&config, forms[i].size, HCCL_COMM_CONFIG_MAGIC_WORD, forms[i].version);
        memcpy(copy, &config, forms[i].size < sizeof config ? forms[i].size : sizeof config);
        OK(join_with((const HcclCommConfig *)(const void *)copy, &made));
        OK(HcclGetCommName(made, name));
        if (forms[i].version >= 2) {
            THAT(strcmp(name, wanted) == 0);
        } else {
            THAT(strcmp(name, wanted) != 0 && name[0] != '\0');
        }
        OK(HcclCommDestroy(made));
    }
}

static void what_is_newer_than_the_caller_is_not_read(void)
{
    HcclCommConfig config;
    HcclComm made = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    NEED(aclInit(NULL));
    need_device(0);
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "too_new");
    config.hcclRdmaTrafficClass = 5; /* not allowed, were it read */
    set_header(&config, sizeof config, HCCL_COMM_CONFIG_MAGIC_WORD, 1);
    OK(join_with(&config, &made));
    OK(HcclGetCommName(made, name));
    THAT(strcmp(name, "too_new") != 0);
    OK(HcclCommDestroy(made));
}

#define BAD_FIELD(field, value, ...)                                                               \
    do {                                                                                           \
        HcclCommConfigInit(&config);                                                               \
        config.field = (value);                                                                    \
        CODE(HCCL_E_PARA, join_with(&config, &made));                                              \
        MESSAGE(__VA_ARGS__);                                                                      \
    } while (0)

static void fields_out_of_range(void)
{
    HcclCommConfig config;
    HcclComm made = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    BAD_FIELD(hcclBufferSize, 0, "EI0003", "hcclBufferSize");
    BAD_FIELD(hcclDeterministic, 3, "3");
    BAD_FIELD(hcclRdmaTrafficClass, 5, "EI0003", "5");
    BAD_FIELD(hcclRdmaTrafficClass, 256, "EI0003", "256");
    BAD_FIELD(hcclRdmaServiceLevel, 8, "EI0003", "8");
    BAD_FIELD(aclGraphZeroCopyEnable, 2, "EI0003", "2");
    HcclCommConfigInit(&config);
    config.hcclRdmaTrafficClass = 252;
    config.hcclRdmaServiceLevel = 7;
    config.hcclBufferSize = 1;
    config.hcclDeterministic = 1;
    strcpy(config.hcclAlgo, " level0:NA; level1:ring ");
    OK(join_with(&config, &made));
    OK(HcclCommDestroy(made));
    strcpy(config.hcclAlgo, "level0:NA;level1:fastest");
    CODE(HCCL_E_PARA, join_with(&config, &made));
    MESSAGE("EI0003", "hcclAlgo", "fastest", "ring");
}

/* A bad variable of the environment is named by the first call that reads it. */
static void bad_variable(const char *name, const char *value, const char *expect)
{
    HcclRootInfo root;
    setenv(name, value, 1);
    NEED(aclInit(NULL));
    need_device(0);
    CODE(HCCL_E_PARA, HcclGetRootInfo(&root));
    MESSAGE("EI0001", name, value, expect);
}

static void a_bad_algorithm(void)
{
    bad_variable("HCCL_ALGO", "level0:NA;level1:Ring", "level0:NA;level1:<algo>");
}

static void a_bad_buffer_size(void)
{
    bad_variable("HCCL_BUFFSIZE", "0", "equal to or greater than 1(MB)");
}

static void a_bad_topology(void)
{
    bad_variable("SOFTNPU_TOPOLOGY", "8x", "8x4 or 2+3+5");
}

static void a_bad_time_out(void)
{
    bad_variable("HCCL_CONNECT_TIMEOUT", "12s", "7200s");
}

static void a_name_without_an_end(void)
{
    HcclCommConfig config;
    HcclComm made = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    HcclCommConfigInit(&config);
    memset(config.hcclCommName, 'n', sizeof config.hcclCommName);
    memset(config.hcclUdi, 'u', sizeof config.hcclUdi);
    CODE(HCCL_E_PARA, join_with(&config, &made));
    MESSAGE("127");
}

static void the_same_name_twice(void)
{
    HcclCommConfig config;
    HcclComm one = NULL, two = NULL;
    NEED(aclInit(NULL));
    need_device(0);
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "only_once");
    OK(join_with(&config, &one));
    CODE(HCCL_E_PARA, join_with(&config, &two));
    MESSAGE("only_once");
    OK(HcclCommDestroy(one));
    OK(join_with(&config, &two));
    OK(HcclCommDestroy(two));
}

/* ---- asking and destroying ---- */

static void null_pointers_when_asking(void)
{
    HcclResult asynchronous = HCCL_E_RESERVED;
    uint32_t number = 99;
    char name[COMM_NAME_MAX_LENGTH];
    need_communicator();
    OK(HcclGetRankSize(comm, &number));
    THAT(number == 1);
    OK(HcclGetRankId(comm, &number));
    THAT(number == 0);
    OK(HcclGetCommName(comm, name));
    THAT(name[0] != '\0' && memchr(name, '\0', sizeof name) != NULL);
    OK(HcclGetCommAsyncError(comm, &asynchronous));
    THAT(asynchronous == HCCL_SUCCESS);
    CODE(HCCL_E_PTR, HcclGetRankSize(NULL, &number));
    MESSAGE("EI0003", "comm", "non-null pointer");
    CODE(HCCL_E_PTR, HcclGetRankSize(comm, NULL));
    CODE(HCCL_E_PTR, HcclGetRankId(NULL, &number));
    CODE(HCCL_E_PTR, HcclGetRankId(comm, NULL));
    CODE(HCCL_E_PTR, HcclGetCommName(NULL, name));
    CODE(HCCL_E_PTR, HcclGetCommName(comm, NULL));
    CODE(HCCL_E_PTR, HcclGetCommAsyncError(NULL, &asynchronous));
    CODE(HCCL_E_PTR, HcclGetCommAsyncError(comm, NULL));
    OK(HcclCommDestroy(comm));
}

static void handles_that_are_none(void)
{
    uint32_t number = 0;
    int local = 0;
    need_communicator();
    OK(HcclCommDestroy(NULL));
    CODE(HCCL_E_PARA, HcclCommDestroy((HcclComm)&local));
    CODE(HCCL_E_PARA, HcclCommDestroy((HcclComm)(uintptr_t)1));
    CODE(HCCL_E_PARA, HcclCommDestroy((HcclComm)UINTPTR_MAX));
    CODE(HCCL_E_PARA, HcclCommDestroy((HcclComm)stream));
    CODE(HCCL_E_PARA, HcclGetRankSize((HcclComm)&local, &number));
    OK(HcclCommDestroy(comm));
    CODE(HCCL_E_PARA, HcclCommDestroy(comm));
    MESSAGE("comm");
    CODE(HCCL_E_PARA, HcclGetRankSize(comm, &number));
    CODE(HCCL_E_PARA, all_reduce(1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    OK(aclrtSynchronizeStream(stream));
}

/* ---- HcclAllReduce ---- */

static void null_pointers_in_a_call(void)
{
    need_communicator();
    CODE(HCCL_E_PTR, HcclAllReduce(NULL, output, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                                   stream));
    MESSAGE("EI0003", "HcclAllReduce", "nullptr", "sendBuf", "non-null pointer");
    CODE(HCCL_E_PTR, HcclAllReduce(input, NULL, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                                   stream));
    MESSAGE("EI0003", "HcclAllReduce", "nullptr", "recvBuf", "non-null pointer");
    CODE(HCCL_E_PTR, HcclAllReduce(input, output, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, NULL,
                                   stream));
    MESSAGE("EI0003", "HcclAllReduce", "nullptr", "comm", "non-null pointer");
    CODE(HCCL_E_PTR, HcclAllReduce(input, output, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                                   NULL));
    MESSAGE("EI0003", "HcclAllReduce", "nullptr", "stream", "non-null pointer");
    /* The stream is looked at first, then the communicator, then the buffers. */
    CODE(HCCL_E_PTR, HcclAllReduce(NULL, NULL, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, NULL, NULL));
    MESSAGE("stream");
    CODE(HCCL_E_PTR, HcclAllReduce(NULL, NULL, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, NULL,
                                   stream));
    MESSAGE("comm");
    OK(HcclCommDestroy(comm));
}

static void counts(void)
{
    float value = 0;
    need_communicator();
    OK(aclrtMemset(output, COUNT * sizeof(float), 0, COUNT * sizeof(float)));
    OK(all_reduce(0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    CODE(HCCL_E_PARA, all_reduce(0x800000000ULL, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    MESSAGE("EI0003", "count", "34359738368", "34359738367");
    CODE(HCCL_E_PARA, all_reduce(UINT64_MAX, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    MESSAGE("count", "18446744073709551615");
    /* Beyond the memory behind the buffers: both sides, far and near. */
    CODE(HCCL_E_PARA, all_reduce(0x7FFFFFFFFULL, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    MESSAGE("34359738367");
    CODE(HCCL_E_PARA, all_reduce(1 << 24, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    MESSAGE("16777216");
    OK(all_reduce(COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(&value, sizeof value, output, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(HcclCommDestroy(comm));
}

static void types_and_operators(void)
{
    static const int types[] = {HCCL_DATA_TYPE_INT128, 13, 18, HCCL_DATA_TYPE_RESERVED, 256, -1};
    static const int operators[] = {4, HCCL_REDUCE_RESERVED, 256, -1};
    char text[16];
    need_communicator();
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        CODE(HCCL_E_NOT_SUPPORT, all_reduce(1, types[i], HCCL_REDUCE_SUM));
        MESSAGE("EI0003", "HcclAllReduce", "dataType");
    }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
        CODE(HCCL_E_NOT_SUPPORT, all_reduce(1, HCCL_DATA_TYPE_FP32, operators[i]));
        snprintf(text, sizeof text, "%d", operators[i]);
        MESSAGE("EI0003", "HcclAllReduce", "op", text);
    }
    OK(all_reduce(1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD));
    OK(aclrtSynchronizeStream(stream));
    OK(HcclCommDestroy(comm));
}

static void messages_between_ranks(void)
{
    HcclSendRecvItem items[2];
    uint64_t counts[1] = { 4 }, places[1] = { 0 }, other[1] = { 5 };
    need_communicator();
    CODE(HCCL_E_NOT_SUPPORT, HcclSend(input, 4, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    MESSAGE("destRank");
    CODE(HCCL_E_NOT_SUPPORT, HcclRecv(input, 4, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    CODE(HCCL_E_PARA, HcclSend(input, 4, HCCL_DATA_TYPE_FP32, 1, comm, stream));
    MESSAGE("[0, 0]");
    CODE(HCCL_E_PTR, HcclSend(NULL, 4, HCCL_DATA_TYPE_FP32, 0, comm, stream));
    CODE(HCCL_E_PTR, HcclRecv(input, 4, HCCL_DATA_TYPE_FP32, 0, NULL, stream));
    CODE(HCCL_E_NOT_SUPPORT, HcclSend(input, 4, (HcclDataType)13, 0, comm, stream));

    OK(HcclBatchSendRecv(items, 0, comm, stream));
    CODE(HCCL_E_PTR, HcclBatchSendRecv(NULL, 1, comm, stream));
    items[0] = (HcclSendRecvItem){ HCCL_SEND, input, 4, HCCL_DATA_TYPE_FP32, 0 };
    items[1] = (HcclSendRecvItem){ HCCL_RECV, output, 4, HCCL_DATA_TYPE_FP32, 1 };
    CODE(HCCL_E_PARA, HcclBatchSendRecv(items, 2, comm, stream));
    MESSAGE("remoteRank");
    CODE(HCCL_E_PARA, HcclBatchSendRecv(items, UINT32_MAX, comm, stream));
    MESSAGE("remoteRank");
    items[1].remoteRank = 0;
    items[1].count = 5;
    CODE(HCCL_E_PARA, HcclBatchSendRecv(items, 2, comm, stream));
    MESSAGE("5 float32");
    items[1].sendRecvType = (HcclSendRecvType)7;
    CODE(HCCL_E_PARA, HcclBatchSendRecv(items, 2, comm, stream));
    items[1] = (HcclSendRecvItem){ HCCL_RECV, output, 4, HCCL_DATA_TYPE_FP32, 0 };
    OK(HcclBatchSendRecv(items, 2, comm, stream));
    OK(aclrtSynchronizeStream(stream));

    CODE(HCCL_E_PTR, HcclAlltoAllV(input, NULL, places, HCCL_DATA_TYPE_FP32, output, counts, places,
                                   HCCL_DATA_TYPE_FP32, comm, stream));
    CODE(HCCL_E_PARA, HcclAlltoAllV(input, counts, places, HCCL_DATA_TYPE_FP32, input, counts, places,
                                    HCCL_DATA_TYPE_FP32, comm, stream));
    CODE(HCCL_E_PARA, HcclAlltoAllV(input, counts, places, HCCL_DATA_TYPE_FP32, output, other, places,
                                    HCCL_DATA_TYPE_FP32, comm, stream));
    CODE(HCCL_E_PARA, HcclAlltoAllV(input, counts, places, HCCL_DATA_TYPE_FP32, output, counts, places,
                                    HCCL_DATA_TYPE_INT32, comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllV(NULL, counts, places, HCCL_DATA_TYPE_FP32, output, counts, places,
                                   HCCL_DATA_TYPE_FP32, comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllVC(input, NULL, HCCL_DATA_TYPE_FP32, output, HCCL_DATA_TYPE_FP32,
                                    comm, stream));
    CODE(HCCL_E_PTR, HcclReduceScatterV(input, counts, NULL, output, 4, HCCL_DATA_TYPE_FP32,
                                        HCCL_REDUCE_SUM, comm, stream));
    MESSAGE("sendDispls");
    CODE(HCCL_E_PARA, HcclReduceScatterV(input, counts, places, output, 5, HCCL_DATA_TYPE_FP32,
                                         HCCL_REDUCE_SUM, comm, stream));
    MESSAGE("recvCount, 5");
    CODE(HCCL_E_PARA, HcclReduceScatterV(input, counts, places, input, 4, HCCL_DATA_TYPE_FP32,
                                         HCCL_REDUCE_SUM, comm, stream));
    CODE(HCCL_E_NOT_SUPPORT, HcclReduceScatterV(input, counts, places, output, 4,
                                                HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM, comm, stream));
    CODE(HCCL_E_NOT_SUPPORT, HcclReduceScatterV(input, counts, places, output, 4,
                                                HCCL_DATA_TYPE_FP32, (HcclReduceOp)100, comm, stream));
    OK(HcclReduceScatterV(input, counts, places, output, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                          comm, stream));
    OK(aclrtSynchronizeStream(stream));
    counts[0] = 1ULL << 62;
    CODE(HCCL_E_PARA, HcclAlltoAllVC(input, counts, HCCL_DATA_TYPE_FP32, output, HCCL_DATA_TYPE_FP32,
                                     comm, stream));
    counts[0] = 0;
    OK(HcclAlltoAllV(NULL, counts, places, HCCL_DATA_TYPE_FP32, NULL, counts, places,
                     HCCL_DATA_TYPE_FP32, comm, stream));
    OK(aclrtSynchronizeStream(stream));
}

static void stale_streams(void)
{
    need_communicator();
    OK(aclrtDestroyStream(stream));
    FAILS(all_reduce(1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    MESSAGE("stream");
    OK(HcclCommDestroy(comm));
}

static void freed_buffers(void)
{
    need_communicator();
    OK(aclrtFree(input));
    FAILS(all_reduce(1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    OK(HcclCommDestroy(comm));
}

static void one_rank_copies(void)
{
    float from[COUNT], to[COUNT];
    need_communicator();
    for (int i = 0; i < COUNT; ++i) {
        from[i] = (float)i * 0.5F - 100.0F;
    }
    OK(aclrtMemcpy(input, sizeof from, from, sizeof from, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(all_reduce(COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM));
    OK(HcclAllReduce(input, input, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(to, sizeof to, output, sizeof to, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(memcmp(from, to, sizeof to) == 0);
    OK(aclrtMemcpy(to, sizeof to, input, sizeof to, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(memcmp(from, to, sizeof to) == 0);
    OK(HcclCommDestroy(comm));
}

int main(void)
{
    RUN(texts_of_results);
    RUN(the_config_is_filled);
    RUN(null_pointers_when_joining);
    RUN(ranks_out_of_range);
    RUN(a_root_info_of_zeros);
    RUN(a_root_info_of_ones);
    RUN(a_root_info_of_letters);
    RUN(a_root_info_of_noise);
    RUN(no_device_is_set);
    RUN(a_thread_without_a_device);
    /* Joining waits for missing ranks up to HCCL_CONNECT_TIMEOUT, 120 s, and 20 s more. */
    RUN_LONG(the_same_rank_twice, 170);
    RUN_LONG(ranks_that_disagree_about_their_number, 170);
    RUN(devices_of_init_all);
    RUN(a_wrong_magic_word);
    RUN(older_and_newer_configs);
    RUN(what_is_newer_than_the_caller_is_not_read);
    RUN(fields_out_of_range);
    RUN(a_bad_algorithm);
    RUN(a_bad_buffer_size);
    RUN(a_bad_topology);
    RUN(a_bad_time_out);
    RUN(a_name_without_an_end);
    RUN(the_same_name_twice);
    RUN(null_pointers_when_asking);
    RUN(handles_that_are_none);
    RUN(null_pointers_in_a_call);
    RUN(counts);
    RUN(types_and_operators);
    RUN(messages_between_ranks);
    RUN(stale_streams);
    RUN(freed_buffers);
    RUN(one_rank_copies);
    return check_end();
}
