/**
 * @file runtime_memory_more.c
 * The rarer calls on memory: configurations, address ranges, batches, fills of numbers, reductions,
 * registered memory, overflow state.
 */
#include "check.h"

#define MIB ((size_t)1 << 20)

static aclrtStream stream;

static void need_stream(void)
{
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
}

static void configured_allocations(void)
{
    aclrtMallocAttribute attributes[2];
    aclrtMallocConfig config = {attributes, 2};
    aclrtPtrAttributes found;
    void *p = NULL;
    memset(attributes, 0, sizeof attributes);
    attributes[0].attr = ACL_RT_MEM_ATTR_MODULE_ID;
    attributes[0].value.moduleId = 33;
    attributes[1].attr = ACL_RT_MEM_ATTR_DEVICE_ID;
    attributes[1].value.deviceId = 3;
    CODE(107002, aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    need_stream();
    OK(aclrtMallocWithCfg(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    OK(aclrtPointerGetAttributes(p, &found));
    THAT(found.location.id == 0);
    OK(aclrtFree(p));
    OK(aclrtMallocWithCfg(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    OK(aclrtPointerGetAttributes(p, &found));
    THAT(found.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && found.location.id == 3);
    OK(aclrtFree(p));
    OK(aclrtMallocForTaskScheduler(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY, NULL));
    OK(aclrtFree(p));
    CODE(100000, aclrtMallocForTaskScheduler(NULL, 4096, ACL_MEM_MALLOC_NORMAL_ONLY, NULL));
    CODE(100000, aclrtMallocForTaskScheduler(&p, 0, ACL_MEM_MALLOC_NORMAL_ONLY, NULL));
    CODE(100000, aclrtMallocWithCfg(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    CODE(100000, aclrtMallocWithCfg(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    CODE(107000, aclrtMallocWithCfg(&p, 64, (aclrtMemMallocPolicy)9, NULL));
    attributes[1].value.deviceId = 99;
    CODE(107001, aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    attributes[1].attr = (aclrtMallocAttrType)4;
    CODE(100000, aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    CODE(100000, aclrtMallocHostWithCfg(&p, 64, &config));
    config.attrs = NULL;
    CODE(100000, aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    config.numAttrs = 0;
    OK(aclrtMallocHostWithCfg(&p, 4096, &config));
    OK(aclrtPointerGetAttributes(p, &found));
    THAT(found.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    OK(aclrtFreeHost(p));
    OK(aclrtMallocHostWithCfg(&p, 4096, NULL));
    OK(aclrtFreeHostWithDevSync(p));
    CODE(107000, aclrtFreeHostWithDevSync(p));
    CODE(100000, aclrtFreeHostWithDevSync(NULL));
    CODE(100000, aclrtMallocHostWithCfg(NULL, 4096, NULL));
    CODE(100000, aclrtMallocHostWithCfg(&p, 0, NULL));
    CODE(207000, aclrtMemAllocManaged(&p, 4096, 1));
}

/** What is freed with the device's end of work is not freed under a copy. */
static void freeing_after_the_device(void)
{
    unsigned char *p = NULL, *pinned = NULL;
    need_stream();
    OK(aclrtMalloc((void **)&p, 64 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pinned, 64 * MIB));
    OK(aclrtMemsetAsync(p, 64 * MIB, 0x77, 64 * MIB, stream));
    OK(aclrtMemcpyAsync(pinned, 64 * MIB, p, 64 * MIB, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtFreeWithDevSync(p));
    THAT(pinned[0] == 0x77 && pinned[64 * MIB - 1] == 0x77);
    CODE(107000, aclrtFreeWithDevSync(p));
    CODE(100000, aclrtFreeWithDevSync(NULL));
    OK(aclrtFreeHost(pinned));
}

static void caches_and_peers(void)
{
    void *p = NULL;
    int local = 0;
    need_stream();
    OK(aclrtMallocCached(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemFlush(p, 4096));
    OK(aclrtMemInvalidate(p, 4096));
    CODE(100000, aclrtMemFlush(NULL, 4096));
    CODE(100000, aclrtMemFlush(p, 0));
    CODE(107000, aclrtMemFlush(&local, 4));
    CODE(107000, aclrtMemFlush(p, MIB));
    CODE(100000, aclrtMemInvalidate(NULL, 4096));
    CODE(107000, aclrtMemInvalidate(&local, 4));
    OK(aclrtMemP2PMap(p, 4096, 1, 0));
    CODE(100000, aclrtMemP2PMap(NULL, 4096, 1, 0));
    CODE(100000, aclrtMemP2PMap(p, 4096, 1, 1));
    CODE(107001, aclrtMemP2PMap(p, 4096, 8, 0));
    CODE(107000, aclrtMemP2PMap(&local, 4, 1, 0));
    /* The other kinds of cache maintenance. */
    CODE(100000, aclrtCmoAsync(p, 0, ACL_RT_CMO_TYPE_PREFETCH, stream));
    CODE(207000, aclrtCmoAsync(p, 64, ACL_RT_CMO_TYPE_WRITEBACK, stream));
    CODE(100000, aclrtCmoAsync(p, 64, (aclrtCmoType)4, stream));
    OK(aclrtFree(p));
}

static void address_ranges(void)
{
    aclrtPhysicalMemProp prop;
    aclrtDrvMemHandle handle = NULL;
    char *p = NULL, *range = NULL;
    void *base = NULL;
    size_t size = 0;
    need_stream();
    OK(aclrtMalloc((void **)&p, 10000, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemGetAddressRange(p + 9999, &base, &size));
    THAT(base == p && size >= 10000 && size < 10100);
    OK(aclrtMemGetAddressRange(p, NULL, NULL));
    CODE(100000, aclrtMemGetAddressRange(NULL, &base, &size));
    CODE(107000, aclrtMemGetAddressRange(&size, &base, &size));
    OK(aclrtFree(p));
    CODE(107000, aclrtMemGetAddressRange(p, &base, &size));
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtReserveMemAddress((void **)&range, 8 * MIB, 0, NULL, 1));
    OK(aclrtMallocPhysical(&handle, 4 * MIB, &prop, 0));
    OK(aclrtMapMem(range + 2 * MIB, 4 * MIB, 0, handle, 0));
    OK(aclrtMemGetAddressRange(range + 5 * MIB, &base, &size));
    THAT(base == range + 2 * MIB && size == 4 * MIB);
    CODE(107000, aclrtMemGetAddressRange(range + 6 * MIB, &base, &size));
    OK(aclrtUnmapMem(range + 2 * MIB));
    OK(aclrtFreePhysical(handle));
    OK(aclrtReleaseMemAddress(range));
}

static void registered_memory(void)
{
    char *p = aligned_alloc(4096, 3 * 4096);
    void *device = NULL;
    aclrtPtrAttributes found;
    need_stream();
    CODE(107000, aclrtHostRegisterV2(p, 4096, 0));
    CODE(107000, aclrtHostRegisterV2(p, 4096, 1));
    CODE(107000, aclrtHostRegisterV2(p, 4096, ACL_HOST_REG_MAPPED | 0x40));
    CODE(107000, aclrtHostRegisterV2(p + 1, 4096, ACL_HOST_REG_MAPPED));
    CODE(107000, aclrtHostRegisterV2(p, 0, ACL_HOST_REG_MAPPED));
    CODE(100000, aclrtHostRegisterV2(NULL, 4096, ACL_HOST_REG_MAPPED));
    CODE(107000, aclrtHostGetDevicePointer(p, &device, 0));
    OK(aclrtHostRegisterV2(p, 2 * 4096, ACL_HOST_REG_MAPPED | ACL_HOST_REG_READONLY));
    CODE(507910, aclrtHostRegisterV2(p, 4096, ACL_HOST_REG_MAPPED));
    OK(aclrtHostGetDevicePointer(p + 5000, &device, 0));
    THAT(device != NULL);
    CODE(107000, aclrtHostGetDevicePointer(p + 2 * 4096, &device, 0));
    CODE(100000, aclrtHostGetDevicePointer(p, &device, 1));
    CODE(100000, aclrtHostGetDevicePointer(p, NULL, 0));
    CODE(100000, aclrtHostGetDevicePointer(NULL, &device, 0));
    OK(aclrtPointerGetAttributes(p + 4096, &found));
    THAT(found.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    OK(aclrtHostUnregister(p));
    CODE(507911, aclrtHostUnregister(p));
    /* Pinned without an address on the device. */
    OK(aclrtHostRegisterV2(p, 4096, ACL_HOST_REG_PINNED));
    CODE(107000, aclrtHostGetDevicePointer(p, &device, 0));
    OK(aclrtHostUnregister(p));
    free(p);
}

static void numbers(void)
{
    uint32_t *p = NULL, *pinned = NULL, back[64], local[4];
    need_stream();
    OK(aclrtMalloc((void **)&p, 256, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(p, 256, 0, 256));
    OK(aclrtMemsetD32(p, 256, 0x01020304, 10));
    OK(aclrtMemsetD32Async(p + 20, 176, 0xfffefdfc, 44, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(back, 256, p, 256, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 64; ++i) {
        THAT(back[i] == (i < 10 ? 0x01020304 : i < 20 ? 0 : 0xfffefdfc));
    }
    OK(aclrtMallocHost((void **)&pinned, 256));
    OK(aclrtMemsetD32(pinned, 256, 9, 64));
    THAT(pinned[0] == 9 && pinned[63] == 9);
    CODE(100000, aclrtMemsetD32(NULL, 256, 1, 1));
    CODE(100000, aclrtMemsetD32((char *)p + 2, 256, 1, 1));
    CODE(100000, aclrtMemsetD32(p, 255, 1, 64));
    CODE(100000, aclrtMemsetD32(p, SIZE_MAX, 1, SIZE_MAX / 2));
    CODE(100000, aclrtMemsetD32(p, 65536, 1, 16384));
    CODE(100000, aclrtMemsetD32(local, sizeof local, 1, 4));
    CODE(100000, aclrtMemsetD32Async(local, sizeof local, 1, 4, stream));
    CODE(100000, aclrtMemsetD32Async(NULL, 256, 1, 1, stream));
    OK(aclrtMemsetD32(p, 256, 1, 0));
    /* More than one step. */
    uint32_t *large = NULL;
    OK(aclrtMalloc((void **)&large, 12 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemsetD32Async(large, 12 * MIB, 5, 3 * MIB, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(back, 4, large + 3 * MIB - 1, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(back[0] == 5);
    OK(aclrtFree(large));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(pinned));
}

static void reductions(void)
{
    enum { N = 1000 };
    static float f[N], g[N], h[N];
    static int32_t a[N], b[N], c[N];
    char *to = NULL, *from = NULL;
    need_stream();
    OK(aclrtMalloc((void **)&to, 4 * N, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&from, 4 * N, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < N; ++i) {
        f[i] = (float)i;
        g[i] = 0.5f * (float)(N - i);
        a[i] = i * 3 - 1000;
        b[i] = 500 - i;
    }
    OK(aclrtMemcpy(to, 4 * N, f, 4 * N, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(from, 4 * N, g, 4 * N, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtReduceAsync(to, from, 4 * N, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, NULL));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(h, 4 * N, to, 4 * N, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < N; ++i) {
        THAT(h[i] == f[i] + g[i]);
    }
    OK(aclrtMemcpy(from, 4 * N, b, 4 * N, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int kind = 10; kind <= 12; ++kind) {
        OK(aclrtMemcpy(to, 4 * N, a, 4 * N, ACL_MEMCPY_HOST_TO_DEVICE));
        /* Half of the elements: the count is in bytes. */
        OK(aclrtReduceAsync(to, from, 2 * N, (aclrtReduceKind)kind, ACL_INT32, stream, NULL));
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtMemcpy(c, 4 * N, to, 4 * N, ACL_MEMCPY_DEVICE_TO_HOST));
        for (int i = 0; i < N; ++i) {
            const int32_t low = a[i] < b[i] ? a[i] : b[i], high = a[i] < b[i] ? b[i] : a[i];
            const int32_t all = kind == 10 ? a[i] + b[i] : kind == 11 ? high : low;
            THAT(c[i] == (i < N / 2 ? all : a[i]));
        }
    }
    CODE(100000, aclrtReduceAsync(NULL, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    CODE(100000, aclrtReduceAsync(to, NULL, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    CODE(100000, aclrtReduceAsync(to, from, 4, (aclrtReduceKind)9, ACL_FLOAT, stream, NULL));
    CODE(100000, aclrtReduceAsync(to, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  to));
    CODE(207000, aclrtReduceAsync(to, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT, stream,
                                  NULL));
    CODE(207000, aclrtReduceAsync(to, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_STRING, stream,
                                  NULL));
    CODE(107000, aclrtReduceAsync(to, from, 6, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    CODE(107000, aclrtReduceAsync(to, to + 4, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    MESSAGE("overlap");
    CODE(107000, aclrtReduceAsync(to + 2, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT,
                                  stream, NULL));
    CODE(107000, aclrtReduceAsync(to, from, MIB, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    CODE(107000, aclrtReduceAsync(f, from, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream,
                                  NULL));
    OK(aclrtFree(to));
    OK(aclrtFree(from));
}

static void overflow_state(void)
{
    unsigned char *p = NULL, back[64];
    need_stream();
    OK(aclrtMalloc((void **)&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(p, 64, 0xff, 64));
    OK(aclrtResetOverflowStatus(stream));
    OK(aclrtGetOverflowStatus(p, 64, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(back, 64, p, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 64; ++i) {
        THAT(back[i] == 0);
    }
    CODE(100000, aclrtGetOverflowStatus(NULL, 64, stream));
    CODE(100000, aclrtGetOverflowStatus(p, 0, stream));
    CODE(107000, aclrtGetOverflowStatus(back, 64, stream));
    CODE(107017, aclrtResetOverflowStatus(back));
    OK(aclrtFree(p));
}

static void the_older_name_of_a_copy(void)
{
    char host[16] = "0123456789abcde", *p = NULL, *pinned = NULL;
    need_stream();
    OK(aclrtMalloc((void **)&p, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pinned, 16));
    /* Pageable memory is done at return, pinned memory with the stream. */
    OK(aclrtMemcpyAsyncWithCondition(p, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    memset(host, 0, 16);
    OK(aclrtMemcpyAsyncWithCondition(pinned, 16, p, 16, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    THAT(strcmp(pinned, "0123456789abcde") == 0);
    CODE(100000, aclrtMemcpyAsyncWithCondition(NULL, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE,
                                               stream));
    CODE(107000, aclrtMemcpyAsyncWithCondition(p, 15, host, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CODE(207000, aclrtMemcpyAsyncWithCondition(host, 16, pinned, 16, ACL_MEMCPY_HOST_TO_HOST,
                                               stream));
    OK(aclrtFree(p));
    OK(aclrtFreeHost(pinned));
}

enum { COPIES = 6, LENGTH = 1000 };

/** Copies of both directions: to the device, and (from the fourth on) back. */
static void batches(void)
{
    static unsigned char from[3][LENGTH], to[3][LENGTH];
    char *device = NULL, *source = NULL, *pinned = NULL;
    void *dsts[COPIES], *srcs[COPIES];
    size_t rooms[COPIES], sizes[COPIES], first[2] = {0, 3}, failed = 77;
    aclrtMemcpyBatchAttr attrs[2];
    need_stream();
    OK(aclrtMalloc((void **)&device, 3 * 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&source, 3 * 1024, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pinned, 1024));
    OK(aclrtMemset(source, 3 * 1024, 0x31, 3 * 1024));
    memset(attrs, 0, sizeof attrs);
    attrs[0].dstLoc.type = attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attrs[0].srcLoc.type = attrs[1].dstLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    for (int i = 0; i < 3; ++i) {
        memset(from[i], 'a' + i, LENGTH);
        dsts[i] = device + 1024 * i;
        srcs[i] = from[i];
        dsts[3 + i] = to[i];
        srcs[3 + i] = source + 1024 * i;
    }
    for (int i = 0; i < COPIES; ++i) {
        rooms[i] = sizes[i] = LENGTH - (size_t)i;
    }
    dsts[5] = pinned;
#define BATCH dsts, rooms, srcs, sizes, COPIES, attrs, first, 2
    for (int way = 0; way < 4; ++way) {
        memset(to, 0, sizeof to);
        memset(pinned, 0, LENGTH);
        OK(aclrtMemset(device, 3 * 1024, 0, 3 * 1024));
        switch (way) {
        case 0: OK(aclrtMemcpyBatch(BATCH, &failed)); break;
        case 1: OK(aclrtMemcpyBatchAsync(BATCH, &failed, stream)); break;
        case 2: OK(aclrtMemcpyBatchV2(BATCH)); break;
        default: OK(aclrtMemcpyBatchAsyncV2(BATCH, stream)); break;
        }
        OK(aclrtSynchronizeStream(stream));
        THAT(to[0][0] == 0x31 && to[0][LENGTH - 4] == 0x31 && to[0][LENGTH - 3] == 0);
        THAT(pinned[LENGTH - 6] == 0x31 && pinned[LENGTH - 5] == 0);
        char back[3] = {0};
        OK(aclrtMemcpy(back, 3, device + 2048 + LENGTH - 4, 3, ACL_MEMCPY_DEVICE_TO_HOST));
        THAT(back[0] == 'c' && back[1] == 'c' && back[2] == 0);
    }
    /* One copy's fault, and nobody's. Nothing is copied then. */
    memset(to, 0, sizeof to);
    sizes[4] = rooms[4] + 1;
    CODE(107000, aclrtMemcpyBatch(BATCH, &failed));
    THAT(failed == 4 && to[0][0] == 0);
    CODE(107000, aclrtMemcpyBatchAsync(BATCH, &failed, stream));
    CODE(107000, aclrtMemcpyBatchV2(BATCH));
    CODE(107000, aclrtMemcpyBatchAsyncV2(BATCH, stream));
    sizes[4] = 0;
    CODE(107000, aclrtMemcpyBatch(BATCH, &failed));
    CODE(107000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, SIZE_MAX, attrs, first, 2, &failed));
    THAT(failed == 4);
    sizes[4] = rooms[4];
    dsts[1] = to[1];
    CODE(107000, aclrtMemcpyBatch(BATCH, &failed));
    THAT(failed == 1);
    MESSAGE("as the attribute says");
    dsts[1] = NULL;
    CODE(100000, aclrtMemcpyBatch(BATCH, &failed));
    THAT(failed == 1);
    dsts[1] = device + 1024;
    first[0] = 1;
    CODE(100000, aclrtMemcpyBatch(BATCH, &failed));
    THAT(failed == SIZE_MAX);
    first[0] = 0;
    for (size_t many = (size_t)1 << 45; many != 0; many <<= 6) {
        CODE(100000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, many, attrs, first, many, &failed));
    }
    first[1] = 6;
    CODE(100000, aclrtMemcpyBatch(BATCH, &failed));
    first[1] = 0;
    CODE(100000, aclrtMemcpyBatch(BATCH, &failed));
    first[1] = 3;
    attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    CODE(100000, aclrtMemcpyBatch(BATCH, &failed));
    attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    CODE(100000, aclrtMemcpyBatch(BATCH, NULL));
    CODE(100000, aclrtMemcpyBatchAsync(BATCH, NULL, stream));
    CODE(100000, aclrtMemcpyBatch(NULL, rooms, srcs, sizes, COPIES, attrs, first, 2, &failed));
    CODE(100000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 0, attrs, first, 2, &failed));
    CODE(100000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 1, attrs, first, 2, &failed));
    CODE(100000, aclrtMemcpyBatchV2(dsts, rooms, srcs, sizes, COPIES, NULL, first, 2));
    CODE(100000, aclrtMemcpyBatchAsyncV2(dsts, rooms, srcs, sizes, COPIES, attrs, NULL, 2, stream));
    OK(aclrtMemcpyBatch(BATCH, &failed));
    OK(aclrtFree(device));
    OK(aclrtFree(source));
    OK(aclrtFreeHost(pinned));
}

int main(void)
{
    RUN(configured_allocations);
    RUN(freeing_after_the_device);
    RUN(caches_and_peers);
    RUN(address_ranges);
    RUN(registered_memory);
    RUN(numbers);
    RUN(reductions);
    RUN(overflow_state);
    RUN(the_older_name_of_a_copy);
    RUN(batches);
    return check_end();
}
