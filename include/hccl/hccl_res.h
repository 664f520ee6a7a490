/**
 * @file hccl_res.h
 * Resources of a communicator for operators that a program brings itself.
 *
 * The buffer, contexts and registered memory are real. Threads that run the tasks of such operators
 * are not: these calls check their arguments and return HCCL_E_NOT_SUPPORT. NULL gives HCCL_E_PTR; a
 * value outside its range HCCL_E_PARA.
 */
#ifndef HCCL_HCCL_RES_H_
#define HCCL_HCCL_RES_H_

#include "acl/acl_rt.h"
#include "hccl/hccl_channel.h"
#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest tag, in characters. */
#define HCCL_RES_TAG_MAX_LEN 255

/** What a thread is for. */
typedef enum {
    HCCL_DED_THREAD_TYPE_INVALID = -1,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH = 0,
    HCCL_DED_THREAD_TYPE_AICPU_LAUNCH_GE = 1,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_OPBASE = 2,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_ACLGRAPH = 3,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_GE = 4,
    HCCL_DED_THREAD_TYPE_AICPU_ORDER_LAUNCH_DEVICE = 5
} HcclDedicatedThreadType;

typedef aclrtStream ThreadResTypeStream;

/**
 * The buffer of a communicator: device memory of twice the size that its config, or HCCL_BUFFSIZE,
 * says. It is taken at the first call, zeroed, and goes with the communicator; our own operators do
 * not touch it. @return HCCL_E_MEMORY when the device has no room.
 */
HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size);

/**
 * Makes a context of `size` bytes, zeroed: host memory for COMM_ENGINE_CPU, CPU_TS and CCU, device
 * memory for the others. It goes with the communicator.
 * @param ctxTag at most 255 characters; NULL is the empty tag
 * @return HCCL_E_PARA for a size of 0, a tag that is too long, or one that the engine has already.
 */
HcclResult HcclEngineCtxCreate(HcclComm comm, const char *ctxTag, CommEngine engine, uint64_t size,
                               void **ctx);

/** Finds a context again. @return HCCL_E_NOT_FOUND when there is none. */
HcclResult HcclEngineCtxGet(HcclComm comm, const char *ctxTag, CommEngine engine, void **ctx,
                            uint64_t *size);

/** Copies `size` bytes of host memory to byte `dstCtxOffset` of a context. */
HcclResult HcclEngineCtxCopy(HcclComm comm, CommEngine engine, const char *ctxTag,
                             const void *srcCtx, uint64_t size, uint64_t dstCtxOffset);

/** Gives a context up. @return HCCL_E_NOT_FOUND when there is none. */
HcclResult HcclEngineCtxDestroy(HcclComm comm, const char *ctxTag, CommEngine engine);

/**
 * Registers memory under a tag, until the communicator goes. The same memory again has the same
 * handle. @return HCCL_E_PARA for an empty tag, one that other memory has, or memory that is not of
 * the communicator's device.
 */
HcclResult HcclCommMemReg(HcclComm comm, const char *memTag, const CommMem *mem,
                          HcclMemHandle *memHandle);

/** Would take threads of an engine. @return HCCL_E_NOT_SUPPORT when asked rightly. */
HcclResult HcclThreadAcquire(HcclComm comm, CommEngine engine, uint32_t threadNum,
                             uint32_t notifyNumPerThread, ThreadHandle *threads);
HcclResult HcclThreadAcquireWithConfig(HcclComm comm, CommEngine engine, uint32_t threadNum,
                                       ThreadType type, const ThreadConfig *config,
                                       ThreadHandle *threads);
HcclResult HcclThreadAcquireWithStream(HcclComm comm, CommEngine engine, aclrtStream stream,
                                       uint32_t notifyNum, ThreadHandle *thread);
HcclResult HcclDedicatedThreadAcquire(HcclComm comm, HcclDedicatedThreadType useType,
                                      uint32_t notifyNumPerThread, ThreadHandle *thread);

/** Would make threads known to another engine, and tell the stream of one. */
HcclResult HcclThreadExportToCommEngine(HcclComm comm, uint32_t threadNum,
                                        const ThreadHandle *threads, CommEngine dstCommEngine,
                                        ThreadHandle *exportedThreads);
HcclResult HcclThreadResGetInfo(HcclComm comm, ThreadHandle thread, ThreadResType resType,
                                uint32_t infoLen, void **info);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_RES_H_ */
