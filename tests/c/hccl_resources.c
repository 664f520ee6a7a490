/**
 * @file hccl_resources.c
 * What a communicator gives to operators that a program brings itself: the rank graph, its buffer,
 * contexts, registered memory; and the refusal of what a software NPU does not have.
 */
#include "world.h"

#include "hccl/hccl_launch.h"
#include "hccl/hccl_rank_graph.h"
#include "hccl/hccl_res.h"
#include "hccl/hcomm_primitives.h"

/** Like a handle, and none. */
#define NOBODY ((HcclComm)(uintptr_t)0x1234)

static void list_is(const char *place, const uint32_t *list, uint32_t count,
                    const uint32_t *expected, uint32_t expected_count)
{
    int same = count == expected_count;
    for (uint32_t i = 0; same && i < count; ++i) {
        same = list[i] == expected[i];
    }
    if (!same) {
        fprintf(stderr, "%s: not the list that was expected\n", place);
        atomic_fetch_add(&check_failures, 1);
    }
}

#define LIST(list, count, ...)                                                                     \
    do {                                                                                           \
        const uint32_t expected_[] = {__VA_ARGS__};                                                \
        list_is(__FILE__ ":" CHECK_TEXT(__LINE__), list, count, expected_,                         \
                sizeof expected_ / sizeof *expected_);                                             \
    } while (0)

/* ---- the rank graph ---- */

/** Two servers of two devices. */
static void graph_of_two_servers(struct rank *rank)
{
    uint32_t *list = NULL, *again = NULL;
    uint32_t count = 0;
    CommTopo topo = COMM_TOPO_RESERVED;
    CommLink *links = NULL;
    HcclComm comm = rank->comm;
    const uint32_t mate = rank->number ^ 1U, far = rank->number ^ 2U;
    OK(HcclRankGraphGetLayers(comm, &list, &count));
    LIST(list, count, 0, 1);
    OK(HcclRankGraphGetLayers(comm, &again, &count));
    THAT(list == again);
    OK(HcclRankGraphGetRanksByLayer(comm, 0, &list, &count));
    if (rank->number < 2) {
        LIST(list, count, 0, 1);
    } else {
        LIST(list, count, 2, 3);
    }
    OK(HcclRankGraphGetRanksByLayer(comm, 1, &list, &count));
    LIST(list, count, 0, 1, 2, 3);
    OK(HcclRankGraphGetRankSizeByLayer(comm, 0, &count));
    THAT(count == 2);
    OK(HcclRankGraphGetRankSizeByLayer(comm, 1, &count));
    THAT(count == 4);
    OK(HcclRankGraphGetInstSizeListByLayer(comm, 0, &list, &count));
    LIST(list, count, 2, 2);
    OK(HcclRankGraphGetInstSizeListByLayer(comm, 1, &list, &count));
    LIST(list, count, 4);
    OK(HcclRankGraphGetTopoTypeByLayer(comm, 0, &topo));
    THAT(topo == COMM_TOPO_1DMESH);
    OK(HcclRankGraphGetTopoTypeByLayer(comm, 1, &topo));
    THAT(topo == COMM_TOPO_CLOS);
    OK(HcclRankGraphGetTopoInstsByLayer(comm, 1, &list, &count));
    LIST(list, count, 0);
    OK(HcclRankGraphGetTopoType(comm, 1, 0, &topo));
    THAT(topo == COMM_TOPO_CLOS);
    OK(HcclRankGraphGetRanksByTopoInst(comm, 0, 0, &list, &count));
    THAT(count == 2 && list[0] == (rank->number & 2U));

    OK(HcclRankGraphGetLinks(comm, 0, rank->number, mate, &links, &count));
    THAT(count == 1);
    THAT(links[0].header.magicWord == COMM_LINK_MAGIC_WORD && links[0].header.size == 464);
    THAT(links[0].linkAttr.linkProtocol == COMM_PROTOCOL_HCCS && links[0].linkAttr.hop == 1);
    THAT(links[0].srcEndpointDesc.commAddr.type == COMM_ADDR_TYPE_ID);
    THAT(links[0].srcEndpointDesc.commAddr.id == rank->number);
    THAT(links[0].dstEndpointDesc.loc.locType == ENDPOINT_LOC_TYPE_DEVICE);
    THAT(links[0].dstEndpointDesc.loc.device.devPhyId == mate);
    THAT(links[0].dstEndpointDesc.loc.device.serverIdx == rank->number / 2);
    CommLink *const kept = links;
    OK(HcclRankGraphGetLinks(comm, 0, rank->number, far, &links, &count));
    THAT(count == 0 && links == NULL);
    OK(HcclRankGraphGetLinks(comm, 1, rank->number, far, &links, &count));
    THAT(count == 1 && links[0].linkAttr.linkProtocol == COMM_PROTOCOL_ROCE);
    THAT(links[0].dstEndpointDesc.loc.device.serverIdx == far / 2);
    OK(HcclRankGraphGetLinks(comm, 1, rank->number, mate, &links, &count));
    THAT(count == 0);
    OK(HcclRankGraphGetLinks(comm, 0, rank->number, rank->number, &links, &count));
    THAT(count == 0);
    OK(HcclRankGraphGetLinks(comm, 0, rank->number, mate, &links, &count));
    THAT(links == kept);
}

static void rank_graph(void)
{
    setenv("SOFTNPU_TOPOLOGY", "2x2", 1);
    in_world(4, graph_of_two_servers);
}

static void endpoints_of(struct rank *rank)
{
    uint32_t count = 0, value = 77;
    EndpointDesc desc, other;
    HcclComm comm = rank->comm;
    OK(HcclRankGraphGetEndpointNum(comm, 0, 0, &count));
    THAT(count == 1);
    count = 4;
    OK(HcclRankGraphGetEndpointDesc(comm, 0, 0, &count, &desc));
    THAT(count == 1 && desc.loc.device.devPhyId == rank->number);
    THAT(desc.protocol == COMM_PROTOCOL_HCCS);
    OK(HcclRankGraphGetEndpointInfo(comm, rank->number, &desc, ENDPOINT_ATTR_BW_COEFF, 4, &value));
    THAT(value == 1);
    OK(HcclRankGraphGetEndpointInfo(comm, rank->number, &desc, ENDPOINT_ATTR_DIE_ID, 4, &value));
    THAT(value == 0);
    OK(HcclRankGraphGetEndpointInfo(comm, rank->number, &desc, ENDPOINT_ATTR_LOCATION, 4, &value));
    THAT(value == ENDPOINT_LOC_TYPE_DEVICE);
    CODE(HCCL_E_PARA,
         HcclRankGraphGetEndpointInfo(comm, rank->number, &desc, ENDPOINT_ATTR_DIE_ID, 8, &value));
    CODE(HCCL_E_PARA,
         HcclRankGraphGetEndpointInfo(comm, rank->number, &desc, (EndpointAttr)9, 4, &value));
    CODE(HCCL_E_PARA,
         HcclRankGraphGetEndpointInfo(comm, rank->ranks, &desc, ENDPOINT_ATTR_DIE_ID, 4, &value));
    OK(EndpointDescInit(&other, 1));
    CODE(HCCL_E_PARA,
         HcclRankGraphGetEndpointInfo(comm, rank->number, &other, ENDPOINT_ATTR_DIE_ID, 4, &value));
    count = 0;
    CODE(HCCL_E_PARA, HcclRankGraphGetEndpointDesc(comm, 0, 0, &count, &desc));
}

static void endpoints(void) { in_world(2, endpoints_of); }

static void graph_misuse(struct rank *rank)
{
    uint32_t *list = NULL;
    uint32_t count = 0;
    CommTopo topo;
    CommLink *links = NULL;
    EndpointDesc desc;
    HcclHeterogMode mode = HCCL_HETEROG_MODE_INVALID;
    HcclComm comm = rank->comm;
    OK(HcclGetHeterogMode(comm, &mode));
    THAT(mode == HCCL_HETEROG_MODE_HOMOGENEOUS);
    CODE(HCCL_E_PTR, HcclGetHeterogMode(comm, NULL));
    CODE(HCCL_E_PTR, HcclGetHeterogMode(NULL, &mode));
    CODE(HCCL_E_PTR, HcclRankGraphGetLayers(NULL, &list, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetLayers(NOBODY, &list, &count));
    CODE(HCCL_E_PTR, HcclRankGraphGetLayers(comm, NULL, &count));
    MESSAGE("HcclRankGraphGetLayers", "netLayers");
    CODE(HCCL_E_PTR, HcclRankGraphGetLayers(comm, &list, NULL));
    CODE(HCCL_E_PARA, HcclRankGraphGetRanksByLayer(comm, 1, &list, &count));
    MESSAGE("netLayer", "[0, 0]");
    CODE(HCCL_E_PARA, HcclRankGraphGetRankSizeByLayer(comm, UINT32_MAX, &count));
    CODE(HCCL_E_PTR, HcclRankGraphGetRankSizeByLayer(comm, 0, NULL));
    CODE(HCCL_E_PARA, HcclRankGraphGetTopoTypeByLayer(comm, 7, &topo));
    CODE(HCCL_E_PARA, HcclRankGraphGetInstSizeListByLayer(comm, 7, &list, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetLinks(comm, 7, 0, 0, &links, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetLinks(comm, 0, 2, 0, &links, &count));
    MESSAGE("srcRank", "2");
    CODE(HCCL_E_PARA, HcclRankGraphGetLinks(comm, 0, 0, 2, &links, &count));
    CODE(HCCL_E_PTR, HcclRankGraphGetLinks(comm, 0, 0, 0, NULL, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetTopoInstsByLayer(comm, 7, &list, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetTopoType(comm, 0, 1, &topo));
    MESSAGE("topoInstId");
    CODE(HCCL_E_PARA, HcclRankGraphGetRanksByTopoInst(comm, 0, 1, &list, &count));
    CODE(HCCL_E_PARA, HcclRankGraphGetEndpointNum(comm, 0, 1, &count));
    CODE(HCCL_E_PTR, HcclRankGraphGetEndpointDesc(comm, 0, 0, NULL, &desc));
    CODE(HCCL_E_PTR, HcclRankGraphGetEndpointDesc(comm, 0, 0, &count, NULL));
    CODE(HCCL_E_PTR, HcclRankGraphGetEndpointInfo(comm, 0, NULL, ENDPOINT_ATTR_DIE_ID, 4, &count));
    OK(HcclRankGraphGetInstSizeListByLayer(comm, 0, &list, &count));
    LIST(list, count, 2);
}

static void wrong_questions(void) { in_world(2, graph_misuse); }

/* ---- buffer, contexts, memory ---- */

static void buffer_of(struct rank *rank)
{
    char *buffer = NULL, *again = NULL;
    char back[64], pattern[64];
    uint64_t size = 0;
    void *receive = rank->receive;
    OK(HcclGetHcclBuffer(rank->comm, (void **)&buffer, &size));
    THAT(size == (uint64_t)400 << 20);
    OK(HcclGetHcclBuffer(rank->comm, (void **)&again, &size));
    THAT(buffer == again);
    memset(back, 1, sizeof back);
    OK(aclrtMemcpy(back, sizeof back, buffer + size - sizeof back, sizeof back,
                   ACL_MEMCPY_DEVICE_TO_HOST));
    memset(pattern, 0, sizeof pattern);
    THAT(memcmp(back, pattern, sizeof back) == 0);
    /* It is memory of the device like any other. */
    memset(pattern, 7 + (int)rank->number, sizeof pattern);
    OK(aclrtMemcpy(buffer, sizeof pattern, pattern, sizeof pattern, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(HcclAllGather(buffer, receive, sizeof pattern, HCCL_DATA_TYPE_INT8, rank->comm,
                     rank->stream));
    OK(aclrtSynchronizeStream(rank->stream));
    for (int i = 0; i < 2; ++i) {
        memset(pattern, 7 + i, sizeof pattern);
        OK(aclrtMemcpy(back, sizeof back, (char *)receive + i * (int)sizeof back, sizeof back,
                       ACL_MEMCPY_DEVICE_TO_HOST));
        THAT(memcmp(back, pattern, sizeof back) == 0);
    }
    CODE(HCCL_E_PTR, HcclGetHcclBuffer(rank->comm, NULL, &size));
    CODE(HCCL_E_PTR, HcclGetHcclBuffer(rank->comm, (void **)&buffer, NULL));
    CODE(HCCL_E_PTR, HcclGetHcclBuffer(NULL, (void **)&buffer, &size));
}

/** A communicator's buffer takes twice 200 MB. */
static void roomy_devices(void)
{
    setenv("SOFTNPU_DEVICES", "2", 1);
    setenv("SOFTNPU_MEMORY", "1G", 1);
}

static void the_buffer(void)
{
    roomy_devices();
    in_world(2, buffer_of);
}

static void the_buffer_goes_with_its_communicator(void)
{
    HcclRootInfo root;
    HcclCommConfig config;
    HcclComm comm = NULL;
    void *buffer = NULL;
    uint64_t size = 0;
    size_t before = 0, with = 0, after = 0, total = 0;
    roomy_devices();
    NEED(aclrtSetDevice(0));
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 3;
    NEED(HcclGetRootInfo(&root));
    NEED(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    OK(HcclGetHcclBuffer(comm, &buffer, &size));
    THAT(size == (uint64_t)6 << 20);
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &with, &total));
    THAT(with + size <= before);
    OK(HcclCommDestroy(comm));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    THAT(after >= before);
    CODE(HCCL_E_PARA, HcclGetHcclBuffer(comm, &buffer, &size));
}

static void contexts_of(struct rank *rank)
{
    static const CommEngine engines[] = {COMM_ENGINE_CPU, COMM_ENGINE_CPU_TS, COMM_ENGINE_AICPU,
                                         COMM_ENGINE_AICPU_TS, COMM_ENGINE_AIV, COMM_ENGINE_CCU};
    char tag[257], text[32], back[32];
    void *context = NULL, *again = NULL;
    uint64_t size = 0;
    HcclComm comm = rank->comm;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 6; ++i) {
        const int on_device = engines[i] != COMM_ENGINE_CPU && engines[i] != COMM_ENGINE_CPU_TS &&
                              engines[i] != COMM_ENGINE_CCU;
        CODE(HCCL_E_NOT_FOUND, HcclEngineCtxGet(comm, "t", engines[i], &context, &size));
        OK(HcclEngineCtxCreate(comm, "t", engines[i], 100, &context));
        OK(HcclEngineCtxGet(comm, "t", engines[i], &again, &size));
        THAT(context == again && size == 100);
        OK(HcclEngineCtxCopy(comm, engines[i], "t", text, 10, 90));
        memset(back, 1, sizeof back);
        if (on_device) {
            aclrtPtrAttributes attributes;
            OK(aclrtPointerGetAttributes(context, &attributes));
            THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
            OK(aclrtMemcpy(back, 20, (char *)context + 80, 20, ACL_MEMCPY_DEVICE_TO_HOST));
        } else {
            memcpy(back, (char *)context + 80, 20);
        }
        THAT(back[0] == 0 && back[9] == 0 && back[10] == 'x' && back[19] == 'x');
        CODE(HCCL_E_PARA, HcclEngineCtxCopy(comm, engines[i], "t", text, 11, 90));
        MESSAGE("100 bytes");
        CODE(HCCL_E_PARA, HcclEngineCtxCopy(comm, engines[i], "t", text, 2, UINT64_MAX));
        CODE(HCCL_E_PARA, HcclEngineCtxCreate(comm, "t", engines[i], 100, &context));
        OK(HcclEngineCtxDestroy(comm, "t", engines[i]));
        CODE(HCCL_E_NOT_FOUND, HcclEngineCtxDestroy(comm, "t", engines[i]));
        CODE(HCCL_E_NOT_FOUND, HcclEngineCtxCopy(comm, engines[i], "t", text, 1, 0));
    }
    memset(tag, 'a', sizeof tag);
    tag[256] = '\0';
    CODE(HCCL_E_PARA, HcclEngineCtxCreate(comm, tag, COMM_ENGINE_CPU, 8, &context));
    MESSAGE("ctxTag", "255");
    CODE(HCCL_E_PARA, HcclEngineCtxGet(comm, tag, COMM_ENGINE_CPU, &context, &size));
    tag[255] = '\0';
    OK(HcclEngineCtxCreate(comm, tag, COMM_ENGINE_CPU, 8, &context));
    /* NULL is the empty tag. */
    OK(HcclEngineCtxCreate(comm, NULL, COMM_ENGINE_CPU, 8, &context));
    OK(HcclEngineCtxGet(comm, "", COMM_ENGINE_CPU, &again, &size));
    THAT(context == again);
    CODE(HCCL_E_PARA, HcclEngineCtxCreate(comm, "e", COMM_ENGINE_RESERVED, 8, &context));
    CODE(HCCL_E_PARA, HcclEngineCtxCreate(comm, "e", (CommEngine)6, 8, &context));
    CODE(HCCL_E_PARA, HcclEngineCtxCreate(comm, "e", COMM_ENGINE_CPU, 0, &context));
    CODE(HCCL_E_MEMORY, HcclEngineCtxCreate(comm, "e", COMM_ENGINE_CPU, UINT64_MAX, &context));
    CODE(HCCL_E_MEMORY, HcclEngineCtxCreate(comm, "e", COMM_ENGINE_AIV, UINT64_MAX, &context));
    CODE(HCCL_E_PTR, HcclEngineCtxCreate(comm, "e", COMM_ENGINE_CPU, 8, NULL));
    CODE(HCCL_E_PTR, HcclEngineCtxCreate(NULL, "e", COMM_ENGINE_CPU, 8, &context));
    CODE(HCCL_E_PTR, HcclEngineCtxGet(comm, "", COMM_ENGINE_CPU, NULL, &size));
    CODE(HCCL_E_PTR, HcclEngineCtxGet(comm, "", COMM_ENGINE_CPU, &context, NULL));
    CODE(HCCL_E_PTR, HcclEngineCtxCopy(comm, COMM_ENGINE_CPU, "", NULL, 8, 0));
    CODE(HCCL_E_PTR, HcclEngineCtxDestroy(NULL, "", COMM_ENGINE_CPU));
}

static void contexts(void) { in_world(2, contexts_of); }

static void registered_memory(struct rank *rank)
{
    HcclMemHandle handle = NULL, again = NULL;
    CommMem mem = {COMM_MEM_TYPE_DEVICE, rank->send, 256};
    HcclComm comm = rank->comm;
    OK(HcclCommMemReg(comm, "one", &mem, &handle));
    OK(HcclCommMemReg(comm, "one", &mem, &again));
    THAT(handle == again && handle != NULL);
    mem.size = 128;
    CODE(HCCL_E_PARA, HcclCommMemReg(comm, "one", &mem, &handle));
    OK(HcclCommMemReg(comm, "two", &mem, &handle));
    THAT(handle != again);
    mem.addr = &mem;
    CODE(HCCL_E_PARA, HcclCommMemReg(comm, "three", &mem, &handle));
    MESSAGE("addr");
    mem.type = COMM_MEM_TYPE_HOST;
    OK(HcclCommMemReg(comm, "three", &mem, &handle));
    mem.type = COMM_MEM_TYPE_INVALID;
    CODE(HCCL_E_PARA, HcclCommMemReg(comm, "four", &mem, &handle));
    mem.type = COMM_MEM_TYPE_HOST;
    CODE(HCCL_E_PARA, HcclCommMemReg(comm, "", &mem, &handle));
    CODE(HCCL_E_PTR, HcclCommMemReg(comm, NULL, &mem, &handle));
    CODE(HCCL_E_PTR, HcclCommMemReg(comm, "four", NULL, &handle));
    CODE(HCCL_E_PTR, HcclCommMemReg(comm, "four", &mem, NULL));
    mem.size = 0;
    CODE(HCCL_E_PARA, HcclCommMemReg(comm, "four", &mem, &handle));
    mem.size = 8;
    mem.addr = NULL;
    CODE(HCCL_E_PTR, HcclCommMemReg(comm, "four", &mem, &handle));
}

static void memory(void) { in_world(1, registered_memory); }

/* ---- what is not there ---- */

static void threads_of(struct rank *rank)
{
    HcclComm comm = rank->comm;
    ThreadHandle threads[2] = {0, 0};
    ThreadConfig configs[2];
    void *info = NULL;
    CODE(HCCL_E_NOT_SUPPORT, HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 1, 1, threads));
    MESSAGE("HcclThreadAcquire", "software NPU");
    CODE(HCCL_E_PTR, HcclThreadAcquire(NULL, COMM_ENGINE_AICPU_TS, 1, 1, threads));
    CODE(HCCL_E_PTR, HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 1, 1, NULL));
    CODE(HCCL_E_PARA, HcclThreadAcquire(comm, COMM_ENGINE_AICPU_TS, 0, 1, threads));
    CODE(HCCL_E_PARA, HcclThreadAcquire(comm, COMM_ENGINE_RESERVED, 1, 1, threads));

    OK(ThreadConfigInit(configs, 2));
    CODE(2, ThreadConfigInit(NULL, 1));
    THAT(configs[1].header.magicWord == 0x0f0f0f2f && configs[1].header.size == 32);
    THAT(configs[0].header.version == 1 && configs[0].header.reserved == 0);
    CODE(HCCL_E_NOT_SUPPORT, HcclThreadAcquireWithConfig(comm, COMM_ENGINE_CPU, 2, THREAD_TYPE_TS,
                                                         configs, threads));
    CODE(HCCL_E_PARA, HcclThreadAcquireWithConfig(comm, COMM_ENGINE_CPU, 2, THREAD_TYPE_INVALID,
                                                  configs, threads));
    configs[1].header.magicWord = 0;
    CODE(HCCL_E_PARA, HcclThreadAcquireWithConfig(comm, COMM_ENGINE_CPU, 2, THREAD_TYPE_TS, configs,
                                                  threads));
    CODE(HCCL_E_PTR, HcclThreadAcquireWithConfig(comm, COMM_ENGINE_CPU, 2, THREAD_TYPE_TS, NULL,
                                                 threads));

    CODE(HCCL_E_NOT_SUPPORT,
         HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, rank->stream, 1, threads));
    CODE(HCCL_E_PTR, HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, NULL, 1, threads));
    CODE(HCCL_E_PTR, HcclThreadAcquireWithStream(comm, COMM_ENGINE_CPU_TS, rank->stream, 1, NULL));

    CODE(HCCL_E_NOT_SUPPORT,
         HcclDedicatedThreadAcquire(comm, HCCL_DED_THREAD_TYPE_AICPU_LAUNCH, 1, threads));
    CODE(HCCL_E_PARA, HcclDedicatedThreadAcquire(comm, HCCL_DED_THREAD_TYPE_INVALID, 1, threads));
    CODE(HCCL_E_PTR, HcclDedicatedThreadAcquire(comm, HCCL_DED_THREAD_TYPE_AICPU_LAUNCH, 1, NULL));

    CODE(HCCL_E_NOT_SUPPORT,
         HcclThreadExportToCommEngine(comm, 1, threads, COMM_ENGINE_CPU_TS, threads + 1));
    CODE(HCCL_E_PARA,
         HcclThreadExportToCommEngine(comm, 0, threads, COMM_ENGINE_CPU_TS, threads + 1));
    CODE(HCCL_E_PTR, HcclThreadExportToCommEngine(comm, 1, NULL, COMM_ENGINE_CPU_TS, threads));

    CODE(HCCL_E_NOT_SUPPORT, HcclThreadResGetInfo(comm, 0, THREAD_RES_TYPE_STREAM, 8, &info));
    CODE(HCCL_E_PARA, HcclThreadResGetInfo(comm, 0, THREAD_RES_TYPE_STREAM, 4, &info));
    CODE(HCCL_E_PARA, HcclThreadResGetInfo(comm, 0, THREAD_RES_TYPE_INVALID, 8, &info));
    CODE(HCCL_E_PTR, HcclThreadResGetInfo(comm, 0, THREAD_RES_TYPE_STREAM, 8, NULL));
    THAT(threads[0] == 0 && threads[1] == 0 && info == NULL);
}

static void no_threads(void) { in_world(1, threads_of); }

static void channels_of(struct rank *rank)
{
    HcclComm comm = rank->comm;
    HcclChannelDesc descs[2];
    ChannelHandle channels[2] = {0, 0};
    HcclChannelConfig config = NULL;
    CommMem *mems = NULL;
    char **tags = NULL;
    void *buffer = NULL;
    uint64_t size = 0;
    uint32_t count = 0;
    OK(HcclChannelDescInit(descs, 2));
    CODE(HCCL_E_PTR, HcclChannelDescInit(NULL, 1));
    THAT(descs[1].header.size == 496 && descs[1].header.magicWord == 0x0f0f0f0f);
    THAT(descs[0].remoteRank == UINT32_MAX && descs[0].notifyNum == 0);
    THAT(descs[0].channelProtocol == COMM_PROTOCOL_RESERVED && descs[0].memHandles == NULL);
    CODE(HCCL_E_PARA, HcclChannelAcquire(comm, COMM_ENGINE_AIV, descs, 2, channels));
    MESSAGE("remoteRank");
    descs[0].remoteRank = descs[1].remoteRank = 1 - rank->number;
    CODE(HCCL_E_NOT_SUPPORT, HcclChannelAcquire(comm, COMM_ENGINE_AIV, descs, 2, channels));
    MESSAGE("HcclChannelAcquire", "channels");
    CODE(HCCL_E_PTR, HcclChannelAcquire(comm, COMM_ENGINE_AIV, NULL, 2, channels));
    CODE(HCCL_E_PTR, HcclChannelAcquire(comm, COMM_ENGINE_AIV, descs, 2, NULL));
    CODE(HCCL_E_PARA, HcclChannelAcquire(comm, COMM_ENGINE_AIV, descs, 0, channels));

    OK(HcclChannelConfigCreate(&config));
    CODE(HCCL_E_PTR, HcclChannelConfigCreate(NULL));
    CODE(HCCL_E_NOT_SUPPORT,
         HcclChannelAcquireWithConfig(comm, COMM_ENGINE_AIV, descs, 2, NULL, channels));
    CODE(HCCL_E_NOT_SUPPORT,
         HcclChannelAcquireWithConfig(comm, COMM_ENGINE_AIV, descs, 2, config, channels));
    OK(HcclChannelConfigSetStr(config, HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG, "queue"));
    CODE(HCCL_E_PARA,
         HcclChannelAcquireWithConfig(comm, COMM_ENGINE_AIV, descs, 2, config, channels));
    MESSAGE("IS_SHARED_QUEUE");
    OK(HcclChannelConfigSetInt(config, HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE, 1));
    CODE(HCCL_E_NOT_SUPPORT,
         HcclChannelAcquireWithConfig(comm, COMM_ENGINE_AIV, descs, 2, config, channels));
    CODE(HCCL_E_PARA, HcclChannelConfigSetInt(config, HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE, 2));
    CODE(HCCL_E_PARA, HcclChannelConfigSetInt(config, HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG, 1));
    CODE(HCCL_E_PARA,
         HcclChannelConfigSetStr(config, HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE, "1"));
    CODE(HCCL_E_PTR,
         HcclChannelConfigSetStr(config, HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG, NULL));
    OK(HcclChannelConfigDestroy(config));
    CODE(HCCL_E_PARA, HcclChannelConfigDestroy(config));
    CODE(HCCL_E_PTR, HcclChannelConfigDestroy(NULL));
    CODE(HCCL_E_PARA,
         HcclChannelAcquireWithConfig(comm, COMM_ENGINE_AIV, descs, 2, config, channels));

    CODE(HCCL_E_NOT_SUPPORT, HcclChannelGetHcclBuffer(comm, 1, &buffer, &size));
    CODE(HCCL_E_PTR, HcclChannelGetHcclBuffer(comm, 1, NULL, &size));
    CODE(HCCL_E_NOT_SUPPORT, HcclChannelGetRemoteMems(comm, 1, &count, &mems, &tags));
    CODE(HCCL_E_PTR, HcclChannelGetRemoteMems(comm, 1, &count, &mems, NULL));
    THAT(channels[0] == 0 && buffer == NULL && mems == NULL);
}

static void no_channels(void) { in_world(2, channels_of); }

static void launches_of(struct rank *rank)
{
    HcclComm comm = rank->comm;
    aclrtStream stream = rank->stream;
    HcclOpDesc op;
    HcclKernelFuncInfo kernel;
    HcclKernelLaunchCfg cfg;
    CommLink link;
    memset(&kernel, 0, sizeof kernel);
    OK(HcclOpDescInit(&op));
    OK(HcclKernelLaunchCfgInit(&cfg));
    OK(CommLinkInit(&link, 1));
    CODE(HCCL_E_PTR, HcclOpDescInit(NULL));
    CODE(HCCL_E_PTR, HcclKernelLaunchCfgInit(NULL));
    CODE(HCCL_E_PTR, CommLinkInit(NULL, 1));
    CODE(2, EndpointDescInit(NULL, 1));
    THAT(op.header.version == 1 && op.header.magicWord == 0x0f0f0f0f && op.header.size == 360);
    THAT(op.opDescType == UINT32_MAX && op.header.reserved == 0);
    THAT(cfg.header.magicWord == 0x0f0f0f0f && cfg.header.size == 128 && cfg.timeOut == UINT64_MAX);
    THAT(link.header.magicWord == 0x0f0e0f0f && link.header.size == 464);
    CODE(HCCL_E_NOT_SUPPORT, HcclAicpuKernelLaunch(comm, &op, &kernel, 0, stream, &cfg));
    MESSAGE("HcclAicpuKernelLaunch", "AI CPU");
    CODE(HCCL_E_PTR, HcclAicpuKernelLaunch(NULL, &op, &kernel, 0, stream, &cfg));
    CODE(HCCL_E_PTR, HcclAicpuKernelLaunch(comm, NULL, &kernel, 0, stream, &cfg));
    CODE(HCCL_E_PTR, HcclAicpuKernelLaunch(comm, &op, NULL, 0, stream, &cfg));
    CODE(HCCL_E_PTR, HcclAicpuKernelLaunch(comm, &op, &kernel, 0, NULL, &cfg));
    CODE(HCCL_E_PTR, HcclAicpuKernelLaunch(comm, &op, &kernel, 0, stream, NULL));
    op.header.magicWord = 0;
    CODE(HCCL_E_PARA, HcclAicpuKernelLaunch(comm, &op, &kernel, 0, stream, &cfg));
    MESSAGE("magic word");
}

static void no_launches(void) { in_world(1, launches_of); }

static void no_tasks(void)
{
    char here[8], there[8];
    CODE(HCCL_E_NOT_SUPPORT, HcommAcquireComm("name"));
    CODE(HCCL_E_PTR, HcommAcquireComm(NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcommReleaseComm("name"));
    CODE(HCCL_E_PTR, HcommReleaseComm(NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcommBatchModeStart("tag"));
    CODE(HCCL_E_PTR, HcommBatchModeStart(NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcommBatchModeEnd("tag"));
    CODE(HCCL_E_PTR, HcommBatchModeEnd(NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcommLocalCopyOnThread(1, here, there, sizeof here));
    MESSAGE("HcommLocalCopyOnThread", "software NPU");
    CODE(HCCL_E_PTR, HcommLocalCopyOnThread(1, NULL, there, sizeof here));
    CODE(HCCL_E_PTR, HcommLocalCopyOnThread(1, here, NULL, sizeof here));
    CODE(HCCL_E_NOT_SUPPORT, HcommWriteOnThread(1, 1, here, there, sizeof here));
    CODE(HCCL_E_PTR, HcommWriteOnThread(1, 1, NULL, there, sizeof here));
    CODE(HCCL_E_NOT_SUPPORT, HcommReadOnThread(1, 1, here, there, sizeof here));
    CODE(HCCL_E_PTR, HcommReadOnThread(1, 1, here, NULL, sizeof here));
    CODE(HCCL_E_NOT_SUPPORT, HcommThreadNotifyRecordOnThread(1, 2, 0));
    CODE(HCCL_E_NOT_SUPPORT, HcommThreadNotifyWaitOnThread(1, 0, 1));
    CODE(HCCL_E_NOT_SUPPORT, HcommChannelNotifyRecordOnThread(1, 1, 0));
    CODE(HCCL_E_NOT_SUPPORT, HcommChannelNotifyWaitOnThread(1, 1, 0, 1));
}

int main(void)
{
    RUN(rank_graph);
    RUN(endpoints);
    RUN(wrong_questions);
    RUN(the_buffer);
    RUN(the_buffer_goes_with_its_communicator);
    RUN(contexts);
    RUN(memory);
    RUN(no_threads);
    RUN(no_channels);
    RUN(no_launches);
    RUN(no_tasks);
    return check_end();
}
