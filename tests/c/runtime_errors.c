/**
 * @file runtime_errors.c
 * The last error of a thread, the text of recent failures, and log lines.
 */
#include "check.h"

#include <ctype.h>

static void the_last_error(void)
{
    void *p = NULL;
    char host[8] = {0};
    OK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    /* The runtime's refusals stay. */
    CODE(107001, aclrtSetDevice(99));
    CODE(107001, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    CODE(107001, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    CODE(107001, aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    CODE(0, aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    /* Refusals of the outer layer do not. */
    NEED(aclrtSetDevice(0));
    CODE(100000, aclrtMalloc(NULL, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtMemcpy(NULL, 8, host, 8, ACL_MEMCPY_HOST_TO_HOST));
    CODE(0, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    /* Success does not clear it; the next failure replaces it. */
    CODE(107000, aclrtMemcpy(host, 1, host, 8, ACL_MEMCPY_HOST_TO_HOST));
    OK(aclrtMalloc(&p, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(107000, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    CODE(107001, aclrtSetDevice(-5));
    CODE(107001, aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    CODE(100000, aclrtGetLastError((aclrtLastErrLevel)1));
    CODE(100000, aclrtPeekAtLastError((aclrtLastErrLevel)1));
    OK(aclrtFree(p));
}

static void *sees_no_error(void *argument)
{
    (void)argument;
    CODE(0, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    THAT(aclGetRecentErrMsg() == NULL);
    return NULL;
}

static void errors_belong_to_a_thread(void)
{
    CODE(107001, aclrtSetDevice(99));
    on_thread(sees_no_error, NULL);
    CODE(107001, aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    MESSAGE("99");
}

static void messages_are_handed_out_once(void)
{
    const char *text = NULL;
    char begin[32];
    THAT(aclGetRecentErrMsg() == NULL);
    CODE(107001, aclrtSetDevice(99));
    text = aclGetRecentErrMsg();
    THAT(text != NULL);
    if (text != NULL) {
        snprintf(begin, sizeof begin, "[PID: %d] ", (int)getpid());
        THAT(strncmp(text, begin, strlen(begin)) == 0);
        const char *stamp = text + strlen(begin);
        static const char form[] = "dddd-dd-dd-dd:dd:dd.ddd.ddd ";
        for (size_t i = 0; i + 1 < sizeof form; ++i) {
            const int fits = form[i] == 'd' ? isdigit((unsigned char)stamp[i]) : stamp[i] == form[i];
            THAT(fits);
        }
        THAT(strstr(text, "(E") != NULL);
        THAT(strstr(text, "): ") != NULL);
    }
    THAT(aclGetRecentErrMsg() == NULL);
}

static void several_failures_are_all_told(void)
{
    CODE(107001, aclrtSetDevice(77));
    CODE(107001, aclrtSetDevice(88));
    MESSAGE("77", "88");
}

static void a_null_pointer_is_named(void)
{
    NEED(aclrtSetDevice(0));
    CODE(100000, aclrtMalloc(NULL, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    MESSAGE("aclrtMalloc", "devPtr", "null");
    CODE(100000, aclrtGetDeviceCount(NULL));
    MESSAGE("count");
}

static void out_of_memory_is_told(void)
{
    void *p = NULL;
    setenv("SOFTNPU_MEMORY", "64M", 1);
    NEED(aclrtSetDevice(0));
    CODE(207001, aclrtMalloc(&p, (size_t)1 << 40, ACL_MEM_MALLOC_HUGE_FIRST));
    MESSAGE("EL0004", "1099511627776");
}

/** Runs in a process of its own, whose output is read. */
static size_t output_of(void (*function)(void), char *text, size_t size)
{
    int ends[2];
    size_t length = 0;
    ssize_t got = 0;
    if (pipe(ends) != 0) {
        perror("pipe");
        _exit(2);
    }
    const pid_t child = check_fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        function();
        exit(0);
    }
    close(ends[1]);
    while (length + 1 < size && (got = read(ends[0], text + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    waitpid(child, NULL, 0);
    return length;
}

static void writes_lines(void)
{
    aclAppLog(ACL_ERROR, "function", "file.c", 12, "a number %d and a word %s", 34, "word");
    aclAppLog(ACL_INFO, "function", "file.c", 13, "too fine");
    aclAppLog(ACL_ERROR, NULL, "file.c", 14, "nameless");
    aclAppLog(ACL_ERROR, "function", NULL, 15, "fileless");
}

static void the_log_goes_where_it_is_wanted(void)
{
    static char text[65536];
    unsetenv("ASCEND_GLOBAL_LOG_LEVEL");
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    output_of(writes_lines, text, sizeof text);
    THAT(strstr(text, "[ERROR]") != NULL);
    THAT(strstr(text, "function:file.c:12: \"a number 34 and a word word\"") != NULL);
    THAT(strstr(text, "too fine") == NULL);
    THAT(strstr(text, "nameless") == NULL);
    THAT(strstr(text, "fileless") == NULL);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
    output_of(writes_lines, text, sizeof text);
    THAT(strstr(text, "too fine") != NULL);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
    output_of(writes_lines, text, sizeof text);
    THAT(strstr(text, "a number") == NULL);
}

int main(void)
{
    RUN(the_last_error);
    RUN(errors_belong_to_a_thread);
    RUN(messages_are_handed_out_once);
    RUN(several_failures_are_all_told);
    RUN(a_null_pointer_is_named);
    RUN(out_of_memory_is_told);
    RUN(the_log_goes_where_it_is_wanted);
    return check_end();
}
