/**
 * @file softnpu.h
 * Extensions that the software NPU's libascendcl.so offers beyond the public AscendCL interface.
 *
 * libhccl.so looks them up at run time and uses them where they exist; ordinary programs have no
 * need of them. All structures begin with their own size, so that either side may grow.
 */
#ifndef SOFTNPU_SOFTNPU_H_
#define SOFTNPU_SOFTNPU_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Tasks that are queued on streams of this process and have not finished, plus failures that nobody
 * was told of. 0: there is nothing to wait for and nothing to be told. Never 0 in a forked child of
 * a process that used devices.
 */
extern const uint64_t softnpuPendingTasks;

/**
 * Changes whenever memory that softnpuMemoryOf found may not be there any more, or not end where it
 * did: what was found holds as long as this stays.
 */
extern const uint64_t softnpuMemoryChanges;

/** A word that a pending task waits on: worth another poll once it differs from `seen`. */
typedef struct softnpuWake {
    const uint32_t *word; /**< stays mapped as long as the task exists */
    uint32_t seen;        /**< the value that means "nothing new" */
    uint32_t shared;      /**< 1: other processes change the word; 0: only this one */
    uint32_t spin;        /**< 1: the answer is near and cores are to spare, so spin a little */
    uint32_t sleep_us;    /**< the longest to sleep before the next poll, in us; 0: no matter */
} softnpuWake;

/** What a poll found. Any other value is the aclError with which the task failed. */
#define SOFTNPU_POLL_DONE 0
#define SOFTNPU_POLL_PROGRESS (-1) /**< did something; poll again at once */
#define SOFTNPU_POLL_PENDING (-2)  /**< cannot go on; `wake` says what to wait for */

/** A task that a stream runs by polling it. The runtime calls neither function concurrently. */
typedef struct softnpuTask {
    size_t size;      /**< sizeof(softnpuTask) of the caller */
    const char *name; /**< for logs; copied */
    void *data;
    /**
     * Goes as far as it can without blocking. With `arm` not 0 the caller is about to sleep on
     * the wake word: the task tells its peers so, and looks once more.
     */
    int32_t (*poll)(void *data, uint32_t arm, softnpuWake *wake);
    /** Called once, after the last poll, whether the task ended or was thrown away. */
    void (*release)(void *data);
} softnpuTask;

/**
 * Queues a task on a stream (NULL: the default stream of the current context).
 * The runtime takes `data` over: `release` is called exactly once, also when this call fails for
 * any reason but a missing function or a structure of the wrong size (100000).
 */
int32_t softnpuStreamSubmit(void *stream, const softnpuTask *task);

/** Where a device pointer lives. */
typedef struct softnpuMemory {
    size_t size;            /**< sizeof(softnpuMemory) of the caller; set before the call */
    int32_t device;         /**< user device id */
    int32_t fd;             /**< the arena's memory file; owned by the runtime, do not close */
    void *base;             /**< first byte of the arena in this process */
    uint64_t length;        /**< bytes of the arena */
    uint64_t allocation;    /**< offset in the arena of the allocation that holds the pointer */
    uint64_t allocated;     /**< bytes of that allocation */
    uint64_t offset;        /**< offset of the pointer itself in the arena */
    uint64_t epoch;         /**< how often the device was reset before the allocation was made */
} softnpuMemory;

/** Tells which arena and allocation hold a pointer; 107000 when none does. */
int32_t softnpuMemoryOf(const void *pointer, softnpuMemory *memory);

/** Tells the arena of a device; `allocation` and `allocated` are 0. */
int32_t softnpuDeviceArena(int32_t device, softnpuMemory *memory);

/**
 * Allocates memory of a device, whatever the calling thread's context is. 207001 when there is no
 * room. Give the structure back to softnpuDeviceFree unchanged.
 */
int32_t softnpuDeviceMalloc(int32_t device, uint64_t bytes, softnpuMemory *memory);

/** Frees what softnpuDeviceMalloc gave; nothing happens if the device was reset since. */
int32_t softnpuDeviceFree(const softnpuMemory *memory);

/**
 * Device of a stream (NULL: default stream), and whether the stream is at rest: 1 if it has nothing
 * queued and takes tasks, so that what its caller does now is done in the stream's order; else 0.
 * 107017 for a stale handle.
 */
int32_t softnpuStreamState(void *stream, int32_t *device, int32_t *atRest);

/** Adds a record to the calling thread's error messages (aclGetRecentErrMsg). */
void softnpuReportError(const char *code, const char *title, const char *message,
                        const char *cause, const char *solution);

/** Writes a log line of a module. level: 0 debug, 1 info, 2 warning, 3 error, 16 event. */
void softnpuLog(const char *module, int32_t level, const char *file, uint32_t line,
                const char *function, const char *message);

#ifdef __cplusplus
}
#endif

#endif /* SOFTNPU_SOFTNPU_H_ */
