/**
 * @file descriptions.c
 * Descriptions of tensors, buffers and attributes: all that they can be told and asked.
 */
#include "check.h"

static void buffers(void)
{
    char data[100];
    aclDataBuffer *buffer = aclCreateDataBuffer(data, 50);
    THAT(aclGetDataBufferAddr(buffer) == data && aclGetDataBufferSizeV2(buffer) == 50);
    OK(aclUpdateDataBuffer(buffer, data + 1, 99));
    THAT(aclGetDataBufferAddr(buffer) == data + 1 && aclGetDataBufferSize(buffer) == 99);
    OK(aclUpdateDataBuffer(buffer, NULL, ((size_t)1 << 32) + 7));
    THAT(aclGetDataBufferSize(buffer) == 7);
    CODE(100000, aclUpdateDataBuffer(NULL, data, 1));
    OK(aclDestroyDataBuffer(buffer));
    CODE(107017, aclUpdateDataBuffer(buffer, data, 1));
    THAT(aclGetDataBufferSize(buffer) == 0 && aclGetDataBufferAddr(NULL) == NULL);
}

static void tensors(void)
{
    const int64_t shape[3] = {2, 3, 4}, other[2] = {6, 4};
    int64_t range[2] = {0, 0}, ranges[3][2] = {{1, 2}, {3, -1}, {4, 4}}, wrong[1][2] = {{5, 4}};
    int32_t constant[2] = {17, 18};
    aclTensorDesc *transformed = NULL;
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT32, 3, shape, ACL_FORMAT_NCHW);
    THAT(aclGetTensorDescDim(desc, 1) == 3 && aclGetTensorDescDim(desc, 3) == -1);
    THAT(strcmp(aclGetTensorDescName(desc), "") == 0);
    aclSetTensorDescName(desc, "x");
    THAT(strcmp(aclGetTensorDescName(desc), "x") == 0);
    OK(aclSetTensorStorageFormat(desc, ACL_FORMAT_ND));
    OK(aclSetTensorStorageShape(desc, 2, other));
    OK(aclSetTensorOriginFormat(desc, ACL_FORMAT_NHWC));
    OK(aclSetTensorOriginShape(desc, 2, other));
    /* The tensor itself is what it was. */
    THAT(aclGetTensorDescFormat(desc) == ACL_FORMAT_NCHW && aclGetTensorDescNumDims(desc) == 3);
    CODE(100000, aclSetTensorStorageFormat(NULL, ACL_FORMAT_ND));
    CODE(100000, aclSetTensorStorageShape(desc, -1, other));
    CODE(100000, aclSetTensorStorageShape(desc, 2, NULL));
    CODE(100000, aclSetTensorOriginFormat(NULL, ACL_FORMAT_ND));
    CODE(100000, aclSetTensorOriginShape(desc, -1, other));
    OK(aclGetTensorDescDimRange(desc, 1, 2, range));
    THAT(range[0] == 3 && range[1] == 3);
    OK(aclSetTensorShapeRange(desc, 3, ranges));
    OK(aclGetTensorDescDimRange(desc, 1, 2, range));
    THAT(range[0] == 3 && range[1] == -1);
    CODE(100000, aclGetTensorDescDimRange(desc, 3, 2, range));
    CODE(100000, aclGetTensorDescDimRange(desc, 0, 1, range));
    CODE(100000, aclGetTensorDescDimRange(desc, 0, 2, NULL));
    CODE(100000, aclSetTensorShapeRange(desc, 1, wrong));
    CODE(100000, aclSetTensorShapeRange(desc, 1, NULL));
    CODE(100000, aclSetTensorShapeRange(NULL, 3, ranges));
    OK(aclSetTensorValueRange(desc, 3, ranges));
    CODE(100000, aclSetTensorValueRange(desc, 1, wrong));
    CODE(100000, aclSetTensorValueRange(desc, 1, NULL));
    THAT(aclGetTensorDescAddress(desc) == NULL);
    OK(aclSetTensorConst(desc, constant, sizeof constant));
    constant[1] = 0;
    const int32_t *kept = aclGetTensorDescAddress(desc);
    THAT(kept != NULL && kept != constant && kept[0] == 17 && kept[1] == 18);
    CODE(100000, aclSetTensorConst(desc, NULL, 4));
    CODE(100000, aclSetTensorConst(desc, constant, 0));
    CODE(100000, aclSetTensorConst(NULL, constant, 4));
    THAT(aclGetTensorDescAddress(NULL) == NULL);
    OK(aclSetTensorDynamicInput(desc, "list"));
    CODE(100000, aclSetTensorDynamicInput(desc, NULL));
    CODE(100000, aclSetTensorDynamicInput(NULL, "list"));
    THAT(aclGetTensorDescByIndex(desc, 0) == desc && aclGetTensorDescByIndex(desc, 1) == NULL);
    THAT(aclGetTensorDescByIndex(NULL, 0) == NULL);
    forget_messages();
    CODE(207000, aclTransTensorDescFormat(desc, ACL_FORMAT_FRACTAL_NZ, &transformed));
    CODE(100000, aclTransTensorDescFormat(desc, ACL_FORMAT_FRACTAL_NZ, NULL));
    CODE(100000, aclTransTensorDescFormat(NULL, ACL_FORMAT_FRACTAL_NZ, &transformed));
    aclDestroyTensorDesc(desc);
    CODE(107017, aclSetTensorOriginFormat(desc, ACL_FORMAT_ND));
}

static void attributes(void)
{
    const char *texts[2] = {"one", "two"}, *holes[2] = {"one", NULL};
    const aclDataType types[2] = {ACL_FLOAT, ACL_BF16};
    aclopAttr *set = aclopCreateAttr();
    OK(aclopSetAttrListString(set, "texts", 2, texts));
    OK(aclopSetAttrListString(set, "none", 0, NULL));
    CODE(100000, aclopSetAttrListString(set, "texts", 2, NULL));
    CODE(100000, aclopSetAttrListString(set, "texts", 2, holes));
    CODE(100000, aclopSetAttrListString(set, NULL, 2, texts));
    CODE(100000, aclopSetAttrListString(set, "texts", -1, texts));
    OK(aclopSetAttrListDataType(set, "types", 2, types));
    CODE(100000, aclopSetAttrListDataType(set, "types", 2, NULL));
    CODE(100000, aclopSetAttrListDataType(NULL, "types", 2, types));
    aclopDestroyAttr(set);
    CODE(107017, aclopSetAttrListDataType(set, "types", 2, types));
}

static void compilation(void)
{
    OK(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ));
    OK(aclopSetCompileFlag(ACL_OP_COMPILE_DEFAULT));
    CODE(100000, aclopSetCompileFlag((aclOpCompileFlag)2));
}

/** Fill by the call for operators whose output shape depends on their input. */
static void an_operator(void)
{
    const int64_t shape[1] = {8}, one[1] = {1};
    int64_t dims[1] = {8}, size = 0;
    float value = 2.5f, back[8];
    void *memory = NULL;
    NEED(aclrtSetDevice(0));
    OK(aclrtMalloc(&memory, sizeof back, ACL_MEM_MALLOC_HUGE_FIRST));
    aclTensorDesc *inputs[2] = {aclCreateTensorDesc(ACL_INT64, 1, one, ACL_FORMAT_ND),
                                aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND)};
    aclTensorDesc *outputs[1] = {aclCreateTensorDesc(ACL_FLOAT, 1, shape, ACL_FORMAT_ND)};
    aclDataBuffer *from[2] = {aclCreateDataBuffer(dims, sizeof dims),
                              aclCreateDataBuffer(&value, sizeof value)};
    aclDataBuffer *to[1] = {aclCreateDataBuffer(memory, sizeof back)};
    OK(aclSetTensorPlaceMent(inputs[0], ACL_MEMTYPE_HOST));
    OK(aclSetTensorPlaceMent(inputs[1], ACL_MEMTYPE_HOST));
    aclopAttr *set = aclopCreateAttr();
    OK(aclopCompileAndExecuteV2("Fill", 2, inputs, from, 1, outputs, to, set, ACL_ENGINE_SYS,
                                ACL_COMPILE_SYS, NULL, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtMemcpy(back, sizeof back, memory, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < 8; ++i) {
        THAT(back[i] == 2.5f);
    }
    OK(aclGetTensorDescDimV2(outputs[0], 0, &size));
    THAT(size == 8);
    CODE(207000, aclopCompileAndExecuteV2("NoSuchOperator", 2, inputs, from, 1, outputs, to, set,
                                          ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, NULL));
    CODE(100000, aclopCompileAndExecuteV2(NULL, 2, inputs, from, 1, outputs, to, set,
                                          ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, NULL));
    aclopDestroyAttr(set);
    for (int i = 0; i < 2; ++i) {
        aclDestroyTensorDesc(inputs[i]);
        OK(aclDestroyDataBuffer(from[i]));
    }
    aclDestroyTensorDesc(outputs[0]);
    OK(aclDestroyDataBuffer(to[0]));
    OK(aclrtFree(memory));
}

int main(void)
{
    RUN(buffers);
    RUN(tensors);
    RUN(attributes);
    RUN(compilation);
    RUN(an_operator);
    return check_end();
}
