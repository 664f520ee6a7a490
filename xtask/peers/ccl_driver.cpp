// Measures oneCCL on CPU memory; MPI starts the ranks and carries the address of the first meeting.
#include "driver.h"

#include <memory>

#include <mpi.h>
#include <oneapi/ccl.hpp>

// The static library asks for a tracing library that its package leaves out. Where these pointers are
// null, it does not trace.
extern "C" {
void *__itt_domain_create_ptr__3_0 = nullptr;
void *__itt_event_create_ptr__3_0 = nullptr;
void *__itt_event_end_ptr__3_0 = nullptr;
void *__itt_event_start_ptr__3_0 = nullptr;
void *__itt_metadata_add_ptr__3_0 = nullptr;
void *__itt_string_handle_create_ptr__3_0 = nullptr;
void *__itt_task_begin_ptr__3_0 = nullptr;
void *__itt_task_end_ptr__3_0 = nullptr;
void *__itt_thread_set_name_ptr__3_0 = nullptr;
}

static int rank, ranks;
static std::unique_ptr<ccl::communicator> world;

static ccl::datatype type_of(enum dtype dtype) {
    return dtype == FP32 ? ccl::datatype::float32 : dtype == BF16 ? ccl::datatype::bfloat16 : ccl::datatype::float16;
}

static const char *refuses(const struct point *) { return nullptr; }

static int call(const struct job *job) {
    const ccl::datatype type = type_of(job->point.dtype);
    const size_t n = job->count;
    void *in = job->input, *out = job->output;
    const ccl::reduction sum = ccl::reduction::sum;
    try {
        switch (job->point.op) {
        case ALL_REDUCE: ccl::allreduce(in, out, n, type, sum, *world).wait(); return 0;
        case ALL_GATHER:
            ccl::allgatherv(in, n, out, std::vector<size_t>((size_t)ranks, n), type, *world).wait();
            return 0;
        case REDUCE_SCATTER: ccl::reduce_scatter(in, out, n, type, sum, *world).wait(); return 0;
        case ALL_TO_ALL: ccl::alltoall(in, out, n, type, *world).wait(); return 0;
        case BROADCAST: ccl::broadcast(in, n, type, 0, *world).wait(); return 0;
        case BARRIER: ccl::barrier(*world); return 0;
        case PING_PONG:
            if (rank == 0) {
                ccl::send(in, n, type, 1, *world).wait();
                ccl::recv(out, n, type, 1, *world).wait();
            } else if (rank == 1) {
                ccl::recv(out, n, type, 0, *world).wait();
                ccl::send(out, n, type, 0, *world).wait();
            }
            return 0;
        default: return 1;
        }
    } catch (const std::exception &error) {
        fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

static void maximum(double *values, size_t n) {
    ccl::allreduce(values, values, n, ccl::datatype::float64, ccl::reduction::max, *world).wait();
}

int main(int argc, char **argv) {
    // oneCCL's own threads talk as well.
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // Without workers (CCL_WORKER_OFFLOAD=0) each rank is one thread, and may land on another's core.
    pin(rank, ranks);
    int code = 1;
    try {
        ccl::init();
        ccl::shared_ptr_class<ccl::kvs> store;
        ccl::kvs::address_type address;
        if (rank == 0) {
            store = ccl::create_main_kvs();
            address = store->get_address();
        }
        MPI_Bcast(address.data(), (int)address.size(), MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank != 0) store = ccl::create_kvs(address);
        world.reset(new ccl::communicator(ccl::create_communicator(ranks, rank, store)));
        struct library library = {rank, ranks, refuses, call, maximum, take_private, give_private};
        code = run_points(&library, argc, argv);
        world.reset();
    } catch (const std::exception &error) {
        fprintf(stderr, "%s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}
