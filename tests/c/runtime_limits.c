/**
 * @file runtime_limits.c
 * Limits of cores and times, what is left of streams and events, stream descriptions, use of memory.
 */
#include "check.h"

static void need_device(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
}

static void cores_of_devices(void)
{
    uint32_t value = 0;
    /* Needs no context. */
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
    THAT(value == 24);
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 48);
    CODE(107001, aclrtGetDeviceResLimit(8, ACL_RT_DEV_RES_CUBE_CORE, &value));
    CODE(100000, aclrtGetDeviceResLimit(0, (aclrtDevResLimitType)2, &value));
    CODE(100000, aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, NULL));
    CODE(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0));
    CODE(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25));
    MESSAGE("24");
    CODE(107001, aclrtSetDeviceResLimit(-1, ACL_RT_DEV_RES_CUBE_CORE, 5));
    CODE(100000, aclrtSetDeviceResLimit(0, (aclrtDevResLimitType)-1, 5));
    OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 5));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
    THAT(value == 5);
    OK(aclrtGetDeviceResLimit(1, ACL_RT_DEV_RES_CUBE_CORE, &value));
    THAT(value == 24);
    CODE(107001, aclrtResetDeviceResLimit(8));
    OK(aclrtResetDeviceResLimit(0));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
    THAT(value == 24);
}

static void *another_thread(void *stream)
{
    uint32_t value = 0;
    CODE(107002, aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    NEED(aclrtSetDevice(0));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    CODE(107000, aclrtUnuseStreamResInCurrentThread(stream));
    OK(aclrtResetDevice(0));
    return NULL;
}

static void cores_of_streams_and_threads(void)
{
    aclrtStream stream = NULL, other = NULL;
    uint32_t value = 0;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 30));
    OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 12));
    OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 12);
    OK(aclrtGetStreamResLimit(other, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    CODE(107000, aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 49));
    CODE(100000, aclrtSetStreamResLimit(stream, (aclrtDevResLimitType)3, 1));
    CODE(107017, aclrtSetStreamResLimit(&value, ACL_RT_DEV_RES_VECTOR_CORE, 1));
    CODE(100000, aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, NULL));
    /* A thread works under the device's limit, or that of the stream that it uses. */
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    OK(aclrtUseStreamResInCurrentThread(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 12);
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    THAT(value == 24);
    CODE(100000, aclrtGetResInCurrentThread((aclrtDevResLimitType)2, &value));
    CODE(100000, aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, NULL));
    on_thread(another_thread, stream);
    CODE(107000, aclrtUnuseStreamResInCurrentThread(other));
    CODE(107017, aclrtUseStreamResInCurrentThread(&value));
    OK(aclrtUnuseStreamResInCurrentThread(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    /* A stream that is gone limits nobody. */
    OK(aclrtUseStreamResInCurrentThread(stream));
    OK(aclrtResetStreamResLimit(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 3));
    OK(aclrtDestroyStream(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    THAT(value == 30);
    CODE(107017, aclrtResetStreamResLimit(stream));
    OK(aclrtDestroyStream(other));
}

static void times_of_kernels(void)
{
    uint64_t step = 0, actual = 0;
    uint32_t ms = 0;
    OK(aclrtGetOpTimeOutInterval(&step));
    THAT(step > 0);
    CODE(100000, aclrtGetOpTimeOutInterval(NULL));
    OK(aclrtGetOpExecuteTimeout(&ms));
    THAT(ms == (uint32_t)(254 * step / 1000));
    CODE(100000, aclrtGetOpExecuteTimeout(NULL));
    OK(aclrtSetOpExecuteTimeOutV2(547000000, &actual));
    THAT(actual >= 547000000 && actual < 547000000 + step && actual % step == 0);
    OK(aclrtGetOpExecuteTimeout(&ms));
    THAT(ms == (uint32_t)(actual / 1000));
    CODE(100000, aclrtSetOpExecuteTimeOutV2(1, NULL));
    OK(aclrtSetOpExecuteTimeOutV2(UINT64_MAX - 1, &actual));
    THAT(actual == 254 * step);
    OK(aclrtSetOpExecuteTimeOutV2(UINT64_MAX, &actual));
    THAT(actual == UINT64_MAX);
    OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
    THAT(actual == 254 * step);
    OK(aclrtSetOpExecuteTimeOut(1));
    OK(aclrtGetOpExecuteTimeout(&ms));
    THAT(ms == (uint32_t)(step / 1000));
    OK(aclrtSetOpExecuteTimeOutWithMs((uint32_t)(step / 1000) + 1));
    OK(aclrtGetOpExecuteTimeout(&ms));
    THAT(ms == (uint32_t)(2 * step / 1000));
    OK(aclrtSetOpExecuteTimeOut(0));
}

static void a_wait_ends_after_the_process_limit(void)
{
    aclrtEvent event = NULL;
    aclrtStream stream = NULL;
    need_device();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtSetOpWaitTimeout(1));
    OK(aclrtStreamWaitEvent(stream, event));
    CODE(107019, aclrtSynchronizeStream(stream));
    OK(aclrtSetOpWaitTimeout(0));
    OK(aclrtStreamWaitEvent(stream, event));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 30));
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
}

static void what_is_left(void)
{
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    uint32_t before = 0, after = 0;
    CODE(107002, aclrtGetStreamAvailableNum(&before));
    CODE(107002, aclrtGetEventAvailNum(&before));
    need_device();
    CODE(100000, aclrtGetStreamAvailableNum(NULL));
    CODE(100000, aclrtGetEventAvailNum(NULL));
    OK(aclrtGetStreamAvailableNum(&before));
    THAT(before == 1983);
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetStreamAvailableNum(&after));
    THAT(after == before - 1);
    OK(aclrtDestroyStream(stream));
    OK(aclrtGetStreamAvailableNum(&after));
    THAT(after == before);
    OK(aclrtGetEventAvailNum(&before));
    THAT(before == 65536);
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtGetEventAvailNum(&after));
    THAT(after == before - 1);
    OK(aclrtDestroyEvent(event));
    OK(aclrtGetEventAvailNum(&after));
    THAT(after == before);
}

static void described_streams(void)
{
    aclrtStream stream = NULL;
    size_t flag = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;
    uint32_t priority = 5, found = 0;
    void *work = NULL;
    need_device();
    aclrtStreamConfigHandle *handle = aclrtCreateStreamConfigHandle();
    THAT(handle != NULL);
    CODE(100000, aclrtSetStreamConfigOpt(NULL, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    CODE(100000, aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, NULL, sizeof flag));
    CODE(100000, aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, 3));
    CODE(100000, aclrtSetStreamConfigOpt(handle, (aclrtStreamConfigAttr)4, &flag, sizeof flag));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority));
    OK(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_ADDR_PTR, &work, sizeof work));
    CODE(100000, aclrtCreateStreamV2(NULL, handle));
    CODE(100000, aclrtCreateStreamV2(&stream, NULL));
    OK(aclrtCreateStreamV2(&stream, handle));
    OK(aclrtStreamGetFlags(stream, &found));
    THAT(found == flag);
    OK(aclrtStreamGetPriority(stream, &found));
    THAT(found == 5);
    OK(aclrtDestroyStream(stream));
    CODE(100000, aclrtDestroyStreamConfigHandle(NULL));
    OK(aclrtDestroyStreamConfigHandle(handle));
    CODE(107017, aclrtDestroyStreamConfigHandle(handle));
    CODE(107017, aclrtCreateStreamV2(&stream, handle));
}

/** Streams whose work never ends are not waited for. */
static void endless_streams(void)
{
    static const uint32_t flags[] = {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE,
                                     ACL_STREAM_DEVICE_USE_ONLY};
    aclrtNotify notify = NULL;
    need_device();
    OK(aclrtCreateNotify(&notify, 0));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
        aclrtStream stream = NULL;
        OK(aclrtCreateStreamWithConfig(&stream, 0, flags[i]));
        OK(aclrtWaitAndResetNotify(notify, stream, 0));
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtSynchronizeStreamWithTimeout(stream, 10));
        OK(aclrtSynchronizeDevice());
        OK(aclrtSynchronizeDeviceWithTimeout(10));
        OK(aclrtDestroyStream(stream));
        OK(aclrtCreateStreamWithConfig(&stream, 0, flags[i]));
        OK(aclrtWaitAndResetNotify(notify, stream, 0));
    }
    OK(aclrtDestroyNotify(notify));
    /* Nor does the end of the device wait for them. */
    OK(aclrtResetDevice(0));
}

static void use_of_memory(void)
{
    aclrtMemUsageInfo info[3];
    size_t count = 0;
    uint64_t before = 0;
    void *p = NULL;
    need_device();
    memset(info, 0x5a, sizeof info);
    OK(aclrtGetMemUsageInfo(0, info, 3, &count));
    THAT(count == 1 && info[0].name[0] != 0 && memchr(info[0].name, 0, sizeof info[0].name) != NULL);
    before = info[0].curMemSize;
    OK(aclrtMalloc(&p, 8 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtGetMemUsageInfo(0, info, 1, &count));
    THAT(info[0].curMemSize >= before + (8 << 20));
    OK(aclrtFree(p));
    OK(aclrtGetMemUsageInfo(0, info, 1, &count));
    THAT(info[0].curMemSize == before && info[0].memPeakSize >= before + (8 << 20));
    CODE(107001, aclrtGetMemUsageInfo(8, info, 1, &count));
    CODE(100000, aclrtGetMemUsageInfo(0, NULL, 1, &count));
    CODE(100000, aclrtGetMemUsageInfo(0, info, 0, &count));
    CODE(100000, aclrtGetMemUsageInfo(0, info, 1, NULL));
}

int main(void)
{
    RUN(cores_of_devices);
    RUN(cores_of_streams_and_threads);
    RUN(times_of_kernels);
    RUN(a_wait_ends_after_the_process_limit);
    RUN(what_is_left);
    RUN(described_streams);
    RUN(endless_streams);
    RUN(use_of_memory);
    return check_end();
}
