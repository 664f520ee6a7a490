/**
 * @file hccl_mc2.c
 * Arguments of operators that compute and communicate in one kernel: objects that can be made, filled
 * and freed, and that nothing can be made of.
 */
#include "world.h"

#include "hccl/hccl_mc2.h"

static void arguments_of(struct rank *rank)
{
    char algorithm[129];
    void *args = NULL, *other = NULL, *context = NULL;
    OK(HcclKfcAllocOpArgs(&args));
    OK(HcclKfcAllocOpArgs(&other));
    THAT(args != NULL && args != other);
    OK(HcclKfcOpArgsSetSrcDataType(args, HCCL_DATA_TYPE_FP16));
    OK(HcclKfcOpArgsSetDstDataType(args, HCCL_DATA_TYPE_FP32));
    OK(HcclKfcOpArgsSetReduceType(args, HCCL_REDUCE_MAX));
    OK(HcclKfcOpArgsSetCount(args, 0x7FFFFFFFFULL));
    OK(HcclKfcOpArgsSetCommEngine(args, 5));
    memset(algorithm, 'a', sizeof algorithm);
    algorithm[128] = '\0';
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetAlgConfig(args, algorithm));
    MESSAGE("algConfig", "127");
    algorithm[127] = '\0';
    OK(HcclKfcOpArgsSetAlgConfig(args, algorithm));

    CODE(HCCL_E_PARA, HcclKfcOpArgsSetSrcDataType(args, 13));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetDstDataType(args, 255));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetReduceType(args, 4));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetReduceType(args, UINT32_MAX));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetCount(args, 0x800000000ULL));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetCommEngine(args, 6));
    CODE(HCCL_E_PTR, HcclKfcOpArgsSetAlgConfig(args, NULL));
    CODE(HCCL_E_PTR, HcclKfcOpArgsSetCount(NULL, 1));
    CODE(HCCL_E_PTR, HcclKfcAllocOpArgs(NULL));
    CODE(HCCL_E_PTR, HcclKfcFreeOpArgs(NULL));

    CODE(HCCL_E_NOT_SUPPORT, HcclCreateOpResCtx(rank->comm, HCCL_CMD_ALLREDUCE, args, &context));
    MESSAGE("HcclCreateOpResCtx", "software NPU");
    CODE(HCCL_E_NOT_SUPPORT, HcclCreateOpResCtx(rank->comm, HCCL_CMD_ALLREDUCE, args, &context));
    MESSAGE("HcclCreateOpResCtx", "software NPU");
    CODE(HCCL_E_NOT_SUPPORT,
         HcclCreateOpResCtxInner(rank->comm, HCCL_CMD_ALLTOALLV, args, &context));
    CODE(HCCL_E_PARA, HcclCreateOpResCtx(rank->comm, 0, args, &context));
    CODE(HCCL_E_PARA, HcclCreateOpResCtx(rank->comm, 22, args, &context));
    CODE(HCCL_E_PTR, HcclCreateOpResCtx(NULL, HCCL_CMD_ALLREDUCE, args, &context));
    CODE(HCCL_E_PTR, HcclCreateOpResCtx(rank->comm, HCCL_CMD_ALLREDUCE, NULL, &context));
    CODE(HCCL_E_PTR, HcclCreateOpResCtx(rank->comm, HCCL_CMD_ALLREDUCE, args, NULL));
    THAT(context == NULL);

    OK(HcclKfcFreeOpArgs(args));
    CODE(HCCL_E_PARA, HcclKfcFreeOpArgs(args));
    CODE(HCCL_E_PARA, HcclKfcOpArgsSetCount(args, 1));
    MESSAGE("opArgs");
    CODE(HCCL_E_PARA, HcclCreateOpResCtx(rank->comm, HCCL_CMD_ALLREDUCE, args, &context));
    CODE(HCCL_E_PARA, HcclKfcFreeOpArgs(rank->comm));
    OK(HcclKfcOpArgsSetCount(other, 1));
    OK(HcclKfcFreeOpArgs(other));
}

static void arguments(void) { in_world(1, arguments_of); }

int main(void)
{
    RUN(arguments);
    return check_end();
}
