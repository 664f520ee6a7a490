/**
 * @file extension.c
 * What libascendcl.so offers to libhccl.so: tasks that are polled, and where memory lies.
 */
#include "check.h"
#include "softnpu/softnpu.h"

/* They change behind the compiler's back. */
static uint64_t now(const uint64_t *counter)
{
    return *(const volatile uint64_t *)counter;
}

struct task {
    atomic_int polls;
    atomic_int released;
    _Atomic(uint32_t) word;
    int code;
};

/** Pends until the word changes, then ends with the code. */
static int32_t poll_task(void *data, uint32_t arm, softnpuWake *wake)
{
    struct task *task = data;
    (void)arm;
    atomic_fetch_add(&task->polls, 1);
    if (atomic_load(&task->word) == 0) {
        wake->word = (const uint32_t *)&task->word;
        wake->seen = 0;
        wake->sleep_us = 1000;
        return SOFTNPU_POLL_PENDING;
    }
    return task->code;
}

static void release_task(void *data)
{
    atomic_fetch_add(&((struct task *)data)->released, 1);
}

static void tasks(void)
{
    static struct task good, bad, lost;
    softnpuTask task = {sizeof task, "test", &good, poll_task, release_task};
    aclrtStream stream = NULL;
    int32_t device = -1, at_rest = -1;
    NEED(aclrtSetDevice(3));
    NEED(aclrtCreateStream(&stream));
    OK(softnpuStreamState(stream, &device, &at_rest));
    THAT(device == 3 && at_rest == 1);
    good.code = SOFTNPU_POLL_DONE;
    OK(softnpuStreamSubmit(stream, &task));
    THAT(now(&softnpuPendingTasks) == 1);
    OK(softnpuStreamState(stream, &device, &at_rest));
    THAT(at_rest == 0);
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    atomic_store(&good.word, 1);
    OK(aclrtSynchronizeStream(stream));
    THAT(atomic_load(&good.polls) > 1 && atomic_load(&good.released) == 1);
    THAT(now(&softnpuPendingTasks) == 0);
    /* A code of its own reaches who waits. */
    task.data = &bad;
    bad.code = 507011;
    atomic_store(&bad.word, 1);
    OK(softnpuStreamSubmit(stream, &task));
    CODE(507011, aclrtSynchronizeStream(stream));
    THAT(atomic_load(&bad.released) == 1);
    /* Taken over even when it is refused, and not when it is no task. */
    task.data = &lost;
    CODE(107017, softnpuStreamSubmit(&device, &task));
    THAT(atomic_load(&lost.released) == 1 && atomic_load(&lost.polls) == 0);
    task.size = 8;
    CODE(100000, softnpuStreamSubmit(stream, &task));
    task.size = sizeof task;
    task.poll = NULL;
    CODE(100000, softnpuStreamSubmit(stream, &task));
    CODE(100000, softnpuStreamSubmit(stream, NULL));
    THAT(atomic_load(&lost.released) == 1);
    CODE(107017, softnpuStreamState(&device, &device, &at_rest));
    CODE(100000, softnpuStreamState(stream, NULL, &at_rest));
    CODE(100000, softnpuStreamState(stream, &device, NULL));
}

static void memory(void)
{
    softnpuMemory found = {0}, arena = {0}, own = {0};
    char *p = NULL;
    int local = 0;
    found.size = arena.size = own.size = sizeof found;
    NEED(aclrtSetDevice(2));
    OK(aclrtMalloc((void **)&p, 10000, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(softnpuMemoryOf(p + 5000, &found));
    THAT(found.device == 2 && found.fd >= 0 && found.allocated >= 10000);
    THAT(found.offset == found.allocation + 5000 && (char *)found.base + found.offset == p + 5000);
    OK(softnpuDeviceArena(2, &arena));
    THAT(arena.base == found.base && arena.fd == found.fd && arena.length == found.length);
    CODE(107001, softnpuDeviceArena(8, &arena));
    CODE(107000, softnpuMemoryOf(&local, &found));
    /* That an address is none of the device's is an answer, which leaves no message. */
    forget_messages();
    CODE(107000, softnpuMemoryOf(p + 20000, &found));
    THAT(aclGetRecentErrMsg() == NULL);
    found.size = 8;
    CODE(100000, softnpuMemoryOf(p, &found));
    CODE(100000, softnpuMemoryOf(p, NULL));
    const uint64_t changes = now(&softnpuMemoryChanges);
    OK(aclrtFree(p));
    THAT(now(&softnpuMemoryChanges) != changes);
    OK(softnpuDeviceMalloc(1, 4096, &own));
    THAT(own.device == 1 && own.allocated >= 4096);
    OK(softnpuDeviceFree(&own));
    CODE(100000, softnpuDeviceMalloc(1, 0, &own));
    CODE(107001, softnpuDeviceMalloc(9, 4096, &own));
    CODE(207001, softnpuDeviceMalloc(1, (uint64_t)1 << 50, &own));
    CODE(100000, softnpuDeviceFree(NULL));
}

static void messages(void)
{
    softnpuReportError("EI0001", "A_Title", "what happened", "why", "what to do");
    MESSAGE("EI0001", "A_Title", "what happened", "why", "what to do");
    softnpuReportError(NULL, NULL, NULL, NULL, NULL);
    forget_messages();
    setenv("ASCEND_LOG_PRINT_TO_STDOUT", "1", 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
    softnpuLog("HCCL", 1, "file.c", 7, "function", "a line of the log");
    softnpuLog("HCCL", 99, "file.c", 7, "function", "a level that does not exist");
    softnpuLog(NULL, 1, NULL, 0, NULL, NULL);
}

int main(void)
{
    RUN(tasks);
    RUN(memory);
    RUN(messages);
    return check_end();
}
