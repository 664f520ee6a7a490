/**
 * @file runtime_memory.c
 * Device and host memory: allocation, copies, attributes, address ranges.
 */
#include "check.h"

#define MIB ((size_t)1 << 20)

static void need_device(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
}

static void bad_allocations(void)
{
    void *p = NULL;
    CODE(107002, aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    need_device();
    CODE(100000, aclrtMalloc(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    MESSAGE("size");
    EITHER(107000, 107018, aclrtMalloc(&p, 64, (aclrtMemMallocPolicy)9));
    EITHER(107000, 107018, aclrtMalloc(&p, 64, (aclrtMemMallocPolicy)-1));
    CODE(100000, aclrtMallocAlign32(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMallocAlign32(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMallocCached(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMallocHost(NULL, 64));
    CODE(100000, aclrtMallocHost(&p, 0));
    CODE(100000, aclrtFree(NULL));
    CODE(100000, aclrtFreeHost(NULL));
}

static void bad_frees(void)
{
    char *p = NULL;
    void *host = NULL;
    int local = 0;
    need_device();
    OK(aclrtMalloc((void **)&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(aclrtFree(p + 64));
    MESSAGE("aclrtFree");
    FAILS(aclrtFree(&local));
    OK(aclrtFree(p));
    FAILS(aclrtFree(p));
    OK(aclrtMallocHost(&host, 64));
    FAILS(aclrtFree(host));
    OK(aclrtFreeHost(host));
    FAILS(aclrtFreeHost(host));
    FAILS(aclrtFreeHost(&local));
}

static void addresses_are_aligned(void)
{
    static const size_t sizes[] = {1, 31, 32, 33, 64, 4095, 65537, 2 * 1048576, 3000001};
    void *p[2 * sizeof sizes / sizeof *sizes];
    size_t n = sizeof sizes / sizeof *sizes;
    need_device();
    for (size_t i = 0; i < n; ++i) {
        OK(aclrtMalloc(&p[2 * i], sizes[i], ACL_MEM_MALLOC_HUGE_ONLY));
        OK(aclrtMallocAlign32(&p[2 * i + 1], sizes[i], ACL_MEM_MALLOC_NORMAL_ONLY));
        THAT((uintptr_t)p[2 * i] % 64 == 0);
        THAT((uintptr_t)p[2 * i + 1] % 64 == 0);
        OK(aclrtMemset(p[2 * i], sizes[i], (int)i + 1, sizes[i]));
        OK(aclrtMemset(p[2 * i + 1], sizes[i], (int)i + 100, sizes[i]));
    }
    for (size_t i = 0; i < 2 * n; ++i) {
        unsigned char *data = malloc(sizes[i / 2]);
        OK(aclrtMemcpy(data, sizes[i / 2], p[i], sizes[i / 2], ACL_MEMCPY_DEVICE_TO_HOST));
        const int expected = (int)(i / 2) + (i % 2 == 0 ? 1 : 100);
        THAT(data[0] == expected && data[sizes[i / 2] - 1] == expected);
        free(data);
        OK(aclrtFree(p[i]));
    }
    void *host = NULL;
    OK(aclrtMallocHost(&host, 1));
    THAT((uintptr_t)host % 64 == 0);
    OK(aclrtFreeHost(host));
}

static void out_of_memory_is_an_error_and_no_end(void)
{
    void *p[256];
    void *more = NULL;
    size_t count = 0, free_before = 0, free_now = 0, total = 0;
    setenv("SOFTNPU_MEMORY", "64M", 1);
    need_device();
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    THAT(total <= 64 * MIB && total >= 32 * MIB && free_before <= total);
    CODE(207001, aclrtMalloc(&more, 65 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    MESSAGE("EL0004");
    CODE(207001, aclrtMalloc(&more, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(207001, aclrtMalloc(&more, SIZE_MAX - 31, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(207001, aclrtMallocAlign32(&more, (size_t)1 << 62, ACL_MEM_MALLOC_HUGE_FIRST));
    while (count < 256 && aclrtMalloc(&p[count], MIB, ACL_MEM_MALLOC_HUGE_FIRST) == 0) {
        ++count;
    }
    THAT(count >= 16 && count <= 64);
    CODE(207001, aclrtMalloc(&more, MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    THAT(free_now + 16 * MIB <= free_before);
    /* Another device has its own memory. */
    OK(aclrtSetDevice(1));
    OK(aclrtMalloc(&more, 16 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(more));
    OK(aclrtSetDevice(0));
    for (size_t i = 0; i < count; ++i) {
        OK(aclrtFree(p[i]));
    }
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    THAT(free_now == free_before);
    OK(aclrtMalloc(&more, 16 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(more));
}

static void memory_information(void)
{
    size_t free_bytes = 0, total = 0;
    CODE(107002, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    need_device();
    OK(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_bytes, &total));
    THAT(total > 0 && free_bytes <= total);
    OK(aclrtGetMemInfo(ACL_MEM_P2P_HUGE1G, &free_bytes, &total));
    CODE(107016, aclrtGetMemInfo((aclrtMemAttr)18, &free_bytes, &total));
    CODE(100000, aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total));
    CODE(100000, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, NULL));
}

static void bad_copies(void)
{
    char host[64] = {0};
    void *p = NULL;
    CODE(107002, aclrtMemcpy(host, 64, host + 1, 8, ACL_MEMCPY_HOST_TO_HOST));
    need_device();
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMemcpy(NULL, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(100000, aclrtMemcpy(p, 64, NULL, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(107000, aclrtMemcpy(p, 63, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    MESSAGE("64", "63");
    CODE(107000, aclrtMemcpy(p, 0, host, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(100000, aclrtMemcpy(p, 64, host, 64, (aclrtMemcpyKind)99));
    CODE(100000, aclrtMemcpy(p, 64, host, 64, (aclrtMemcpyKind)-1));
    OK(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(p, 64, p, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
    CODE(107000, aclrtMemcpyAsync(p, 63, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    CODE(100000, aclrtMemcpyAsync(NULL, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    CODE(207000, aclrtMemcpyAsync(host, 64, host + 32, 8, ACL_MEMCPY_HOST_TO_HOST, NULL));
    CODE(100000, aclrtMemset(NULL, 64, 0, 64));
    CODE(107000, aclrtMemset(p, 63, 0, 64));
    OK(aclrtMemset(p, 64, 0, 0));
    CODE(107000, aclrtMemsetAsync(p, 63, 0, 64, NULL));
    CODE(100000, aclrtMemsetAsync(NULL, 63, 0, 8, NULL));
    CODE(100000, aclrtMemcpy2d(p, 8, host, 8, 9, 2, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(100000, aclrtMemcpy2d(p, 16, host, 8, 9, 2, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(100000, aclrtMemcpy2d(NULL, 8, host, 8, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtFree(p));
}

static void copies_in_all_directions(void)
{
    enum { N = 100003 };
    unsigned char *from = malloc(N), *to = malloc(N);
    void *pinned = NULL, *one = NULL, *two = NULL, *far = NULL;
    need_device();
    for (size_t i = 0; i < N; ++i) {
        from[i] = (unsigned char)(i * 7 + i / 251);
    }
    OK(aclrtMallocHost(&pinned, N));
    OK(aclrtMalloc(&one, N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&two, N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetDevice(1));
    OK(aclrtMalloc(&far, N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetDevice(0));
    /* The direction argument is advice: the last copies give a wrong one. */
    OK(aclrtMemcpy(pinned, N, from, N, ACL_MEMCPY_HOST_TO_HOST));
    OK(aclrtMemcpy(one, N, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(two, N, one, N, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(far, N, two, N, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemset(one, N, 0, N));
    OK(aclrtMemcpy(one, N, far, N, ACL_MEMCPY_DEFAULT));
    memset(to, 0, N);
    OK(aclrtMemcpy(to, N, one, N, ACL_MEMCPY_HOST_TO_DEVICE));
    THAT(memcmp(from, to, N) == 0);
    /* Pageable memory is done when the call returns; pinned memory when the stream is. */
    memset(to, 0, N);
    OK(aclrtMemsetAsync(one, N, 0x5a, N, NULL));
    OK(aclrtMemcpyAsync(to, N, one, N, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    THAT(to[0] == 0x5a && to[N - 1] == 0x5a);
    memset(pinned, 0, N);
    OK(aclrtMemcpyAsync(two, N, from, N, ACL_MEMCPY_HOST_TO_DEVICE, NULL));
    OK(aclrtMemcpyAsync(pinned, N, two, N, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    OK(aclrtSynchronizeStream(NULL));
    THAT(memcmp(from, pinned, N) == 0);
    OK(aclrtFree(one));
    OK(aclrtFree(two));
    OK(aclrtFree(far));
    OK(aclrtFreeHost(pinned));
    free(from);
    free(to);
}

static void copies_of_rows(void)
{
    unsigned char from[8 * 16], to[8 * 16];
    void *p = NULL;
    need_device();
    for (int i = 0; i < 8 * 16; ++i) {
        from[i] = (unsigned char)i;
    }
    memset(to, 0xee, sizeof to);
    OK(aclrtMalloc(&p, 8 * 32, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(p, 8 * 32, 0, 8 * 32));
    OK(aclrtMemcpy2d(p, 32, from, 16, 10, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy2dAsync(to, 16, p, 32, 12, 8, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    OK(aclrtSynchronizeStream(NULL));
    for (int row = 0; row < 8; ++row) {
        THAT(memcmp(to + 16 * row, from + 16 * row, 10) == 0);
        THAT(to[16 * row + 10] == 0 && to[16 * row + 12] == 0xee);
    }
    OK(aclrtFree(p));
}

static void where_a_pointer_lives(void)
{
    aclrtPtrAttributes attributes;
    char *p = NULL;
    void *host = NULL;
    int local = 0;
    OK(aclrtPointerGetAttributes(&local, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    NEED(aclrtSetDevice(1));
    OK(aclrtMalloc((void **)&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host, 4096));
    OK(aclrtPointerGetAttributes(p + 100, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    THAT(attributes.location.id == 1);
    THAT(attributes.pageSize > 0);
    OK(aclrtPointerGetAttributes((char *)host + 100, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    CODE(100000, aclrtPointerGetAttributes(NULL, &attributes));
    CODE(100000, aclrtPointerGetAttributes(p, NULL));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(host));
    /* What it says of memory that is gone is not laid down, but it is no error. */
    OK(aclrtPointerGetAttributes(p, &attributes));
}

static void registered_host_memory(void)
{
    aclrtPtrAttributes attributes;
    void *device = NULL;
    char *p = aligned_alloc(4096, 3 * 4096);
    need_device();
    CODE(507911, aclrtHostUnregister(p));
    CODE(100000, aclrtHostRegister(NULL, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    CODE(100000, aclrtHostRegister(p, 4096, ACL_HOST_REGISTER_MAPPED, NULL));
    FAILS(aclrtHostRegister(p + 1, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    FAILS(aclrtHostRegister(p, 4096, (aclrtHostRegisterType)3, &device));
    OK(aclrtHostRegister(p, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    THAT(device != NULL);
    OK(aclrtPointerGetAttributes(p + 4095, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    CODE(507910, aclrtHostRegister(p, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    OK(aclrtHostUnregister(p));
    CODE(507911, aclrtHostUnregister(p));
    OK(aclrtPointerGetAttributes(p, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    free(p);
}

static void addresses_and_physical_memory(void)
{
    aclrtPhysicalMemProp prop;
    aclrtDrvMemHandle one = NULL, two = NULL, huge = NULL;
    size_t granularity = 0;
    char *base = NULL;
    char data[16] = "0123456789abcde", back[16];
    setenv("SOFTNPU_MEMORY", "256M", 1);
    need_device();
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                                        &granularity));
    THAT(granularity == 2 * MIB);
    CODE(100000, aclrtMemGetAllocationGranularity(NULL, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM,
                                                  &granularity));
    CODE(100000, aclrtReserveMemAddress(NULL, 64 * MIB, 0, NULL, 1));
    CODE(100000, aclrtReserveMemAddress((void **)&base, 64 * MIB, 0, NULL, 2));
    OK(aclrtReserveMemAddress((void **)&base, 64 * MIB, 0, NULL, 1));
    CODE(100000, aclrtMallocPhysical(NULL, 2 * MIB, &prop, 0));
    CODE(100000, aclrtMallocPhysical(&one, 2 * MIB, NULL, 0));
    CODE(207001, aclrtMallocPhysical(&huge, 512 * MIB, &prop, 0));
    FAILS(aclrtMallocPhysical(&huge, 2 * MIB + 1, &prop, 0));
    OK(aclrtMallocPhysical(&one, 2 * MIB, &prop, 0));
    OK(aclrtMallocPhysical(&two, 4 * MIB, &prop, 0));
    OK(aclrtMapMem(base + 4 * MIB, 2 * MIB, 0, one, 0));
    OK(aclrtMapMem(base + 6 * MIB, 4 * MIB, 0, two, 0));
    FAILS(aclrtMapMem(base + 4 * MIB, 2 * MIB, 0, one, 0));
    FAILS(aclrtMapMem(base + 63 * MIB, 2 * MIB, 0, one, 0));
    /* One copy over the seam of the two mappings. */
    OK(aclrtMemcpy(base + 6 * MIB - 8, 16, data, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(back, 16, base + 6 * MIB - 8, 16, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(memcmp(data, back, 16) == 0);
    FAILS(aclrtReleaseMemAddress(base));
    OK(aclrtUnmapMem(base + 4 * MIB));
    FAILS(aclrtUnmapMem(base + 4 * MIB));
    OK(aclrtUnmapMem(base + 6 * MIB));
    /* The memory keeps what it held. */
    OK(aclrtMapMem(base, 4 * MIB, 0, two, 0));
    OK(aclrtMemcpy(back, 8, base, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(memcmp(data + 8, back, 8) == 0);
    OK(aclrtUnmapMem(base));
    OK(aclrtFreePhysical(one));
    OK(aclrtFreePhysical(two));
    FAILS(aclrtFreePhysical(two));
    CODE(100000, aclrtFreePhysical(NULL));
    OK(aclrtReleaseMemAddress(base));
    FAILS(aclrtReleaseMemAddress(base));
    CODE(100000, aclrtReleaseMemAddress(NULL));
}

static void prefetching_is_accepted(void)
{
    void *p = NULL;
    need_device();
    OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCmoAsync(p, 4096, ACL_RT_CMO_TYPE_PREFETCH, NULL));
    FAILS(aclrtCmoAsync(p, 4096, ACL_RT_CMO_TYPE_FLUSH, NULL));
    CODE(100000, aclrtCmoAsync(NULL, 4096, ACL_RT_CMO_TYPE_PREFETCH, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtFree(p));
}

int main(void)
{
    RUN(bad_allocations);
    RUN(bad_frees);
    RUN(addresses_are_aligned);
    RUN(out_of_memory_is_an_error_and_no_end);
    RUN(memory_information);
    RUN(bad_copies);
    RUN(copies_in_all_directions);
    RUN(copies_of_rows);
    RUN(where_a_pointer_lives);
    RUN(registered_host_memory);
    RUN(addresses_and_physical_memory);
    RUN(prefetching_is_accepted);
    return check_end();
}
