/**
 * @file hccl_state.c
 * Communicators that are named, asked, configured, suspended and resumed.
 */
#include "ranks.h"

/** A communicator of one rank with a configuration. */
static HcclComm alone(HcclCommConfig *config)
{
    HcclRootInfo root;
    HcclComm comm = NULL;
    NEED(HcclGetRootInfo(&root));
    NEED(HcclCommInitRootInfoConfig(1, &root, 0, config, &comm));
    return comm;
}

/* ---- names and configuration ---- */

static void names(void)
{
    HcclCommConfig config = default_config();
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    HcclComm found = NULL, second = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "by name");
    HcclComm comm = alone(&config);
    OK(HcclCommGetHandleWithName("by name", &found));
    THAT(found == comm);
    OK(HcclCommGetStatus("by name", &status));
    THAT(status == HCCL_COMM_STATUS_READY);
    CODE(HCCL_E_PARA, HcclCommGetHandleWithName("another", &found));
    MESSAGE("EI0003", "another");
    CODE(HCCL_E_PTR, HcclCommGetHandleWithName(NULL, &found));
    CODE(HCCL_E_PTR, HcclCommGetHandleWithName("by name", NULL));
    CODE(HCCL_E_PARA, HcclCommGetStatus("another", &status));
    CODE(HCCL_E_PTR, HcclCommGetStatus(NULL, &status));
    CODE(HCCL_E_PTR, HcclCommGetStatus("by name", NULL));
    /* Another device may have the name too; then the current device counts. */
    NEED(aclrtSetDevice(1));
    second = alone(&config);
    OK(HcclCommGetHandleWithName("by name", &found));
    THAT(found == second);
    NEED(aclrtSetDevice(0));
    OK(HcclCommGetHandleWithName("by name", &found));
    THAT(found == comm);
    NEED(aclrtSetDevice(2));
    CODE(HCCL_E_PARA, HcclCommGetHandleWithName("by name", &found));
    MESSAGE("2 devices");
    OK(HcclCommDestroy(second));
    OK(HcclCommGetHandleWithName("by name", &found));
    THAT(found == comm);
    OK(HcclCommDestroy(comm));
    CODE(HCCL_E_PARA, HcclCommGetHandleWithName("by name", &found));
}

static void what_was_configured(void)
{
    static const char algo[] = "level0:NA;level1:ring";
    HcclCommConfig config = default_config();
    char text[1601];
    int32_t mode = -1;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    HcclComm comm = alone(&config);
    OK(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, &mode));
    THAT(mode == HCCL_OP_EXPANSION_MODE_HOST);
    memset(text, 'x', sizeof text);
    OK(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, 1600, text));
    THAT(text[0] == '\0' && text[1] == 'x' && text[1600] == 'x');
    OK(HcclCommDestroy(comm));

    config.hcclOpExpansionMode = 3;
    snprintf(config.hcclAlgo, sizeof config.hcclAlgo, "%s", algo);
    comm = alone(&config);
    OK(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, &mode));
    THAT(mode == HCCL_OP_EXPANSION_MODE_AIV);
    OK(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, 1601, text));
    THAT(strcmp(text, algo) == 0);
    CODE(HCCL_E_PARA, HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 8, text));
    MESSAGE("infoLen", "8", "4");
    CODE(HCCL_E_PARA, HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, 1599, text));
    CODE(HCCL_E_PARA, HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_INVALID, 4, &mode));
    CODE(HCCL_E_PTR, HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, 1600, NULL));
    CODE(HCCL_E_PTR, HcclConfigGetInfo(NULL, HCCL_CONFIG_TYPE_HCCL_ALGO, 1600, text));
    OK(HcclCommDestroy(comm));
}

static void switches(void)
{
    HcclConfigValue value = {7};
    HcclCommConfig config = default_config();
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    HcclComm comm = alone(&config);
    OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
    THAT(value.value == 0);
    for (int32_t i = 0; i <= 2; ++i) {
        value.value = i;
        OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
        value.value = 7;
        OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
        THAT(value.value == i);
        value.value = 7;
        OK(HcclGetCommConfig(comm, HCCL_DETERMINISTIC, &value));
        THAT(value.value == i);
    }
    value.value = 3;
    CODE(HCCL_E_PARA, HcclSetConfig(HCCL_DETERMINISTIC, value));
    MESSAGE("EI0003", "configValue", "3", "0, 1 or 2");
    value.value = -1;
    CODE(HCCL_E_PARA, HcclSetCommConfig(comm, HCCL_DETERMINISTIC, value));
    OK(HcclSetConfig((HcclConfig)77, value));
    CODE(HCCL_E_PTR, HcclGetConfig(HCCL_DETERMINISTIC, NULL));
    CODE(HCCL_E_PTR, HcclGetCommConfig(comm, HCCL_DETERMINISTIC, NULL));
    CODE(HCCL_E_PTR, HcclGetCommConfig(NULL, HCCL_DETERMINISTIC, &value));
    CODE(HCCL_E_PTR, HcclSetCommConfig(NULL, HCCL_DETERMINISTIC, value));
    OK(HcclCommDestroy(comm));
}

static void the_environment_comes_before_a_switch(void)
{
    HcclConfigValue value = {1};
    setenv("HCCL_DETERMINISTIC", "Strict", 1);
    NEED(aclInit(NULL));
    OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
    value.value = 9;
    OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
    OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
    THAT(value.value == 2);
}

static void strict_where_a_product_does_not_have_it(void)
{
    HcclConfigValue value = {2};
    HcclCommConfig config = default_config();
    HcclRootInfo root;
    HcclComm comm = NULL;
    setenv("SOFTNPU_SOC", "Ascend910A", 1);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_NOT_SUPPORT, HcclSetConfig(HCCL_DETERMINISTIC, value));
    MESSAGE("EI0003", "strict");
    config.hcclDeterministic = 2;
    NEED(HcclGetRootInfo(&root));
    CODE(HCCL_E_NOT_SUPPORT, HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    MESSAGE("hcclDeterministic");
}

static void strict_in_the_environment_of_such_a_product(void)
{
    HcclRootInfo root;
    setenv("SOFTNPU_SOC", "Ascend310P3", 1);
    setenv("HCCL_DETERMINISTIC", "strict", 1);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_NOT_SUPPORT, HcclGetRootInfo(&root));
    MESSAGE("EI0001", "HCCL_DETERMINISTIC", "strict");
}

static void fields_out_of_range(void)
{
    HcclRootInfo root;
    HcclComm comm = NULL;
    HcclCommConfig config = default_config();
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    config.hcclSymWinMaxMemSizePerRank = 0;
    CODE(HCCL_E_PARA, HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    MESSAGE("hcclSymWinMaxMemSizePerRank");
    config = default_config();
    snprintf(config.hcclRetryParams, sizeof config.hcclRetryParams, "MaxCnt:11, HoldTime:1");
    CODE(HCCL_E_PARA, HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    MESSAGE("hcclRetryParams", "MaxCnt:11", "MaxCnt:<1-10>");
    snprintf(config.hcclRetryParams, sizeof config.hcclRetryParams,
             "MaxCnt:1, HoldTime:5000, IntervalTime:1000");
    config.hcclOpExpansionMode = 99; /* a warning */
    config.hcclExecTimeOut = -7;     /* a warning */
    OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    OK(HcclCommDestroy(comm));
}

static void words_of_the_environment(void)
{
    HcclRootInfo root;
    setenv("HCCL_OP_EXPANSION_MODE", "aiv", 1);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_PARA, HcclGetRootInfo(&root));
    MESSAGE("EI0001", "HCCL_OP_EXPANSION_MODE", "aiv");
}

static void variables_without_effect_are_checked(void)
{
    HcclRootInfo root;
    setenv("HCCL_RDMA_TC", "133", 1);
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_PARA, HcclGetRootInfo(&root));
    MESSAGE("EI0001", "HCCL_RDMA_TC", "133", "Must be a multiple of 4");
}

/* ---- several roots ---- */

static HcclRootInfo roots[2];

static void join_by_list(Rank *rank)
{
    HcclCommConfig config = default_config();
    uint32_t found = 99;
    if (rank->rank < 2) {
        OK(HcclGetRootInfoScalable(&roots[rank->rank]));
    }
    meet(rank);
    OK(HcclCommInitRootInfoScalable(rank->ranks, 2, roots, rank->rank, 0, &config, &rank->comm));
    OK(HcclGetRankSize(rank->comm, &found));
    THAT(found == rank->ranks);
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
    OK(HcclCommDestroy(rank->comm));
}

static void several_roots(void)
{
    on_devices(4, join_by_list);
}

static void misuse_of_roots(void)
{
    HcclCommConfig config = default_config();
    HcclComm comm = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_PTR, HcclGetRootInfoScalable(NULL));
    NEED(HcclGetRootInfoScalable(&roots[0]));
    CODE(HCCL_E_PARA, HcclCommInitRootInfoScalable(1, 0, roots, 0, 0, &config, &comm));
    MESSAGE("nRoot", "0");
    CODE(HCCL_E_PARA, HcclCommInitRootInfoScalable(1, 2, roots, 0, 0, &config, &comm));
    CODE(HCCL_E_PTR, HcclCommInitRootInfoScalable(1, 1, NULL, 0, 0, &config, &comm));
    CODE(HCCL_E_PTR, HcclCommInitRootInfoScalable(1, 1, roots, 0, 0, NULL, &comm));
    CODE(HCCL_E_PTR, HcclCommInitRootInfoScalable(1, 1, roots, 0, 0, &config, NULL));
    CODE(HCCL_E_PARA, HcclCommInitRootInfoScalable(1, 1, roots, 1, 0, &config, &comm));
    OK(HcclCommInitRootInfoScalable(1, 1, roots, 0, 0, &config, &comm));
    OK(HcclCommDestroy(comm));
}

/* ---- faults ---- */

static int phases[4];

static void count_phase(HcclComm comm, HcclCommStatePhase phase, void *args)
{
    THAT(comm != NULL && args == (void *)phases && phase >= 0 && phase < 4);
    ++phases[phase];
}

static void suspended(Rank *rank)
{
    char name[COMM_NAME_MAX_LENGTH];
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    HcclSendRecvItem item = {HCCL_SEND, NULL, 1, HCCL_DATA_TYPE_FP32, 0};
    float *buffer = numbers(8, 1, 0);
    NEED(HcclGetCommName(rank->comm, name));
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
    OK(HcclCommSuspend(rank->comm));
    OK(HcclCommGetStatus(name, &status));
    THAT(status == HCCL_COMM_STATUS_SUSPENDING);
    CODE(HCCL_E_SUSPENDING, HcclAllReduce(buffer, buffer, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                          rank->comm, rank->stream));
    MESSAGE("suspended", "HcclCommResume");
    CODE(HCCL_E_SUSPENDING, HcclBroadcast(buffer, 8, HCCL_DATA_TYPE_FP32, 0, rank->comm,
                                          rank->stream));
    CODE(HCCL_E_SUSPENDING, HcclSend(buffer, 8, HCCL_DATA_TYPE_FP32, 1 - rank->rank, rank->comm,
                                     rank->stream));
    CODE(HCCL_E_SUSPENDING, HcclBatchSendRecv(&item, 1, rank->comm, rank->stream));
    CODE(HCCL_E_SUSPENDING, HcclBarrier(rank->comm, rank->stream));
    OK(aclrtFree(buffer));
    meet(rank);
    for (int i = 0; i < 3; ++i) {
        OK(HcclCommResume(rank->comm));
        THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
    }
    OK(HcclCommGetStatus(name, &status));
    THAT(status == HCCL_COMM_STATUS_READY);
}

static void suspend_and_resume(void)
{
    OK(HcclCommRegCommStateCallback("counter", count_phase, &phases[1]));
    OK(HcclCommRegCommStateCallback("counter", count_phase, phases));
    on_ranks(1, suspended);
    THAT(phases[0] == 1 && phases[1] == 1 && phases[2] == 3 && phases[3] == 3);
    CODE(HCCL_E_PTR, HcclCommRegCommStateCallback(NULL, count_phase, NULL));
    CODE(HCCL_E_PTR, HcclCommRegCommStateCallback("counter", NULL, NULL));
    char name[200];
    memset(name, 'n', sizeof name);
    name[160] = '\0';
    OK(HcclCommRegCommStateCallback(name, count_phase, phases));
    name[160] = 'n';
    name[161] = '\0';
    CODE(HCCL_E_PARA, HcclCommRegCommStateCallback(name, count_phase, phases));
    CODE(HCCL_E_PARA, HcclCommRegCommStateCallback("", count_phase, phases));
    CODE(HCCL_E_PTR, HcclCommSuspend(NULL));
    CODE(HCCL_E_PARA, HcclCommSuspend((HcclComm)42));
    CODE(HCCL_E_PTR, HcclCommResume(NULL));
    CODE(HCCL_E_PARA, HcclCommResume((HcclComm)42));
}

static void both_ranks_suspended(void)
{
    on_ranks(2, suspended);
}

/** A collective that never comes together is thrown away; then all goes on. */
static void stuck(Rank *rank)
{
    HcclResult error = HCCL_SUCCESS;
    HcclComm before = rank->comm;
    float *buffer = numbers(1000, 1, 0);
    if (rank->rank == 0) {
        OK(HcclAllReduce(buffer, buffer, 1000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm,
                         rank->stream));
        sleep_ms(50);
    }
    OK(HcclCommSuspend(rank->comm));
    OK(aclrtDeviceTaskAbort((int32_t)rank->rank, 0));
    meet(rank);
    OK(HcclCommResume(rank->comm));
    OK(HcclGetCommAsyncError(rank->comm, &error));
    THAT(error == HCCL_SUCCESS);
    THAT(rank->comm == before);
    (void)aclrtSynchronizeStream(rank->stream);
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
    OK(aclrtFree(buffer));
}

static void resume_after_an_abort(void)
{
    on_ranks(2, stuck);
}

static void network_cards(Rank *rank)
{
    uint32_t ranks[] = {0, 1}, foreign[] = {2};
    bool backup[] = {true, false};
    OK(HcclCommWorkingDevNicSet(rank->comm, ranks, backup, 2));
    CODE(HCCL_E_PTR, HcclCommWorkingDevNicSet(NULL, ranks, backup, 2));
    CODE(HCCL_E_PTR, HcclCommWorkingDevNicSet(rank->comm, NULL, backup, 2));
    CODE(HCCL_E_PTR, HcclCommWorkingDevNicSet(rank->comm, ranks, NULL, 2));
    CODE(HCCL_E_PARA, HcclCommWorkingDevNicSet(rank->comm, ranks, backup, 0));
    CODE(HCCL_E_PARA, HcclCommWorkingDevNicSet(rank->comm, foreign, backup, 1));
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
}

static void cards_are_switched(void)
{
    on_ranks(2, network_cards);
}

int main(void)
{
    RUN(names);
    RUN(what_was_configured);
    RUN(switches);
    RUN(the_environment_comes_before_a_switch);
    RUN(strict_where_a_product_does_not_have_it);
    RUN(strict_in_the_environment_of_such_a_product);
    RUN(fields_out_of_range);
    RUN(words_of_the_environment);
    RUN(variables_without_effect_are_checked);
    RUN(several_roots);
    RUN(misuse_of_roots);
    RUN(suspend_and_resume);
    RUN(both_ranks_suspended);
    RUN(resume_after_an_abort);
    RUN(cards_are_switched);
    return check_end();
}
