/* aclAppLog is variadic, which stable Rust can call but not define. This is all the C there is;
 * the exported name stands in logging.rs, since only Rust's own symbols leave the library. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int32_t softnpu_app_log_enabled(int32_t level);
void softnpu_app_log(int32_t level, const char *function, const char *file, uint32_t line,
                     const char *message);

enum { MESSAGE_MAX = 1024 };

void softnpu_app_log_variadic(int32_t level, const char *function, const char *file, uint32_t line,
                              const char *format, ...) {
    static const char mark[] = "...[truncated]";
    char message[MESSAGE_MAX];
    va_list arguments;
    int length;

    if (!softnpu_app_log_enabled(level) || function == NULL || file == NULL || format == NULL) {
        return;
    }
    va_start(arguments, format);
    length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    if ((size_t)length >= sizeof message) {
        memcpy(message + sizeof message - sizeof mark, mark, sizeof mark);
    }
    softnpu_app_log(level, function, file, line, message);
}
