/**
 * @file hccl_arguments.c
 * Each operator with each wrong argument that the documents name, and ranks that do not agree.
 */
#include "ranks.h"

#define COUNT 64
/** One more than an operator takes. */
#define TOO_MANY 0x800000000ULL

static HcclComm comm;
static aclrtStream stream;
static char *input, *output;
static uint64_t counts[1] = {COUNT}, zeros[1] = {0}, wrong_counts[1] = {COUNT - 1};

/** A communicator of one rank on device 0, and two buffers of COUNT doubles with room behind. */
static void need_communicator(void)
{
    static HcclRootInfo root;
    void *memory = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(HcclGetRootInfo(&root));
    NEED(HcclCommInitRootInfo(1, &root, 0, &comm));
    NEED(aclrtCreateStream(&stream));
    NEED(aclrtMalloc(&memory, 2 * COUNT * sizeof(double), ACL_MEM_MALLOC_HUGE_FIRST));
    input = memory;
    NEED(aclrtMalloc(&memory, 2 * COUNT * sizeof(double), ACL_MEM_MALLOC_HUGE_FIRST));
    output = memory;
    forget_messages();
}

/** A call of an operator, with one of its arguments given and all others right. */
typedef struct {
    void *send;
    void *receive;
    uint64_t count;
    int type;
    int op;
    uint32_t root;
    HcclComm comm;
    aclrtStream stream;
} Call;

static Call right(void)
{
    return (Call){input, output, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, comm, stream};
}

#define TYPE(call) ((HcclDataType)(call).type)
#define OP(call) ((HcclReduceOp)(call).op)

static HcclResult all_reduce(Call c)
{
    return HcclAllReduce(c.send, c.receive, c.count, TYPE(c), OP(c), c.comm, c.stream);
}
static HcclResult reduce(Call c)
{
    return HcclReduce(c.send, c.receive, c.count, TYPE(c), OP(c), c.root, c.comm, c.stream);
}
static HcclResult reduce_scatter(Call c)
{
    return HcclReduceScatter(c.send, c.receive, c.count, TYPE(c), OP(c), c.comm, c.stream);
}
static HcclResult reduce_scatter_v(Call c)
{
    counts[0] = c.count;
    return HcclReduceScatterV(c.send, counts, zeros, c.receive, c.count, TYPE(c), OP(c), c.comm,
                              c.stream);
}
static HcclResult broadcast(Call c)
{
    return HcclBroadcast(c.send, c.count, TYPE(c), c.root, c.comm, c.stream);
}
static HcclResult all_gather(Call c)
{
    return HcclAllGather(c.send, c.receive, c.count, TYPE(c), c.comm, c.stream);
}
static HcclResult all_gather_v(Call c)
{
    counts[0] = c.count;
    return HcclAllGatherV(c.send, c.count, c.receive, counts, zeros, TYPE(c), c.comm, c.stream);
}
static HcclResult scatter(Call c)
{
    return HcclScatter(c.send, c.receive, c.count, TYPE(c), c.root, c.comm, c.stream);
}
static HcclResult all_to_all(Call c)
{
    return HcclAlltoAll(c.send, c.count, TYPE(c), c.receive, c.count, TYPE(c), c.comm, c.stream);
}
static HcclResult all_to_all_v(Call c)
{
    counts[0] = c.count;
    return HcclAlltoAllV(c.send, counts, zeros, TYPE(c), c.receive, counts, zeros, TYPE(c), c.comm,
                         c.stream);
}
static HcclResult all_to_all_vc(Call c)
{
    counts[0] = c.count;
    return HcclAlltoAllVC(c.send, counts, TYPE(c), c.receive, TYPE(c), c.comm, c.stream);
}

typedef struct {
    const char *name;
    HcclResult (*call)(Call call);
    int reduces;
    int has_root;
    int has_output;
    int may_be_in_place;
} Operator;

static const Operator operators[] = {
    {"HcclAllReduce", all_reduce, 1, 0, 1, 1},
    {"HcclReduce", reduce, 1, 1, 1, 1},
    {"HcclReduceScatter", reduce_scatter, 1, 0, 1, 1},
    {"HcclReduceScatterV", reduce_scatter_v, 1, 0, 1, 0},
    {"HcclBroadcast", broadcast, 0, 1, 0, 1},
    {"HcclAllGather", all_gather, 0, 0, 1, 1},
    {"HcclAllGatherV", all_gather_v, 0, 0, 1, 0},
    {"HcclScatter", scatter, 0, 1, 1, 1},
    {"HcclAlltoAll", all_to_all, 0, 0, 1, 0},
    {"HcclAlltoAllV", all_to_all_v, 0, 0, 1, 0},
    {"HcclAlltoAllVC", all_to_all_vc, 0, 0, 1, 0},
};

#define EACH(operator)                                                                             \
    for (const Operator *operator= operators;                                                      \
         operator<operators + sizeof operators / sizeof *operators; ++operator)

/** The call must return the code, and a message with the operator's name and a word. */
static void expect(const Operator *operator, Call call, HcclResult code, const char *word)
{
    forget_messages();
    const HcclResult found = operator->call(call);
    if (found != code) {
        fprintf(stderr, "%s returns %d, expected %d (%s)\n", operator->name, found, code, word);
        atomic_fetch_add(&check_failures, 1);
        return;
    }
    if (code != HCCL_SUCCESS) {
        MESSAGE("EI0003", operator->name, word);
    }
}

static void right_arguments(void)
{
    need_communicator();
    EACH(operator) {
        expect(operator, right(), HCCL_SUCCESS, "");
    }
    OK(aclrtSynchronizeStream(stream));
}

static void null_pointers(void)
{
    need_communicator();
    EACH(operator) {
        Call call = right();
        call.stream = NULL;
        expect(operator, call, HCCL_E_PTR, "stream");
        call = right();
        call.comm = NULL;
        expect(operator, call, HCCL_E_PTR, "comm");
        call = right();
        call.send = NULL;
        expect(operator, call, HCCL_E_PTR, operator->has_output ? "sendBuf" : "buf");
        if (operator->has_output) {
            call = right();
            call.receive = NULL;
            expect(operator, call, HCCL_E_PTR, "recvBuf");
        }
    }
    Call c = right();
    CODE(HCCL_E_PTR, HcclReduceScatterV(c.send, NULL, zeros, c.receive, COUNT, TYPE(c), OP(c), comm,
                                        stream));
    CODE(HCCL_E_PTR, HcclReduceScatterV(c.send, counts, NULL, c.receive, COUNT, TYPE(c), OP(c),
                                        comm, stream));
    CODE(HCCL_E_PTR, HcclAllGatherV(c.send, COUNT, c.receive, NULL, zeros, TYPE(c), comm, stream));
    CODE(HCCL_E_PTR, HcclAllGatherV(c.send, COUNT, c.receive, counts, NULL, TYPE(c), comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllV(c.send, NULL, zeros, TYPE(c), c.receive, counts, zeros, TYPE(c),
                                   comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllV(c.send, counts, NULL, TYPE(c), c.receive, counts, zeros, TYPE(c),
                                   comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllV(c.send, counts, zeros, TYPE(c), c.receive, NULL, zeros, TYPE(c),
                                   comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllV(c.send, counts, zeros, TYPE(c), c.receive, counts, NULL, TYPE(c),
                                   comm, stream));
    CODE(HCCL_E_PTR, HcclAlltoAllVC(c.send, NULL, TYPE(c), c.receive, TYPE(c), comm, stream));
    CODE(HCCL_E_PTR, HcclBarrier(NULL, stream));
    CODE(HCCL_E_PTR, HcclBarrier(comm, NULL));
}

static void handles_that_are_none(void)
{
    need_communicator();
    EACH(operator) {
        Call call = right();
        call.comm = (HcclComm)0x1234;
        expect(operator, call, HCCL_E_PARA, "comm");
        call = right();
        call.comm = stream;
        expect(operator, call, HCCL_E_PARA, "comm");
        call = right();
        call.stream = (aclrtStream)0x1234;
        expect(operator, call, HCCL_E_PARA, "stream");
        call = right();
        call.stream = comm;
        expect(operator, call, HCCL_E_PARA, "stream");
    }
}

static void ranges(void)
{
    need_communicator();
    EACH(operator) {
        Call call = right();
        call.count = TOO_MANY;
        expect(operator, call, HCCL_E_PARA, "34359738367");
        call.count = UINT64_MAX;
        expect(operator, call, HCCL_E_PARA, "18446744073709551615");
        /* More than there is behind the buffers. */
        call.count = 0x7FFFFFFFF;
        expect(operator, call, HCCL_E_PARA, "bytes");
        if (operator->has_root) {
            call = right();
            call.root = 1;
            expect(operator, call, HCCL_E_PARA, "root");
            call.root = UINT32_MAX;
            expect(operator, call, HCCL_E_PARA, "4294967295");
        }
        static const int types[] = {-1, 12, 13, 18, 255};
        for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
            call = right();
            call.type = types[i];
            expect(operator, call, HCCL_E_NOT_SUPPORT, "dataType");
        }
        static const int ops[] = {-1, 4, 255};
        for (size_t i = 0; operator->reduces && i < sizeof ops / sizeof *ops; ++i) {
            call = right();
            call.op = ops[i];
            expect(operator, call, HCCL_E_NOT_SUPPORT, "op");
        }
    }
}

/** Bytes of the types that reduce, by number; 0 for others. */
static const int sizes[] = {1, 2, 4, 2, 4, 8, 8, 0, 0, 0, 8, 2};

static void alignment(void)
{
    need_communicator();
    EACH(operator) {
        for (int type = 0; type < (int)(sizeof sizes / sizeof *sizes); ++type) {
            if (sizes[type] == 0) {
                continue;
            }
            Call call = right();
            call.type = type;
            call.send = input + 1;
            if (operator->reduces && sizes[type] > 1) {
                expect(operator, call, HCCL_E_PARA, "aligned");
                call.send = input;
                call.receive = output + sizes[type] / 2;
                expect(operator, call, HCCL_E_PARA, "aligned");
            } else {
                expect(operator, call, HCCL_SUCCESS, "");
            }
        }
    }
    OK(aclrtSynchronizeStream(stream));
}

static void memory_that_is_none_of_the_device(void)
{
    aclrtStream foreign_stream = NULL;
    void *foreign = NULL, *pinned = NULL;
    static double on_host[COUNT];
    need_communicator();
    NEED(aclrtMallocHost(&pinned, sizeof on_host));
    NEED(aclrtSetDevice(1));
    NEED(aclrtMalloc(&foreign, 2 * COUNT * sizeof(double), ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtCreateStream(&foreign_stream));
    NEED(aclrtSetDevice(0));
    void *const wrong[] = {foreign, pinned, on_host, (void *)0x10};
    EACH(operator) {
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
            Call call = right();
            call.send = wrong[i];
            expect(operator, call, HCCL_E_PARA, "memory of device 0");
            if (operator->has_output) {
                call = right();
                call.receive = wrong[i];
                expect(operator, call, HCCL_E_PARA, "memory of device 0");
            }
        }
        Call call = right();
        call.stream = foreign_stream;
        expect(operator, call, HCCL_E_PARA, "device 1");
        call = right();
        call.send = input + 2 * COUNT * sizeof(double) - 8;
        expect(operator, call, HCCL_E_PARA, "bytes");
    }
    CODE(HCCL_E_PARA, HcclBarrier(comm, foreign_stream));
    MESSAGE("stream of device 1");
}

static void in_place(void)
{
    need_communicator();
    EACH(operator) {
        Call call = right();
        call.receive = call.send;
        if (operator->may_be_in_place) {
            expect(operator, call, HCCL_SUCCESS, "");
        } else {
            expect(operator, call, HCCL_E_PARA, "recvBuf");
        }
    }
    OK(aclrtSynchronizeStream(stream));
}

static void counts_that_do_not_fit(void)
{
    need_communicator();
    Call c = right();
    counts[0] = COUNT;
    CODE(HCCL_E_PARA, HcclReduceScatterV(c.send, wrong_counts, zeros, c.receive, COUNT, TYPE(c),
                                         OP(c), comm, stream));
    MESSAGE("EI0003", "sendCounts", "63", "64");
    CODE(HCCL_E_PARA,
         HcclAllGatherV(c.send, COUNT, c.receive, wrong_counts, zeros, TYPE(c), comm, stream));
    MESSAGE("EI0003", "recvCounts", "63", "64");
    CODE(HCCL_E_PARA, HcclAlltoAll(c.send, COUNT, TYPE(c), c.receive, COUNT - 1, TYPE(c), comm,
                                   stream));
    MESSAGE("EI0003", "recvCount");
    CODE(HCCL_E_PARA, HcclAlltoAll(c.send, COUNT, TYPE(c), c.receive, COUNT, HCCL_DATA_TYPE_INT32,
                                   comm, stream));
    CODE(HCCL_E_PARA, HcclAlltoAllV(c.send, counts, zeros, TYPE(c), c.receive, counts, zeros,
                                    HCCL_DATA_TYPE_INT32, comm, stream));
    MESSAGE("EI0003", "recvType");
    CODE(HCCL_E_PARA,
         HcclAlltoAllVC(c.send, counts, TYPE(c), c.receive, HCCL_DATA_TYPE_INT32, comm, stream));
    /* A rank that sends itself more than it expects of itself. */
    CODE(HCCL_E_PARA, HcclAlltoAllV(c.send, counts, zeros, TYPE(c), c.receive, wrong_counts, zeros,
                                    TYPE(c), comm, stream));
    uint64_t far[1] = {TOO_MANY};
    CODE(HCCL_E_PARA, HcclAllGatherV(c.send, COUNT, c.receive, counts, far, TYPE(c), comm, stream));
}

/* ---- ranks that do not agree ---- */

static HcclRootInfo root_of_two;

static HcclResult join_with(Rank *rank, void (*differ)(HcclCommConfig *config))
{
    HcclCommConfig config;
    HcclComm made = NULL;
    config = default_config();
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "a name");
    if (rank->rank == 0) {
        NEED(HcclGetRootInfo(&root_of_two));
    } else {
        differ(&config);
    }
    meet(rank);
    const HcclResult result =
        HcclCommInitRootInfoConfig(2, &root_of_two, rank->rank, &config, &made);
    THAT(result == HCCL_SUCCESS || made == NULL);
    meet(rank);
    return result;
}

static void another_buffer(HcclCommConfig *config)
{
    config->hcclBufferSize = 201;
}

static void another_algorithm(HcclCommConfig *config)
{
    snprintf(config->hcclAlgo, sizeof config->hcclAlgo, "level0:NA;level1:ring");
}

static void another_name(HcclCommConfig *config)
{
    snprintf(config->hcclCommName, sizeof config->hcclCommName, "another name");
}

static void join_differently(Rank *rank)
{
    CODE(HCCL_E_PARA, join_with(rank, another_buffer));
    MESSAGE("EI0005", "hcclBufferSize", "200MB", "201MB", "rank 0", "rank 1");
    CODE(HCCL_E_PARA, join_with(rank, another_algorithm));
    MESSAGE("EI0005", "hcclAlgo", "level0:NA;level1:ring");
    CODE(HCCL_E_PARA, join_with(rank, another_name));
    MESSAGE("EI0005", "a name", "another name");
}

static void configurations_that_differ(void)
{
    on_devices(2, join_differently);
}

static void call_differently(Rank *rank)
{
    HcclResult error = HCCL_SUCCESS;
    float *buffer = numbers(COUNT, 1, 0);
    const HcclReduceOp op = rank->rank == 0 ? HCCL_REDUCE_SUM : HCCL_REDUCE_MAX;
    HcclResult code = HcclAllReduce(buffer, buffer, COUNT, HCCL_DATA_TYPE_FP32, op, rank->comm,
                                    rank->stream);
    if (code == HCCL_SUCCESS) {
        FAILS(aclrtSynchronizeStream(rank->stream));
    }
    MESSAGE("EI0005", "sum", "max", "rank 0", "rank 1");
    OK(HcclGetCommAsyncError(rank->comm, &error));
    THAT(error == HCCL_E_PARA);
    OK(aclrtFree(buffer));
}

static void operators_that_differ(void)
{
    on_ranks(2, call_differently);
}

int main(void)
{
    RUN(right_arguments);
    RUN(null_pointers);
    RUN(handles_that_are_none);
    RUN(ranges);
    RUN(alignment);
    RUN(memory_that_is_none_of_the_device);
    RUN(in_place);
    RUN(counts_that_do_not_fit);
    RUN(configurations_that_differ);
    RUN(operators_that_differ);
    return check_end();
}
