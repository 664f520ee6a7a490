/**
 * @file hccl_memory.c
 * Memory that communicators are told of: ranges, registered pieces, symmetric windows.
 */
#include "ranks.h"

#include "hccl/hccl_sym_win.h"

#define MIB ((size_t)1 << 20)

/* ---- ranges ---- */

static void ranges(Rank *rank)
{
    void *base = NULL;
    aclrtDrvMemHandle memory = NULL;
    size_t granule = 0;
    const aclrtPhysicalMemProp properties = {
        .handleType = ACL_MEM_HANDLE_TYPE_NONE,
        .allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
        .memAttr = ACL_HBM_MEM_HUGE,
        .location = {.id = rank->rank, .type = ACL_MEM_LOCATION_TYPE_DEVICE},
    };
    HcclComm comm = rank->comm;
    NEED(aclrtMemGetAllocationGranularity((aclrtPhysicalMemProp *)&properties,
                                          ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    NEED(aclrtReserveMemAddress(&base, 8 * granule, 0, NULL, 1));
    NEED(aclrtMallocPhysical(&memory, granule, &properties, 0));
    NEED(aclrtMapMem(base, granule, 0, memory, 0));
    char *const bytes = base;

    CODE(HCCL_E_PARA, HcclCommSetMemoryRange(comm, base, 0, 0, 0));
    CODE(HCCL_E_PARA, HcclCommSetMemoryRange(comm, base, 8 * granule, 4096, 0));
    CODE(HCCL_E_PARA, HcclCommSetMemoryRange(comm, base, 8 * granule, 0, 1));
    CODE(HCCL_E_PTR, HcclCommSetMemoryRange(comm, NULL, 8 * granule, 0, 0));
    CODE(HCCL_E_PTR, HcclCommSetMemoryRange(NULL, base, 8 * granule, 0, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, granule, 0, memory, 0));
    MESSAGE("virPtr", "HcclCommSetMemoryRange");
    OK(HcclCommSetMemoryRange(comm, base, 8 * granule, 0, 0));
    CODE(HCCL_E_PARA, HcclCommSetMemoryRange(comm, base, 8 * granule, 0, 0));
    CODE(HCCL_E_PARA, HcclCommSetMemoryRange(comm, bytes + granule, granule, 0, 0));
    MESSAGE("baseVirPtr", "no address in common");

    CODE(HCCL_E_PTR, HcclCommActivateCommMemory(comm, NULL, granule, 0, memory, 0));
    CODE(HCCL_E_PTR, HcclCommActivateCommMemory(comm, base, granule, 0, NULL, 0));
    CODE(HCCL_E_PTR, HcclCommActivateCommMemory(NULL, base, granule, 0, memory, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, 0, 0, memory, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, granule, 1, memory, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, granule, 0, memory, 1));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, 9 * granule, 0, memory, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, (size_t)-1, 0, memory, 0));
    OK(HcclCommActivateCommMemory(comm, base, granule, 0, memory, 0));
    CODE(HCCL_E_PARA, HcclCommActivateCommMemory(comm, base, granule, 0, memory, 0));
    MESSAGE("virPtr", "none is active");
    CODE(HCCL_E_PARA, HcclCommUnsetMemoryRange(comm, base));
    MESSAGE("1 active");

    /* Both halves of the block take part in a collective. */
    float *input = base;
    float *output = input + WORKS_COUNT;
    float *numbers_of_rank = numbers(WORKS_COUNT, (float)rank->rank, 1);
    const size_t size = WORKS_COUNT * sizeof(float);
    OK(aclrtMemcpy(input, size, numbers_of_rank, size, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(HcclAllReduce(input, output, WORKS_COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                     rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtMemcpy(numbers_of_rank, size, output, size, ACL_MEMCPY_DEVICE_TO_DEVICE));
    THAT(has_numbers(numbers_of_rank, WORKS_COUNT, 1, 2));

    CODE(HCCL_E_PTR, HcclCommDeactivateCommMemory(comm, NULL));
    CODE(HCCL_E_PTR, HcclCommDeactivateCommMemory(NULL, base));
    CODE(HCCL_E_PARA, HcclCommDeactivateCommMemory(comm, bytes + 1));
    OK(HcclCommDeactivateCommMemory(comm, base));
    CODE(HCCL_E_PARA, HcclCommDeactivateCommMemory(comm, base));
    CODE(HCCL_E_PTR, HcclCommUnsetMemoryRange(comm, NULL));
    CODE(HCCL_E_PTR, HcclCommUnsetMemoryRange(NULL, base));
    CODE(HCCL_E_PARA, HcclCommUnsetMemoryRange(comm, bytes + granule));
    OK(HcclCommUnsetMemoryRange(comm, base));
    CODE(HCCL_E_PARA, HcclCommUnsetMemoryRange(comm, base));
    OK(aclrtUnmapMem(base));
    OK(aclrtFreePhysical(memory));
    OK(aclrtReleaseMemAddress(base));
}

static void ranges_of_addresses(void)
{
    on_ranks(2, ranges);
}

static void ranges_of_two_servers(Rank *rank)
{
    void *base = NULL;
    NEED(aclrtReserveMemAddress(&base, 2 * MIB, 0, NULL, 1));
    CODE(HCCL_E_NOT_SUPPORT, HcclCommSetMemoryRange(rank->comm, base, 2 * MIB, 0, 0));
    MESSAGE("2 servers");
    OK(aclrtReleaseMemAddress(base));
}

static void ranges_of_one_server_only(void)
{
    setenv("SOFTNPU_TOPOLOGY", "1x2", 1);
    on_ranks(2, ranges_of_two_servers);
}

/* ---- registered memory ---- */

static void registered(Rank *rank)
{
    uint32_t peers[] = {0, 1}, foreign[] = {2};
    void *handle = NULL, *other = NULL;
    char on_stack[64];
    float *memory = numbers(100, 0, 0);
    HcclComm comm = rank->comm;
    CODE(HCCL_E_PTR, HcclCommRegister(NULL, memory, 400, &handle, 0));
    CODE(HCCL_E_PTR, HcclCommRegister(comm, NULL, 400, &handle, 0));
    CODE(HCCL_E_PTR, HcclCommRegister(comm, memory, 400, NULL, 0));
    CODE(HCCL_E_PARA, HcclCommRegister(comm, memory, 0, &handle, 0));
    MESSAGE("size", "0");
    CODE(HCCL_E_PARA, HcclCommRegister(comm, on_stack, sizeof on_stack, &handle, 0));
    MESSAGE("addr");
    OK(HcclCommRegister(comm, memory, 400, &handle, 0));
    OK(HcclCommExchangeMem(comm, handle, peers, 2));
    CODE(HCCL_E_PARA, HcclCommExchangeMem(comm, handle, peers, 0));
    CODE(HCCL_E_PARA, HcclCommExchangeMem(comm, handle, peers, 769));
    MESSAGE("peerRankNum", "769", "[1, 768]");
    CODE(HCCL_E_PARA, HcclCommExchangeMem(comm, handle, foreign, 1));
    CODE(HCCL_E_PTR, HcclCommExchangeMem(comm, NULL, peers, 2));
    CODE(HCCL_E_PTR, HcclCommExchangeMem(comm, handle, NULL, 2));
    CODE(HCCL_E_PTR, HcclCommExchangeMem(NULL, handle, peers, 2));
    CODE(HCCL_E_PARA, HcclCommExchangeMem(comm, memory, peers, 2));
    OK(HcclCommRegister(comm, memory, 4, &other, 0));
    THAT(other != handle);
    OK(HcclCommDeregister(comm, handle));
    CODE(HCCL_E_PARA, HcclCommDeregister(comm, handle));
    MESSAGE("HcclCommRegister");
    CODE(HCCL_E_PTR, HcclCommDeregister(comm, NULL));
    CODE(HCCL_E_PTR, HcclCommDeregister(NULL, other));
    OK(HcclCommDeregister(comm, other));
    OK(aclrtFree(memory));
}

static void registered_memory(void)
{
    on_ranks(2, registered);
}

/* ---- symmetric windows ---- */

static void windows(Rank *rank)
{
    HcclCommSymWindow window = NULL, found = (HcclCommSymWindow)1;
    HcclComm comm = rank->comm;
    size_t offset = 99;
    void *memory = NULL, *place = NULL;
    OK(HcommMemAlloc(&memory, 3 * MIB));
    THAT(memory != NULL);
    char *const bytes = memory;

    OK(HcclCommSymWinRegister(comm, memory, 3 * MIB, &window, 1));
    OK(HcclCommSymWinGet(comm, bytes + 4096, 100, &found, &offset));
    THAT(found == window && offset == 4096);
    OK(HcclCommSymWinGet(comm, bytes + 3 * MIB - 4, 4, &found, &offset));
    THAT(found == window && offset == 3 * MIB - 4);
    OK(HcclCommSymWinGet(comm, bytes + 3 * MIB - 4, 5, &found, &offset));
    THAT(found == NULL);
    CODE(HCCL_E_PARA, HcclCommSymWinGet(comm, bytes, 0, &found, &offset));
    CODE(HCCL_E_PTR, HcclCommSymWinGet(comm, NULL, 1, &found, &offset));
    CODE(HCCL_E_PTR, HcclCommSymWinGet(comm, bytes, 1, NULL, &offset));
    CODE(HCCL_E_PTR, HcclCommSymWinGet(comm, bytes, 1, &found, NULL));
    CODE(HCCL_E_PTR, HcclCommSymWinGet(NULL, bytes, 1, &found, &offset));

    /* Each rank writes into its place of every other rank's window. */
    for (uint32_t peer = 0; peer < rank->ranks; ++peer) {
        OK(HcclSymWinGetPeerPointer(window, 4 * rank->rank, peer, &place));
        if (place != NULL) {
            *(uint32_t *)place = 1000 + 10 * rank->rank + peer;
        }
    }
    OK(HcclBarrier(comm, rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    for (uint32_t peer = 0; peer < rank->ranks; ++peer) {
        uint32_t value = 0;
        OK(aclrtMemcpy(&value, 4, bytes + 4 * peer, 4, ACL_MEMCPY_DEVICE_TO_HOST));
        THAT(value == 1000 + 10 * peer + rank->rank);
    }
    OK(HcclSymWinGetPeerPointer(window, 8, rank->rank, &place));
    THAT(place != NULL);
    CODE(HCCL_E_PARA, HcclSymWinGetPeerPointer(window, 3 * MIB, 0, &place));
    CODE(HCCL_E_PARA, HcclSymWinGetPeerPointer(window, 0, rank->ranks, &place));
    CODE(HCCL_E_PTR, HcclSymWinGetPeerPointer(window, 0, 0, NULL));
    CODE(HCCL_E_PTR, HcclSymWinGetPeerPointer(NULL, 0, 0, &place));
    CODE(HCCL_E_PARA, HcclSymWinGetPeerPointer(memory, 0, 0, &place));

    /* Collectives work in windows as anywhere. */
    float *numbers_of_rank = numbers(1, (float)(rank->rank + 1), 0);
    OK(HcclAllGather(numbers_of_rank, memory, 1, HCCL_DATA_TYPE_FP32, comm, rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    OK(aclrtFree(numbers_of_rank));
    numbers_of_rank = numbers(rank->ranks, 0, 0);
    const size_t size = rank->ranks * sizeof(float);
    OK(aclrtMemcpy(numbers_of_rank, size, memory, size, ACL_MEMCPY_DEVICE_TO_DEVICE));
    THAT(has_numbers(numbers_of_rank, rank->ranks, 1, 1));

    OK(HcclBarrier(comm, rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    OK(HcclCommSymWinDeregister(window));
    CODE(HCCL_E_PARA, HcclCommSymWinDeregister(window));
    MESSAGE("winHandle");
    CODE(HCCL_E_PTR, HcclCommSymWinDeregister(NULL));
    OK(HcclCommSymWinGet(comm, bytes, 1, &found, &offset));
    THAT(found == NULL);
    OK(HcommMemFree(memory));
}

static void symmetric_windows(void)
{
    on_ranks(3, windows);
}

static void wrong_windows(Rank *rank)
{
    HcclCommSymWindow window = NULL;
    HcclComm comm = rank->comm;
    void *memory = NULL;
    char on_stack[64];
    NEED(aclrtMalloc(&memory, 4 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(comm, memory, MIB, &window, 0));
    MESSAGE("flag", "0", "1");
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(comm, memory, 0, &window, 1));
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(comm, memory, (uint64_t)17 << 30, &window, 1));
    MESSAGE("hcclSymWinMaxMemSizePerRank");
    CODE(HCCL_E_PTR, HcclCommSymWinRegister(comm, NULL, MIB, &window, 1));
    CODE(HCCL_E_PTR, HcclCommSymWinRegister(comm, memory, MIB, NULL, 1));
    CODE(HCCL_E_PTR, HcclCommSymWinRegister(NULL, memory, MIB, &window, 1));
    /* What is wrong on one rank is told on all; none waits for ever. */
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(comm, memory, MIB * (1 + rank->rank), &window, 1));
    MESSAGE("the same size on all ranks");
    void *place = rank->rank == 1 ? (void *)on_stack : memory;
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(comm, place, 64, &window, 1));
    MESSAGE("addr");
    THAT(window == NULL);
    THAT(works(comm, rank->rank, rank->ranks, rank->stream));
    OK(aclrtFree(memory));
}

/** Windows and registered memory end with their communicator; its name is free again. */
static void windows_of_a_communicator_that_ended(void)
{
    HcclRootInfo root;
    HcclCommConfig config;
    HcclComm comm = NULL;
    HcclCommSymWindow window = NULL, found = NULL;
    size_t offset = 0;
    void *memory = NULL, *handle = NULL, *place = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtMalloc(&memory, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    config = default_config();
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "one after the other");
    for (int i = 0; i < 3; ++i) {
        NEED(HcclGetRootInfo(&root));
        NEED(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
        if (i > 0) {
            CODE(HCCL_E_PARA, HcclSymWinGetPeerPointer(window, 0, 0, &place));
            CODE(HCCL_E_PARA, HcclCommDeregister(comm, handle));
        }
        OK(HcclCommSymWinGet(comm, memory, 1, &found, &offset));
        THAT(found == NULL);
        OK(HcclCommSymWinRegister(comm, memory, MIB, &window, 1));
        OK(HcclCommRegister(comm, memory, MIB, &handle, 0));
        OK(HcclCommDestroy(comm));
    }
    CODE(HCCL_E_PARA, HcclCommSymWinDeregister(window));
    OK(aclrtFree(memory));
}

#define LARGE ((uint64_t)3 << 29)

/** One rank may have smaller windows than the other. */
static void larger_than_one_may_have(Rank *rank)
{
    static HcclRootInfo root;
    HcclCommSymWindow window = NULL;
    HcclCommConfig config;
    void *memory = NULL;
    config = default_config();
    config.hcclSymWinMaxMemSizePerRank = rank->rank == 1 ? 1 : 2;
    NEED(aclrtMalloc(&memory, LARGE, ACL_MEM_MALLOC_HUGE_FIRST));
    if (rank->rank == 0) {
        NEED(HcclGetRootInfo(&root));
    }
    meet(rank);
    NEED(HcclCommInitRootInfoConfig(2, &root, rank->rank, &config, &rank->comm));
    CODE(HCCL_E_PARA, HcclCommSymWinRegister(rank->comm, memory, LARGE, &window, 1));
    MESSAGE(rank->rank == 1 ? "hcclSymWinMaxMemSizePerRank" : "rank 1");
    OK(HcclCommSymWinRegister(rank->comm, memory, MIB, &window, 1));
    OK(HcclCommSymWinDeregister(window));
    OK(HcclCommDestroy(rank->comm));
    OK(aclrtFree(memory));
}

static void limits_of_windows(void)
{
    setenv("SOFTNPU_DEVICES", "2", 1);
    setenv("SOFTNPU_MEMORY", "2G", 1);
    on_devices(2, larger_than_one_may_have);
}

static void misuse_of_windows(void)
{
    on_ranks(2, wrong_windows);
}

static void memory_for_windows(void)
{
    void *memory = NULL, *second = NULL;
    aclrtPtrAttributes attributes;
    NEED(aclInit(NULL));
    CODE(HCCL_E_RUNTIME, HcommMemAlloc(&memory, MIB));
    NEED(aclrtSetDevice(1));
    CODE(HCCL_E_PARA, HcommMemAlloc(NULL, MIB));
    CODE(HCCL_E_PARA, HcommMemAlloc(&memory, 0));
    CODE(HCCL_E_PARA, HcommMemAlloc(&memory, (size_t)-1));
    CODE(HCCL_E_RUNTIME, HcommMemAlloc(&memory, (size_t)1 << 46));
    OK(HcommMemAlloc(&memory, 1));
    OK(HcommMemAlloc(&second, 5 * MIB));
    OK(aclrtPointerGetAttributes(memory, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 1);
    OK(aclrtMemset(second, 5 * MIB, 7, 5 * MIB));
    OK(HcommMemFree(NULL));
    OK(HcommMemFree(memory));
    CODE(HCCL_E_PARA, HcommMemFree(memory));
    CODE(HCCL_E_PARA, HcommMemFree((char *)second + 1));
    OK(HcommMemFree(second));
}

int main(void)
{
    RUN(ranges_of_addresses);
    RUN(ranges_of_one_server_only);
    RUN(registered_memory);
    RUN(symmetric_windows);
    RUN(misuse_of_windows);
    RUN(windows_of_a_communicator_that_ended);
    RUN(limits_of_windows);
    RUN(memory_for_windows);
    return check_end();
}
