/**
 * @file check.h
 * Calls that may fail: what is printed, and how a function that made one ends.
 */
#ifndef COMMON_CHECK_H_
#define COMMON_CHECK_H_

#include <iostream>
#include <sstream>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace sample {

/** Prints which call failed, and the runtime's record of why. @return the code */
inline int complain(const char *library, const char *file, int line, int code)
{
    std::ostringstream text;
    text << library << " interface return err " << file << ":" << line << ", retcode: " << code
         << " \n";
    const char *reason = aclGetRecentErrMsg();
    if (reason != nullptr) {
        text << reason << "\n";
    }
    std::cerr << text.str() << std::flush;
    return code;
}

} // namespace sample

/** Ends the function with the code of the call unless that is 0. */
#define ACL_CHECK(call)                                                  \
    do {                                                                 \
        const int code_ = static_cast<int>(call);                        \
        if (code_ != ACL_SUCCESS) {                                      \
            return sample::complain("acl", __FILE__, __LINE__, code_);   \
        }                                                                \
    } while (0)

/** As ACL_CHECK, for functions of HCCL. */
#define HCCL_CHECK(call)                                                 \
    do {                                                                 \
        const int code_ = static_cast<int>(call);                        \
        if (code_ != HCCL_SUCCESS) {                                     \
            return sample::complain("hccl", __FILE__, __LINE__, code_);  \
        }                                                                \
    } while (0)

/** As ACL_CHECK, for functions of the samples, which have said already what was wrong. */
#define SAMPLE_CHECK(call)                                               \
    do {                                                                 \
        const int code_ = (call);                                        \
        if (code_ != 0) {                                                \
            return code_;                                                \
        }                                                                \
    } while (0)

#endif
