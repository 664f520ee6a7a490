/* Bare loops: what an all-reduce of two processes costs on this machine with nothing around it, no
 * calls that are described, matched or looked up. A floor, and no library.
 *
 * The first argument says where buffers are: `mapped` by both processes, `mapped-in-place`, or
 * `private`. A word or few travel in the line that says that they are there. Mapped, each process
 * reads one half of both inputs and writes it to both outputs, between two meetings. Private data goes
 * through a ring of pieces that stay in the cache. */
#include "driver.h"

#include <immintrin.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RANKS = 2, LINE = 128, TINY_MAX = 14, SLOTS = 4 };
/* Four pieces a message where it is long enough, so that copies overlap; all stay in the cache. */
enum { PIECE_MIN = 8 << 10, PIECE_MAX = 64 << 10 };
/* From here on outputs are written past the cache. */
enum { STREAM_MIN = 4 << 20 };
static const size_t BUFFER_MAX = (size_t)256 << 20, BUFFER_GAP = 4096 + 1024;

struct counter {
    _Alignas(LINE) atomic_uint_fast64_t n;
};

/* Sequence and values in one cache line. */
struct tiny {
    _Alignas(LINE) atomic_uint_fast64_t sequence;
    float values[TINY_MAX];
};

struct shared {
    struct counter met[RANKS], produced[RANKS], consumed[RANKS];
    struct tiny tiny[RANKS][2];
    double values[RANKS][CALLS_MAX];
    _Alignas(4096) unsigned char ring[RANKS][SLOTS][PIECE_MAX];
};

enum kind { MAPPED, MAPPED_IN_PLACE, PRIVATE };

static struct shared *shared;
static unsigned char *buffers;
static enum kind kind;
static int rank;
static uint64_t meetings, tinies, pieces;

/* Waits until the counter is at least `n`; lets others run at times, since cores may be few. */
static void wait_for(const atomic_uint_fast64_t *counter, uint64_t n) {
    for (unsigned looks = 1; atomic_load_explicit(counter, memory_order_acquire) < n; looks++) {
        if (looks % 4096 == 0) sched_yield();
        else _mm_pause();
    }
}

static void meet(void) {
    atomic_store_explicit(&shared->met[rank].n, ++meetings, memory_order_release);
    wait_for(&shared->met[1 - rank].n, meetings);
}

static void maximum(double *values, size_t n) {
    memcpy(shared->values[rank], values, n * sizeof *values);
    meet();
    for (size_t i = 0; i < n; i++)
        if (shared->values[1 - rank][i] > values[i]) values[i] = shared->values[1 - rank][i];
    meet();
}

/* Two lines in turn: who writes a line again has read the other's answer to the call before. */
static void reduce_tiny(const float *in, float *out, size_t n) {
    uint64_t sequence = ++tinies;
    struct tiny *mine = &shared->tiny[rank][sequence % 2];
    const struct tiny *other = &shared->tiny[1 - rank][sequence % 2];
    memcpy(mine->values, in, n * sizeof *in);
    atomic_store_explicit(&mine->sequence, sequence, memory_order_release);
    wait_for(&other->sequence, sequence);
    for (size_t i = 0; i < n; i++) out[i] = in[i] + other->values[i];
}

/* Buffers begin at different places of their pages: loads and stores that agree in the low twelve bits
 * of their addresses wait for each other. */
static unsigned char *buffer(int owner, int which) {
    size_t index = (size_t)(owner * 2 + (kind == MAPPED_IN_PLACE ? 0 : which));
    return buffers + index * (BUFFER_MAX + BUFFER_GAP);
}

/* Both outputs, past the cache where that pays. Slices are multiples of a line but for the last. */
static void add_to_both(const float *a, const float *b, float *x, float *y, size_t n, int stream) {
    size_t i = 0;
#ifdef __AVX2__
    for (; i + 16 <= n; i += 16) {
        __m256 low = _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i));
        __m256 high = _mm256_add_ps(_mm256_load_ps(a + i + 8), _mm256_load_ps(b + i + 8));
        if (stream) {
            _mm256_stream_ps(x + i, low);
            _mm256_stream_ps(x + i + 8, high);
            _mm256_stream_ps(y + i, low);
            _mm256_stream_ps(y + i + 8, high);
        } else {
            _mm256_store_ps(x + i, low);
            _mm256_store_ps(x + i + 8, high);
            _mm256_store_ps(y + i, low);
            _mm256_store_ps(y + i + 8, high);
        }
    }
    if (stream) _mm_sfence();
#endif
    for (; i < n; i++) {
        float sum = a[i] + b[i];
        x[i] = sum;
        y[i] = sum;
    }
}

static void reduce_mapped(size_t n) {
    size_t half = n / 2 / 32 * 32, from = rank == 0 ? 0 : half, length = rank == 0 ? half : n - half;
    const float *a = (const float *)buffer(0, 0) + from, *b = (const float *)buffer(1, 0) + from;
    float *x = (float *)buffer(0, 1) + from, *y = (float *)buffer(1, 1) + from;
    meet();
    add_to_both(a, b, x, y, length, kind == MAPPED && n * sizeof *a >= STREAM_MIN);
    meet();
}

static void add(const float *restrict a, const float *restrict b, float *restrict out, size_t n, int stream) {
    size_t i = 0;
#ifdef __AVX2__
    if (stream) {
        for (; i + 8 <= n; i += 8)
            _mm256_stream_ps(out + i, _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
    }
#endif
    for (; i < n; i++) out[i] = a[i] + b[i];
}

static void reduce_private(const float *in, float *out, size_t n) {
    size_t piece = n * sizeof *in / 4 / LINE * LINE;
    piece = piece < PIECE_MIN ? PIECE_MIN : piece > PIECE_MAX ? PIECE_MAX : piece;
    int stream = n * sizeof *in >= STREAM_MIN;
    size_t step = piece / sizeof *in, count = (n + step - 1) / step;
    /* One piece ahead, so that the other's piece is on its way while ours is copied. */
    for (size_t k = 0; k <= count; k++) {
        if (k < count) {
            uint64_t number = pieces + k;
            size_t at = k * step, length = n - at < step ? n - at : step;
            if (number >= SLOTS) wait_for(&shared->consumed[1 - rank].n, number + 1 - SLOTS);
            memcpy(shared->ring[rank][number % SLOTS], in + at, length * sizeof *in);
            atomic_store_explicit(&shared->produced[rank].n, number + 1, memory_order_release);
        }
        if (k > 0) {
            uint64_t number = pieces + k - 1;
            size_t at = (k - 1) * step, length = n - at < step ? n - at : step;
            wait_for(&shared->produced[1 - rank].n, number + 1);
            add(in + at, (const float *)shared->ring[1 - rank][number % SLOTS], out + at, length, stream);
            atomic_store_explicit(&shared->consumed[rank].n, number + 1, memory_order_release);
        }
    }
    if (stream) _mm_sfence();
    pieces += count;
}

static int call(const struct job *job) {
    if (job->count <= TINY_MAX) reduce_tiny(job->input, job->output, job->count);
    else if (kind == PRIVATE) reduce_private(job->input, job->output, job->count);
    else reduce_mapped(job->count);
    return 0;
}

static const char *refuses(const struct point *point) {
    if (point->op != ALL_REDUCE || point->dtype != FP32) return "no bare loop";
    return point->bytes > BUFFER_MAX ? "too large" : NULL;
}

static void *take_mapped(size_t bytes, int which) {
    (void)bytes;
    return buffer(rank, which);
}

static void give_mapped(void *memory) { (void)memory; }

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv) {
    static const char *const KINDS[] = {"mapped", "mapped-in-place", "private"};
    int found = -1;
    for (int i = 0; i < 3; i++)
        if (argc > 1 && strcmp(argv[1], KINDS[i]) == 0) found = i;
    if (found < 0) {
        fprintf(stderr, "usage: %s mapped|mapped-in-place|private SECONDS POINT ...\n", argv[0]);
        return 2;
    }
    kind = (enum kind)found;
    shared = map(sizeof *shared);
    buffers = map(4 * (BUFFER_MAX + BUFFER_GAP));
    pid_t child;
    rank = make_second(&child);
    pin(rank, RANKS);
    struct library library = {rank, RANKS, refuses, call, maximum, take_private, give_private};
    if (kind != PRIVATE) {
        library.take = take_mapped;
        library.give = give_mapped;
    }
    int code = run_points(&library, argc - 1, argv + 1);
    if (child > 0) waitpid(child, NULL, 0);
    return code;
}
