/**
 * @file hccl_tuner.h
 * Tuner plugins: shared objects that say what algorithms cost, so that another one runs.
 *
 * HCCL_TUNER_PLUGIN names the file; unset, empty or `none` means that there is no plugin. It is
 * loaded once a process, when the first communicator is made, and stays loaded. It exports a
 * variable (not a function) of the type hcclTunerFuncs_v1_t:
 *
 *     const hcclTunerFuncs_v1_t hcclTunerPlugin_v1 = {init, get_coll_info, sizeof(hcclTunerFuncs_v1_t)};
 *
 * A plugin that cannot be loaded, lacks the variable or one of its functions, or whose init fails,
 * is left out with a warning in the log, and the library chooses as it does without one.
 *
 * All ranks of a communicator must come to the same costs: give all the same plugin, and let it
 * decide by what it is told here. Where ranks choose differently, the call fails on them with a list
 * of who runs what.
 *
 * Functions are called on threads that make communicators and start operators, also from several
 * threads at once for different communicators. They must not throw, and must not start operators on
 * the communicator that they are called for.
 */
#ifndef HCCL_HCCL_TUNER_H_
#define HCCL_HCCL_TUNER_H_

#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Name of the variable that a plugin exports. */
#define HCCL_TUNER_PLUGIN_SYMBOL "hcclTunerPlugin_v1"

/** What logFunction takes as its level. */
typedef enum {
    HCCL_TUNER_LOG_ERROR = 0,
    HCCL_TUNER_LOG_WARN = 1,
    HCCL_TUNER_LOG_INFO = 2,
    HCCL_TUNER_LOG_DEBUG = 3
} hcclTunerLogLevel_t;

/** A communicator. `structSize` is the size that the library knows, here and below. */
typedef struct {
    uint32_t nRanks;
    uint32_t nNpusPerServer; /**< of the largest server, where they differ */
    uint32_t nServers;
    uint32_t nPods;          /**< here: as many as superpods */
    uint32_t nSuperPods;
    const char *commName;    /**< valid as long as the communicator */
    uint64_t bufferSize;     /**< bytes of HCCL_BUFFSIZE */
    uint32_t structSize;
} hcclTunerCommInfo_t;

/** A call that an algorithm is to be chosen for. */
typedef struct {
    HcclCMDType collType;
    /** Bytes of the call's count; the sum of the rows of AllGatherV and ReduceScatterV; 0 for
     *  AlltoAllV and AlltoAllVC, whose ranks know different lengths. */
    size_t nBytes;
    HcclDataType dataType;
    uint32_t structSize;
} hcclTunerCollInfo_t;

/**
 * An algorithm that can run the call. Texts are read-only and valid during the call; the first entry
 * is what runs if nothing is changed.
 *
 * | algorithm | executorName | templateName |
 * | --- | --- | --- |
 * | mesh, mesh:one-shot, mesh:two-shot, mesh:chunked:N | sole | mesh, meshoneshot, meshtwoshot, meshchunk |
 * | ring, rhd, nhr, nb, star, pairwise | sole | the same word |
 * | double-ring | concur | doublering |
 * | hierarchy:8*mesh,4*nhr | sequence | mesh+nhr: a word for each tier, innermost first |
 * | ahc:4+3:mesh:nhr | sequence | ahc |
 * | pipeline:8 | pipeline | mesh+ring |
 */
typedef struct {
    const char *algName;      /**< as `hccl plan` and the log write it */
    const char *engineName;   /**< here always `aicpu`: processor cores go through the steps */
    const char *executorName;
    const char *templateName;
    /** Microseconds by the library's model. Below 0 forbids the algorithm, 0 prefers it, all else
     *  takes the place of the estimate; what is no number is not looked at. The smallest runs, of
     *  equals the first; if all are forbidden, the first entry, with a warning. */
    float cost;
    uint32_t structSize;
} hcclTunerAlgoEntry_t;

/** What a plugin may call, from its own functions or any other time. */
typedef struct {
    /**
     * Takes memory that belongs to the communicator, filled with 0, aligned as malloc does; it
     * goes with the communicator. @return 1 for a size of 0 or a tag in use, 3 when there is none left.
     */
    HcclResult (*ctxCreate)(HcclComm comm, const char *tag, uint64_t size, void **ctx);
    /** Finds it again. `size` may be NULL. @return 6 for a tag that is not in use. */
    HcclResult (*ctxGet)(HcclComm comm, const char *tag, void **ctx, uint64_t *size);
    /** Gives it back. @return 6 for a tag that is not in use. */
    HcclResult (*ctxDestroy)(HcclComm comm, const char *tag);
    /** Writes into HCCL's log; up to 1023 bytes. */
    void (*logFunction)(int level, const char *file, int line, const char *format, ...);
    uint32_t structSize;
} hcclTunerHostFunctions_t;

/** The functions of a plugin; all are needed. */
typedef struct {
    /**
     * Called once for each communicator, when it has been made. Both structures are valid during
     * the call; the functions stay valid. More than 5 s leave a warning.
     * @return 0; for all else the communicator does without the plugin
     */
    HcclResult (*init)(HcclComm comm, const hcclTunerCommInfo_t *commInfo,
                       const hcclTunerHostFunctions_t *hostFunctions);
    /**
     * Called when an algorithm is to be chosen: once for each operator, size and data type of a
     * communicator (of the last 4096), not for barriers and messages, and not where HCCL_ALGO
     * decides. Changes costs of entries and sets `*matched`, which is 0, to 1. Three calls in a row
     * that take more than 100 ms are the last ones of the communicator.
     * @return 0; for all else the costs are not looked at
     */
    HcclResult (*getCollInfo)(HcclComm comm, const hcclTunerCollInfo_t *collInfo,
                              hcclTunerAlgoEntry_t *entries, int count, int *matched);
    uint32_t structSize; /**< sizeof this structure, or 0 */
} hcclTunerFuncs_v1_t;

#ifdef __cplusplus
}
#endif

#endif
