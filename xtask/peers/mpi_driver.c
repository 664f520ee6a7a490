/* Measures an MPI library; compiled against each one's own mpi.h. */
#include "driver.h"

#include <mpi.h>

static int rank, ranks;

/* MPI_DATATYPE_NULL where this library has no such type. */
static MPI_Datatype type_of(enum dtype dtype) {
    switch (dtype) {
    case FP32: return MPI_FLOAT;
#ifdef MPIX_BFLOAT16
    case BF16: return MPIX_BFLOAT16;
#endif
#ifdef MPIX_C_FLOAT16
    case FP16: return MPIX_C_FLOAT16;
#endif
    default: return MPI_DATATYPE_NULL;
    }
}

static const char *refuses(const struct point *point) {
    if (type_of(point->dtype) == MPI_DATATYPE_NULL) return "no such type";
    return NULL;
}

static int call(const struct job *job) {
    MPI_Datatype type = type_of(job->point.dtype);
    MPI_Comm world = MPI_COMM_WORLD;
    int n = (int)job->count;
    void *in = job->input, *out = job->output;
    switch (job->point.op) {
    case ALL_REDUCE: return MPI_Allreduce(in, out, n, type, MPI_SUM, world);
    case ALL_GATHER: return MPI_Allgather(in, n, type, out, n, type, world);
    case REDUCE_SCATTER: return MPI_Reduce_scatter_block(in, out, n, type, MPI_SUM, world);
    case ALL_TO_ALL: return MPI_Alltoall(in, n, type, out, n, type, world);
    case BROADCAST: return MPI_Bcast(in, n, type, 0, world);
    case BARRIER: return MPI_Barrier(world);
    case PING_PONG:
        if (rank == 0)
            return MPI_Send(in, n, type, 1, 0, world) || MPI_Recv(out, n, type, 1, 0, world, MPI_STATUS_IGNORE);
        if (rank == 1)
            return MPI_Recv(out, n, type, 0, 0, world, MPI_STATUS_IGNORE) || MPI_Send(out, n, type, 0, 0, world);
        return 0;
    default: return 1;
    }
}

static void maximum(double *values, size_t n) {
    MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(rank, ranks);
    struct library library = {rank, ranks, refuses, call, maximum, take_private, give_private};
    int code = run_points(&library, argc, argv);
    MPI_Finalize();
    return code;
}
