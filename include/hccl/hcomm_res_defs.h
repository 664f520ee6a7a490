/**
 * @file hcomm_res_defs.h
 * What resources of custom operators are described with: engines, ends of links, memory, threads.
 *
 * Structures that begin with a CommAbiHeader are initialised by the function beside them; what is
 * not set afterwards stays "not said", which is all ones.
 */
#ifndef HCCL_HCOMM_RES_DEFS_H_
#define HCCL_HCOMM_RES_DEFS_H_

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What calls of this layer return: the numbers of HcclResult. */
typedef int32_t HcommResult;

/** A channel to another rank, and a thread of an engine; opaque. */
typedef uint64_t ChannelHandle;
typedef uint64_t ThreadHandle;

/** Who runs the tasks of an operator. */
typedef enum {
    COMM_ENGINE_RESERVED = -1,
    COMM_ENGINE_CPU = 0,
    COMM_ENGINE_CPU_TS = 1,
    COMM_ENGINE_AICPU = 2,
    COMM_ENGINE_AICPU_TS = 3,
    COMM_ENGINE_AIV = 4,
    COMM_ENGINE_CCU = 5
} CommEngine;

/** What a link speaks. */
typedef enum {
    COMM_PROTOCOL_RESERVED = -1,
    COMM_PROTOCOL_HCCS = 0,
    COMM_PROTOCOL_ROCE = 1,
    COMM_PROTOCOL_PCIE = 2,
    COMM_PROTOCOL_SIO = 3,
    COMM_PROTOCOL_UB_CTP = 4,
    COMM_PROTOCOL_UBC_CTP = 4,
    COMM_PROTOCOL_UBC_TP = 5,
    COMM_PROTOCOL_UB_MEM = 6,
    COMM_PROTOCOL_UBOE = 7,
    COMM_PROTOCOL_HCCS_ONLY = 8,
    COMM_PROTOCOL_UB_RTP = 9,
    COMM_PROTOCOL_UBG = 9
} CommProtocol;

typedef enum {
    COMM_ADDR_TYPE_RESERVED = -1,
    COMM_ADDR_TYPE_IP_V4 = 0,
    COMM_ADDR_TYPE_IP_V6 = 1,
    COMM_ADDR_TYPE_ID = 2,
    COMM_ADDR_TYPE_EID = 3
} CommAddrType;

typedef enum {
    ENDPOINT_LOC_TYPE_RESERVED = -1,
    ENDPOINT_LOC_TYPE_DEVICE = 0,
    ENDPOINT_LOC_TYPE_HOST = 1
} EndpointLocType;

typedef enum {
    COMM_MEM_TYPE_INVALID = -1,
    COMM_MEM_TYPE_DEVICE = 0,
    COMM_MEM_TYPE_HOST = 1
} CommMemType;

typedef enum {
    THREAD_TYPE_INVALID = -1,
    THREAD_TYPE_TS = 0
} ThreadType;

typedef enum {
    THREAD_RES_TYPE_INVALID = -1,
    THREAD_RES_TYPE_STREAM = 0
} ThreadResType;

/** Bytes of an EID. */
#define COMM_ADDR_EID_LEN 16

/** With which structure a program was compiled. */
typedef struct CommAbiHeader {
    uint32_t version;
    uint32_t magicWord;
    uint32_t size;
    uint32_t reserved;
} CommAbiHeader;

/** An address of a network. */
typedef struct CommAddr {
    CommAddrType type;
    union {
        uint8_t raws[36];
        struct in_addr addr;
        struct in6_addr addr6;
        uint32_t id;
        uint8_t eid[COMM_ADDR_EID_LEN];
    };
} CommAddr;

/** A place at a device, and one at a host. */
typedef struct EndpointLocDevice {
    uint32_t devPhyId;
    uint32_t superDevId;
    uint32_t serverIdx;
    uint32_t superPodIdx;
} EndpointLocDevice;

typedef struct EndpointLocHost {
    uint32_t id;
} EndpointLocHost;

typedef struct EndpointLoc {
    EndpointLocType locType;
    union {
        uint8_t raws[60];
        EndpointLocDevice device;
        EndpointLocHost host;
    };
} EndpointLoc;

/** An end of a link. */
typedef struct EndpointDesc {
    CommProtocol protocol;
    CommAddr commAddr;
    EndpointLoc loc;
    union {
        uint8_t raws[52];
    };
} EndpointDesc;

/** Memory, with where it is. */
typedef struct CommMem {
    CommMemType type;
    void *addr;
    uint64_t size;
} CommMem;

/** What a thread of an engine has. */
typedef struct ThreadConfig {
    CommAbiHeader header;
    uint16_t notifyNumPerThread;
    uint8_t reserved[14];
} ThreadConfig;

#define COMM_THREAD_CONFIG_MAGIC_WORD 0x0f0f0f2fU
#define COMM_THREAD_CONFIG_VERSION 1

/** Makes `num` ends of links say nothing. @return 2 for NULL. */
static inline HcommResult EndpointDescInit(EndpointDesc *endpoints, uint32_t num)
{
    uint32_t i;
    if (endpoints == NULL && num > 0) {
        return 2;
    }
    for (i = 0; i < num; ++i) {
        memset(&endpoints[i], 0xff, sizeof endpoints[i]);
        endpoints[i].protocol = COMM_PROTOCOL_RESERVED;
        endpoints[i].commAddr.type = COMM_ADDR_TYPE_RESERVED;
        endpoints[i].loc.locType = ENDPOINT_LOC_TYPE_RESERVED;
    }
    return 0;
}

/** Prepares `num` configurations of threads, without notifies. @return 2 for NULL. */
static inline HcommResult ThreadConfigInit(ThreadConfig *configs, uint32_t num)
{
    uint32_t i;
    if (configs == NULL && num > 0) {
        return 2;
    }
    for (i = 0; i < num; ++i) {
        memset(&configs[i], 0xff, sizeof configs[i]);
        configs[i].header.version = COMM_THREAD_CONFIG_VERSION;
        configs[i].header.magicWord = COMM_THREAD_CONFIG_MAGIC_WORD;
        configs[i].header.size = (uint32_t)sizeof configs[i];
        configs[i].header.reserved = 0;
        configs[i].notifyNumPerThread = 0;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCOMM_RES_DEFS_H_ */
