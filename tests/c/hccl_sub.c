/**
 * @file hccl_sub.c
 * Communicators of some ranks of another.
 */
#include "ranks.h"

/* ---- what works ---- */

static void odd_ranks_backwards(Rank *rank)
{
    uint32_t members[] = {3, 1};
    char name[COMM_NAME_MAX_LENGTH], expected[2 * COMM_NAME_MAX_LENGTH];
    HcclCommConfig config = default_config();
    if (rank->rank % 2 == 1) {
        const uint32_t place = rank->rank == 3 ? 0 : 1;
        uint32_t found = 99;
        HcclComm sub = NULL;
        OK(HcclCreateSubCommConfig(&rank->comm, 2, members, 7, place, &config, &sub));
        OK(HcclGetRankSize(sub, &found));
        THAT(found == 2);
        OK(HcclGetRankId(sub, &found));
        THAT(found == place);
        OK(HcclGetCommName(rank->comm, name));
        snprintf(expected, sizeof expected, "%s_sub_7", name);
        OK(HcclGetCommName(sub, name));
        THAT(strcmp(name, expected) == 0);
        THAT(works(sub, place, 2, rank->stream));
        OK(HcclCommDestroy(sub));
    } else {
        HcclComm sub = (HcclComm)1;
        OK(HcclCreateSubCommConfig(&rank->comm, 0, NULL, 0xFFFFFFFFU, 0, &config, &sub));
        THAT(sub == (HcclComm)1);
    }
    /* The parent has not suffered. */
    THAT(works(rank->comm, rank->rank, rank->ranks, rank->stream));
}

static void a_part_of_the_ranks(void)
{
    on_ranks(4, odd_ranks_backwards);
}

static void again_and_again(Rank *rank)
{
    uint32_t members[] = {0, 1, 2};
    HcclCommConfig config = default_config();
    for (int i = 0; i < 20; ++i) {
        HcclComm one = NULL, other = NULL;
        OK(HcclCreateSubCommConfig(&rank->comm, 3, members, 1, rank->rank, &config, &one));
        OK(HcclCreateSubCommConfig(&rank->comm, 3, members, 2, rank->rank, &config, &other));
        THAT(works(one, rank->rank, 3, rank->stream));
        THAT(works(other, rank->rank, 3, rank->stream));
        OK(HcclCommDestroy(one));
        OK(HcclCommDestroy(other));
    }
}

static void the_same_members_meet_many_times(void)
{
    on_ranks(3, again_and_again);
}

static void alone(Rank *rank)
{
    uint32_t self = rank->rank;
    HcclCommConfig config = default_config();
    HcclComm sub = NULL;
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "alone");
    OK(HcclCreateSubCommConfig(&rank->comm, 1, &self, 5, 0, &config, &sub));
    THAT(works(sub, 0, 1, rank->stream));
    OK(HcclCommDestroy(sub));
}

static void one_member_only(void)
{
    on_ranks(2, alone);
}

/* ---- misuse ---- */

static void wrong_arguments(Rank *rank)
{
    uint32_t members[] = {0};
    uint32_t twice[] = {0, 0};
    uint32_t foreign[] = {0, 1};
    HcclCommConfig config = default_config();
    HcclComm comm = rank->comm, none = NULL, stale = (HcclComm)42, sub = NULL, made = NULL;
    CODE(HCCL_E_PTR, HcclCreateSubCommConfig(NULL, 1, members, 1, 0, &config, &sub));
    MESSAGE("EI0003", "HcclCreateSubCommConfig", "comm", "nullptr");
    CODE(HCCL_E_PTR, HcclCreateSubCommConfig(&none, 1, members, 1, 0, &config, &sub));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&stale, 1, members, 1, 0, &config, &sub));
    CODE(HCCL_E_PTR, HcclCreateSubCommConfig(&comm, 1, members, 1, 0, NULL, &sub));
    MESSAGE("EI0003", "config");
    CODE(HCCL_E_PTR, HcclCreateSubCommConfig(&comm, 1, members, 1, 0, &config, NULL));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, NULL, 1, 0, &config, &sub));
    MESSAGE("rankIds", "0xFFFFFFFF");
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, members, 0xFFFFFFFFU, 0, &config, &sub));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 0, members, 1, 0, &config, &sub));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 2, foreign, 1, 0, &config, &sub));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, foreign + 1, 1, 0, &config, &sub));
    MESSAGE("rankIds[0]", "1", "[0, 0]");
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, twice, 1, 1, &config, &sub));
    MESSAGE("subCommRankId", "1", "[0, 0]");
    config.hcclBufferSize = 0;
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, members, 1, 0, &config, &sub));
    MESSAGE("hcclBufferSize");
    THAT(sub == NULL);
    /* A sub communicator has no sub communicators, and its name is taken while it lives. */
    config = default_config();
    OK(HcclCreateSubCommConfig(&comm, 1, members, 1, 0, &config, &sub));
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&sub, 1, members, 1, 0, &config, &made));
    MESSAGE("sub communicator");
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, members, 1, 0, &config, &made));
    MESSAGE("hcclCommName", "_sub_1");
    memset(config.hcclCommName, 'x', sizeof config.hcclCommName - 1);
    config.hcclCommName[127] = 'x';
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 1, members, 2, 0, &config, &made));
    OK(HcclCommDestroy(sub));
    config = default_config();
    OK(HcclCreateSubCommConfig(&comm, 1, members, 1, 0, &config, &sub));
    OK(HcclCommDestroy(sub));
}

static void misuse(void)
{
    on_ranks(1, wrong_arguments);
}

static void not_in_the_list(Rank *rank)
{
    uint32_t twice[] = {0, 0};
    uint32_t members[] = {1, 0};
    HcclCommConfig config = default_config();
    HcclComm sub = NULL;
    CODE(HCCL_E_PARA, HcclCreateSubCommConfig(&rank->comm, 2, twice, 1, 0, &config, &sub));
    MESSAGE("rankIds[1]", "0 again");
    CODE(HCCL_E_PARA,
         HcclCreateSubCommConfig(&rank->comm, 2, members, 1, rank->rank, &config, &sub));
    MESSAGE("subCommRankId", "place of the own rank");
}

static void misuse_of_lists(void)
{
    on_ranks(2, not_in_the_list);
}

int main(void)
{
    RUN(a_part_of_the_ranks);
    RUN(the_same_members_meet_many_times);
    RUN(one_member_only);
    RUN(misuse);
    RUN(misuse_of_lists);
    return check_end();
}
