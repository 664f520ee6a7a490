/**
 * @file runtime_soc.c
 * Every product that SOFTNPU_SOC names: its name, cores, memory, limits and habits; device facts.
 */
#include "check.h"

static const struct soc {
    const char *name;
    int64_t cube, vector, l2_mib, memory_gib, arch;
    uint32_t streams, events, notifies;
    int inf_nan, saturation;
} socs[] = {
#define ROW910(name, cube) {name, cube, 0, 32, 32, 1001, 2048, 65535, 1024, 0, 1}
#define ROW310P(name) {name, 8, 7, 16, 24, 2002, 1024, 1023, 1024, 0, 1}
#define ROW310B(name) {name, 1, 1, 2, 8, 3002, 512, 1023, 2048, 0, 1}
#define ROWA(name, cube, vector, l2, memory)                                                       \
    {name, cube, vector, l2, memory, 2201, 1984, 65536, 8192, 1, 1}
#define ROW950(name) {name, 28, 56, 128, 144, 3510, 1984, 65536, 65535, 1, 0}
    ROW910("Ascend910A", 32),
    ROW910("Ascend910ProA", 32),
    ROW910("Ascend910PremiumA", 32),
    ROW910("Ascend910B", 30),
    ROW910("Ascend910ProB", 30),
    ROW310P("Ascend310P1"),
    ROW310P("Ascend310P2"),
    ROW310P("Ascend310P3"),
    ROW310P("Ascend310P4"),
    ROW310P("Ascend310P5"),
    ROW310P("Ascend310P7"),
    ROW310B("Ascend310B1"),
    ROW310B("Ascend310B2"),
    ROW310B("Ascend310B3"),
    ROW310B("Ascend310B4"),
    ROWA("Ascend910B1", 24, 48, 192, 64),
    ROWA("Ascend910B2", 24, 48, 192, 64),
    ROWA("Ascend910B2C", 24, 48, 192, 64),
    ROWA("Ascend910B3", 20, 40, 192, 64),
    ROWA("Ascend910B4", 20, 40, 96, 32),
    ROWA("Ascend910B4-1", 20, 40, 168, 32),
    ROWA("Ascend910_9391", 24, 48, 192, 64),
    ROWA("Ascend910_9392", 24, 48, 192, 64),
    ROWA("Ascend910_9381", 24, 48, 192, 64),
    ROWA("Ascend910_9382", 24, 48, 192, 64),
    ROWA("Ascend910_9372", 20, 40, 192, 64),
    ROWA("Ascend910_9362", 20, 40, 168, 64),
    ROWA("Ascend910_9363", 20, 40, 168, 64),
    ROW950("Ascend950PR_9579"),
    ROW950("Ascend950PR_957b"),
    ROW950("Ascend950PR_957c"),
    ROW950("Ascend950PR_957d"),
    ROW950("Ascend950PR_9589"),
    ROW950("Ascend950PR_958b"),
    ROW950("Ascend950PR_9599"),
    ROW950("Ascend950DT_9571"),
    ROW950("Ascend950DT_9572"),
    ROW950("Ascend950DT_9573"),
    ROW950("Ascend950DT_9574"),
    ROW950("Ascend950DT_9575"),
    ROW950("Ascend950DT_9576"),
    ROW950("Ascend950DT_9577"),
    ROW950("Ascend950DT_9578"),
    ROW950("Ascend950DT_9581"),
    ROW950("Ascend950DT_9582"),
    ROW950("Ascend950DT_9583"),
    ROW950("Ascend950DT_9584"),
    ROW950("Ascend950DT_9585"),
    ROW950("Ascend950DT_9586"),
    ROW950("Ascend950DT_9587"),
    ROW950("Ascend950DT_9588"),
    ROW950("Ascend950DT_9591"),
    ROW950("Ascend950DT_9592"),
    ROW950("Ascend950DT_9595"),
    ROW950("Ascend950DT_9596"),
    ROW950("Ascend950DT_95A1"),
    ROW950("Ascend950DT_95A2"),
};

static const struct soc *soc;

static int64_t info(aclrtDevAttr attr)
{
    int64_t value = -1;
    OK(aclrtGetDeviceInfo(0, attr, &value));
    return value;
}

static int64_t capability(aclDeviceInfo what)
{
    int64_t value = -1;
    OK(aclGetDeviceCapability(0, what, &value));
    return value;
}

static int32_t attribute(aclCannAttr what)
{
    int32_t value = -1;
    OK(aclGetCannAttribute(what, &value));
    return value;
}

/** Runs in a process of its own for each product. */
static void one_soc(void)
{
    aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    uint32_t left = 0;
    uint64_t step = 0;
    void *managed = NULL, *p = NULL;
    size_t size = 0;
    setenv("SOFTNPU_SOC", soc->name, 1);
    setenv("SOFTNPU_DEVICES", "1", 1);
    NEED(aclrtSetDevice(0));
    THAT(strcmp(aclrtGetSocName(), soc->name) == 0);
    THAT(info(ACL_DEV_ATTR_CUBE_CORE_NUM) == soc->cube);
    THAT(info(ACL_DEV_ATTR_AICORE_CORE_NUM) == soc->cube);
    THAT(info(ACL_DEV_ATTR_VECTOR_CORE_NUM) == soc->vector);
    THAT(info(ACL_DEV_ATTR_L2_CACHE_SIZE) == soc->l2_mib << 20);
    THAT(info(ACL_DEV_ATTR_NPU_ARCH) == soc->arch);
    /* A device is as large as the product's, or as what the host gives it. */
    THAT(info(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE) <= soc->memory_gib << 30);
    THAT(capability(ACL_DEVICE_INFO_AI_CORE_NUM) == soc->cube);
    THAT(capability(ACL_DEVICE_INFO_VECTOR_CORE_NUM) == soc->vector);
    THAT(capability(ACL_DEVICE_INFO_L2_SIZE) == soc->l2_mib << 20);
    THAT(attribute(ACL_CANN_ATTR_INF_NAN) == soc->inf_nan);
    THAT(attribute(ACL_CANN_ATTR_BF16) == soc->inf_nan);
    THAT(attribute(ACL_CANN_ATTR_JIT_COMPILE) == 1);
    /* The default stream counts. */
    OK(aclrtGetStreamAvailableNum(&left));
    THAT(left == soc->streams - 1);
    OK(aclrtGetEventAvailNum(&left));
    THAT(left == soc->events);
    /* Overflow: what it does unless told otherwise, and what it can be told. */
    OK(aclrtGetDeviceSatMode(&mode));
    THAT(mode == (soc->inf_nan ? ACL_RT_OVERFLOW_MODE_INFNAN : ACL_RT_OVERFLOW_MODE_SATURATION));
    CODE(soc->inf_nan ? 0 : 207000, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    CODE(soc->saturation ? 0 : 207000, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    OK(aclrtGetOpTimeOutInterval(&step));
    THAT(step == (soc->arch == 1001 ? 268435U : soc->arch == 2002 ? 2147483U : 4294967U));
    CODE(soc->arch == 3510 ? 0 : 207000, aclrtMemAllocManaged(&managed, 4096, 1));
    /* Bytes behind a block. */
    OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemGetAddressRange(p, NULL, &size));
    THAT(size == (soc->arch == 3510 ? 64U : 96U));
    OK(aclrtFree(p));
}

static void all_socs(void)
{
    int status = 0;
    for (size_t i = 0; i < sizeof socs / sizeof *socs; ++i) {
        soc = &socs[i];
        const pid_t child = check_fork();
        if (child == 0) {
            one_soc();
            check_leave();
        }
        if (waitpid(child, &status, 0) != child || status != 0) {
            fprintf(stderr, "%s: status %#x\n", soc->name, (unsigned)status);
            atomic_fetch_add(&check_failures, 1);
        }
    }
}

/** Every notify of a product, and one more. */
static void notifies_of_a_product(void)
{
    static aclrtNotify all[8192];
    aclrtNotify more = NULL;
    NEED(aclrtSetDevice(0));
    for (size_t i = 0; i < 8192; ++i) {
        NEED(aclrtCreateNotify(&all[i], 0));
    }
    CODE(207009, aclrtCreateNotify(&more, 0));
    MESSAGE("8192");
    /* Each device has its own. */
    NEED(aclrtSetDevice(1));
    OK(aclrtCreateNotify(&more, 0));
}

static void an_unknown_product(void)
{
    setenv("SOFTNPU_SOC", "Ascend9000", 1);
    THAT(aclrtGetSocName() == NULL);
    MESSAGE("Ascend9000", "SOFTNPU_SOC", "Ascend910B1", "Ascend950DT_95A2", "Ascend310P3");
    FAILS(aclrtSetDevice(0));
    MESSAGE("Ascend9000");
    FAILS(aclInit(NULL));
}

static void managed_memory(void)
{
    char *p = NULL;
    char back = 0;
    setenv("SOFTNPU_SOC", "Ascend950PR_9579", 1);
    CODE(107002, aclrtMemAllocManaged((void **)&p, 4096, 1));
    NEED(aclrtSetDevice(0));
    CODE(100000, aclrtMemAllocManaged(NULL, 4096, 1));
    CODE(100000, aclrtMemAllocManaged((void **)&p, 0, 1));
    CODE(107000, aclrtMemAllocManaged((void **)&p, 4096, 2));
    OK(aclrtMemAllocManaged((void **)&p, 4096, 1));
    p[5] = 17;
    OK(aclrtMemcpy(&back, 1, p + 5, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(back == 17);
    OK(aclrtFree(p));
}

static void attributes_that_are_listed(void)
{
    const aclCannAttr *list = NULL;
    size_t count = 0;
    int32_t value = 0;
    OK(aclGetCannAttributeList(&list, &count));
    THAT(count == 3);
    for (size_t i = 0; i < count; ++i) {
        OK(aclGetCannAttribute(list[i], &value));
    }
    CODE(100000, aclGetCannAttributeList(NULL, &count));
    CODE(100000, aclGetCannAttributeList(&list, NULL));
}

static void facts_of_a_device(void)
{
    char one[13], two[13];
    uint64_t link = 0;
    aclrtUtilizationInfo use;
    memset(&use, 0, sizeof use);
    OK(aclrtDeviceGetPCIBusId(0, one, sizeof one));
    OK(aclrtDeviceGetPCIBusId(7, two, sizeof two));
    THAT(strlen(one) == 12 && strcmp(one, two) != 0);
    THAT(one[4] == ':' && one[7] == ':' && one[10] == '.');
    CODE(100000, aclrtDeviceGetPCIBusId(0, one, 12));
    CODE(100000, aclrtDeviceGetPCIBusId(0, NULL, 13));
    CODE(107001, aclrtDeviceGetPCIBusId(8, one, 13));
    OK(aclrtGetDevicesTopo(0, 1, &link));
    THAT(link == ACL_RT_DEVS_TOPOLOGY_HCCS);
    CODE(100000, aclrtGetDevicesTopo(1, 1, &link));
    CODE(100000, aclrtGetDevicesTopo(0, 1, NULL));
    CODE(107001, aclrtGetDevicesTopo(0, 8, &link));
    OK(aclrtGetDeviceUtilizationRate(0, &use));
    THAT(use.memoryUtilization == -1);
    use.utilizationExtend = &link;
    CODE(100000, aclrtGetDeviceUtilizationRate(0, &use));
    CODE(100000, aclrtGetDeviceUtilizationRate(0, NULL));
    use.utilizationExtend = NULL;
    CODE(107001, aclrtGetDeviceUtilizationRate(-1, &use));
}

static void devices_without_faults(void)
{
    static aclrtErrorInfo error;
    aclrtMemUceInfo list[2];
    size_t count = 9;
    memset(&error, 0xff, sizeof error);
    memset(list, 0, sizeof list);
    OK(aclrtGetMemUceInfo(0, list, 2, &count));
    THAT(count == 0);
    CODE(100000, aclrtGetMemUceInfo(0, NULL, 2, &count));
    CODE(100000, aclrtGetMemUceInfo(0, list, 0, &count));
    CODE(100000, aclrtGetMemUceInfo(0, list, 2, NULL));
    CODE(107001, aclrtGetMemUceInfo(8, list, 2, &count));
    OK(aclrtMemUceRepair(0, list, 2));
    CODE(100000, aclrtMemUceRepair(0, NULL, 2));
    CODE(100000, aclrtMemUceRepair(0, list, 0));
    CODE(100000, aclrtMemUceRepair(0, list, 21));
    CODE(107001, aclrtMemUceRepair(8, list, 1));
    OK(aclrtGetErrorVerbose(0, &error));
    THAT(error.errorType == ACL_RT_NO_ERROR && error.hasDetail == 0 && error.tryRepair == 0);
    CODE(100000, aclrtGetErrorVerbose(0, NULL));
    CODE(107001, aclrtGetErrorVerbose(8, &error));
    OK(aclrtRepairError(0, &error));
    error.errorType = (aclrtErrorType)6;
    CODE(100000, aclrtRepairError(0, &error));
    CODE(100000, aclrtRepairError(0, NULL));
    error.errorType = ACL_RT_ERROR_OTHERS;
    CODE(107001, aclrtRepairError(8, &error));
}

int main(void)
{
    RUN_LONG(all_socs, 300);
    RUN(notifies_of_a_product);
    RUN(an_unknown_product);
    RUN(managed_memory);
    RUN(attributes_that_are_listed);
    RUN(facts_of_a_device);
    RUN(devices_without_faults);
    return check_end();
}
