/**
 * @file acl_prof.h
 * The profiler. Nothing is recorded: programs that profile run as they would without.
 *
 * Where nothing else is said a call returns 0, 100000 for NULL or an empty text, and 107017 for an
 * object that was destroyed.
 */
#ifndef ACL_ACL_PROF_H_
#define ACL_ACL_PROF_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name What can be recorded @{ */
#define ACL_PROF_ACL_API 0x00000001ULL
#define ACL_PROF_TASK_TIME 0x00000002ULL
#define ACL_PROF_AICORE_METRICS 0x00000004ULL
#define ACL_PROF_AICPU 0x00000008ULL
#define ACL_PROF_L2CACHE 0x00000010ULL
#define ACL_PROF_HCCL_TRACE 0x00000020ULL
#define ACL_PROF_TRAINING_TRACE 0x00000040ULL
#define ACL_PROF_MSPROFTX 0x00000080ULL
#define ACL_PROF_RUNTIME_API 0x00000100ULL
#define ACL_PROF_GE_API_L0 0x00000200ULL
#define ACL_PROF_TASK_TIME_L0 0x00000800ULL
#define ACL_PROF_TASK_MEMORY 0x00001000ULL
#define ACL_PROF_TASK_TIME_L2 0x00002000ULL
#define ACL_PROF_OP_ATTR 0x00004000ULL
#define ACL_PROF_TASK_TIME_L3 0x00008000ULL
#define ACL_PROF_GE_API_L1 0x01000000ULL
/** @} */

/** Which counters of the cores. */
typedef enum {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_L2_CACHE = 6,
    ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
    ACL_AICORE_MEMORY_ACCESS = 8,
    ACL_AICORE_NONE = 0xFF
} aclprofAicoreMetrics;

typedef enum {
    ACL_STEP_START = 0,
    ACL_STEP_END = 1
} aclprofStepTag;

/** Settings of aclprofSetConfig. */
typedef enum {
    ACL_PROF_STORAGE_LIMIT = 1,
    ACL_PROF_AIV_METRICS = 2,
    ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
    ACL_PROF_LLC_MODE = 4,
    ACL_PROF_SYS_IO_FREQ = 5,
    ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
    ACL_PROF_DVPP_FREQ = 7,
    ACL_PROF_HOST_SYS = 8,
    ACL_PROF_HOST_SYS_USAGE = 9,
    ACL_PROF_HOST_SYS_USAGE_FREQ = 10
} aclprofConfigType;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofStepInfo aclprofStepInfo;

/**
 * Begins profiling.
 * @param profilerResultPath a folder; nothing is written there
 * @param length bytes of the text
 */
aclError aclprofInit(const char *profilerResultPath, size_t length);

/** Ends profiling. */
aclError aclprofFinalize(void);

/** What to record. @return NULL for devices that do not exist. */
aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents,
                                   uint64_t dataTypeConfig);

/** Ends such an object. */
aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/** Prepares what an object asks for. */
aclError aclprofWarmup(const aclprofConfig *profilerConfig);

/** Starts what an object asks for. */
aclError aclprofStart(const aclprofConfig *profilerConfig);

/** Stops it. */
aclError aclprofStop(const aclprofConfig *profilerConfig);

/** Sets one thing. @return 100000 for a setting that is not known. */
aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength);

/** Lets a profiler hear of devices that are set. */
aclError aclprofRegisterDeviceCallback(void);

/** Leaves a mark in stream order. */
aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);

/** An object for the marks of steps. @return NULL when there are too many. */
aclprofStepInfo *aclprofCreateStepInfo(void);

/** NULL is ignored. */
void aclprofDestroyStepInfo(aclprofStepInfo *stepInfo);

/** Notes where a step begins or ends. @return 100000 for a tag that is not known. */
aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                 aclrtStream stream);

/**
 * What the profiler can do: nothing.
 * @param featuresSize receives 0
 * @param featuresData receives NULL
 */
aclError aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData);

/** The same in the newer form. */
aclError aclprofGetSupportedFeaturesV2(size_t *featuresSize, void **featuresData);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_PROF_H_ */
