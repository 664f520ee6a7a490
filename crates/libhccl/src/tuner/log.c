/* The log function of tuner plugins is variadic, which stable Rust can call but not define. This is
 * all the C there is; the text goes on to the function that it is told. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void (*sink_t)(int level, const char *file, int line, const char *message);

enum { MESSAGE_MAX = 1024 };

static sink_t sink;

void hccl_tuner_log(int level, const char *file, int line, const char *format, ...)
{
    static const char mark[] = "...[truncated]";
    sink_t to = __atomic_load_n(&sink, __ATOMIC_ACQUIRE);
    char message[MESSAGE_MAX];
    va_list arguments;
    int length;

    if (to == NULL || format == NULL) {
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
    to(level, file, line, message);
}

void hccl_tuner_log_to(sink_t to)
{
    __atomic_store_n(&sink, to, __ATOMIC_RELEASE);
}
