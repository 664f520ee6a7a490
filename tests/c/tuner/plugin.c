/*
 * A tuner plugin that does what TUNER_TEST says:
 *   prefer=TEMPLATE   gives that template the cost 0
 *   differ=TEMPLATE   the same, on rank 1 only
 *   forbid=TEMPLATE   -1; `forbid=all` forbids all
 *   garbage           costs that are no numbers, an odd `matched`, texts overwritten
 *   unsaid=TEMPLATE   as prefer, and leaves `matched` alone
 *   error             getCollInfo fails after it changed costs
 *   init=CODE         init returns it
 *   slow              takes more than 100 ms
 *   reenter           starts an operator on the communicator that it is asked about, and destroys it
 *   nest              init makes and destroys a communicator of a device of its own
 * It counts calls, and what it was told that cannot be.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hccl/hccl_tuner.h"

int plugin_inits;
int plugin_asked;
int plugin_faults;
int plugin_reentered;
hcclTunerCommInfo_t plugin_comm;

static const hcclTunerHostFunctions_t *host;
static char name_of_comm[COMM_NAME_MAX_LENGTH];

#define ADD(counter) __atomic_add_fetch(&(counter), 1, __ATOMIC_SEQ_CST)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "plugin, line %d: not so: %s\n", __LINE__, #condition);                \
            ADD(plugin_faults);                                                                    \
        }                                                                                          \
    } while (0)

/** What stands behind `word=`, NULL where the test is another one. */
static const char *asked_for(const char *word)
{
    const char *test = getenv("TUNER_TEST");
    const size_t length = strlen(word);
    if (test == NULL || strncmp(test, word, length) != 0) {
        return NULL;
    }
    return test[length] == '=' ? test + length + 1 : test[length] == '\0' ? "" : NULL;
}

static void check_contexts(HcclComm comm)
{
    void *ctx = NULL;
    void *again = NULL;
    uint64_t size = 0;
    EXPECT(host->ctxGet(comm, "calls", &ctx, &size) == 6);
    EXPECT(host->ctxCreate(comm, "calls", 0, &ctx) == 1);
    EXPECT(host->ctxCreate(comm, "calls", UINT64_MAX, &ctx) == 3);
    EXPECT(host->ctxCreate(comm, NULL, 8, &ctx) == 2);
    EXPECT(host->ctxCreate(comm, "calls", 8, NULL) == 2);
    EXPECT(host->ctxCreate(NULL, "calls", 8, &ctx) == 2);
    EXPECT(host->ctxCreate((HcclComm)(uintptr_t)4711, "calls", 8, &ctx) == 1);
    EXPECT(host->ctxCreate(comm, "calls", sizeof(int), &ctx) == 0);
    EXPECT(host->ctxCreate(comm, "calls", sizeof(int), &again) == 1);
    EXPECT(ctx != NULL && *(int *)ctx == 0);
    EXPECT(host->ctxGet(comm, "calls", &again, &size) == 0 && again == ctx && size == sizeof(int));
    EXPECT(host->ctxGet(comm, "calls", &again, NULL) == 0);
    EXPECT(host->ctxDestroy(comm, "other") == 6);
    EXPECT(host->ctxCreate(comm, "other", 1 << 20, &again) == 0);
    EXPECT(host->ctxDestroy(comm, "other") == 0);
    EXPECT(host->ctxDestroy(comm, NULL) == 2);
}

static HcclResult init(HcclComm comm, const hcclTunerCommInfo_t *info,
                       const hcclTunerHostFunctions_t *functions)
{
    char name[COMM_NAME_MAX_LENGTH] = "";
    uint32_t ranks = 0;
    ADD(plugin_inits);
    host = functions;
    EXPECT(info->structSize == sizeof *info && functions->structSize == sizeof *functions);
    EXPECT(HcclGetRankSize(comm, &ranks) == 0 && ranks == info->nRanks);
    EXPECT(HcclGetCommName(comm, name) == 0 && strcmp(name, info->commName) == 0);
    snprintf(name_of_comm, sizeof name_of_comm, "%s", info->commName);
    plugin_comm = *info;
    check_contexts(comm);
    functions->logFunction(HCCL_TUNER_LOG_WARN, __FILE__, __LINE__, "hello from %s, %d", "init", 7);
    functions->logFunction(HCCL_TUNER_LOG_WARN, NULL, -1, "%2000d", 1);
    functions->logFunction(99, "", 0, NULL);
    if (asked_for("nest") != NULL) {
        const int32_t device = 5;
        HcclComm inner = NULL;
        EXPECT(HcclCommInitAll(1, (int32_t *)&device, &inner) == 0);
        EXPECT(HcclGroupStart() == 0 && HcclCommDestroy(inner) == 0 && HcclGroupEnd() == 0);
    }
    const char *code = asked_for("init");
    return code == NULL ? HCCL_SUCCESS : (HcclResult)atoi(code);
}

static void check_call(HcclComm comm, const hcclTunerCollInfo_t *info,
                       const hcclTunerAlgoEntry_t *entries, int count, int matched)
{
    void *ctx = NULL;
    EXPECT(info->structSize == sizeof *info && matched == 0 && count > 1);
    EXPECT(info->collType >= HCCL_CMD_BROADCAST && info->collType <= HCCL_CMD_REDUCE_SCATTER_V);
    EXPECT(info->dataType == HCCL_DATA_TYPE_FP32);
    EXPECT(host->ctxGet(comm, "calls", &ctx, NULL) == 0);
    ++*(int *)ctx;
    for (int i = 0; i < count; ++i) {
        EXPECT(entries[i].structSize == sizeof entries[i]);
        EXPECT(entries[i].cost > 0 && entries[i].cost < 1e9f);
        EXPECT(entries[i].algName != NULL && entries[i].algName[0] != '\0');
        EXPECT(strcmp(entries[i].engineName, "aicpu") == 0);
        EXPECT(entries[i].executorName[0] != '\0' && entries[i].templateName[0] != '\0');
    }
}

static void reenter(HcclComm comm)
{
    aclrtStream stream = NULL;
    void *numbers = NULL;
    EXPECT(aclrtCreateStream(&stream) == 0);
    EXPECT(aclrtMalloc(&numbers, 64, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    /* Refused: it would wait for the operator that the plugin is asked about. */
    const HcclResult code = HcclAllReduce(numbers, numbers, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                          comm, stream);
    const char *reason = aclGetRecentErrMsg();
    if (code == HCCL_E_PARA && reason != NULL && strstr(reason, "the plugin is asked about")) {
        ADD(plugin_reentered);
    }
    /* An operator is being issued: the communicator is busy. */
    EXPECT(HcclCommDestroy(comm) == HCCL_E_AGAIN);
    EXPECT(aclrtFree(numbers) == 0);
    EXPECT(aclrtDestroyStream(stream) == 0);
}

static HcclResult get_coll_info(HcclComm comm, const hcclTunerCollInfo_t *info,
                                hcclTunerAlgoEntry_t *entries, int count, int *matched)
{
    const char *prefer = asked_for("prefer");
    const char *forbid = asked_for("forbid");
    const char *differ = asked_for("differ");
    const char *unsaid = asked_for("unsaid");
    uint32_t rank = 0;
    ADD(plugin_asked);
    check_call(comm, info, entries, count, *matched);
    EXPECT(HcclGetRankId(comm, &rank) == 0);
    if (asked_for("slow") != NULL) {
        const struct timespec time = {0, 110 * 1000 * 1000};
        nanosleep(&time, NULL);
    }
    if (asked_for("reenter") != NULL) {
        reenter(comm);
    }
    for (int i = 0; i < count; ++i) {
        const char *template = entries[i].templateName;
        if ((prefer != NULL && strcmp(prefer, template) == 0) ||
            (unsaid != NULL && strcmp(unsaid, template) == 0) ||
            (differ != NULL && rank == 1 && strcmp(differ, template) == 0)) {
            entries[i].cost = 0;
        }
        if (forbid != NULL && (strcmp(forbid, "all") == 0 || strcmp(forbid, template) == 0)) {
            entries[i].cost = -1;
        }
        if (asked_for("garbage") != NULL) {
            entries[i] = (hcclTunerAlgoEntry_t){NULL, NULL, NULL, NULL, i % 2 ? NAN : -NAN, 0};
        }
        if (asked_for("error") != NULL) {
            entries[i].cost = i == 0 ? -1 : 0;
        }
    }
    *matched = asked_for("garbage") != NULL ? -77 : unsaid == NULL;
    return asked_for("error") != NULL ? HCCL_E_INTERNAL : HCCL_SUCCESS;
}

const hcclTunerFuncs_v1_t hcclTunerPlugin_v1 = {init, get_coll_info, sizeof(hcclTunerFuncs_v1_t)};
