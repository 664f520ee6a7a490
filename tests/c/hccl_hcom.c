/**
 * @file hccl_hcom.c
 * Communicators by group name: worlds and groups, the operators on two and four devices by value, what
 * graph engines ask, and what is refused.
 */
#include "expected.h"

#include "hccl/hcom.h"

static HcclResult join(const struct rank *rank)
{
    char size[16];
    snprintf(size, sizeof size, "%u", rank->ranks);
    return HcomInitByMasterInfo("127.0.0.1", "6000", "0", size, "127.0.0.1", NULL);
}

/* A rank table of one server. */
#define TABLE_OF_TWO                                                                               \
    "{\"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\","                    \
    " \"server_list\": [{\"server_id\": \"here\", \"device\": ["                                     \
    "{\"device_id\": \"0\", \"device_ip\": \"10.0.0.1\", \"rank_id\": \"0\"},"                       \
    "{\"device_id\": \"1\", \"device_ip\": \"10.0.0.2\", \"rank_id\": \"1\"}]}]}"

static void collectives_by(struct rank *rank, const char *group)
{
    const uint32_t all = rank->ranks * BLOCK;
    int32_t *const send = rank->send, *const receive = rank->receive;
    aclrtStream stream = rank->stream;
    struct blocks blocks;
    equal_blocks(&blocks);
    fill(rank);
    OK(HcomAllReduce("a", send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, group, stream));
    COMPARE(rank, receive, 500, sum);
    fill(rank);
    OK(HcomReduce("b", send, receive, 500, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, 1, group, stream));
    COMPARE(rank, receive, 500, rank->number == 1 ? sum : untouched);
    fill(rank);
    OK(HcomReduceScatter("c", send, receive, BLOCK, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, group,
                         stream));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcomReduceScatterV("d", send, blocks.counts, blocks.displacements, receive, BLOCK,
                          HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, group, stream));
    COMPARE(rank, receive, BLOCK, own_of_sum);
    fill(rank);
    OK(HcomBroadcast("e", send, 500, HCCL_DATA_TYPE_INT32, 0, group, stream));
    COMPARE(rank, send, 500, first);
    fill(rank);
    OK(HcomAllGather("f", send, receive, BLOCK, HCCL_DATA_TYPE_INT32, group, stream));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcomAllGatherV("g", send, BLOCK, receive, blocks.counts, blocks.displacements,
                      HCCL_DATA_TYPE_INT32, group, stream));
    COMPARE(rank, receive, all, gathered);
    fill(rank);
    OK(HcomAllToAll(send, BLOCK, HCCL_DATA_TYPE_INT32, receive, BLOCK, HCCL_DATA_TYPE_INT32, group,
                    stream, "h"));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    OK(HcomAlltoAllV(send, blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32, receive,
                     blocks.counts, blocks.displacements, HCCL_DATA_TYPE_INT32, group, stream, "i"));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    OK(HcomAlltoAllVC(send, blocks.matrix, HCCL_DATA_TYPE_INT32, receive, HCCL_DATA_TYPE_INT32,
                      group, stream, "j"));
    COMPARE(rank, receive, all, exchanged);
    fill(rank);
    if (rank->number % 2 == 0) {
        OK(HcomSend("k", send, 500, HCCL_DATA_TYPE_INT32, rank->number + 1, 7, group, stream));
    } else {
        OK(HcomReceive("l", receive, 500, HCCL_DATA_TYPE_INT32, rank->number - 1, 7, group, stream));
        COMPARE(rank, receive, 500, before);
    }
    COMPARE(rank, send, 500, own);
}

static void world_body(struct rank *rank)
{
    bool there = true;
    HcclComm comm = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    OK(HcomGetInitStatus(&there));
    THAT(!there && !HcomFindGroup(NULL));
    NEED(join(rank));
    OK(HcomGetInitStatus(&there));
    THAT(there && HcomFindGroup(NULL) && HcomFindGroup(HCCL_WORLD_GROUP));
    OK(HcomGetCommHandleByGroup(NULL, &comm));
    OK(HcclGetCommName(comm, name));
    THAT(strcmp(name, HCCL_WORLD_GROUP) == 0);
    /* A device has one world. */
    CODE(HCCL_E_PARA, join(rank));
    MESSAGE("hccl_world_group");
    collectives_by(rank, NULL);
    collectives_by(rank, HCCL_WORLD_GROUP);
    OK(HcomDestroy());
    OK(HcomGetInitStatus(&there));
    THAT(!there && !HcomFindGroup(NULL));
    OK(HcomDestroy());
}

static void world_of_two(void) { on_ranks(2, NULL, world_body); }
static void world_of_four(void) { on_ranks(4, NULL, world_body); }

/** Ranks 3 and 1, in this order, are a group; 0 and 2 are another of the same name. */
static void groups_body(struct rank *rank)
{
    uint32_t odd[2] = {3, 1}, even[2] = {0, 2};
    uint32_t number = 77;
    struct rank member = *rank;
    HcclComm comm = NULL;
    NEED(join(rank));
    OK(HcomCreateGroup("half", 2, rank->number % 2 == 1 ? odd : even));
    THAT(HcomFindGroup("half") && !HcomFindGroup("whole"));
    OK(HcomGetRankSize("half", &number));
    THAT(number == 2);
    OK(HcomGetRankSize(NULL, &number));
    THAT(number == 4);
    OK(HcomGetRankId(NULL, &number));
    THAT(number == rank->number);
    OK(HcomGetRankId("half", &number));
    THAT(number == (rank->number == 1 || rank->number == 2));
    member.number = number;
    member.ranks = 2;
    collectives_by(&member, "half");

    OK(HcomGetWorldRankFromGroupRank("half", 0, &number));
    THAT(number == (rank->number % 2 == 1 ? 3 : 0));
    OK(HcomGetWorldRankFromGroupRank("half", 1, &number));
    THAT(number == (rank->number % 2 == 1 ? 1 : 2));
    OK(HcomGetWorldRankFromGroupRank(NULL, 3, &number));
    THAT(number == 3);
    CODE(HCCL_E_PARA, HcomGetWorldRankFromGroupRank("half", 2, &number));
    MESSAGE("groupRank", "[0, 1]");
    OK(HcomGetGroupRankFromWorldRank(rank->number, "half", &number));
    THAT(number == member.number);
    OK(HcomGetGroupRankFromWorldRank(2, NULL, &number));
    THAT(number == 2);
    CODE(HCCL_E_PARA, HcomGetGroupRankFromWorldRank(rank->number ^ 1U, "half", &number));
    MESSAGE("worldRank", "half");
    CODE(HCCL_E_PARA, HcomGetGroupRankFromWorldRank(4, NULL, &number));

    /* The name is taken until the group goes; then the same members may meet again. */
    CODE(HCCL_E_PARA, HcomCreateGroup("half", 2, rank->number % 2 == 1 ? odd : even));
    OK(HcomDestroyGroup("half"));
    THAT(!HcomFindGroup("half"));
    CODE(HCCL_E_PARA, HcomDestroyGroup("half"));
    OK(HcomCreateGroup("half", 2, rank->number % 2 == 1 ? odd : even));
    OK(HcomCreateGroup("again", 2, rank->number % 2 == 1 ? odd : even));
    OK(HcomGetCommHandleByGroup("again", &comm));
    OK(HcclCommDestroy(comm));
    THAT(!HcomFindGroup("again"));
    OK(HcomDestroy());
    THAT(!HcomFindGroup("half"));
}

static void groups(void) { on_ranks(4, NULL, groups_body); }

static void servers_body(struct rank *rank)
{
    uint32_t number = 77, servers = 0, devices = 0, linked = 0;
    NEED(join(rank));
    OK(HcomGetLocalRankSize(NULL, &number));
    THAT(number == (rank->number == 3 ? 1 : 3));
    OK(HcomGetLocalRankId(NULL, &number));
    THAT(number == (rank->number == 3 ? 0 : rank->number));
    OK(HcomGetServerNumAndDeviceNumPerServer(&servers, &devices, &linked));
    THAT(servers == 2 && devices == 3 && linked == 3);
    OK(HcomDestroy());
}

static void servers(void)
{
    setenv("SOFTNPU_TOPOLOGY", "3+1", 1);
    on_ranks(4, NULL, servers_body);
}

/** By a rank table, as a text and as a file. */
static void table_body(struct rank *rank)
{
    const char *const own[] = {"0", "1"};
    bool there = false;
    NEED(HcomInitByString(TABLE_OF_TWO, own[rank->number], HCCL_MODE_NORMAL, NULL));
    OK(HcomGetInitStatus(&there));
    THAT(there);
    CODE(HCCL_E_PARA, HcomInitByString(TABLE_OF_TWO, own[rank->number], HCCL_MODE_NORMAL, NULL));
    collectives_by(rank, NULL);
    OK(HcomDestroy());
    NEED(HcomInitByRankTable("table.json", rank->number));
    collectives_by(rank, NULL);
    CODE(HCCL_E_PARA, HcomInitByRankTable("table.json", rank->number));
    OK(HcomDestroy());
}

static void write_table(void)
{
    FILE *file = fopen("table.json", "w");
    if (file == NULL || fputs(TABLE_OF_TWO, file) < 0 || fclose(file) != 0) {
        perror("table.json");
        _exit(2);
    }
}

static void rank_tables(void)
{
    write_table();
    on_ranks(2, NULL, table_body);
}

static void rank_tables_that_are_none(void)
{
    HcomInitConfig config;
    memset(&config, 0, sizeof config);
    config.deterministic = 9;
    write_table();
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_PTR, HcomInitByRankTable(NULL, 0));
    FAILS(HcomInitByRankTable("no such table.json", 0));
    MESSAGE("EI0004", "no such table.json");
    CODE(HCCL_E_PARA, HcomInitByRankTable("table.json", 2));
    CODE(HCCL_E_PARA, HcomInitByRankTable("table.json", 1));
    MESSAGE("device");
    CODE(HCCL_E_PTR, HcomInitByString(NULL, "0", HCCL_MODE_NORMAL, NULL));
    CODE(HCCL_E_PTR, HcomInitByString(TABLE_OF_TWO, NULL, HCCL_MODE_NORMAL, NULL));
    FAILS(HcomInitByString("table", "0", HCCL_MODE_NORMAL, NULL));
    CODE(HCCL_E_PARA, HcomInitByString(TABLE_OF_TWO, "-1", HCCL_MODE_NORMAL, NULL));
    MESSAGE("identify", "-1");
    CODE(HCCL_E_PARA, HcomInitByString(TABLE_OF_TWO, "2", HCCL_MODE_NORMAL, NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcomInitByString(TABLE_OF_TWO, "0", HCCL_MODE_ANY, NULL));
    MESSAGE("commWorkMode");
    CODE(HCCL_E_PARA, HcomInitByString(TABLE_OF_TWO, "0", (WorkMode)5, NULL));
    CODE(HCCL_E_PARA, HcomInitByString(TABLE_OF_TWO, "0", HCCL_MODE_NORMAL, &config));
    MESSAGE("deterministic");
}

/** Worlds come and go. */
static void again_body(struct rank *rank)
{
    for (int i = 0; i < 20; ++i) {
        NEED(join(rank));
        fill(rank);
        OK(HcomAllReduce("tag", rank->send, rank->receive, 500, HCCL_DATA_TYPE_INT32,
                         HCCL_REDUCE_SUM, NULL, rank->stream));
        COMPARE(rank, rank->receive, 500, sum);
        OK(HcomDestroy());
    }
}

static void again_and_again(void) { on_ranks(2, NULL, again_body); }

/** Messages of different tags are no pair. */
static void tags_body(struct rank *rank)
{
    NEED(join(rank));
    fill(rank);
    if (rank->number == 0) {
        OK(HcomSend("tag", rank->send, 500, HCCL_DATA_TYPE_INT32, 1, 7, NULL, rank->stream));
        FAILS(aclrtSynchronizeStream(rank->stream));
    } else {
        OK(HcomReceive("tag", rank->receive, 500, HCCL_DATA_TYPE_INT32, 0, 8, NULL, rank->stream));
        FAILS(aclrtSynchronizeStream(rank->stream));
        MESSAGE("EI0005", "with tag 7", "with tag 8");
    }
    OK(HcomDestroy());
}

static void *tags_thread(void *argument)
{
    struct rank *rank = argument;
    NEED(aclrtSetDevice((int32_t)rank->number));
    NEED(aclrtCreateStream(&rank->stream));
    NEED(aclrtMalloc((void **)&rank->send, WORLD_ELEMENTS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMalloc((void **)&rank->receive, WORLD_ELEMENTS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    tags_body(rank);
    return NULL;
}

static void different_message_tags(void)
{
    struct rank ranks[2];
    pthread_t threads[2];
    memset(ranks, 0, sizeof ranks);
    for (uint32_t i = 0; i < 2; ++i) {
        ranks[i].number = i;
        ranks[i].ranks = 2;
        pthread_create(&threads[i], NULL, tags_thread, &ranks[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- what graph engines ask and set ---- */

static void asked_body(struct rank *rank)
{
    static const char *const kinds[] = {
        "HcomAllGather", "HcomAllGatherV", "HcomAllReduce", "HcomAllToAll", "HcomAllToAllV",
        "HcomAllToAllVC", "HcomBroadcast", "HcomReceive", "HcomReduce", "HcomReduceScatter",
        "HcomReduceScatterV", "HcomScatter", "HcomSend",
    };
    char kind[32];
    HcomOpParam param;
    HcomResResponse needs;
    void *memory[1] = {rank->send}, *in = NULL, *out = NULL, *buffer = NULL;
    uint64_t size = 0;
    bool answer = false;
    HcclComm comm = NULL;
    aclrtStream stream = rank->stream;
    NEED(join(rank));
    memset(&param, 0, sizeof param);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        snprintf(kind, sizeof kind, "%s", kinds[i]);
        param.opType = kind;
        memset(&needs, 0xff, sizeof needs);
        OK(HcomCalcOpOnline(&param, &needs));
        THAT(needs.streamNum == 0 && needs.taskNum == 1 && needs.opMemSize == 0);
        memset(&needs, 0xff, sizeof needs);
        OK(HcomCalcOpResOffline(&param, &needs));
        THAT(needs.streamNum == 0 && needs.taskNum == 1 && needs.opMemSize == 0);
    }
    snprintf(kind, sizeof kind, "HcomNothing");
    CODE(HCCL_E_NOT_SUPPORT, HcomCalcOpOnline(&param, &needs));
    MESSAGE("opType", "HcomNothing", "HcomAllReduce");
    param.opType = NULL;
    CODE(HCCL_E_PTR, HcomCalcOpOnline(&param, &needs));
    CODE(HCCL_E_PTR, HcomCalcOpResOffline(NULL, &needs));
    CODE(HCCL_E_PTR, HcomCalcOpResOffline(&param, NULL));

    OK(HcomSetWorkspaceResource("tag", NULL, NULL, 0, NULL, 0));
    OK(HcomSetWorkspaceResource("tag", NULL, &stream, 1, rank->send, 64));
    CODE(HCCL_E_PTR, HcomSetWorkspaceResource(NULL, NULL, NULL, 0, NULL, 0));
    CODE(HCCL_E_PTR, HcomSetWorkspaceResource("tag", NULL, NULL, 1, NULL, 0));
    CODE(HCCL_E_PTR, HcomSetWorkspaceResource("tag", NULL, NULL, 0, NULL, 1));
    CODE(HCCL_E_PARA, HcomSetWorkspaceResource("tag", NULL, &stream, -1, NULL, 0));
    CODE(HCCL_E_PARA, HcomSetWorkspaceResource("tag", "nobody", NULL, 0, NULL, 0));
    OK(HcomSetAttachedStream(NULL, 1, &stream, 1));
    CODE(HCCL_E_PTR, HcomSetAttachedStream(NULL, 1, NULL, 1));
    CODE(HCCL_E_PARA, HcomSetAttachedStream("nobody", 1, &stream, 1));
    OK(HcomSetGlobalWorkSpace(NULL, memory, 1));
    CODE(HCCL_E_PTR, HcomSetGlobalWorkSpace(NULL, NULL, 1));
    CODE(HCCL_E_PARA, HcomSetGlobalWorkSpace("nobody", memory, 1));
    OK(HcomSetAivCoreLimit(NULL, 8));
    CODE(HCCL_E_PARA, HcomSetAivCoreLimit(NULL, 0));
    CODE(HCCL_E_PARA, HcomSetAivCoreLimit("nobody", 8));
    OK(HcomUnloadTask(NULL, "tag"));
    CODE(HCCL_E_PTR, HcomUnloadTask(NULL, NULL));
    CODE(HCCL_E_PARA, HcomUnloadTask("nobody", "tag"));
    OK(HcomSupportDeterministicOptim(NULL, &answer));
    THAT(answer);
    CODE(HCCL_E_PTR, HcomSupportDeterministicOptim(NULL, NULL));

    OK(HcomCreateCommCCLbuffer(NULL));
    OK(HcomGetInCCLbuffer(NULL, &in, &size));
    THAT(size == (uint64_t)200 << 20);
    OK(HcomGetOutCCLbuffer(NULL, &out, &size));
    THAT((char *)out == (char *)in + size);
    OK(HcomGetCommHandleByGroup(NULL, &comm));
    THAT(comm != NULL);
    CODE(HCCL_E_PTR, HcomGetInCCLbuffer(NULL, NULL, &size));
    CODE(HCCL_E_PTR, HcomGetOutCCLbuffer(NULL, &buffer, NULL));
    CODE(HCCL_E_PARA, HcomCreateCommCCLbuffer("nobody"));
    OK(HcomDestroy());
}

/** A communicator's buffer takes twice 200 MB. */
static void what_is_asked(void)
{
    setenv("SOFTNPU_DEVICES", "1", 1);
    setenv("SOFTNPU_MEMORY", "1G", 1);
    on_ranks(1, NULL, asked_body);
}

static void workflow_modes(void)
{
    THAT(HcomGetWorkflowMode() == HCCL_WORKFLOW_MODE_OPS_KERNEL_INFO_LIB);
    OK(HcomSetWorkflowMode(HCCL_WORKFLOW_MODE_OP_BASE));
    THAT(HcomGetWorkflowMode() == HCCL_WORKFLOW_MODE_OP_BASE);
    CODE(HCCL_E_PARA, HcomSetWorkflowMode(HCCL_WORKFLOW_MODE_RESERVED));
    THAT(HcomGetWorkflowMode() == HCCL_WORKFLOW_MODE_OP_BASE);
}

/* ---- misuse ---- */

static void without_a_world(void)
{
    uint32_t number = 0, list[1] = {0};
    HcclComm comm = NULL;
    bool there = true;
    NEED(aclrtSetDevice(0));
    OK(HcomGetInitStatus(&there));
    THAT(!there);
    CODE(HCCL_E_PTR, HcomGetInitStatus(NULL));
    CODE(HCCL_E_PARA, HcomGetRankSize(NULL, &number));
    MESSAGE("group", "hccl_world_group");
    CODE(HCCL_E_PARA, HcomGetRankId("nobody", &number));
    CODE(HCCL_E_PARA, HcomGetLocalRankSize(NULL, &number));
    CODE(HCCL_E_PARA, HcomGetLocalRankId(NULL, &number));
    CODE(HCCL_E_PARA, HcomGetCommHandleByGroup(NULL, &comm));
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 1, list));
    CODE(HCCL_E_PARA, HcomGetServerNumAndDeviceNumPerServer(&number, &number, &number));
    OK(HcomDestroy());
}

static void masters_that_are_none(void)
{
    HcomInitConfig config;
    char algo[] = "level0:nonsense", seconds[] = "soon";
    memset(&config, 0, sizeof config);
    NEED(aclrtSetDevice(1));
    CODE(HCCL_E_PTR, HcomInitByMasterInfo(NULL, "1", "0", "2", "127.0.0.1", NULL));
    CODE(HCCL_E_PTR, HcomInitByMasterInfo("127.0.0.1", NULL, "0", "2", "127.0.0.1", NULL));
    CODE(HCCL_E_PTR, HcomInitByMasterInfo("127.0.0.1", "1", NULL, "2", "127.0.0.1", NULL));
    CODE(HCCL_E_PTR, HcomInitByMasterInfo("127.0.0.1", "1", "0", NULL, "127.0.0.1", NULL));
    CODE(HCCL_E_PTR, HcomInitByMasterInfo("127.0.0.1", "1", "0", "2", NULL, NULL));
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("here", "1", "0", "2", "127.0.0.1", NULL));
    MESSAGE("masterIp", "here");
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "65521", "0", "2", "127.0.0.1", NULL));
    MESSAGE("masterPort", "[0, 65520]");
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "+1", "0", "2", "127.0.0.1", NULL));
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "2", "2", "127.0.0.1", NULL));
    MESSAGE("masterDeviceId");
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "0", "0", "127.0.0.1", NULL));
    MESSAGE("rankSize");
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "0", "2", "", NULL));
    CODE(HCCL_E_NOT_SUPPORT, HcomInitByMasterInfo("127.0.0.1", "1", "0", "1", "::1", NULL));
    MESSAGE("device");
    config.algo = algo;
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "0", "2", "127.0.0.1", &config));
    MESSAGE("algo", "nonsense");
    config.algo = NULL;
    config.execTimeOut = seconds;
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "0", "2", "127.0.0.1", &config));
    MESSAGE("execTimeOut", "soon");
    config.execTimeOut = NULL;
    config.deterministic = 3;
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("127.0.0.1", "1", "0", "2", "127.0.0.1", &config));
    MESSAGE("deterministic");
}

static void wishes(void)
{
    HcomInitConfig config;
    char algo[] = "level0:NA;level1:ring", seconds[] = "100";
    HcclComm comm = NULL;
    char found[1600];
    config.algo = algo;
    config.execTimeOut = seconds;
    config.deterministic = 1;
    NEED(aclrtSetDevice(0));
    NEED(HcomInitByMasterInfo("::1", "1", "0", "1", "::1", &config));
    OK(HcomGetCommHandleByGroup(NULL, &comm));
    OK(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_HCCL_ALGO, sizeof found, found));
    THAT(strcmp(found, algo) == 0);
    OK(HcomDestroy());
}

/** The older products do not wait for longer than they can count. */
static void a_wait_that_the_product_does_not_have(void)
{
    HcomInitConfig config;
    char seconds[] = "17341";
    memset(&config, 0, sizeof config);
    config.execTimeOut = seconds;
    setenv("SOFTNPU_SOC", "Ascend310P3", 1);
    NEED(aclrtSetDevice(0));
    CODE(HCCL_E_PARA, HcomInitByMasterInfo("::1", "1", "0", "1", "::1", &config));
    MESSAGE("execTimeOut", "17341", "17340s");
    seconds[4] = '0';
    OK(HcomInitByMasterInfo("::1", "1", "0", "1", "::1", &config));
    OK(HcomDestroy());
}

static void misuse_body(struct rank *rank)
{
    uint32_t list[3] = {0, 1, 0}, number = 0;
    char name[129];
    void *const buffer = rank->send;
    aclrtStream stream = rank->stream;
    NEED(join(rank));
    memset(name, 'a', sizeof name);
    name[128] = '\0';
    CODE(HCCL_E_PTR, HcomCreateGroup(NULL, 2, list));
    CODE(HCCL_E_PTR, HcomCreateGroup("group", 2, NULL));
    CODE(HCCL_E_PARA, HcomCreateGroup("", 2, list));
    CODE(HCCL_E_PARA, HcomCreateGroup(name, 2, list));
    MESSAGE("group", "127");
    CODE(HCCL_E_PARA, HcomCreateGroup(HCCL_WORLD_GROUP, 2, list));
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 0, list));
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 3, list));
    MESSAGE("rankNum", "[1, 2]");
    list[1] = 0;
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 2, list));
    MESSAGE("rankIds[1]", "0 again");
    list[1] = 2;
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 2, list));
    list[0] = 1 - rank->number;
    CODE(HCCL_E_PARA, HcomCreateGroup("group", 1, list));
    MESSAGE("rankIds", "own rank");
    CODE(HCCL_E_PTR, HcomDestroyGroup(NULL));
    CODE(HCCL_E_PARA, HcomDestroyGroup(HCCL_WORLD_GROUP));
    CODE(HCCL_E_PARA, HcomDestroyGroup("nobody"));
    CODE(HCCL_E_PTR, HcomGetRankSize(NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetRankId(NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetLocalRankSize(NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetLocalRankId(NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetWorldRankFromGroupRank(NULL, 0, NULL));
    CODE(HCCL_E_PTR, HcomGetGroupRankFromWorldRank(0, NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetCommHandleByGroup(NULL, NULL));
    CODE(HCCL_E_PTR, HcomGetServerNumAndDeviceNumPerServer(NULL, &number, &number));

    CODE(HCCL_E_PTR, HcomAllReduce(NULL, buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                   NULL, stream));
    CODE(HCCL_E_PARA, HcomAllReduce("", buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                    NULL, stream));
    CODE(HCCL_E_PTR, HcomAllReduce("tag", NULL, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                   NULL, stream));
    MESSAGE("HcomAllReduce", "sendBuf");
    CODE(HCCL_E_PTR, HcomAllReduce("tag", buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                   NULL, NULL));
    CODE(HCCL_E_PARA, HcomAllReduce("tag", buffer, buffer, 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                    "nobody", stream));
    CODE(HCCL_E_PARA,
         HcomSend("tag", buffer, 8, HCCL_DATA_TYPE_INT32, 2, 0, NULL, stream));
    MESSAGE("destRank", "[0, 1]");
    CODE(HCCL_E_NOT_SUPPORT,
         HcomReceive("tag", buffer, 8, HCCL_DATA_TYPE_INT32, rank->number, 0, NULL, stream));
    OK(HcomDestroy());
}

static void wrong_arguments(void) { on_ranks(2, NULL, misuse_body); }

int main(void)
{
    RUN(world_of_two);
    RUN(world_of_four);
    RUN(groups);
    RUN(servers);
    RUN(rank_tables);
    RUN(rank_tables_that_are_none);
    RUN(again_and_again);
    RUN(different_message_tags);
    RUN(what_is_asked);
    RUN(workflow_modes);
    RUN(without_a_world);
    RUN(masters_that_are_none);
    RUN(wishes);
    RUN(a_wait_that_the_product_does_not_have);
    RUN(wrong_arguments);
    return check_end();
}
