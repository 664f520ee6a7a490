/**
 * @file hccl_channel.h
 * Channels to other ranks, for operators that a program brings itself.
 *
 * A software NPU has no channels: calls that would open or use one check their arguments and return
 * HCCL_E_NOT_SUPPORT. NULL gives HCCL_E_PTR; a value outside its range, or a structure that was not
 * initialised, HCCL_E_PARA.
 */
#ifndef HCCL_HCCL_CHANNEL_H_
#define HCCL_HCCL_CHANNEL_H_

#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Wishes for a channel over RoCE, and over memory that is mapped. */
typedef struct HcclChannelRoceAttr {
    uint32_t queueNum;
    uint32_t retryCnt;
    uint32_t retryInterval;
    uint8_t tc;
    uint8_t sl;
} HcclChannelRoceAttr;

typedef struct HcclChannelUbMemAttr {
    uint8_t pathMode;
} HcclChannelUbMemAttr;

/** A channel that is asked for. Begin with HcclChannelDescInit. */
typedef struct HcclChannelDesc {
    CommAbiHeader header;
    uint32_t remoteRank;
    CommProtocol channelProtocol;
    EndpointDesc localEndpoint;
    EndpointDesc remoteEndpoint;
    uint32_t notifyNum;
    HcclMemHandle *memHandles;
    uint32_t memHandleNum;
    union {
        uint8_t raws[128];
        HcclChannelRoceAttr roceAttr;
        HcclChannelUbMemAttr ubMemAttr;
    };
} HcclChannelDesc;

#define HCCL_CHANNEL_MAGIC_WORD 0x0f0f0f0fU
#define HCCL_CHANNEL_VERSION 1

/** Prepares `descNum` descriptions that name no rank. @return HCCL_E_PTR for NULL. */
static inline HcclResult HcclChannelDescInit(HcclChannelDesc *channelDesc, uint32_t descNum)
{
    uint32_t i;
    if (channelDesc == NULL && descNum > 0) {
        return HCCL_E_PTR;
    }
    for (i = 0; i < descNum; ++i) {
        HcclChannelDesc *desc = &channelDesc[i];
        memset(desc, 0xff, sizeof *desc);
        desc->header.version = HCCL_CHANNEL_VERSION;
        desc->header.magicWord = HCCL_CHANNEL_MAGIC_WORD;
        desc->header.size = (uint32_t)sizeof *desc;
        desc->header.reserved = 0;
        desc->channelProtocol = COMM_PROTOCOL_RESERVED;
        (void)EndpointDescInit(&desc->localEndpoint, 1);
        (void)EndpointDescInit(&desc->remoteEndpoint, 1);
        desc->notifyNum = 0;
        desc->memHandles = NULL;
        desc->memHandleNum = 0;
    }
    return HCCL_SUCCESS;
}

/** Wishes for channels; opaque. */
typedef void *HcclChannelConfig;

typedef enum {
    HCCL_CHANNEL_CONFIG_TYPE_INVALID = -1,
    HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE = 0, /**< a number: 0 or 1 */
    HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG = 1 /**< a text; needs the shared queue */
} HcclChannelConfigType;

HcclResult HcclChannelConfigCreate(HcclChannelConfig *config);
HcclResult HcclChannelConfigDestroy(HcclChannelConfig config);
HcclResult HcclChannelConfigSetInt(HcclChannelConfig config, HcclChannelConfigType type,
                                   uint32_t value);
HcclResult HcclChannelConfigSetStr(HcclChannelConfig config, HcclChannelConfigType type,
                                   const char *value);

/** Would open `channelNum` channels. @return HCCL_E_NOT_SUPPORT when asked rightly. */
HcclResult HcclChannelAcquire(HcclComm comm, CommEngine engine,
                              const HcclChannelDesc *channelDescs, uint32_t channelNum,
                              ChannelHandle *channels);

/** @param config NULL wishes for nothing */
HcclResult HcclChannelAcquireWithConfig(HcclComm comm, CommEngine engine,
                                        const HcclChannelDesc *channelDescs, uint32_t channelNum,
                                        HcclChannelConfig config, ChannelHandle *channels);

/** Would tell the buffer, or the registered memory, of the rank at the other end. */
HcclResult HcclChannelGetHcclBuffer(HcclComm comm, ChannelHandle channel, void **buffer,
                                    uint64_t *size);
HcclResult HcclChannelGetRemoteMems(HcclComm comm, ChannelHandle channel, uint32_t *memNum,
                                    CommMem **remoteMems, char ***memTags);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_CHANNEL_H_ */
