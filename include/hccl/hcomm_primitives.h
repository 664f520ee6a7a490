/**
 * @file hcomm_primitives.h
 * The tasks that operators of a program's own are made of.
 *
 * They work on threads and channels, which a software NPU does not have (see hccl_res.h), so all of
 * them return HCCL_E_NOT_SUPPORT (5); HCCL_E_PTR (2) for NULL.
 */
#ifndef HCCL_HCOMM_PRIMITIVES_H_
#define HCCL_HCOMM_PRIMITIVES_H_

#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Would take a communicator, by its name, for the tasks that follow, and give it back. */
int32_t HcommAcquireComm(const char *commId);
int32_t HcommReleaseComm(const char *commId);

/** Would collect the tasks that follow, and start them. */
int32_t HcommBatchModeStart(const char *batchTag);
int32_t HcommBatchModeEnd(const char *batchTag);

/** Would copy memory: on the own device, to another rank, from another rank. */
int32_t HcommLocalCopyOnThread(ThreadHandle thread, void *dst, const void *src, uint64_t len);
int32_t HcommWriteOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src,
                           uint64_t len);
int32_t HcommReadOnThread(ThreadHandle thread, ChannelHandle channel, void *dst, const void *src,
                          uint64_t len);

/** Would give signs, and wait for them: between threads, and between ranks. */
int32_t HcommThreadNotifyRecordOnThread(ThreadHandle thread, ThreadHandle dstThread,
                                        uint32_t dstNotifyIdx);
int32_t HcommThreadNotifyWaitOnThread(ThreadHandle thread, uint32_t notifyIdx, uint32_t timeOut);
int32_t HcommChannelNotifyRecordOnThread(ThreadHandle thread, ChannelHandle channel,
                                         uint32_t remoteNotifyIdx);
int32_t HcommChannelNotifyWaitOnThread(ThreadHandle thread, ChannelHandle channel,
                                       uint32_t localNotifyIdx, uint32_t timeOut);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCOMM_PRIMITIVES_H_ */
