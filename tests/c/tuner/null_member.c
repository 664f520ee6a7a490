/* A plugin without one of its functions. */
#include "hccl/hccl.h"
#include "hccl/hccl_tuner.h"

static HcclResult init(HcclComm comm, const hcclTunerCommInfo_t *info,
                       const hcclTunerHostFunctions_t *host)
{
    (void)comm;
    (void)info;
    (void)host;
    return HCCL_SUCCESS;
}

const hcclTunerFuncs_v1_t hcclTunerPlugin_v1 = {init, NULL, sizeof(hcclTunerFuncs_v1_t)};
