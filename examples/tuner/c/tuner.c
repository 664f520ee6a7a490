/**
 * @file tuner.c
 * An example of a tuner plugin in C. Rules in a text file say for which calls which algorithm gets
 * which cost; the file is $HCCL_TUNER_CONFIG_FILE, or ./tuner.conf. A rule is a line:
 *
 *     operator  ranks  bytes  data type  template  cost
 *     allreduce 2-16   1-64K  any        nhr       0
 *
 * The first rule that fits a call counts. Ranks that have the same file choose the same.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hccl/hccl.h"
#include "hccl/hccl_tuner.h"

enum { RULES_MAX = 256, LINE_MAX_BYTES = 512 };

#define ANY (-1)
#define TAG "tuner.c"

struct word {
    const char *text;
    int number;
};

static const struct word OPERATORS[] = {
    {"allreduce", HCCL_CMD_ALLREDUCE},
    {"allgather", HCCL_CMD_ALLGATHER},
    {"broadcast", HCCL_CMD_BROADCAST},
    {"reduce", HCCL_CMD_REDUCE},
    {"reduce_scatter", HCCL_CMD_REDUCE_SCATTER},
    {"scatter", HCCL_CMD_SCATTER},
    {"alltoall", HCCL_CMD_ALLTOALL},
    {"alltoallv", HCCL_CMD_ALLTOALLV},
    {NULL, 0},
};

static const struct word DATA_TYPES[] = {
    {"any", ANY},
    {"int8", HCCL_DATA_TYPE_INT8},
    {"int16", HCCL_DATA_TYPE_INT16},
    {"int32", HCCL_DATA_TYPE_INT32},
    {"int64", HCCL_DATA_TYPE_INT64},
    {"uint64", HCCL_DATA_TYPE_UINT64},
    {"fp16", HCCL_DATA_TYPE_FP16},
    {"bfp16", HCCL_DATA_TYPE_BFP16},
    {"fp32", HCCL_DATA_TYPE_FP32},
    {"fp64", HCCL_DATA_TYPE_FP64},
    {NULL, 0},
};

struct range {
    uint64_t least;
    uint64_t most;
};

struct rule {
    int op;
    struct range ranks;
    struct range bytes;
    int dataType;
    char template[32];
    float cost;
};

/* Read once, when the first communicator is made. */
static struct rule rules[RULES_MAX];
static int ruleCount;
static int isRight;
static hcclTunerHostFunctions_t host;

#define LOG(level, ...) host.logFunction((level), __FILE__, __LINE__, __VA_ARGS__)

/** The number of a word; -2 where the list does not have it. */
static int number_of(const struct word *list, const char *text)
{
    for (; list->text != NULL; ++list) {
        if (strcmp(list->text, text) == 0) {
            return list->number;
        }
    }
    return -2;
}

/** Reads a number with an optional K, M or G; NULL when there is none, else where it ends. */
static const char *parse_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    errno = 0;
    *number = strtoull(text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno != 0 || *number > UINT64_MAX >> shift) {
        return NULL;
    }
    *number <<= shift;
    return end + (shift != 0);
}

/** Reads `8` or `1-64K`. */
static int parse_range(const char *text, struct range *range)
{
    const char *end = parse_number(text, &range->least);
    range->most = range->least;
    if (end != NULL && *end == '-') {
        end = parse_number(end + 1, &range->most);
    }
    return end != NULL && *end == '\0' && range->least <= range->most;
}

/** Reads a line. @return what is wrong with it, or NULL */
static const char *parse_rule(const char *line, struct rule *rule)
{
    char op[32], ranks[64], bytes[64], type[32], rest[2];
    if (sscanf(line, "%31s %63s %63s %31s %31s %f %1s", op, ranks, bytes, type, rule->template,
               &rule->cost, rest) != 6) {
        return "six words are expected: operator, ranks, bytes, data type, template, cost";
    }
    rule->op = number_of(OPERATORS, op);
    rule->dataType = number_of(DATA_TYPES, type);
    if (rule->op == -2) {
        return "the first word is no operator, as allreduce or reduce_scatter";
    }
    if (!parse_range(ranks, &rule->ranks) || !parse_range(bytes, &rule->bytes)) {
        return "ranks and bytes are numbers or ranges, as 2-16 or 1-64K";
    }
    return rule->dataType == -2 ? "the fourth word is no data type, as fp32 or any" : NULL;
}

static void read_rules(void)
{
    const char *named = getenv("HCCL_TUNER_CONFIG_FILE");
    const char *path = named != NULL && named[0] != '\0' ? named : "./tuner.conf";
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        LOG(HCCL_TUNER_LOG_ERROR, "%s cannot be read: %s", path, strerror(errno));
        return;
    }
    isRight = 1;
    for (int number = 1; isRight && fgets(line, sizeof line, file) != NULL; ++number) {
        const size_t blank = strspn(line, " \t\n");
        if (line[blank] == '\0' || line[blank] == '#') {
            continue;
        }
        const char *why = ruleCount == RULES_MAX ? "there are more than 256 rules"
                                                 : parse_rule(line, &rules[ruleCount]);
        if (why != NULL) {
            LOG(HCCL_TUNER_LOG_ERROR, "%s:%d: %s", path, number, why);
            isRight = 0;
        }
        ++ruleCount;
    }
    fclose(file);
}

static HcclResult init(HcclComm comm, const hcclTunerCommInfo_t *info,
                       const hcclTunerHostFunctions_t *functions)
{
    void *ctx = NULL;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (host.structSize == 0) {
        host = *functions;
        read_rules();
    }
    pthread_mutex_unlock(&lock);
    if (!isRight) {
        return HCCL_E_NOT_FOUND;
    }
    /* Memory of the communicator keeps what getCollInfo is not told again. */
    const HcclResult code = host.ctxCreate(comm, TAG, sizeof(uint32_t), &ctx);
    if (code == HCCL_SUCCESS) {
        *(uint32_t *)ctx = info->nRanks;
    }
    return code;
}

static int is_in(uint64_t number, const struct range *range)
{
    return range->least <= number && number <= range->most;
}

/** The first rule that fits, or NULL. */
static const struct rule *find_rule(const hcclTunerCollInfo_t *info, uint32_t ranks)
{
    for (int i = 0; i < ruleCount; ++i) {
        const struct rule *rule = &rules[i];
        if (rule->op == (int)info->collType && is_in(ranks, &rule->ranks) &&
            is_in(info->nBytes, &rule->bytes) &&
            (rule->dataType == ANY || rule->dataType == (int)info->dataType)) {
            return rule;
        }
    }
    return NULL;
}

static HcclResult get_coll_info(HcclComm comm, const hcclTunerCollInfo_t *info,
                                hcclTunerAlgoEntry_t *entries, int count, int *matched)
{
    void *ctx = NULL;
    const HcclResult code = host.ctxGet(comm, TAG, &ctx, NULL);
    if (code != HCCL_SUCCESS) {
        return code;
    }
    const struct rule *rule = find_rule(info, *(const uint32_t *)ctx);
    for (int i = 0; rule != NULL && i < count; ++i) {
        if (strcmp(entries[i].templateName, rule->template) == 0) {
            entries[i].cost = rule->cost;
            *matched = 1;
        }
    }
    if (rule != NULL && *matched == 0) {
        LOG(HCCL_TUNER_LOG_INFO, "the library has no algorithm with the template %s",
            rule->template);
    }
    return HCCL_SUCCESS;
}

const hcclTunerFuncs_v1_t hcclTunerPlugin_v1 = {init, get_coll_info, sizeof(hcclTunerFuncs_v1_t)};
