/**
 * @file operators.c
 * Objects around single operators: tensor descriptors, data buffers, attributes, options, versions.
 */
#include "check.h"

static void sizes_of_elements(void)
{
    THAT(aclDataTypeSize(ACL_DT_UNDEFINED) == 0);
    THAT(aclDataTypeSize(ACL_STRING) == 0);
    THAT(aclDataTypeSize(ACL_BOOL) == 1);
    THAT(aclDataTypeSize(ACL_INT4) == 1);
    THAT(aclDataTypeSize(ACL_UINT1) == 1);
    THAT(aclDataTypeSize(ACL_FLOAT8_E5M2) == 1);
    THAT(aclDataTypeSize(ACL_HIFLOAT8) == 1);
    THAT(aclDataTypeSize(ACL_FLOAT16) == 2);
    THAT(aclDataTypeSize(ACL_BF16) == 2);
    THAT(aclDataTypeSize(ACL_UINT16) == 2);
    THAT(aclDataTypeSize(ACL_FLOAT) == 4);
    THAT(aclDataTypeSize(ACL_COMPLEX32) == 4);
    THAT(aclDataTypeSize(ACL_INT64) == 8);
    THAT(aclDataTypeSize(ACL_COMPLEX64) == 8);
    THAT(aclDataTypeSize(ACL_COMPLEX128) == 16);
    THAT(aclDataTypeSize(ACL_FLOAT4_E2M1) == 8);
    THAT(aclDataTypeSize((aclDataType)999) == 8);
}

static void tensor_descriptors(void)
{
    int64_t dims[3] = {2, 3, 5};
    int64_t size = 0;
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
    THAT(desc != NULL);
    dims[0] = 99;
    THAT(aclGetTensorDescType(desc) == ACL_FLOAT16);
    THAT(aclGetTensorDescFormat(desc) == ACL_FORMAT_ND);
    THAT(aclGetTensorDescNumDims(desc) == 3);
    THAT(aclGetTensorDescElementCount(desc) == 30);
    THAT(aclGetTensorDescSize(desc) == 60);
    OK(aclGetTensorDescDimV2(desc, 0, &size));
    THAT(size == 2);
    OK(aclGetTensorDescDimV2(desc, 2, &size));
    THAT(size == 5);
    FAILS(aclGetTensorDescDimV2(desc, 3, &size));
    CODE(100000, aclGetTensorDescDimV2(desc, 0, NULL));
    CODE(100000, aclGetTensorDescDimV2(NULL, 0, &size));
    OK(aclSetTensorFormat(desc, ACL_FORMAT_NCHW));
    OK(aclSetTensorShape(desc, 3, dims));
    OK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST));
    CODE(100000, aclSetTensorFormat(NULL, ACL_FORMAT_NCHW));
    CODE(100000, aclSetTensorShape(NULL, 3, dims));
    CODE(100000, aclSetTensorPlaceMent(NULL, ACL_MEMTYPE_HOST));
    aclSetTensorDescName(desc, "x");
    aclSetTensorDescName(desc, NULL);
    aclSetTensorDescName(NULL, "x");
    aclDestroyTensorDesc(desc);
    aclDestroyTensorDesc(NULL);
    desc = aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND);
    THAT(desc != NULL);
    THAT(aclGetTensorDescNumDims(desc) == 0);
    aclDestroyTensorDesc(desc);
    desc = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, NULL, ACL_FORMAT_UNDEFINED);
    THAT(desc != NULL);
    aclDestroyTensorDesc(desc);
    THAT(aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND) == NULL);
    THAT(aclCreateTensorDesc(ACL_FLOAT, 2, NULL, ACL_FORMAT_ND) == NULL);
}

static void data_buffers(void)
{
    int data[4];
    aclDataBuffer *buffer = aclCreateDataBuffer(data, sizeof data);
    THAT(buffer != NULL);
    THAT(aclGetDataBufferAddr(buffer) == data);
    THAT(aclGetDataBufferSizeV2(buffer) == sizeof data);
    OK(aclDestroyDataBuffer(buffer));
    CODE(100000, aclDestroyDataBuffer(NULL));
    buffer = aclCreateDataBuffer(NULL, 0);
    THAT(buffer != NULL);
    OK(aclDestroyDataBuffer(buffer));
}

static void attributes(void)
{
    static const uint8_t bools[2] = {1, 0};
    static const int64_t ints[3] = {1, -2, 3};
    static const float floats[1] = {0.5F};
    static const int counts[2] = {2, 3};
    const int64_t *const lists[2] = {ints, ints};
    aclopAttr *attr = aclopCreateAttr();
    THAT(attr != NULL);
    OK(aclopSetAttrBool(attr, "bool", 1));
    OK(aclopSetAttrInt(attr, "int", -7));
    OK(aclopSetAttrInt(attr, "int", 8));
    OK(aclopSetAttrFloat(attr, "float", 0.25F));
    OK(aclopSetAttrString(attr, "string", "text"));
    OK(aclopSetAttrDataType(attr, "type", ACL_BF16));
    OK(aclopSetAttrListBool(attr, "bools", 2, bools));
    OK(aclopSetAttrListInt(attr, "ints", 3, ints));
    OK(aclopSetAttrListInt(attr, "none", 0, NULL));
    OK(aclopSetAttrListFloat(attr, "floats", 1, floats));
    OK(aclopSetAttrListListInt(attr, "lists", 2, counts, lists));
    CODE(100000, aclopSetAttrBool(NULL, "bool", 1));
    CODE(100000, aclopSetAttrInt(attr, NULL, 1));
    CODE(100000, aclopSetAttrString(attr, "string", NULL));
    CODE(100000, aclopSetAttrListInt(attr, "ints", -1, ints));
    CODE(100000, aclopSetAttrListInt(attr, "ints", 3, NULL));
    CODE(100000, aclopSetAttrListListInt(attr, "lists", 2, NULL, lists));
    aclopDestroyAttr(attr);
    aclopDestroyAttr(NULL);
}

static void compile_options(void)
{
    char text[64];
    OK(aclSetCompileopt(ACL_PRECISION_MODE, "must_keep_origin_dtype"));
    THAT(aclGetCompileoptSize(ACL_PRECISION_MODE) == sizeof "must_keep_origin_dtype");
    OK(aclGetCompileopt(ACL_PRECISION_MODE, text, sizeof text));
    THAT(strcmp(text, "must_keep_origin_dtype") == 0);
    FAILS(aclGetCompileopt(ACL_PRECISION_MODE, text, 4));
    OK(aclSetCompileopt(ACL_OP_JIT_COMPILE, "enable"));
    OK(aclGetCompileopt(ACL_OP_JIT_COMPILE, text, sizeof text));
    THAT(strcmp(text, "enable") == 0);
    CODE(100000, aclSetCompileopt(ACL_OP_JIT_COMPILE, NULL));
    CODE(100000, aclGetCompileopt(ACL_OP_JIT_COMPILE, NULL, 8));
    FAILS(aclSetCompileopt((aclCompileOpt)999, "x"));
}

static void an_operator_that_is_not_there_fails_and_is_named(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    FAILS(aclopCompileAndExecute("NoSuchOperator", 0, NULL, NULL, 0, NULL, NULL, NULL,
                                 ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, NULL));
    MESSAGE("NoSuchOperator");
    FAILS(aclopCompileAndExecute(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, ACL_ENGINE_SYS,
                                 ACL_COMPILE_SYS, NULL, NULL));
}

static void need_device(void)
{
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
}

/** Runs an operator on tensors that are made and ended here, as the wheel does. */
static aclError run_operator(const char *name, int inputs, const aclTensorDesc **inDescs,
                             const aclDataBuffer **in, const aclTensorDesc *outDesc,
                             aclDataBuffer *out, const aclopAttr *attr)
{
    const aclTensorDesc *outDescs[1] = { outDesc };
    aclDataBuffer *outs[1] = { out };
    aclError code = aclopCompileAndExecute(name, inputs, inDescs, in, 1, outDescs, outs, attr,
                                           ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, NULL);
    for (int i = 0; i < inputs; i++) {
        aclDestroyTensorDesc(inDescs[i]);
        aclDestroyDataBuffer(in[i]);
    }
    aclDestroyTensorDesc(outDesc);
    aclDestroyDataBuffer(out);
    return code;
}

static void fill_and_pad(void)
{
    int64_t three[1] = { 3 }, one[1] = { 1 }, small[2] = { 2, 3 }, large[2] = { 4, 6 };
    int64_t count = 3;
    int32_t paddings[4] = { 1, 1, 2, 1 };
    int64_t four[1] = { 4 };
    float value = 2.5f, data[6] = { 1, 2, 3, 4, 5, 6 }, back[24];
    const float padded[24] = { 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 1, 2, 3, 2.5f,
                               2.5f, 2.5f, 4,    5,    6,    2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f };
    void *x = NULL, *y = NULL;
    const aclTensorDesc *descs[3];
    const aclDataBuffer *buffers[3];

    need_device();
    OK(aclrtMalloc(&x, sizeof data, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&y, sizeof back, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpy(x, sizeof data, data, sizeof data, ACL_MEMCPY_HOST_TO_DEVICE));

    descs[0] = aclCreateTensorDesc(ACL_INT64, 1, one, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[0], ACL_MEMTYPE_HOST);
    buffers[0] = aclCreateDataBuffer(&count, sizeof count);
    descs[1] = aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[1], ACL_MEMTYPE_HOST);
    buffers[1] = aclCreateDataBuffer(&value, sizeof value);
    OK(run_operator("Fill", 2, descs, buffers,
                    aclCreateTensorDesc(ACL_FLOAT, 1, three, ACL_FORMAT_ND),
                    aclCreateDataBuffer(y, 3 * sizeof(float)), NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtMemcpy(back, sizeof back, y, 4 * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(back[0] == 2.5f && back[2] == 2.5f && back[3] == 0);

    descs[0] = aclCreateTensorDesc(ACL_FLOAT, 2, small, ACL_FORMAT_ND);
    buffers[0] = aclCreateDataBuffer(x, sizeof data);
    descs[1] = aclCreateTensorDesc(ACL_INT32, 1, four, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[1], ACL_MEMTYPE_HOST);
    buffers[1] = aclCreateDataBuffer(paddings, sizeof paddings);
    descs[2] = aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND);
    /* The value is what Fill left in device memory. */
    buffers[2] = aclCreateDataBuffer(y, sizeof(float));
    OK(run_operator("PadV3", 3, descs, buffers,
                    aclCreateTensorDesc(ACL_FLOAT, 2, large, ACL_FORMAT_ND),
                    aclCreateDataBuffer(y, sizeof back), NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtMemcpy(back, sizeof back, y, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(memcmp(back, padded, sizeof back) == 0);

    /* An output that does not fit the paddings, and one that is longer than its memory. */
    descs[0] = aclCreateTensorDesc(ACL_FLOAT, 2, small, ACL_FORMAT_ND);
    buffers[0] = aclCreateDataBuffer(x, sizeof data);
    descs[1] = aclCreateTensorDesc(ACL_INT32, 1, four, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[1], ACL_MEMTYPE_HOST);
    buffers[1] = aclCreateDataBuffer(paddings, sizeof paddings);
    CODE(100000, run_operator("PadV3", 2, descs, buffers,
                              aclCreateTensorDesc(ACL_FLOAT, 2, small, ACL_FORMAT_ND),
                              aclCreateDataBuffer(y, sizeof back), NULL));
    large[0] = 1 << 20;
    descs[0] = aclCreateTensorDesc(ACL_INT64, 1, one, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[0], ACL_MEMTYPE_HOST);
    buffers[0] = aclCreateDataBuffer(&count, sizeof count);
    descs[1] = aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND);
    aclSetTensorPlaceMent((aclTensorDesc *)descs[1], ACL_MEMTYPE_HOST);
    buffers[1] = aclCreateDataBuffer(&value, sizeof value);
    FAILS(run_operator("Fill", 2, descs, buffers,
                       aclCreateTensorDesc(ACL_FLOAT, 2, large, ACL_FORMAT_ND),
                       aclCreateDataBuffer(y, (size_t)24 << 20), NULL));
}

static void dump_and_timeouts(void)
{
    uint64_t actual = 0;
    NEED(aclInit(NULL));
    OK(aclmdlInitDump());
    OK(aclmdlFinalizeDump());
    NEED(aclrtSetDevice(0));
    OK(aclrtSetOpExecuteTimeOut(547));
    OK(aclrtSetOpExecuteTimeOutV2(547000000, &actual));
    THAT(actual >= 547000000);
    OK(aclrtSetOpWaitTimeout(10));
}

static void versions(void)
{
    char text[ACL_PKG_VERSION_MAX_SIZE];
    char name[] = "no such package";
    FAILS(aclsysGetVersionStr(NULL, text));
    FAILS(aclsysGetVersionStr(name, NULL));
    FAILS(aclsysGetVersionStr(name, text));
}

int main(void)
{
    RUN(sizes_of_elements);
    RUN(tensor_descriptors);
    RUN(data_buffers);
    RUN(attributes);
    RUN(compile_options);
    RUN(an_operator_that_is_not_there_fails_and_is_named);
    RUN(fill_and_pad);
    RUN(dump_and_timeouts);
    RUN(versions);
    return check_end();
}
