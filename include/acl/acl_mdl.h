/**
 * @file acl_mdl.h
 * Data dump switches. The software NPU dumps nothing; the calls succeed so that programs run.
 */
#ifndef ACL_ACL_MDL_H_
#define ACL_ACL_MDL_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclError aclmdlInitDump(void);

/** @param dumpCfgPath path of a JSON file; 100000 for NULL. */
aclError aclmdlSetDump(const char *dumpCfgPath);

aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_MDL_H_ */
