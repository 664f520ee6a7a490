/**
 * @file runtime_kernels.c
 * What the software NPU cannot run says so, and the profiler records nothing.
 */
#include "acl/acl_prof.h"
#include "check.h"

static aclrtStream stream;

static void need_stream(void)
{
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
}

static void binaries_are_not_loaded(void)
{
    static const char data[] = "not ELF";
    aclrtBinHandle loaded = NULL;
    need_stream();
    THAT(aclrtCreateBinary(NULL, 4) == NULL);
    THAT(aclrtCreateBinary(data, 0) == NULL);
    forget_messages();
    aclrtBinary binary = aclrtCreateBinary(data, sizeof data);
    THAT(binary != NULL);
    CODE(207000, aclrtBinaryLoad(binary, &loaded));
    MESSAGE("device binaries");
    CODE(100000, aclrtBinaryLoad(NULL, &loaded));
    CODE(100000, aclrtBinaryLoad(binary, NULL));
    CODE(207000, aclrtBinaryLoadFromFile("kernel.o", NULL, &loaded));
    CODE(100000, aclrtBinaryLoadFromFile(NULL, NULL, &loaded));
    CODE(207000, aclrtBinaryLoadFromData(data, sizeof data, NULL, &loaded));
    CODE(100000, aclrtBinaryLoadFromData(NULL, sizeof data, NULL, &loaded));
    CODE(100000, aclrtBinaryLoadFromData(data, 0, NULL, &loaded));
    OK(aclrtDestroyBinary(binary));
    CODE(107017, aclrtDestroyBinary(binary));
    CODE(107017, aclrtBinaryLoad(binary, &loaded));
    CODE(100000, aclrtDestroyBinary(NULL));
}

static void kernels_are_not_launched(void)
{
    int invented = 0;
    aclrtFuncHandle function = NULL;
    aclrtArgsHandle arguments = NULL;
    aclrtParamHandle parameter = NULL;
    void *buffer = NULL;
    need_stream();
    CODE(107017, aclrtBinaryUnLoad(&invented));
    CODE(100000, aclrtBinaryUnLoad(NULL));
    CODE(107017, aclrtBinaryGetFunction(&invented, "kernel", &function));
    CODE(107017, aclrtKernelArgsInit(&invented, &arguments));
    CODE(107017, aclrtKernelArgsFinalize(&invented));
    CODE(107017, aclrtKernelArgsAppend(&invented, &buffer, sizeof buffer, &parameter));
    CODE(107017, aclrtKernelArgsAppendPlaceHolder(&invented, &parameter));
    CODE(107017, aclrtKernelArgsGetPlaceHolderBuffer(&invented, &invented, 8, &buffer));
    CODE(107017, aclrtKernelArgsParaUpdate(&invented, &invented, &buffer, sizeof buffer));
    CODE(107017, aclrtLaunchKernel(&invented, 1, NULL, 0, stream));
    CODE(100000, aclrtLaunchKernel(NULL, 1, NULL, 0, stream));
    CODE(107017, aclrtLaunchKernelV2(&invented, 1, NULL, 0, NULL, stream));
    CODE(107017, aclrtLaunchKernelWithConfig(&invented, 1, stream, NULL, NULL, NULL));
    CODE(107017, aclrtLaunchKernelWithHostArgs(&invented, 1, stream, NULL, NULL, 0, NULL, 0));
}

static void models_have_no_streams_and_labels(void)
{
    aclrtLabel label = NULL, labels[1] = {NULL};
    aclrtLabelList list = NULL;
    int invented = 0;
    need_stream();
    CODE(207000, aclrtActiveStream(stream, stream));
    CODE(107017, aclrtActiveStream(&invented, stream));
    CODE(207000, aclrtSwitchStream(&invented, ACL_RT_EQUAL, &invented, ACL_RT_SWITCH_INT32, stream,
                                   stream, stream));
    CODE(207000, aclrtStreamStop(stream));
    CODE(100000, aclrtStreamStop(NULL));
    CODE(207000, aclrtPersistentTaskClean(stream));
    CODE(100000, aclrtPersistentTaskClean(NULL));
    CODE(207000, aclrtCreateLabel(&label));
    CODE(100000, aclrtCreateLabel(NULL));
    CODE(107017, aclrtSetLabel(&invented, stream));
    CODE(107017, aclrtDestroyLabel(&invented));
    CODE(100000, aclrtDestroyLabel(NULL));
    CODE(207000, aclrtCreateLabelList(labels, 1, &list));
    CODE(100000, aclrtCreateLabelList(NULL, 1, &list));
    CODE(107017, aclrtDestroyLabelList(&invented));
    CODE(107017, aclrtSwitchLabelByIndex(&invented, 1, &invented, stream));
}

static void described_copies(void)
{
    void *dst[1] = {NULL};
    const void *src[1] = {NULL};
    size_t size = 0;
    int local = 0;
    need_stream();
    CODE(207000, aclrtMemcpyAsyncWithOffset(dst, 8, 0, src, 8, 0, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                            stream));
    CODE(100000, aclrtMemcpyAsyncWithOffset(NULL, 8, 0, src, 8, 0, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                            stream));
    CODE(207000, aclrtGetMemcpyDescSize(ACL_MEMCPY_DEVICE_TO_DEVICE, &size));
    CODE(100000, aclrtGetMemcpyDescSize(ACL_MEMCPY_DEVICE_TO_DEVICE, NULL));
    CODE(207000, aclrtSetMemcpyDesc(&local, ACL_MEMCPY_DEVICE_TO_DEVICE, &local, &local, 4, NULL));
    CODE(100000, aclrtSetMemcpyDesc(NULL, ACL_MEMCPY_DEVICE_TO_DEVICE, &local, &local, 4, NULL));
    CODE(207000, aclrtMemcpyAsyncWithDesc(&local, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CODE(100000, aclrtMemcpyAsyncWithDesc(NULL, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

static void dumps(void)
{
    OK(aclmdlInitDump());
    CODE(207000, aclmdlSetDump("dump.json"));
    OK(aclmdlFinalizeDump());
}

static void profiling(void)
{
    uint32_t devices[2] = {0, 1}, missing[1] = {99};
    size_t size = 9;
    void *data = &size;
    need_stream();
    OK(aclprofInit("folder", 6));
    CODE(100000, aclprofInit(NULL, 6));
    CODE(100000, aclprofInit("folder", 0));
    aclprofConfig *config = aclprofCreateConfig(devices, 2, ACL_AICORE_PIPE_UTILIZATION, NULL,
                                                ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
    THAT(config != NULL);
    THAT(aclprofCreateConfig(missing, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API) == NULL);
    THAT(aclprofCreateConfig(NULL, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API) == NULL);
    forget_messages();
    OK(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "200MB", 5));
    CODE(100000, aclprofSetConfig((aclprofConfigType)0, "200MB", 5));
    CODE(100000, aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, NULL, 5));
    OK(aclprofRegisterDeviceCallback());
    OK(aclprofWarmup(config));
    OK(aclprofStart(config));
    OK(aclprofMarkEx("here", 4, stream));
    CODE(100000, aclprofMarkEx(NULL, 4, stream));
    CODE(107017, aclprofMarkEx("here", 4, &size));
    aclprofStepInfo *step = aclprofCreateStepInfo();
    THAT(step != NULL);
    OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream));
    OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
    CODE(100000, aclprofGetStepTimestamp(step, (aclprofStepTag)2, stream));
    CODE(100000, aclprofGetStepTimestamp(NULL, ACL_STEP_END, stream));
    aclprofDestroyStepInfo(step);
    aclprofDestroyStepInfo(NULL);
    CODE(107017, aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
    OK(aclprofStop(config));
    OK(aclprofDestroyConfig(config));
    CODE(107017, aclprofDestroyConfig(config));
    CODE(107017, aclprofStart(config));
    CODE(107017, aclprofStop(config));
    CODE(107017, aclprofWarmup(config));
    CODE(100000, aclprofStart(NULL));
    OK(aclprofGetSupportedFeatures(&size, &data));
    THAT(size == 0 && data == NULL);
    size = 9;
    data = &size;
    OK(aclprofGetSupportedFeaturesV2(&size, &data));
    THAT(size == 0 && data == NULL);
    CODE(100000, aclprofGetSupportedFeatures(NULL, &data));
    CODE(100000, aclprofGetSupportedFeaturesV2(&size, NULL));
    OK(aclprofFinalize());
}

int main(void)
{
    RUN(binaries_are_not_loaded);
    RUN(kernels_are_not_launched);
    RUN(models_have_no_streams_and_labels);
    RUN(described_copies);
    RUN(dumps);
    RUN(profiling);
    return check_end();
}
