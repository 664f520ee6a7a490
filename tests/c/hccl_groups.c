/**
 * @file hccl_groups.c
 * Calls between HcclGroupStart and HcclGroupEnd.
 */
#include "ranks.h"

#define DEVICES 4

/* ---- what works ---- */

/** One thread drives all devices: without a group, the first join would wait for the others. */
static void one_thread_makes_and_destroys(void)
{
    HcclRootInfo root;
    HcclCommConfig config;
    HcclComm comms[DEVICES] = {NULL};
    aclrtStream streams[DEVICES];
    float *inputs[DEVICES], *outputs[DEVICES];
    bool open = true;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    config = default_config();
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "one thread");
    NEED(HcclGetRootInfo(&root));
    OK(HcclGroupStatusGet(&open));
    THAT(!open);
    OK(HcclGroupStart());
    OK(HcclGroupStart());
    OK(HcclGroupStatusGet(&open));
    THAT(open);
    for (uint32_t i = 0; i < DEVICES; ++i) {
        OK(aclrtSetDevice((int32_t)i));
        OK(HcclCommInitRootInfoConfig(DEVICES, &root, i, &config, &comms[i]));
        THAT(comms[i] == NULL);
    }
    OK(HcclGroupEnd());
    THAT(comms[0] == NULL);
    OK(HcclGroupEnd());
    OK(HcclGroupStatusGet(&open));
    THAT(!open);
    for (uint32_t i = 0; i < DEVICES; ++i) {
        uint32_t rank = 99;
        OK(HcclGetRankId(comms[i], &rank));
        THAT(rank == i);
        OK(aclrtSetDevice((int32_t)i));
        OK(aclrtCreateStream(&streams[i]));
        inputs[i] = numbers(8, (float)i, 1);
        outputs[i] = numbers(8, -1, 0);
    }
    /* Collectives of all ranks in one group. */
    OK(HcclGroupStart());
    for (uint32_t i = 0; i < DEVICES; ++i) {
        OK(HcclAllReduce(inputs[i], outputs[i], 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[i],
                         streams[i]));
    }
    OK(HcclGroupEnd());
    for (uint32_t i = 0; i < DEVICES; ++i) {
        OK(aclrtSetDevice((int32_t)i));
        OK(aclrtSynchronizeStream(streams[i]));
        THAT(has_numbers(inputs[i], 8, (float)i, 1));
        THAT(has_numbers(outputs[i], 8, 6, 4));
        OK(aclrtDestroyStream(streams[i]));
    }
    OK(HcclGroupStart());
    for (uint32_t i = 0; i < DEVICES; ++i) {
        OK(HcclCommDestroy(comms[i]));
    }
    uint32_t rank = 99;
    OK(HcclGetRankId(comms[0], &rank));
    OK(HcclGroupEnd());
    CODE(HCCL_E_PARA, HcclGetRankId(comms[0], &rank));
}

/** The same for communicators of some of the ranks. */
static void one_thread_makes_subs(void)
{
    int32_t devices[] = {0, 1};
    uint32_t members[] = {1, 0};
    HcclCommConfig config;
    HcclComm comms[2], subs[2] = {NULL};
    config = default_config();
    NEED(aclInit(NULL));
    NEED(HcclCommInitAll(2, devices, comms));
    OK(HcclGroupStart());
    for (uint32_t i = 0; i < 2; ++i) {
        OK(HcclCreateSubCommConfig(&comms[i], 2, members, 3, 1 - i, &config, &subs[i]));
        THAT(subs[i] == NULL);
    }
    OK(HcclGroupEnd());
    for (uint32_t i = 0; i < 2; ++i) {
        uint32_t rank = 99;
        OK(HcclGetRankId(subs[i], &rank));
        THAT(rank == 1 - i);
        OK(HcclCommDestroy(subs[i]));
        OK(HcclCommDestroy(comms[i]));
    }
}

/** Everybody sends to everybody before it receives. */
static void sends_first(Rank *rank)
{
    float *give[DEVICES], *take[DEVICES];
    OK(HcclGroupStart());
    for (uint32_t i = 0; i < rank->ranks; ++i) {
        give[i] = numbers(1000, (float)(100 * rank->rank + i), 1);
        take[i] = numbers(1000, -1, 0);
        if (i != rank->rank) {
            OK(HcclSend(give[i], 1000, HCCL_DATA_TYPE_FP32, i, rank->comm, rank->stream));
        }
    }
    for (uint32_t i = 0; i < rank->ranks; ++i) {
        if (i != rank->rank) {
            OK(HcclRecv(take[i], 1000, HCCL_DATA_TYPE_FP32, i, rank->comm, rank->stream));
        }
    }
    OK(HcclGroupEnd());
    OK(aclrtSynchronizeStream(rank->stream));
    for (uint32_t i = 0; i < rank->ranks; ++i) {
        if (i != rank->rank) {
            THAT(has_numbers(take[i], 1000, (float)(100 * i + rank->rank), 1));
        } else {
            THAT(has_numbers(take[i], 1000, -1, 0));
        }
        THAT(has_numbers(give[i], 1000, (float)(100 * rank->rank + i), 1));
    }
}

static void sends_before_receives(void)
{
    on_ranks(3, sends_first);
}

/** Several collectives of one communicator in one group. */
static void several(Rank *rank)
{
    float *buffers[5];
    OK(HcclGroupStart());
    for (int i = 0; i < 5; ++i) {
        buffers[i] = numbers(64, (float)(i + 1) * (float)(rank->rank + 1), 0);
        OK(HcclAllReduce(buffers[i], buffers[i], 64, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX,
                         rank->comm, rank->stream));
    }
    OK(HcclBarrier(rank->comm, rank->stream));
    OK(HcclGroupEnd());
    OK(aclrtSynchronizeStream(rank->stream));
    for (int i = 0; i < 5; ++i) {
        THAT(has_numbers(buffers[i], 64, (float)(i + 1) * 2, 0));
    }
}

static void several_collectives(void)
{
    on_ranks(2, several);
}

static void empty(Rank *rank)
{
    OK(HcclGroupStart());
    OK(HcclAllReduce(NULL, NULL, 0, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm,
                     rank->stream));
    OK(HcclSend(NULL, 0, HCCL_DATA_TYPE_FP32, 1 - rank->rank, rank->comm, rank->stream));
    OK(HcclGroupEnd());
    OK(HcclGroupStart());
    OK(HcclGroupEnd());
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
}

static void groups_of_nothing(void)
{
    on_ranks(2, empty);
}

/* ---- misuse ---- */

static void mixed(Rank *rank)
{
    HcclRootInfo root;
    HcclComm made = NULL;
    HcclSendRecvItem item = {HCCL_SEND, NULL, 1, HCCL_DATA_TYPE_FP32, 0};
    float *buffer = numbers(8, 1, 0);
    CODE(HCCL_E_NOT_SUPPORT, HcclGroupEnd());
    MESSAGE("EI0003", "HcclGroupEnd", "not open");
    CODE(HCCL_E_PTR, HcclGroupStatusGet(NULL));
    NEED(HcclGetRootInfo(&root));
    OK(HcclGroupStart());
    /* Arguments are looked at when the call is made. */
    CODE(HCCL_E_PTR, HcclAllReduce(NULL, buffer, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                                   rank->comm, rank->stream));
    OK(HcclAllReduce(buffer, buffer, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, rank->comm,
                     rank->stream));
    CODE(HCCL_E_NOT_SUPPORT, HcclSend(buffer, 8, HCCL_DATA_TYPE_FP32, 1 - rank->rank, rank->comm,
                                      rank->stream));
    MESSAGE("HcclSend", "collectives");
    CODE(HCCL_E_NOT_SUPPORT, HcclBatchSendRecv(&item, 1, rank->comm, rank->stream));
    MESSAGE("HcclBatchSendRecv");
    CODE(HCCL_E_NOT_SUPPORT, HcclCommInitRootInfo(1, &root, 0, &made));
    CODE(HCCL_E_NOT_SUPPORT, HcclCommDestroy(rank->comm));
    OK(HcclGroupEnd());
    OK(aclrtSynchronizeStream(rank->stream));
    THAT(made == NULL);
    THAT(has_numbers(buffer, 8, 2, 0));
}

static void calls_of_different_kinds(void)
{
    on_ranks(2, mixed);
}

/** The first failure of the calls is that of the end; the others are carried out. */
static void failures(Rank *rank)
{
    HcclRootInfo root;
    HcclComm made = NULL, other = NULL;
    HcclCommConfig config = default_config();
    NEED(HcclGetCommName(rank->comm, config.hcclCommName));
    NEED(HcclGetRootInfo(&root));
    OK(HcclGroupStart());
    CODE(HCCL_E_PARA, HcclCommInitRootInfo(0, &root, 0, &made));
    OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &made));
    OK(HcclCommInitRootInfo(1, &root, 0, &other));
    CODE(HCCL_E_PARA, HcclGroupEnd());
    MESSAGE("EI0003", "hcclCommName");
    THAT(made == NULL && other != NULL);
    THAT(works(other, 0, 1, rank->stream));
    OK(HcclCommDestroy(other));
}

static void calls_that_fail(void)
{
    on_ranks(1, failures);
}

static void *destroys(void *comm)
{
    OK(HcclCommDestroy(comm));
    return NULL;
}

static void destroyed_meanwhile(Rank *rank)
{
    HcclRootInfo root;
    HcclComm made = NULL;
    float *buffer = numbers(8, 1, 0);
    NEED(HcclGetRootInfo(&root));
    NEED(HcclCommInitRootInfo(1, &root, 0, &made));
    OK(HcclGroupStart());
    OK(HcclAllReduce(buffer, buffer, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, made, rank->stream));
    on_thread(destroys, made);
    CODE(HCCL_E_PARA, HcclGroupEnd());
    MESSAGE("EI0003", "destroyed meanwhile");
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtFree(buffer));
}

static void a_communicator_that_goes_before_its_group(void)
{
    on_ranks(1, destroyed_meanwhile);
}

int main(void)
{
    RUN(one_thread_makes_and_destroys);
    RUN(one_thread_makes_subs);
    RUN(sends_before_receives);
    RUN(several_collectives);
    RUN(groups_of_nothing);
    RUN(calls_of_different_kinds);
    RUN(calls_that_fail);
    RUN(a_communicator_that_goes_before_its_group);
    return check_end();
}
