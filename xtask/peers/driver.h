/* What the drivers in C and C++ share: points from the command line, values that can be checked, the
 * protocol of a measurement, and the line of JSON that rank 0 prints for each point.
 *
 * A driver fills a `struct library` and calls `run_points`. Nothing here knows a library.
 *
 * Arguments: seconds that the measured calls of a point may take, then points `operator:dtype:bytes`.
 * Bytes are those of the larger buffer of a rank. All ranks must see the same arguments. */
#ifndef PEERS_DRIVER_H
#define PEERS_DRIVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum operator_kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, BARRIER, PING_PONG, OPERATORS };
enum dtype { FP32, BF16, FP16, DTYPES };

static const char *const OPERATOR_NAMES[OPERATORS] = {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier", "pingpong"};
static const char *const DTYPE_NAMES[DTYPES] = {"fp32", "bf16", "fp16"};
static const size_t DTYPE_SIZES[DTYPES] = {4, 2, 2};

/* Most measured calls of a point. */
enum { CALLS_MAX = 1000 };

struct point {
    enum operator_kind op;
    enum dtype dtype;
    size_t bytes;
};

/* A point with its buffers. `count` is the number of elements of a block: of all that a rank has, or
 * of what goes to one rank where an operator has a block for each. */
struct job {
    struct point point;
    size_t count;
    void *input, *output;
};

struct library {
    int rank, ranks;
    /* 0, or why the point can't be measured. */
    const char *(*refuses)(const struct point *point);
    /* One call, finished when it returns; not 0: it failed. */
    int (*call)(const struct job *job);
    /* The largest of all ranks' values, element by element, on all ranks. */
    void (*maximum)(double *values, size_t n);
    /* Memory for a buffer of this rank: `which` is 0 for the input and 1 for the output. */
    void *(*take)(size_t bytes, int which);
    void (*give)(void *memory);
};

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Binds this process to the `rank`-th of the cores that it may use, where there are enough. */
static inline void pin(int rank, int ranks) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || ranks > CPU_COUNT(&allowed)) return;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || seen++ != rank) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* Makes the second of two processes; gives the rank of this one. The second ends with the first. */
static inline int make_second(pid_t *child) {
    pid_t parent = getpid();
    *child = fork();
    if (*child < 0) {
        perror("fork");
        exit(1);
    }
    if (*child > 0) return 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) exit(1);
    return 1;
}

static inline void *take_private(size_t bytes, int which) {
    (void)which;
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes ? bytes : 1) != 0) abort();
    return memory;
}

static inline void give_private(void *memory) { free(memory); }

/* 1 to 32: sums of a few ranks are exact in every type, and another rank or place has another value. */
static inline unsigned value(unsigned rank, size_t i) {
    return 1 + (((uint32_t)i * 0x9e3779b9u + rank * 0x85ebca6bu) >> 16) % 32;
}

/* A whole number up to 2048 as a 16-bit float: exact, so rounding does not come up. */
static inline uint16_t small_bf16(unsigned number) {
    float f = (float)number;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static inline uint16_t small_fp16(unsigned number) {
    if (number == 0) return 0;
    unsigned top = 31 - (unsigned)__builtin_clz(number);
    return (uint16_t)(((top + 15) << 10) | ((number << (10 - top)) & 0x3ff));
}

static inline void put(enum dtype dtype, void *buffer, size_t i, unsigned number) {
    if (dtype == FP32) ((float *)buffer)[i] = (float)number;
    else ((uint16_t *)buffer)[i] = dtype == BF16 ? small_bf16(number) : small_fp16(number);
}

static inline int holds(enum dtype dtype, const void *buffer, size_t i, unsigned number) {
    if (dtype == FP32) return ((const float *)buffer)[i] == (float)number;
    return ((const uint16_t *)buffer)[i] == (dtype == BF16 ? small_bf16(number) : small_fp16(number));
}

/* Elements of input and output. */
static inline void lengths(const struct job *job, int ranks, size_t *input, size_t *output) {
    size_t one = job->count, all = one * (size_t)ranks;
    int op = job->point.op;
    *input = op == REDUCE_SCATTER || op == ALL_TO_ALL ? all : one;
    *output = op == ALL_GATHER || op == ALL_TO_ALL ? all : op == BROADCAST ? 0 : one;
}

static inline void fill(const struct job *job, int rank, int ranks) {
    size_t input, output;
    lengths(job, ranks, &input, &output);
    /* The output first: in place, both are one buffer. */
    memset(job->output, 0xff, output * DTYPE_SIZES[job->point.dtype]);
    for (size_t i = 0; i < input; i++) put(job->point.dtype, job->input, i, value((unsigned)rank, i));
}

/* Is every element what it must be? */
static inline int right(const struct job *job, int rank, int ranks) {
    size_t input, output, n = job->count, own = (size_t)rank * n;
    int op = job->point.op;
    lengths(job, ranks, &input, &output);
    const void *result = op == BROADCAST ? job->input : job->output;
    if (op == BROADCAST) output = input;
    if (op == BARRIER || (op == PING_PONG && rank > 1)) return 1;
    for (size_t i = 0; i < output; i++) {
        unsigned expected = 0;
        switch (op) {
        case ALL_REDUCE:
            for (int r = 0; r < ranks; r++) expected += value((unsigned)r, i);
            break;
        case REDUCE_SCATTER:
            for (int r = 0; r < ranks; r++) expected += value((unsigned)r, own + i);
            break;
        case ALL_GATHER: expected = value((unsigned)(i / n), i % n); break;
        case ALL_TO_ALL: expected = value((unsigned)(i / n), own + i % n); break;
        default: expected = value(0, i); break;
        }
        if (!holds(job->point.dtype, result, i, expected)) return 0;
    }
    return 1;
}

static inline int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void begin_line(const struct library *library, const struct point *point) {
    printf("{\"operator\":\"%s\",\"dtype\":\"%s\",\"bytes\":%zu,\"ranks\":%d,", OPERATOR_NAMES[point->op],
           DTYPE_NAMES[point->dtype], point->bytes, library->ranks);
}

static inline void refuse(const struct library *library, const struct point *point, const char *why) {
    if (library->rank != 0) return;
    begin_line(library, point);
    printf("\"error\":\"%s\"}\n", why);
    fflush(stdout);
}

/* Warms up, measures, and prints. Every count is agreed on by all ranks, through `maximum`.
 *
 * Calls are measured in batches, and the ranks agree after each whether there is time for another: a
 * busy machine may hold up one call for longer than all others take together. */
static inline const char *measure(const struct library *library, const struct job *job, double budget) {
    const size_t bytes = job->point.bytes;
    double begun = now(), each;
    if (library->call(job) != 0) return "the first call failed";
    each = now() - begun;
    double wrong = right(job, library->rank, library->ranks) ? 0 : 1;
    library->maximum(&wrong, 1);
    if (wrong != 0) return "a wrong result";
    library->maximum(&each, 1);
    if (each > 30 * budget) return "too slow: one call takes seconds";

    /* A library that needs milliseconds for a word is warm sooner. */
    int warm_up = bytes < (16u << 20) ? 50 : 3;
    if (each * warm_up > 2 * budget) warm_up = 3;
    begun = now();
    for (int i = 0; i < warm_up; i++)
        if (library->call(job) != 0) return "a call failed";
    each = (now() - begun) / warm_up;
    library->maximum(&each, 1);

    int batch = bytes < (64u << 20) ? 20 : 7;
    if (each * 200 < budget) batch = 100;
    if (each * batch > 20 * budget) batch = 3;

    static double times[CALLS_MAX];
    int calls = 0;
    double spent = 0;
    while (spent < budget && calls + batch <= CALLS_MAX) {
        double batch_begun = now();
        for (int end = calls + batch; calls < end; calls++) {
            begun = now();
            if (library->call(job) != 0) return "a call failed";
            times[calls] = now() - begun;
        }
        spent += now() - batch_begun;
        library->maximum(&spent, 1);
    }
    library->maximum(times, (size_t)calls);
    if (library->rank == 0) {
        double scale = job->point.op == PING_PONG ? 0.5e6 : 1e6;
        qsort(times, (size_t)calls, sizeof *times, by_value);
        begin_line(library, &job->point);
        printf("\"median_us\":%.4f,\"p99_us\":%.4f,\"iterations\":%d,\"checked\":true}\n", times[calls / 2] * scale,
               times[(calls - 1) * 99 / 100] * scale, calls);
        fflush(stdout);
    }
    return NULL;
}

static inline int parse(const char *text, struct point *point) {
    char op[32], dtype[16];
    unsigned long long bytes;
    if (sscanf(text, "%31[^:]:%15[^:]:%llu", op, dtype, &bytes) != 3) return 0;
    int o = 0, d = 0;
    while (o < OPERATORS && strcmp(op, OPERATOR_NAMES[o]) != 0) o++;
    while (d < DTYPES && strcmp(dtype, DTYPE_NAMES[d]) != 0) d++;
    point->op = (enum operator_kind)o;
    point->dtype = (enum dtype)d;
    point->bytes = (size_t)bytes;
    return o < OPERATORS && d < DTYPES;
}

/* Measures all points of the command line; the exit code of the program. */
static inline int run_points(const struct library *library, int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0;
    if (!(budget > 0)) {
        fprintf(stderr, "usage: %s SECONDS operator:dtype:bytes ...\n", argv[0]);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        struct job job;
        if (!parse(argv[i], &job.point)) {
            fprintf(stderr, "%s is no point\n", argv[i]);
            return 2;
        }
        const char *why = library->refuses(&job.point);
        if (why == NULL) {
            size_t input, output, size = DTYPE_SIZES[job.point.dtype];
            int op = job.point.op;
            int blocks = op == ALL_GATHER || op == REDUCE_SCATTER || op == ALL_TO_ALL ? library->ranks : 1;
            job.count = job.point.bytes / size / (size_t)blocks;
            lengths(&job, library->ranks, &input, &output);
            job.input = library->take(input * size, 0);
            job.output = library->take(output * size, 1);
            fill(&job, library->rank, library->ranks);
            why = measure(library, &job, budget);
            library->give(job.input);
            library->give(job.output);
        }
        if (why != NULL) refuse(library, &job.point, why);
    }
    return 0;
}

#endif
