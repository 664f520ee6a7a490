/**
 * @file hccl_graph_mode.c
 * The operators as a graph engine calls them, and under the names by which another libhccl.so forwards
 * to them: values on two and four devices, and what is refused.
 */
#include "expected.h"

#include "hccl/hccl_graph_mode.h"
#include "hccl/hccl_inner.h"

/** What a graph engine gives with each call. */
#define TAIL WORLD_NAME, rank->stream, "tag", NULL, 0, NULL, 0

static void graph_collectives(struct rank *rank)
{
    const uint32_t all = rank->ranks * BLOCK;
    int32_t *const send = rank->send, *const receive = rank->receive;
    struct blocks blocks;
    equal_blocks(&blocks);
    fill(rank);
    OK(HcclAllReduceGraphMode(send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, TAIL));
    COMPARE(rank, receive, 500, sum);
    fill(rank);
    OK(HcclReduceGraphMode(send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, 1, TAIL));
    COMPARE(rank, receive, 500, rank->number == 1 ? sum : untouched);
    fill(rank);
    OK(HcclReduceScatterGraphMode(send, receive, BLOCK, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, TAIL));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcclReduceScatterVGraphMode(send, blocks.counts, blocks.displacements, receive, BLOCK,
                                   HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, TAIL));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcclBroadcastGraphMode(send, 500, HCCL_DATA_TYPE_INT32, 0, TAIL));
    COMPARE(rank, send, 500, first);
    fill(rank);
    OK(HcclAllGatherGraphMode(send, receive, BLOCK, HCCL_DATA_TYPE_INT32, TAIL));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcclAllGatherVGraphMode(send, BLOCK, receive, blocks.counts, blocks.displacements,
                               HCCL_DATA_TYPE_INT32, TAIL));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcclAlltoAllGraphMode(send, BLOCK, HCCL_DATA_TYPE_INT32, receive, BLOCK,
                             HCCL_DATA_TYPE_INT32, TAIL));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    OK(HcclAlltoAllVGraphMode(send, blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32,
                              receive, blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32,
                              TAIL));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    /* The matrix is as wide as there are ranks. */
    OK(HcclAlltoAllVCGraphMode(send, blocks.matrix, HCCL_DATA_TYPE_INT32, receive,
                               HCCL_DATA_TYPE_INT32, TAIL));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    if (rank->number % 2 == 0) {
        OK(HcclSendGraphMode(send, 500, HCCL_DATA_TYPE_INT32, rank->number + 1, TAIL));
        COMPARE(rank, receive, 500, untouched);
    } else {
        OK(HcclRecvGraphMode(receive, 500, HCCL_DATA_TYPE_INT32, rank->number - 1, TAIL));
        COMPARE(rank, receive, 500, before);
    }
    COMPARE(rank, send, 500, own);
}

static void inner_collectives(struct rank *rank)
{
    const uint32_t all = rank->ranks * BLOCK;
    int32_t *const send = rank->send, *const receive = rank->receive;
    HcclComm comm = rank->comm;
    aclrtStream stream = rank->stream;
    struct blocks blocks;
    equal_blocks(&blocks);
    fill(rank);
    OK(HcclAllReduceInner(send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    COMPARE(rank, receive, 500, sum);
    fill(rank);
    OK(HcclReduceInner(send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, 1, comm, stream));
    COMPARE(rank, receive, 500, rank->number == 1 ? sum : untouched);
    fill(rank);
    OK(HcclReduceScatterInner(send, receive, BLOCK, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm,
                              stream));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcclReduceScatterVInner(send, blocks.counts, blocks.displacements, receive, BLOCK,
                               HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcclBroadcastInner(send, 500, HCCL_DATA_TYPE_INT32, 0, comm, stream));
    COMPARE(rank, send, 500, first);
    fill(rank);
    OK(HcclScatterInner(send, receive, BLOCK, HCCL_DATA_TYPE_INT32, 0, comm, stream));
    COMPARE(rank, receive, BLOCK, scattered);
    fill(rank);
    OK(HcclAllGatherInner(send, receive, BLOCK, HCCL_DATA_TYPE_INT32, comm, stream));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcclAllGatherVInner(send, BLOCK, receive, blocks.counts, blocks.displacements,
                           HCCL_DATA_TYPE_INT32, comm, stream));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcclAlltoAllInner(send, BLOCK, HCCL_DATA_TYPE_INT32, receive, BLOCK, HCCL_DATA_TYPE_INT32,
                         comm, stream));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    OK(HcclAlltoAllVInner(send, blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32, receive,
                          blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32, comm, stream));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    OK(HcclAlltoAllVCInner(send, blocks.matrix, HCCL_DATA_TYPE_INT32, receive, HCCL_DATA_TYPE_INT32,
                           comm, stream));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    if (rank->number % 2 == 0) {
        OK(HcclSendInner(send, 500, HCCL_DATA_TYPE_INT32, rank->number + 1, comm, stream));
    } else {
        OK(HcclRecvInner(receive, 500, HCCL_DATA_TYPE_INT32, rank->number - 1, comm, stream));
        COMPARE(rank, receive, 500, before);
    }
    fill(rank);
    HcclSendRecvItem items[2] = {
        {HCCL_SEND, send, 500, HCCL_DATA_TYPE_INT32, (rank->number + 1) % rank->ranks},
        {HCCL_RECV, receive, 500, HCCL_DATA_TYPE_INT32,
         (rank->number + rank->ranks - 1) % rank->ranks},
    };
    OK(HcclBatchSendRecvInner(items, 2, comm, stream));
    COMPARE(rank, receive, 500, before);
}

static void graph_mode_on_two(void) { in_world(2, graph_collectives); }
static void graph_mode_on_four(void) { in_world(4, graph_collectives); }
static void inner_on_two(void) { in_world(2, inner_collectives); }
static void inner_on_four(void) { in_world(4, inner_collectives); }

#define REDUCE(buffer, group, stream, tag, streams, count, scratch, size)                          \
    HcclAllReduceGraphMode(buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, group, stream, \
                           tag, streams, count, scratch, size)

static void misuse(struct rank *rank)
{
    char tag[514];
    void *more[1] = {rank->stream};
    void *const buffer = rank->send;
    aclrtStream stream = rank->stream;
    memset(tag, 'a', sizeof tag);
    tag[513] = '\0';
    CODE(HCCL_E_PTR, REDUCE(buffer, WORLD_NAME, stream, NULL, NULL, 0, NULL, 0));
    MESSAGE("HcclAllReduceGraphMode", "tag", "non-null pointer");
    CODE(HCCL_E_PARA, REDUCE(buffer, WORLD_NAME, stream, "", NULL, 0, NULL, 0));
    CODE(HCCL_E_PARA, REDUCE(buffer, WORLD_NAME, stream, tag, NULL, 0, NULL, 0));
    MESSAGE("tag", "1 to 512");
    tag[512] = '\0';
    OK(REDUCE(buffer, WORLD_NAME, stream, tag, NULL, 0, NULL, 0));
    CODE(HCCL_E_PTR, REDUCE(buffer, WORLD_NAME, NULL, "tag", NULL, 0, NULL, 0));
    MESSAGE("stream");
    CODE(HCCL_E_PTR, REDUCE(buffer, WORLD_NAME, stream, "tag", NULL, 1, NULL, 0));
    MESSAGE("streams");
    CODE(HCCL_E_PTR, REDUCE(buffer, WORLD_NAME, stream, "tag", NULL, 0, NULL, 1));
    MESSAGE("scratchMemAddr");
    CODE(HCCL_E_PARA, REDUCE(buffer, "nobody", stream, "tag", NULL, 0, NULL, 0));
    MESSAGE("group", "nobody");
    CODE(HCCL_E_PARA, REDUCE(buffer, NULL, stream, "tag", NULL, 0, NULL, 0));
    MESSAGE("hccl_world_group");
    CODE(HCCL_E_PTR, REDUCE(NULL, WORLD_NAME, stream, "tag", NULL, 0, NULL, 0));
    MESSAGE("HcclAllReduceGraphMode", "sendBuf");
    OK(REDUCE(buffer, WORLD_NAME, stream, "tag", more, 1, buffer, 64));
    CODE(HCCL_E_PTR, HcclAllReduceInner(buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                        NULL, stream));
    MESSAGE("HcclAllReduceInner", "comm");
}

static void wrong_arguments(void) { in_world(1, misuse); }

int main(void)
{
    RUN(graph_mode_on_two);
    RUN(graph_mode_on_four);
    RUN(inner_on_two);
    RUN(inner_on_four);
    RUN(wrong_arguments);
    return check_end();
}
