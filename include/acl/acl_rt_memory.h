/**
 * @file acl_rt_memory.h
 * Device memory, pinned host memory, copies, address ranges. Part of acl_rt.h.
 *
 * What acl_rt.h says of codes, times and NULL streams holds here too.
 */
#ifndef ACL_ACL_RT_MEMORY_H_
#define ACL_ACL_RT_MEMORY_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Flags of aclrtHostRegisterV2 @{ */
#define ACL_HOST_REG_MAPPED 0x00000002U
#define ACL_HOST_REG_IOMEMORY 0x00000004U
#define ACL_HOST_REG_READONLY 0x00000008U
#define ACL_HOST_REG_PINNED 0x10000000U
/** @} */

/** @name Flags of memory that processes share @{ */
#define ACL_RT_VMM_EXPORT_FLAG_DEFAULT 0x00000000ULL
/** Whoever has the handle may import. */
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x00000001ULL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x00000000ULL
/** Whoever has the key may import. */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x00000001ULL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x00000000ULL
/** Open memory of the peer device too, which is open here in any case. */
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x00000001ULL
/** @} */

/** Direction of a copy. Advice only: where the pointers lie decides. */
typedef enum {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7
} aclrtMemcpyKind;

/** Pages of device memory: 2 MiB first, only, or never; P2P for memory that peers reach. */
typedef enum {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

/** Kinds of device memory. */
typedef enum {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5,
    ACL_DDR_MEM_P2P_HUGE = 6,
    ACL_DDR_MEM_P2P_NORMAL = 7,
    ACL_HBM_MEM_P2P_HUGE = 8,
    ACL_HBM_MEM_P2P_NORMAL = 9,
    ACL_HBM_MEM_HUGE1G = 10,
    ACL_HBM_MEM_P2P_HUGE1G = 11,
    ACL_MEM_NORMAL = 12,
    ACL_MEM_HUGE = 13,
    ACL_MEM_HUGE1G = 14,
    ACL_MEM_P2P_NORMAL = 15,
    ACL_MEM_P2P_HUGE = 16,
    ACL_MEM_P2P_HUGE1G = 17
} aclrtMemAttr;

typedef enum {
    ACL_MEM_LOCATION_TYPE_HOST = 0, /**< pinned or registered host memory */
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2, /**< memory that the runtime does not know */
    ACL_MEM_LOCATION_TYPE_MANAGED = 3,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4
} aclrtMemLocationType;

typedef enum {
    ACL_MEM_HANDLE_TYPE_NONE = 0,
    ACL_MEM_HANDLE_TYPE_POSIX = 2
} aclrtMemHandleType;

typedef enum {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0
} aclrtMemAllocationType;

typedef enum {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xFFFF
} aclrtMemGranularityOptions;

/** What can be said of memory that is shared by a key. */
typedef enum {
    ACL_RT_IPC_MEM_ATTR_ACCESS_LINK = 0
} aclrtIpcMemAttrType;

#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO 0
#define ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS 1

/** What kind of handle stands for shared physical memory. */
typedef enum {
    ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1, /**< a uint64_t, for processes of this host */
    ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2   /**< an aclrtMemFabricHandle, for other hosts */
} aclrtMemSharedHandleType;

/** What a place may do with memory. */
typedef enum {
    ACL_RT_MEM_ACCESS_FLAGS_NONE = 0,
    ACL_RT_MEM_ACCESS_FLAGS_READ = 1,
    ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 3
} aclrtMemAccessFlags;

typedef enum {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 4,
    ACL_HOST_REGISTER_READONLY = 8
} aclrtHostRegisterType;

typedef enum {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3
} aclrtCmoType;

/** A place where memory can lie. Mind the order of the members. */
typedef struct aclrtMemLocation {
    uint32_t id; /**< user device id; 0 for host memory */
    aclrtMemLocationType type;
} aclrtMemLocation;

/** Things that an allocation can be configured with. */
typedef enum {
    ACL_RT_MEM_ATTR_RSV = 0,
    ACL_RT_MEM_ATTR_MODULE_ID = 1,
    ACL_RT_MEM_ATTR_DEVICE_ID = 2,
    ACL_RT_MEM_ATTR_VA_FLAG = 3
} aclrtMallocAttrType;

typedef union aclrtMallocAttrValue {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} aclrtMallocAttrValue;

typedef struct aclrtMallocAttribute {
    aclrtMallocAttrType attr;
    aclrtMallocAttrValue value;
} aclrtMallocAttribute;

typedef struct aclrtMallocConfig {
    aclrtMallocAttribute *attrs;
    size_t numAttrs;
} aclrtMallocConfig;

/** Where both ends of some copies lie: one on a device, one on the host. */
typedef struct aclrtMemcpyBatchAttr {
    aclrtMemLocation dstLoc;
    aclrtMemLocation srcLoc;
    uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

/** What a part of the program uses of a device's memory. */
typedef struct aclrtMemUsageInfo {
    char name[32];
    uint64_t curMemSize;
    uint64_t memPeakSize;
    size_t reserved[8];
} aclrtMemUsageInfo;

/** How memory is combined with other memory. */
typedef enum {
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13
} aclrtReduceKind;

typedef struct aclrtMemAccessDesc {
    aclrtMemAccessFlags flags;
    aclrtMemLocation location;
    uint8_t rsv[12];
} aclrtMemAccessDesc;

typedef struct aclrtMemFabricHandle {
    uint8_t data[128];
} aclrtMemFabricHandle;

typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize; /**< bytes */
    uint32_t rsv[4];
} aclrtPtrAttributes;

typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;
    aclrtMemAllocationType allocationType;
    aclrtMemAttr memAttr;
    aclrtMemLocation location;
    uint64_t reserve;
} aclrtPhysicalMemProp;

/* ------------------------------------------------------------------------------------------- */
/** @name Memory @{ */

/**
 * Allocates device memory. The address is a multiple of 64; the contents are not defined.
 * @param size more than 0, else 100000
 * @return 207001 when the device has not that much; 107000 for a policy that is not known.
 */
aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc, without the spare bytes behind the block. */
aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc, for memory that the host reads through its caches. */
aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc, with a configuration.
 * @param cfg NULL for none; ACL_RT_MEM_ATTR_DEVICE_ID takes the memory of another device
 * @return 100000 for an attribute that is not known.
 */
aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy,
                            aclrtMallocConfig *cfg);

/** As aclrtMallocWithCfg, for memory that the task scheduler reads. */
aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy,
                                     aclrtMallocConfig *cfg);

/**
 * Memory that host and devices reach by one address; wants its aclrtFree.
 * @param flag 1, else 107000
 * @return 207000 on all products but the 950 series.
 */
aclError aclrtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag);

/** Does not wait for tasks that use the memory. @return 107000 for an address inside a block. */
aclError aclrtFree(void *devPtr);

/** Waits until the memory's device has nothing queued, and frees. */
aclError aclrtFreeWithDevSync(void *devPtr);

/** Writes the host's caches back, which need no care here. @return 107000 for other memory. */
aclError aclrtMemFlush(void *devPtr, size_t size);

/** Empties the host's caches, which need no care here. @return 107000 for other memory. */
aclError aclrtMemInvalidate(void *devPtr, size_t size);

/** Allocates pinned host memory; the address is a multiple of 64. */
aclError aclrtMallocHost(void **hostPtr, size_t size);
aclError aclrtFreeHost(void *hostPtr);

/** As aclrtMallocHost. @param cfg NULL for none @return 100000 for an unknown attribute. */
aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg);

/** Waits until the current device has nothing queued, and frees. */
aclError aclrtFreeHostWithDevSync(void *hostPtr);

/**
 * Copies at once and returns when the copy is complete. Does not wait for streams.
 * @param destMax room at `dst`; a larger `count` gives 107000
 * @param count 0 succeeds whatever the pointers are
 */
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                     aclrtMemcpyKind kind);

/**
 * Copies in stream order. With host memory that is not pinned the call waits for the stream and
 * copies before it returns.
 * @return 207000 for host to host.
 */
aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream);

/** As aclrtMemcpyAsync, under its older name. */
aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream);

/**
 * Many copies between host and device in one call. Everything is checked before anything is copied.
 * @param numBatches copies; 1 or more
 * @param attrs,attrsIndexes attribute i holds for the copies from attrsIndexes[i] on, up to those
 *        of the next; indexes begin with 0 and ascend
 * @param failIndex receives the copy whose fault it was, SIZE_MAX where it was none's
 * @return 100000 for lists that are not like that; 107000 for memory that is not where its attribute
 *         says, or sizes of 0 or beyond destMax.
 */
aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
                          size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                          size_t numAttrs, size_t *failIndex);

/** The same in stream order; memory that is not pinned is copied before the call returns. */
aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
                               size_t numBatches, aclrtMemcpyBatchAttr *attrs,
                               size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream);

/** As aclrtMemcpyBatch, without `failIndex`. */
aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
                            size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                            size_t numAttrs);

/** As aclrtMemcpyBatchAsync, without `failIndex`. */
aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
                                 size_t numBatches, aclrtMemcpyBatchAttr *attrs,
                                 size_t *attrsIndexes, size_t numAttrs, aclrtStream stream);

/** Sets `count` bytes. @param maxCount room at `devPtr`; a larger `count` gives 107000 */
aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);
aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream);

/**
 * Sets `num` numbers of 32 bits.
 * @param devPtr memory of the device or pinned memory, a multiple of 4
 * @param memSize bytes at `devPtr`; fewer than 4 * num give 100000
 */
aclError aclrtMemsetD32(void *devPtr, size_t memSize, uint32_t value, size_t num);

/** The same in stream order. */
aclError aclrtMemsetD32Async(void *devPtr, size_t memSize, uint32_t value, size_t num,
                             aclrtStream stream);

/**
 * Combines device memory with other device memory in stream order: dst = dst op src.
 * @param count bytes; a multiple of the element, as both addresses, else 107000
 * @param type numbers of 8 to 64 bits, FP16, BF16, FP32 and FP64; others give 207000
 * @param kind sum, maximum or minimum; ..._EQUAL gives 207000
 * @param reserve NULL
 */
aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count, aclrtReduceKind kind,
                          aclDataType type, aclrtStream stream, void *reserve);

/**
 * Copies `height` rows of `width` bytes.
 * @param dpitch,spitch bytes from one row to the next; `width` beyond either gives 100000
 */
aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind);
aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                            size_t width, size_t height, aclrtMemcpyKind kind,
                            aclrtStream stream);

/** Free and total memory of the current device. @return 107016 for a kind that is not known. */
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/**
 * What this process uses of a device's memory.
 * @param inputNum room at `memUsageInfo`; 0 gives 100000
 * @param outputNum receives how many were written: one, for all that the runtime gave out
 */
aclError aclrtGetMemUsageInfo(uint32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum,
                              size_t *outputNum);

/**
 * The allocation, mapping or import that an address lies in.
 * @param base,size may be NULL; the size includes spare bytes behind the block
 * @return 107000 for an address that is no device memory.
 */
aclError aclrtMemGetAddressRange(void *ptr, void **base, size_t *size);

/** Where memory lies; memory that the runtime does not know is no error. Needs no context. */
aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes);

/**
 * Pins host memory and gives its address on the device.
 * @param ptr a multiple of 4096
 * @return 507910 when it is registered already.
 */
aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr);

/**
 * Pins host memory.
 * @param ptr a multiple of 4096
 * @param flag one or more of ACL_HOST_REG_..., else 107000
 * @return 507910 when it is registered already.
 */
aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/**
 * The device's address of pinned memory.
 * @param flag 0
 * @return 107000 for memory that is not pinned, or registered without ACL_HOST_REG_MAPPED.
 */
aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/** @return 507911 when it is not registered. */
aclError aclrtHostUnregister(void *ptr);

/** Cache maintenance in stream order. Only prefetching is known; 207000 for the others. */
aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

/** Opens memory to another device, which it is already. @param flags 0 */
aclError aclrtMemP2PMap(void *devPtr, size_t size, int32_t dstDevId, uint64_t flags);

/**
 * Writes in stream order whether numbers overflowed: zeros, since the software NPU detects none.
 * @param outputAddr device memory, else 107000
 */
aclError aclrtGetOverflowStatus(void *outputAddr, size_t outputSize, aclrtStream stream);

/** Forgets in stream order whether numbers overflowed. */
aclError aclrtResetOverflowStatus(aclrtStream stream);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/** @name Address ranges and physical memory apart @{ */

/**
 * Reserves addresses without memory behind.
 * @param alignment 0
 * @param expectPtr NULL, or the address that would be liked
 * @param flags 0, or 1 for huge pages; anything else gives 100000
 */
aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr,
                                uint64_t flags);

/** Gives a range back; everything in it must be unmapped. */
aclError aclrtReleaseMemAddress(void *virPtr);

/**
 * Allocates memory without an address.
 * @param size a multiple of the granularity
 * @param flags 0
 * @return 207001 when the device has not that much.
 */
aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                             const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Takes effect once the memory is mapped nowhere. */
aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Maps physical memory at an address of a reserved range. @param offset 0 @param flags 0 */
aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags);

/** @param virPtr the start of one mapping */
aclError aclrtUnmapMem(void *virPtr);

/** What sizes of physical memory must be a multiple of. */
aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                          aclrtMemGranularityOptions option,
                                          size_t *granularity);

/**
 * Makes a number by which another process of this host can import the memory.
 * @param handleType ACL_MEM_HANDLE_TYPE_NONE
 * @param flags 0, or ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION
 * @return 107000 for memory that was exported before or imported.
 */
aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t *shareableHandle);

/**
 * Names processes that may import; lists add up.
 * @return 107000 for a number that this process did not make; 100000 for an empty list.
 */
aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum);

/**
 * Takes over memory of another process. The memory lives until the exporter and all importers
 * have freed it.
 * @param handle receives a handle of its own, which wants its aclrtFreePhysical
 * @return 107000 for a number that leads nowhere, that this process made, or that it has imported
 *         already; 207006 when this process is not allowed to.
 */
aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle *handle);

/**
 * The same three calls with the kind of the handle; the import is for the current device.
 * @param shareableHandle points at a uint64_t
 * @param shareType ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT; there are no other hosts here, so
 *        ACL_MEM_SHARE_HANDLE_TYPE_FABRIC gives 207000
 */
aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                           aclrtMemSharedHandleType shareType,
                                           void *shareableHandle);
aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle,
                                           aclrtMemSharedHandleType shareType, int32_t *pid,
                                           size_t pidNum);
/** @param flags 0 */
aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle,
                                             aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle *handle);

/** One more handle of the memory that is mapped at an address; wants its aclrtFreePhysical. */
aclError aclrtMemRetainAllocationHandle(void *virPtr, aclrtDrvMemHandle *handle);

/** What the memory was asked for with. */
aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                   aclrtPhysicalMemProp *prop);

/**
 * Opens mapped memory to devices. Every device of the host may read and write it as it is.
 * @return 207000 for fewer rights than that; 107000 when not all of the range is mapped.
 */
aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count);

/** What a device may do with mapped memory. */
aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location, uint64_t *flag);

/** @} */
/* ------------------------------------------------------------------------------------------- */
/**
 * @name Device memory that processes share by a key
 * Importers close first, the exporter closes last and frees the memory after that.
 * @{
 */

/**
 * Makes the text by which another process of this host finds device memory.
 * @param devPtr a multiple of 4096, also inside a larger block
 * @param size more than 0; at most what the block has from there on
 * @param len bytes at `key`: 65 or more
 * @param flags 0, or ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION
 * @return 107000 for a range that is not like that.
 */
aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len,
                                 uint64_t flags);

/**
 * Maps memory of another process.
 * @param flags 0, or ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS
 * @return 107000 for a key that leads nowhere, that this process made, or that it has imported
 *         already; 207006 when this process is not allowed to.
 */
aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags);

/** Names processes that may import; lists add up. @return 107000 for a key of another process. */
aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num);

/** The same by devices of a pod. @return 207000 for devices of other servers. */
aclError aclrtIpcMemImportPidInterServer(const char *key, aclrtServerPid *serverPids, size_t num);

/**
 * Says which link between two dies importers use, which makes no difference here.
 * @param attr ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO or _HCCS, else 107000
 * @return 207000 on products other than those of two dies (A3); 107000 for a key of another process.
 */
aclError aclrtIpcMemSetAttr(const char *key, aclrtIpcMemAttrType type, uint64_t attr);

/**
 * Ends an import or an export.
 * @return 107000 for a key that is neither, and at the exporter as long as others have it imported.
 */
aclError aclrtIpcMemClose(const char *key);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_RT_MEMORY_H_ */
