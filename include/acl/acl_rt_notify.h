/**
 * @file acl_rt_notify.h
 * Notifies, counting notifies, and numbers in device memory that streams wait for. Part of acl_rt.h.
 *
 * What acl_rt.h says of codes, times and NULL streams holds here too.
 */
#ifndef ACL_ACL_RT_NOTIFY_H_
#define ACL_ACL_RT_NOTIFY_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Flags of notifies @{ */
#define ACL_NOTIFY_DEFAULT 0x00000000U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x00000001U
/** Whoever has the key may import. */
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x02UL
/** Open memory of the peer device too, which is open here in any case. */
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x02UL
/** @} */

/** @name What aclrtValueWait asks of the number `x` in memory @{ */
#define ACL_VALUE_WAIT_GEQ 0x00000000U /**< (int64_t)(x - value) >= 0 */
#define ACL_VALUE_WAIT_EQ 0x00000001U  /**< x == value */
#define ACL_VALUE_WAIT_AND 0x00000002U /**< (x & value) != 0 */
#define ACL_VALUE_WAIT_NOR 0x00000003U /**< ~(x | value) != 0 */
/** @} */

/** What a record does to a counting notify. */
typedef enum {
    ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE = 0,
    ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE = 1,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE = 2,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE = 4
} aclrtCntNotifyRecordMode;

/** What a wait asks of a counting notify. */
typedef enum {
    ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE = 0,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE = 1,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE = 2,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE = 3,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE = 4 /**< (count & value) == value */
} aclrtCntNotifyWaitMode;

typedef struct aclrtCntNotifyRecordInfo {
    aclrtCntNotifyRecordMode mode;
    uint32_t value;
} aclrtCntNotifyRecordInfo;

typedef struct aclrtCntNotifyWaitInfo {
    aclrtCntNotifyWaitMode mode;
    uint32_t value;
    uint32_t timeout; /**< seconds; 0 waits for ever */
    uint8_t isClear;  /**< not 0: the count is 0 after the wait */
    uint8_t rsv[3];
} aclrtCntNotifyWaitInfo;

/**
 * @name Notifies
 * A notify is a flag: a record sets it, a wait takes it away. Recording twice is as good as once.
 * @{
 */

/**
 * Makes a notify of the current device, not set.
 * @param flag ACL_NOTIFY_DEFAULT or ACL_NOTIFY_DEVICE_USE_ONLY, else 107000
 * @return 207009 when the device has no more (aclrtGetSocName tells the product, which sets how
 *         many there are: 1024 to 65535).
 */
aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);

/** Waits that are queued stay valid. @return 107017 for a stale handle. */
aclError aclrtDestroyNotify(aclrtNotify notify);

/** Sets the flag in stream order. @return 107003 for a stream of another context. */
aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/**
 * The stream waits until the flag is set, and takes it away.
 * @param timeout seconds; 0 waits for ever. The task fails with 107019 when it runs out.
 */
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout);

/** Number of the notify, unique in the process that made it; an imported one has the same. */
aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId);

/** Takes several flags away at once. @return 100000 for NULL or `num` 0; then none is touched. */
aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num);

/**
 * Makes the text by which other processes of this host find the notify. Asking again gives the
 * same text.
 * @param len bytes at `key`: 65 or more, else 107000
 * @param flags 0, or ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION
 * @return 107000 for an imported notify.
 */
aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags);

/**
 * Finds a notify of another process. It wants its aclrtDestroyNotify.
 * @param flags 0, or ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS
 * @return 107000 for a key that is none, that this process made, or whose process has ended;
 *         207006 when this process is not allowed to import it.
 */
aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags);

/**
 * Names processes that may import (aclrtDeviceGetBareTgid gives their numbers). Lists add up.
 * @return 107000 before the export; 100000 for an empty list.
 */
aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num);

/** The same by devices of a pod. @return 207000 for devices of other servers. */
aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid *serverPids,
                                            size_t num);

/** @} */
/**
 * @name Counting notifies
 * They hold 32 bits instead of a flag, belong to one process, and count among the notifies.
 * @{
 */

/** Makes a counting notify at 0. @return as aclrtCreateNotify. */
aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flags);

/** Waits that are queued stay valid. @return 107017 for a stale handle. */
aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify);

/** Changes the count in stream order; sums wrap. @return 107000 for a mode that is not known. */
aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream,
                              aclrtCntNotifyRecordInfo *info);

/**
 * The stream waits for the count; the task fails with 107019 when the time is over.
 * @return 107000 for a mode that is not known.
 */
aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream,
                                       aclrtCntNotifyWaitInfo *info);

/** Sets the count to 0 in stream order. */
aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream);

/** Number of the counting notify; no notify has the same. */
aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId);

/** @} */
/** @name Numbers of 64 bits in device memory @{ */

/**
 * Writes a number in stream order.
 * @param devAddr device memory, a multiple of 8, else 107000
 * @param flag 0
 */
aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/**
 * The stream waits until the number passes. Any store counts, whoever makes it: a stream, the
 * host, another process.
 * @param flag ACL_VALUE_WAIT_..., else 107000
 */
aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_NOTIFY_H_ */
