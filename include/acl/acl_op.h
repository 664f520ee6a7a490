/**
 * @file acl_op.h
 * Attributes of single operators.
 *
 * All values are copied. Each setter returns 100000 when the attribute object, the name or a
 * needed array is NULL, or when a length is negative. Setting a name again replaces its value.
 */
#ifndef ACL_ACL_OP_H_
#define ACL_ACL_OP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclopAttr aclopAttr;

/** Which cores run an operator. */
typedef enum {
    ACL_ENGINE_SYS = 0, /**< the library chooses */
    ACL_ENGINE_AICORE = 1,
    ACL_ENGINE_VECTOR = 2
} aclopEngineType;

/** @return an object without attributes; NULL when out of host memory. */
aclopAttr *aclopCreateAttr(void);

/** NULL is ignored. */
void aclopDestroyAttr(const aclopAttr *attr);

aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue);
aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue);
aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue);
aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue);
aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue);
aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName, int numValues,
                              const uint8_t *values);
aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues,
                             const int64_t *values);
aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName, int numValues,
                               const float *values);

aclError aclopSetAttrListString(aclopAttr *attr, const char *attrName, int numValues,
                                const char **values);
aclError aclopSetAttrListDataType(aclopAttr *attr, const char *attrName, int numValues,
                                  const aclDataType values[]);

/** A list of lists: list `i` has `numValues[i]` numbers, at `values[i]`. */
aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName, int numLists,
                                 const int *numValues, const int64_t *const values[]);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_OP_H_ */
