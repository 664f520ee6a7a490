/* Ours as an Ascend program meets it: AllReduce through the HCCL interface on a stream, waited for with
 * the stream, on memory of two devices of the software NPU. Two processes. */
#include "driver.h"

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RANKS = 2 };

/* Between the processes, beside the library. */
struct shared {
    atomic_int ready, met[RANKS];
    HcclRootInfo info;
    double values[RANKS][CALLS_MAX];
};

static struct shared *shared;
static int rank, meetings;
static HcclComm comm;
static aclrtStream stream;

static void must(int code, const char *what) {
    if (code == 0) return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static void meet(void) {
    atomic_store(&shared->met[rank], ++meetings);
    while (atomic_load(&shared->met[1 - rank]) < meetings) sched_yield();
}

static void maximum(double *values, size_t n) {
    memcpy(shared->values[rank], values, n * sizeof *values);
    meet();
    for (size_t i = 0; i < n; i++)
        if (shared->values[1 - rank][i] > values[i]) values[i] = shared->values[1 - rank][i];
    meet();
}

static const char *refuses(const struct point *point) {
    return point->op == ALL_REDUCE ? NULL : "only all-reduce is measured on a stream";
}

static int call(const struct job *job) {
    static const HcclDataType TYPES[DTYPES] = {HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_FP16};
    HcclDataType type = TYPES[job->point.dtype];
    int code = HcclAllReduce(job->input, job->output, job->count, type, HCCL_REDUCE_SUM, comm, stream);
    return code != 0 ? code : aclrtSynchronizeStream(stream);
}

/* Memory of a software NPU lies in the process, so that values are put there and looked at in place. */
static void *take(size_t bytes, int which) {
    (void)which;
    void *memory = NULL;
    must(aclrtMalloc(&memory, bytes ? bytes : 1, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    return memory;
}

static void give(void *memory) { must(aclrtFree(memory), "aclrtFree"); }

int main(int argc, char **argv) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    /* Before anything of the library runs. */
    pid_t child;
    rank = make_second(&child);
    must(aclInit(NULL), "aclInit");
    must(aclrtSetDevice(rank), "aclrtSetDevice");
    must(aclrtCreateStream(&stream), "aclrtCreateStream");
    if (rank == 0) {
        must(HcclGetRootInfo(&shared->info), "HcclGetRootInfo");
        atomic_store(&shared->ready, 1);
    }
    while (!atomic_load(&shared->ready)) sched_yield();
    HcclRootInfo info = shared->info;
    must(HcclCommInitRootInfo(RANKS, &info, (uint32_t)rank, &comm), "HcclCommInitRootInfo");
    pin(rank, RANKS);
    struct library library = {rank, RANKS, refuses, call, maximum, take, give};
    int code = run_points(&library, argc, argv);
    must(HcclCommDestroy(comm), "HcclCommDestroy");
    must(aclrtDestroyStream(stream), "aclrtDestroyStream");
    must(aclFinalize(), "aclFinalize");
    if (child > 0) waitpid(child, NULL, 0);
    return code;
}
