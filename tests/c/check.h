/**
 * @file check.h
 * What the C tests share.
 *
 * A test program is a list of sections. Each section runs in a child process of its own, so it finds
 * the libraries unused, can set the environment, and cannot spoil the next one. A section that hangs
 * is ended by an alarm, which tells where each of its threads was last.
 */
#ifndef TESTS_C_CHECK_H_
#define TESTS_C_CHECK_H_

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl.h"

#define CHECK_THREADS 32
#define CHECK_SECONDS 60

static _Atomic(const char *) check_places[CHECK_THREADS];
static atomic_int check_threads;
static atomic_int check_failures;
/** Time limit of the section that runs, and of each process that it forks. */
static unsigned check_seconds = CHECK_SECONDS;
static int check_sections_passed;
static int check_sections_failed;
static int check_sections_skipped;
/** Whether the section that runs cannot be tried on this machine. */
static atomic_int check_skipped;
/** Exit code of such a section. */
#define CHECK_SKIPPED 77

#define CHECK_TEXT_(x) #x
#define CHECK_TEXT(x) CHECK_TEXT_(x)

/** Notes where this thread is, for the watchdog. */
#define AT(what) check_at(__FILE__ ":" CHECK_TEXT(__LINE__) ": " what)

static inline void check_at(const char *place)
{
    static _Thread_local int slot = -1;
    if (slot < 0) {
        slot = atomic_fetch_add(&check_threads, 1);
    }
    if (slot < CHECK_THREADS) {
        atomic_store(&check_places[slot], place);
    }
}

static inline void check_code(const char *place, long found, long expected)
{
    if (found != expected) {
        fprintf(stderr, "%s is %ld, expected %ld\n", place, found, expected);
        const char *reason = aclGetRecentErrMsg();
        if (reason != NULL) {
            fprintf(stderr, "    reason: %s\n", reason);
        }
        atomic_fetch_add(&check_failures, 1);
    }
}

/** The call must return the code. */
#define CODE(expected, call)                                                                       \
    do {                                                                                           \
        AT(#call);                                                                                 \
        const long found_ = (long)(call);                                                          \
        check_code(__FILE__ ":" CHECK_TEXT(__LINE__) ": " #call, found_, (long)(expected));        \
    } while (0)

#define OK(call) CODE(0, call)

/** The call must return one of two codes. */
#define EITHER(one, other, call)                                                                   \
    do {                                                                                           \
        AT(#call);                                                                                 \
        const long found_ = (long)(call);                                                          \
        if (found_ != (long)(other)) {                                                             \
            check_code(__FILE__ ":" CHECK_TEXT(__LINE__) ": " #call, found_, (long)(one));         \
        }                                                                                          \
    } while (0)

/** The call must fail, with whatever code. */
#define FAILS(call)                                                                                \
    do {                                                                                           \
        AT(#call);                                                                                 \
        if ((long)(call) == 0) {                                                                   \
            fprintf(stderr, "%s:%d: %s succeeds, must fail\n", __FILE__, __LINE__, #call);         \
            atomic_fetch_add(&check_failures, 1);                                                  \
        }                                                                                          \
    } while (0)

#define THAT(condition)                                                                            \
    do {                                                                                           \
        AT(#condition);                                                                            \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            atomic_fetch_add(&check_failures, 1);                                                  \
        }                                                                                          \
    } while (0)

/** What must succeed for the section to make sense. */
#define NEED(call)                                                                                 \
    do {                                                                                           \
        AT(#call);                                                                                 \
        const long found_ = (long)(call);                                                          \
        check_code(__FILE__ ":" CHECK_TEXT(__LINE__) ": " #call, found_, 0);                       \
        if (found_ != 0) {                                                                         \
            fflush(NULL);                                                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/** Takes the recent messages of this thread; each of the words (up to a NULL) must be in them. */
static inline void check_message(const char *file, int line, const char *const *words)
{
    const char *text = aclGetRecentErrMsg();
    if (text == NULL) {
        fprintf(stderr, "%s:%d: there is no error message\n", file, line);
        atomic_fetch_add(&check_failures, 1);
        return;
    }
    for (; *words != NULL; ++words) {
        if (strstr(text, *words) == NULL) {
            fprintf(stderr, "%s:%d: `%s` is missing in the message: %s\n", file, line, *words, text);
            atomic_fetch_add(&check_failures, 1);
        }
    }
}

#define MESSAGE(...)                                                                               \
    do {                                                                                           \
        const char *const words_[] = {__VA_ARGS__, NULL};                                          \
        check_message(__FILE__, __LINE__, words_);                                                 \
    } while (0)

/** Throws away what messages there are. */
static inline void forget_messages(void)
{
    (void)aclGetRecentErrMsg();
}

static inline void check_write(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        _exit(4);
    }
}

static inline void check_alarm(int signal_number)
{
    (void)signal_number;
    check_write("watchdog: the section hangs; its threads were last at\n");
    for (int i = 0; i < CHECK_THREADS; ++i) {
        const char *place = atomic_load(&check_places[i]);
        if (place != NULL) {
            check_write("    ");
            check_write(place);
            check_write("\n");
        }
    }
    _exit(3);
}

/**
 * Forks. A timer is not inherited, so the child gets a watchdog of its own; it has failed at nothing
 * yet, and ends with `check_leave` if it is a part of a section.
 */
static inline pid_t check_fork(void)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) {
        perror("fork");
        _exit(2);
    }
    if (child == 0) {
        signal(SIGALRM, check_alarm);
        alarm(check_seconds);
        atomic_store(&check_failures, 0);
    }
    return child;
}

/** Ends a forked child at once; its exit code says whether something failed in it. */
static inline _Noreturn void check_leave(void)
{
    fflush(NULL);
    _exit(atomic_load(&check_failures) == 0 ? 0 : 1);
}

/** What this section is for cannot be tried here; what failed in it counts all the same. */
static inline void skip(const char *why)
{
    fprintf(stderr, "not tried: %s\n", why);
    atomic_store(&check_skipped, 1);
}

/** Runs one section with a time limit in seconds. */
static inline void check_run(const char *name, void (*section)(void), unsigned seconds)
{
    int status = 0;
    check_seconds = seconds;
    const pid_t child = check_fork();
    if (child == 0) {
        section();
        check_at("the end of the process");
        const int passed = atomic_load(&check_skipped) ? CHECK_SKIPPED : 0;
        exit(atomic_load(&check_failures) == 0 ? passed : 1);
    }
    if (waitpid(child, &status, 0) < 0) {
        perror("waitpid");
        exit(2);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        ++check_sections_passed;
        printf("ok    %s\n", name);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED) {
        ++check_sections_skipped;
        printf("skip  %s\n", name);
    } else if (WIFSIGNALED(status)) {
        ++check_sections_failed;
        printf("FAIL  %s (signal %d)\n", name, WTERMSIG(status));
    } else {
        ++check_sections_failed;
        printf("FAIL  %s (exit %d)\n", name, WEXITSTATUS(status));
    }
}

#define RUN(section) check_run(#section, section, CHECK_SECONDS)
#define RUN_LONG(section, seconds) check_run(#section, section, seconds)

static inline int check_end(void)
{
    printf("%d passed, %d failed, %d skipped\n", check_sections_passed, check_sections_failed,
           check_sections_skipped);
    return check_sections_failed == 0 ? 0 : 1;
}

static inline void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

static inline double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/** Runs a function on a thread of its own and waits for it. */
static inline void on_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0) {
        perror("pthread_create");
        _exit(2);
    }
    pthread_join(thread, NULL);
}

#endif /* TESTS_C_CHECK_H_ */
