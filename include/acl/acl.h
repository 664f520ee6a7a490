/**
 * @file acl.h
 * The AscendCL interface: life of the library, and everything else by inclusion.
 */
#ifndef ACL_ACL_H_
#define ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

typedef enum {
    ACL_PKG_NAME_CANN = 0,
    ACL_PKG_NAME_RUNTIME = 1,
    ACL_PKG_NAME_COMPILER = 2,
    ACL_PKG_NAME_HCCL = 3,
    ACL_PKG_NAME_TOOLKIT = 4,
    ACL_PKG_NAME_OPP = 5,
    ACL_PKG_NAME_OPP_KERNEL = 6,
    ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

/** Version of a package, whole and in parts; a part that is missing reads "0". */
typedef struct aclCANNPackageVersion {
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/**
 * Begins the use of the library.
 * @param configPath a JSON file; NULL or "" for no configuration. Unknown keys are accepted.
 * @return 0 the first time; 100002 on each later call, which only counts; 100003 when the file
 *         cannot be read; 100006 when it is not JSON; 100000 when, after aclFinalize, another
 *         configuration than the first one is given.
 */
aclError aclInit(const char *configPath);

/**
 * Ends the use of the library, however often it was begun. Devices are not reset by it.
 * @return 0, also when aclInit was never called; 100037 when called twice.
 */
aclError aclFinalize(void);

/**
 * Takes back one aclInit; the last one ends the use.
 * @param refCount may be NULL; receives the count that is left
 * @return 100037 when nothing is left to take back.
 */
aclError aclFinalizeReference(uint64_t *refCount);

/** Which library registers a callback. */
typedef enum {
    ACL_REG_TYPE_ACL_MODEL = 0,
    ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
    ACL_REG_TYPE_ACL_OP_CBLAS = 2,
    ACL_REG_TYPE_ACL_OP_COMPILER = 3,
    ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
    ACL_REG_TYPE_ACL_TDT_QUEUE = 5,
    ACL_REG_TYPE_ACL_DVPP = 6,
    ACL_REG_TYPE_ACL_RETR = 7,
    ACL_REG_TYPE_OTHER = 0xFFFF
} aclRegisterCallbackType;

/** Gets the text of the configuration. A result other than 0 becomes that of aclInit. */
typedef aclError (*aclInitCallbackFunc)(const char *configStr, size_t len, void *userData);

/** A result other than 0 becomes that of aclFinalize. */
typedef aclError (*aclFinalizeCallbackFunc)(void *userData);

/**
 * Has a function called when AscendCL begins, and at once if it has begun.
 * @return 100000 for NULL, for a type that is not known, and for a function that is registered for
 *         the type already.
 */
aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc,
                                 void *userData);

/** @return 100000 for a function that is not registered for the type. */
aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc);

/** Has a function called when AscendCL ends. @return as aclInitCallbackRegister. */
aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc,
                                     void *userData);

/** @return 100000 for a function that is not registered for the type. */
aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type,
                                       aclFinalizeCallbackFunc cbFunc);

/** Version of this interface: 1, 17, 0. @return 100000 for NULL. */
aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);

/**
 * Version of a package, as the line "Version=..." of share/info/<package>/version.info below
 * $ASCEND_HOME_PATH says it.
 * @return 100003 when the variable is not set or the file does not say it; that is an answer, which
 *         leaves no message.
 */
aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version);

/**
 * Version of a package by name ("runtime", "hccl", ...): that of the installation, or where it says
 * none this library's own for cann, runtime, hccl and toolkit.
 * @param versionStr at least ACL_PKG_VERSION_MAX_SIZE bytes
 * @return 100000 for a name that is not known.
 */
aclError aclsysGetVersionStr(char *pkgName, char *versionStr);

/**
 * The same as a number that grows with the version: 10000000 times the major, 100000 times the
 * minor and 1000 times the patch number; a release candidate n counts 100 - n less, a beta
 * 200 - n, an alpha 300 - n.
 */
aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum);

/**
 * Answers 1 (supported) or 0 for a property of the product.
 * @return 100000 for NULL or a property that is not known.
 */
aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value);

/** All properties that aclGetCannAttribute knows; the list is the library's. */
aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num);

/** Numbers of cores and size of the L2 cache. @return 107001 for a device that does not exist. */
aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_H_ */
