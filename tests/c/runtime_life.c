/**
 * @file runtime_life.c
 * Life of the library, devices, contexts, and which devices are visible.
 */
#include "check.h"

static void init_counts_and_finalize_ends(void)
{
    uint64_t left = 99;
    OK(aclInit(NULL));
    CODE(100002, aclInit(NULL));
    OK(aclFinalize());
    CODE(100037, aclFinalize());
    OK(aclInit(""));
    CODE(100002, aclInit(NULL));
    OK(aclFinalizeReference(&left));
    THAT(left == 1);
    OK(aclFinalizeReference(&left));
    THAT(left == 0);
    CODE(100037, aclFinalizeReference(&left));
    CODE(100037, aclFinalizeReference(NULL));
    OK(aclInit(NULL));
    OK(aclFinalizeReference(NULL));
}

static void finalize_before_init(void)
{
    OK(aclFinalize());
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        _exit(2);
    }
}

static void a_file_that_cannot_be_read(void)
{
    CODE(100003, aclInit("no/such/file.json"));
    MESSAGE("no/such/file.json");
    OK(aclInit(NULL));
}

static void a_file_that_is_not_json(void)
{
    write_file("bad.json", "{\"dump\":");
    FAILS(aclInit("bad.json"));
    OK(aclInit(NULL));
}

static void unknown_keys_are_accepted(void)
{
    write_file("good.json", "{\"dump\":{\"dump_scene\":\"lite_exception\"},\"zzz\":[1,2,{}]}");
    OK(aclInit("good.json"));
    OK(aclFinalize());
    write_file("other.json", "{\"err_msg_mode\":\"1\"}");
    CODE(100000, aclInit("other.json"));
}

static void a_default_device_needs_no_set(void)
{
    int32_t device = -1;
    void *memory = NULL;
    write_file("default.json", "{\"defaultDevice\":{\"default_device\":\"1\"}}");
    NEED(aclInit("default.json"));
    OK(aclrtGetDevice(&device));
    THAT(device == 1);
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(memory));
}

static void what_needs_neither_init_nor_device(void)
{
    uint32_t count = 0;
    aclrtRunMode mode = ACL_DEVICE;
    int32_t major = 0, minor = 0, patch = -1;
    OK(aclrtGetDeviceCount(&count));
    THAT(count == 8);
    THAT(strcmp(aclrtGetSocName(), "Ascend910B1") == 0);
    OK(aclrtGetRunMode(&mode));
    THAT(mode == ACL_HOST);
    OK(aclrtGetVersion(&major, &minor, &patch));
    THAT(major == 1 && minor == 17 && patch == 0);
    CODE(100000, aclrtGetDeviceCount(NULL));
    CODE(100000, aclrtGetRunMode(NULL));
    CODE(100000, aclrtGetVersion(NULL, &minor, &patch));
}

static void every_set_wants_its_reset(void)
{
    int32_t device = -1;
    int32_t active = -1;
    CODE(107002, aclrtGetDevice(&device));
    CODE(100000, aclrtGetDevice(NULL));
    CODE(507007, aclrtResetDevice(0));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    THAT(active == 0);
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtGetDevice(&device));
    THAT(device == 0);
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    THAT(active == 1);
    OK(aclrtResetDevice(0));
    OK(aclrtGetDevice(&device));
    OK(aclrtResetDevice(0));
    FAILS(aclrtGetDevice(&device));
    CODE(507007, aclrtResetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtResetDeviceForce(0));
    CODE(507007, aclrtResetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtGetDevice(&device));
    OK(aclrtResetDevice(0));
}

static void devices_that_do_not_exist(void)
{
    aclrtDeviceStatus status;
    aclrtUuid uuid;
    aclrtContext context = NULL;
    int64_t value = 0;
    int32_t active = 0;
    CODE(107001, aclrtSetDevice(-1));
    MESSAGE("-1", "7");
    CODE(107001, aclrtSetDevice(8));
    MESSAGE("8", "7");
    CODE(107001, aclrtSetDevice(INT32_MAX));
    CODE(107001, aclrtResetDevice(8));
    CODE(107001, aclrtResetDeviceForce(-7));
    CODE(107001, aclrtQueryDeviceStatus(8, &status));
    CODE(107001, aclrtGetDeviceInfo(8, ACL_DEV_ATTR_AICORE_CORE_NUM, &value));
    CODE(107001, aclGetDeviceCapability(8, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
    CODE(107001, aclrtDeviceGetUuid(8, &uuid));
    CODE(107001, aclrtCreateContext(&context, 8));
    CODE(107001, aclrtGetPrimaryCtxState(8, NULL, &active));
}

static void facts_about_a_device(void)
{
    aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
    int64_t value = 0;
    int32_t least = 0, greatest = 9, pid = 0, answer = -1;
    aclrtUuid one, again, two;
    const aclCannAttr *list = NULL;
    size_t number = 0;
    OK(aclrtQueryDeviceStatus(0, &status));
    THAT(status == ACL_RT_DEVICE_STATUS_NORMAL);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_CUBE_CORE_NUM, &value));
    THAT(value == 24);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value));
    THAT(value == 48);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, &value));
    THAT(value == 192LL << 20);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value));
    THAT(value == 2201);
    FAILS(aclrtGetDeviceInfo(0, (aclrtDevAttr)9999, &value));
    CODE(100000, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, NULL));
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
    THAT(value == 24);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
    THAT(value == 48);
    FAILS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value));
    OK(aclrtSetDevice(0));
    OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    THAT(least == 7 && greatest == 0);
    OK(aclrtDeviceGetUuid(0, &one));
    OK(aclrtDeviceGetUuid(0, &again));
    OK(aclrtDeviceGetUuid(1, &two));
    THAT(memcmp(&one, &again, sizeof one) == 0);
    THAT(memcmp(&one, &two, sizeof one) != 0);
    OK(aclrtDeviceGetBareTgid(&pid));
    THAT(pid > 0);
    OK(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &answer));
    THAT(answer == 1);
    OK(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, &answer));
    THAT(answer == 1);
    CODE(100000, aclGetCannAttribute(ACL_CANN_ATTR_BF16, NULL));
    FAILS(aclGetCannAttribute((aclCannAttr)77, &answer));
    OK(aclGetCannAttributeList(&list, &number));
    THAT(list != NULL && number >= 3);
}

static void overflow_mode(void)
{
    aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    CODE(107002, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    OK(aclrtSetDevice(0));
    OK(aclrtGetDeviceSatMode(&mode));
    THAT(mode == ACL_RT_OVERFLOW_MODE_INFNAN);
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    OK(aclrtGetDeviceSatMode(&mode));
    THAT(mode == ACL_RT_OVERFLOW_MODE_SATURATION);
    FAILS(aclrtSetDeviceSatMode((aclrtFloatOverflowMode)7));
    CODE(100000, aclrtGetDeviceSatMode(NULL));
}

static void peers(void)
{
    int32_t answer = -1;
    OK(aclrtDeviceCanAccessPeer(&answer, 0, 1));
    THAT(answer == 1);
    CODE(100000, aclrtDeviceCanAccessPeer(&answer, 1, 1));
    CODE(107001, aclrtDeviceCanAccessPeer(&answer, 0, 8));
    CODE(100000, aclrtDeviceCanAccessPeer(NULL, 0, 1));
    OK(aclrtSetDevice(0));
    CODE(200006, aclrtDeviceEnablePeerAccess(1, 1));
    CODE(100000, aclrtDeviceEnablePeerAccess(0, 0));
    OK(aclrtDevicePeerAccessStatus(0, 1, &answer));
    THAT(answer == 0);
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtDevicePeerAccessStatus(0, 1, &answer));
    THAT(answer == 1);
    OK(aclrtDevicePeerAccessStatus(1, 0, &answer));
    THAT(answer == 0);
    OK(aclrtDeviceDisablePeerAccess(1));
    OK(aclrtDevicePeerAccessStatus(0, 1, &answer));
    THAT(answer == 0);
}

/* ---- which devices are visible ---- */

static void visible(const char *list, long code, uint32_t expected)
{
    uint32_t count = 0;
    setenv("ASCEND_RT_VISIBLE_DEVICES", list, 1);
    CODE(code, aclrtGetDeviceCount(&count));
    if (code == 0 && count != expected) {
        fprintf(stderr, "list `%s` shows %u devices, expected %u\n", list, count, expected);
        atomic_fetch_add(&check_failures, 1);
    }
}

static void visible_two(void) { visible("1,3", 0, 2); }
static void visible_all(void) { visible("0,1,2,3,4,5,6,7", 0, 8); }
static void visible_up_to_a_blank(void) { visible("1, 2,3", 0, 1); }
static void visible_up_to_what_does_not_exist(void) { visible("1,3,8", 0, 2); }
static void visible_up_to_a_letter(void) { visible("0,1,x,2", 0, 2); }
static void visible_empty(void) { visible("", 207004, 0); }
static void visible_descending(void) { visible("2,1", 207004, 0); }
static void visible_twice(void) { visible("1,1", 207004, 0); }
static void visible_word(void) { visible("all", 207004, 0); }
static void visible_beyond(void) { visible("8", 207004, 0); }
static void visible_negative(void) { visible("-1", 207004, 0); }
static void visible_huge(void) { visible("99999999999999999999", 207004, 0); }

static void fewer_devices(void)
{
    uint32_t count = 0;
    setenv("SOFTNPU_DEVICES", "3", 1);
    OK(aclrtGetDeviceCount(&count));
    THAT(count == 3);
    CODE(107001, aclrtSetDevice(3));
    OK(aclrtSetDevice(2));
}

static void numbers_of_a_device(void)
{
    int32_t id = -1;
    setenv("ASCEND_RT_VISIBLE_DEVICES", "2,5", 1);
    OK(aclrtGetLogicDevIdByUserDevId(1, &id));
    THAT(id == 5);
    OK(aclrtGetUserDevIdByLogicDevId(5, &id));
    THAT(id == 1);
    OK(aclrtGetPhyDevIdByUserDevId(0, &id));
    THAT(id == 2);
    OK(aclrtGetUserDevIdByPhyDevId(2, &id));
    THAT(id == 0);
    OK(aclrtGetPhyDevIdByLogicDevId(5, &id));
    THAT(id == 5);
    OK(aclrtGetLogicDevIdByPhyDevId(5, &id));
    THAT(id == 5);
    CODE(107001, aclrtGetLogicDevIdByUserDevId(2, &id));
    CODE(107001, aclrtGetUserDevIdByLogicDevId(3, &id));
    CODE(107001, aclrtGetUserDevIdByPhyDevId(-1, &id));
    CODE(100000, aclrtGetUserDevIdByPhyDevId(2, NULL));
    CODE(107001, aclrtSetDevice(2));
    OK(aclrtSetDevice(1));
}

/* ---- contexts ---- */

static void *has_no_context(void *argument)
{
    aclrtContext context = NULL;
    void *memory = NULL;
    (void)argument;
    CODE(107002, aclrtGetCurrentContext(&context));
    CODE(107002, aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    return NULL;
}

static void *takes_a_context(void *argument)
{
    aclrtContext context = NULL;
    int32_t device = -1;
    OK(aclrtSetCurrentContext(argument));
    OK(aclrtGetCurrentContext(&context));
    THAT(context == argument);
    OK(aclrtGetDevice(&device));
    THAT(device == 1);
    return NULL;
}

static void contexts(void)
{
    aclrtContext primary = NULL, own = NULL, current = NULL;
    uint32_t flags = 0;
    int32_t active = 0, device = -1;
    CODE(107002, aclrtGetCurrentContext(&current));
    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&primary));
    THAT(primary != NULL);
    CODE(107002, aclrtDestroyContext(primary));
    CODE(100000, aclrtCreateContext(NULL, 0));
    OK(aclrtCreateContext(&own, 1));
    OK(aclrtGetCurrentContext(&current));
    THAT(current == own && own != primary);
    OK(aclrtGetDevice(&device));
    THAT(device == 1);
    on_thread(has_no_context, NULL);
    on_thread(takes_a_context, own);
    CODE(100000, aclrtSetCurrentContext(NULL));
    CODE(100000, aclrtGetCurrentContext(NULL));
    CODE(100000, aclrtDestroyContext(NULL));
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtGetDevice(&device));
    THAT(device == 0);
    OK(aclrtDestroyContext(own));
    FAILS(aclrtDestroyContext(own));
    FAILS(aclrtSetCurrentContext(own));
    OK(aclrtGetCurrentContext(&current));
    THAT(current == primary);
    CODE(100000, aclrtGetPrimaryCtxState(0, &flags, &active));
    CODE(100000, aclrtGetPrimaryCtxState(0, NULL, NULL));
    /* Setting the device again forgets an explicit context. */
    OK(aclrtCreateContext(&own, 0));
    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&current));
    THAT(current == primary);
    OK(aclrtDestroyContext(own));
}

static void options(void)
{
    aclrtContext own = NULL;
    int64_t value = -1;
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    THAT(value == 0);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    THAT(value == 1);
    CODE(107002, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtSetDevice(0));
    CODE(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    THAT(value == 1);
    OK(aclrtCreateContext(&own, 0));
    CODE(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    OK(aclrtDestroyContext(own));
    FAILS(aclrtSetSysParamOpt((aclSysParamOpt)99, 1));
    CODE(100000, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL));
}

static void nothing_works_after_the_reset(void)
{
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    void *memory = NULL;
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtResetDevice(0));
    OK(aclrtSetDevice(0));
    FAILS(aclrtSynchronizeStream(stream));
    FAILS(aclrtDestroyStream(stream));
    FAILS(aclrtFree(memory));
    OK(aclrtResetDevice(0));
}

int main(void)
{
    RUN(init_counts_and_finalize_ends);
    RUN(finalize_before_init);
    RUN(a_file_that_cannot_be_read);
    RUN(a_file_that_is_not_json);
    RUN(unknown_keys_are_accepted);
    RUN(a_default_device_needs_no_set);
    RUN(what_needs_neither_init_nor_device);
    RUN(every_set_wants_its_reset);
    RUN(devices_that_do_not_exist);
    RUN(facts_about_a_device);
    RUN(overflow_mode);
    RUN(peers);
    RUN(visible_two);
    RUN(visible_all);
    RUN(visible_up_to_a_blank);
    RUN(visible_up_to_what_does_not_exist);
    RUN(visible_up_to_a_letter);
    RUN(visible_empty);
    RUN(visible_descending);
    RUN(visible_twice);
    RUN(visible_word);
    RUN(visible_beyond);
    RUN(visible_negative);
    RUN(visible_huge);
    RUN(fewer_devices);
    RUN(numbers_of_a_device);
    RUN(contexts);
    RUN(options);
    RUN(nothing_works_after_the_reset);
    return check_end();
}
