/**
 * @file hccl_rank_graph.h
 * The rank graph: where the ranks of a communicator are, for programs with operators of their own.
 *
 * Layers are the tiers of the topology that the communicator is on, from the innermost: ranks of a
 * server, of a superpod, all. A communicator without a topology has one layer, with all its ranks. An
 * instance of a layer is a group of ranks that reach each other on it; the own rank is in one
 * instance of each layer, and that has one topology, number 0.
 *
 * Lists are the library's and stay as long as the communicator; one without entries is NULL. All
 * calls: HCCL_E_PTR for NULL, HCCL_E_PARA for a communicator, layer, topology or rank that there is
 * not.
 */
#ifndef HCCL_HCCL_RANK_GRAPH_H_
#define HCCL_HCCL_RANK_GRAPH_H_

#include "hccl/hccl_types.h"
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the ranks of an instance are linked. */
typedef enum {
    COMM_TOPO_RESERVED = -1,
    COMM_TOPO_CLOS = 0,
    COMM_TOPO_1DMESH = 1,
    COMM_TOPO_910_93 = 2,
    COMM_TOPO_310P = 3,
    COMM_TOPO_A2AXSERVER = 4,
    COMM_TOPO_CUSTOM = 5
} CommTopo;

typedef enum {
    HCCL_HETEROG_MODE_INVALID = -1,
    HCCL_HETEROG_MODE_HOMOGENEOUS = 0,
    HCCL_HETEROG_MODE_MIX_A2_A3 = 1
} HcclHeterogMode;

/** What is known of an end of a link; each is a uint32_t. */
typedef enum {
    ENDPOINT_ATTR_INVALID = -1,
    ENDPOINT_ATTR_BW_COEFF = 0,
    ENDPOINT_ATTR_DIE_ID = 1,
    ENDPOINT_ATTR_LOCATION = 2
} EndpointAttr;

typedef uint32_t EndpointAttrBwCoeff;
typedef uint32_t EndpointAttrDieId;
typedef uint32_t EndpointAttrLocation;

/** A link from one rank to another. */
typedef struct CommLink {
    CommAbiHeader header;
    EndpointDesc srcEndpointDesc;
    EndpointDesc dstEndpointDesc;
    struct {
        CommProtocol linkProtocol;
        uint8_t hop;
        uint8_t reserved[123];
    } linkAttr;
} CommLink;

#define COMM_LINK_MAGIC_WORD 0x0f0e0f0fU
#define COMM_LINK_VERSION 1

/** Prepares `num` links that say nothing. @return HCCL_E_PTR for NULL. */
static inline HcclResult CommLinkInit(CommLink *links, uint32_t num)
{
    uint32_t i;
    if (links == NULL && num > 0) {
        return HCCL_E_PTR;
    }
    for (i = 0; i < num; ++i) {
        memset(&links[i], 0xff, sizeof links[i]);
        links[i].header.version = COMM_LINK_VERSION;
        links[i].header.magicWord = COMM_LINK_MAGIC_WORD;
        links[i].header.size = (uint32_t)sizeof links[i];
        links[i].header.reserved = 0;
        (void)EndpointDescInit(&links[i].srcEndpointDesc, 1);
        (void)EndpointDescInit(&links[i].dstEndpointDesc, 1);
        links[i].linkAttr.linkProtocol = COMM_PROTOCOL_RESERVED;
    }
    return HCCL_SUCCESS;
}

/** Numbers of the layers: 0, 1, ... */
HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t **netLayers, uint32_t *netLayerNum);

/** Ranks of the own instance of a layer, rising; and how many they are. */
HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer, uint32_t **ranks,
                                        uint32_t *rankNum);
HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer, uint32_t *rankNum);

/** How the ranks of an instance of a layer are linked, by the product that is played. */
HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer, CommTopo *topoType);

/** How many ranks each instance of a layer has. */
HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm, uint32_t netLayer,
                                               uint32_t **instSizeList, uint32_t *listSize);

/**
 * Links from a rank to another. Two ranks have one link, on the lowest layer that has both in one
 * instance; its protocol is what the product has there, its `hop` the number of layers it passes.
 */
HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer, uint32_t srcRank,
                                 uint32_t dstRank, CommLink **links, uint32_t *linkNum);

/** Topologies of a layer that the own rank is in: number 0. */
HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer, uint32_t **topoInsts,
                                            uint32_t *topoInstNum);
HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                    CommTopo *topoType);
HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer, uint32_t topoInstId,
                                           uint32_t **ranks, uint32_t *rankNum);

/**
 * Ends of links that the own rank has in a topology. The list of the second call is the caller's;
 * `*descNum` is its length before, and how many were written after.
 */
HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                       uint32_t *num);
HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer, uint32_t topoInstId,
                                        uint32_t *descNum, EndpointDesc *endpointDesc);

/**
 * What is known of an end of a link of a rank. @param infoLen 4
 * @return HCCL_E_PARA also for an end that the rank does not have.
 */
HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
                                        const EndpointDesc *endpointDesc,
                                        EndpointAttr endpointAttr, uint32_t infoLen, void *info);

/** All ranks are of one product. */
HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_HCCL_RANK_GRAPH_H_ */
