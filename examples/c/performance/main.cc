/**
 * @file main.cc
 * Measures operators of HCCL: MPI starts the ranks and hands the root info round, events on the
 * stream take the time. Prints a row for each size; the time is that of the slowest rank.
 */
#include <cstdio>
#include <sstream>
#include <vector>

#include <mpi.h>

#include "acl/acl.h"
#include "hccl/hccl.h"

#include "common/check.h"
#include "options.h"

namespace {

/** This process among all. */
struct World {
    uint32_t rank;
    uint32_t ranks;
    uint32_t local; // its number among those of this machine
};

World world()
{
    int rank = 0;
    int ranks = 0;
    int local = 0;
    MPI_Comm machine;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local);
    MPI_Comm_free(&machine);
    return World{static_cast<uint32_t>(rank), static_cast<uint32_t>(ranks),
                 static_cast<uint32_t>(local)};
}

/** Elements of a block, so that the larger buffer has so many bytes, about. */
uint64_t block(const Options &options, uint32_t ranks, uint64_t bytes)
{
    const bool isRow =
        options.op->input == Blocks::RANKS || options.op->output == Blocks::RANKS;
    const uint64_t count = bytes / options.type->size / (isRow ? ranks : 1);
    return count == 0 ? 1 : count;
}

/** Fills the input by the rule of `input_of`, and the output with zeros. */
int prepare(const Call &call, const Operator &op)
{
    const uint64_t count = elements(op.input, call);
    std::vector<uint8_t> numbers(count * call.type->size);
    for (uint64_t i = 0; i < count; ++i) {
        call.type->put(input_of(call.rank, i), &numbers[i * call.type->size]);
    }
    ACL_CHECK(aclrtMemcpy(call.input, numbers.size(), numbers.data(), numbers.size(),
                          ACL_MEMCPY_HOST_TO_DEVICE));
    const size_t bytes = elements(op.output, call) * call.type->size;
    ACL_CHECK(aclrtMemset(call.output, bytes, 0, bytes));
    return 0;
}

/** Compares the output. @return 0, or the code of a call; tells the first value that is wrong */
int check(const Call &call, const Operator &op, int *wrong)
{
    const uint64_t count = elements(op.output, call);
    const uint32_t size = call.type->size;
    std::vector<uint8_t> found(count * size);
    ACL_CHECK(aclrtMemcpy(found.data(), found.size(), call.output, found.size(),
                          ACL_MEMCPY_DEVICE_TO_HOST));
    *wrong = 0;
    for (uint64_t i = 0; i < count; ++i) {
        uint8_t expected[8];
        const uint64_t number = op.expected(call, i);
        call.type->put(number, expected);
        if (std::memcmp(expected, &found[i * size], size) != 0) {
            std::ostringstream text;
            text << "rank " << call.rank << ", element " << i << ": expected " << number
                 << ", found the bytes";
            for (uint32_t k = 0; k < size; ++k) {
                text << " " << static_cast<unsigned>(found[i * size + k]);
            }
            std::cerr << text.str() << std::endl;
            *wrong = 1;
            return 0;
        }
    }
    return 0;
}

/** Microseconds of one call, by events around all of them. */
int measure(const Call &call, const Options &options, double *us)
{
    aclrtEvent begin = nullptr;
    aclrtEvent end = nullptr;
    ACL_CHECK(aclrtCreateEvent(&begin));
    ACL_CHECK(aclrtCreateEvent(&end));
    for (uint32_t i = 0; i < options.warmUps; ++i) {
        HCCL_CHECK(options.op->run(call));
    }
    ACL_CHECK(aclrtSynchronizeStream(call.stream));
    MPI_Barrier(MPI_COMM_WORLD);

    ACL_CHECK(aclrtRecordEvent(begin, call.stream));
    for (uint32_t i = 0; i < options.iterations; ++i) {
        HCCL_CHECK(options.op->run(call));
    }
    ACL_CHECK(aclrtRecordEvent(end, call.stream));
    ACL_CHECK(aclrtSynchronizeStream(call.stream));

    float ms = 0;
    ACL_CHECK(aclrtEventElapsedTime(&ms, begin, end));
    *us = static_cast<double>(ms) * 1000 / options.iterations;
    ACL_CHECK(aclrtDestroyEvent(begin));
    ACL_CHECK(aclrtDestroyEvent(end));
    return 0;
}

/** One row of the table. */
int row(Call call, const Options &options, uint64_t bytes, int *failures)
{
    const Operator &op = *options.op;
    double us = 0;
    int wrong = 0;
    call.count = block(options, call.ranks, bytes);
    SAMPLE_CHECK(prepare(call, op));
    SAMPLE_CHECK(measure(call, options, &us));
    if (options.check) {
        SAMPLE_CHECK(check(call, op, &wrong));
    }
    double slowest = 0;
    int wrongRanks = 0;
    MPI_Allreduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &wrongRanks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    *failures += wrongRanks;
    if (call.rank == 0) {
        const uint64_t larger = std::max(elements(op.input, call), elements(op.output, call));
        const double moved = static_cast<double>(larger * call.type->size);
        const double algorithm = slowest > 0 ? moved / slowest / 1000 : 0;
        const char *result = !options.check ? "-" : wrongRanks == 0 ? "success" : "failed";
        std::printf("%14.0f  %12.2f  %19.5f  %19.5f  %8s\n", moved, slowest, algorithm,
                    algorithm * op.load(call.ranks), result);
        std::fflush(stdout);
    }
    return 0;
}

/** All sizes. @return 0, or the code of a call that failed */
int run(const World &world, const Options &options, int *failures)
{
    const Operator &op = *options.op;
    uint32_t devices = 0;
    ACL_CHECK(aclInit(nullptr));
    ACL_CHECK(aclrtGetDeviceCount(&devices));
    if (world.local >= devices) {
        std::cerr << "rank " << world.rank << ": this machine has " << devices
                  << " device(s), and " << world.local << " of its ranks come before" << std::endl;
        return 1;
    }
    const int32_t device = static_cast<int32_t>(world.local);
    ACL_CHECK(aclrtSetDevice(device));

    HcclRootInfo rootInfo;
    if (world.rank == 0) {
        HCCL_CHECK(HcclGetRootInfo(&rootInfo));
    }
    MPI_Bcast(&rootInfo, sizeof rootInfo, MPI_CHAR, 0, MPI_COMM_WORLD);

    Call call = {world.rank, world.ranks,  options.root,      nullptr, nullptr,
                 1,          options.type, options.reduction, nullptr, nullptr};
    HCCL_CHECK(HcclCommInitRootInfo(world.ranks, &rootInfo, world.rank, &call.comm));
    ACL_CHECK(aclrtCreateStream(&call.stream));
    // For the largest size; smaller ones use the beginning.
    call.count = block(options, world.ranks, options.last);
    const size_t size = options.type->size;
    ACL_CHECK(aclrtMalloc(&call.input, elements(op.input, call) * size, ACL_MEM_MALLOC_HUGE_FIRST));
    ACL_CHECK(
        aclrtMalloc(&call.output, elements(op.output, call) * size, ACL_MEM_MALLOC_HUGE_FIRST));

    if (world.rank == 0) {
        std::printf("# %s, %s, %s, %u ranks, %u iterations after %u warm-ups\n", op.name,
                    options.type->name, options.reduction->name, world.ranks, options.iterations,
                    options.warmUps);
        std::printf("%14s  %12s  %19s  %19s  %8s\n", "size(bytes)", "time(us)",
                    "alg_bandwidth(GB/s)", "bus_bandwidth(GB/s)", "check");
    }
    for (uint64_t bytes = options.first; bytes <= options.last;) {
        SAMPLE_CHECK(row(call, options, bytes, failures));
        if (bytes > options.last / options.factor) {
            break;
        }
        bytes *= options.factor;
    }

    ACL_CHECK(aclrtFree(call.input));
    ACL_CHECK(aclrtFree(call.output));
    HCCL_CHECK(HcclCommDestroy(call.comm));
    ACL_CHECK(aclrtDestroyStream(call.stream));
    ACL_CHECK(aclrtResetDevice(device));
    ACL_CHECK(aclFinalize());
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const World here = world();
    Options options;
    std::ostringstream complaint;
    if (!parse_options(argc, argv, here.ranks, complaint, &options)) {
        if (here.rank == 0) {
            std::cerr << complaint.str() << std::flush;
        }
        MPI_Finalize();
        return 2;
    }
    int failures = 0;
    if (run(here, options, &failures) != 0) {
        // The others would wait for this rank.
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
