/**
 * @file options.h
 * The command line: which operator, which sizes, how often.
 */
#ifndef PERFORMANCE_OPTIONS_H_
#define PERFORMANCE_OPTIONS_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "numbers.h"
#include "operators.h"

/** What is to be measured. */
struct Options {
    const Operator *op = nullptr;
    uint64_t first = 64 << 10; // bytes
    uint64_t last = 64 << 20;
    uint64_t factor = 2;
    uint32_t iterations = 20;
    uint32_t warmUps = 10;
    uint32_t root = 0;
    const DataType *type = nullptr;
    const Reduction *reduction = nullptr;
    bool check = true;
};

/** A number with an optional suffix K, M or G. @return false when it is none from 1 to 2^40 */
inline bool parse_bytes(const std::string &text, uint64_t *bytes)
{
    char *end = nullptr;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
    const std::string suffix(end);
    const bool isDigit = !text.empty() && text[0] >= '0' && text[0] <= '9';
    uint64_t unit = 1;
    if (suffix == "K" || suffix == "k") {
        unit = 1ull << 10;
    } else if (suffix == "M" || suffix == "m") {
        unit = 1ull << 20;
    } else if (suffix == "G" || suffix == "g") {
        unit = 1ull << 30;
    } else if (!suffix.empty()) {
        return false;
    }
    const uint64_t most = 1ull << 40;
    if (!isDigit || number == 0 || number > most / unit) {
        return false;
    }
    *bytes = number * unit;
    return true;
}

/** A whole number from `least` to `most`. */
inline bool parse_number(const std::string &text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end = nullptr;
    *number = std::strtoull(text.c_str(), &end, 10);
    const bool isDigit = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return isDigit && *end == '\0' && *number >= least && *number <= most;
}

inline void print_usage(std::ostream &out)
{
    out << "usage: mpiexec -n RANKS hccl_performance OPERATOR [option value] ...\n"
           "  OPERATOR ";
    for (const Operator &op : OPERATORS) {
        out << " " << op.name;
    }
    out << "\n"
           "  -b, -e    smallest and largest size in bytes, with K, M or G   64K, 64M\n"
           "  -f        factor from one size to the next                      2\n"
           "  -d        data type:";
    for (const DataType &type : DATA_TYPES) {
        out << " " << type.name;
    }
    out << "\n"
           "  -o        reduction: sum prod max min\n"
           "  -r        root                                                  0\n"
           "  -n, -w    iterations, and warm-ups before them                  20, 10\n"
           "  -c        whether values are checked: 0 or 1                    1\n"
           "A size is that of the larger buffer of a rank.\n";
}

/** Reads one option. @return what is allowed, or NULL when it is right */
inline const char *parse_option(char option, const std::string &value, uint32_t ranks,
                                Options *options)
{
    uint64_t number = 0;
    switch (option) {
        case 'b':
            return parse_bytes(value, &options->first) ? nullptr : "a number of bytes, 1 to 1024G";
        case 'e':
            return parse_bytes(value, &options->last) ? nullptr : "a number of bytes, 1 to 1024G";
        case 'f':
            if (!parse_number(value, 2, 1 << 20, &options->factor)) {
                return "a number from 2 on";
            }
            return nullptr;
        case 'n':
            if (!parse_number(value, 1, 1 << 30, &number)) {
                return "a number from 1 on";
            }
            options->iterations = static_cast<uint32_t>(number);
            return nullptr;
        case 'w':
            if (!parse_number(value, 0, 1 << 30, &number)) {
                return "a number from 0 on";
            }
            options->warmUps = static_cast<uint32_t>(number);
            return nullptr;
        case 'r':
            if (!parse_number(value, 0, ranks - 1, &number)) {
                return "the number of a rank";
            }
            options->root = static_cast<uint32_t>(number);
            return nullptr;
        case 'c':
            if (!parse_number(value, 0, 1, &number)) {
                return "0 or 1";
            }
            options->check = number == 1;
            return nullptr;
        case 'd':
            options->type = find(DATA_TYPES, value);
            return options->type == nullptr ? "one of the data types above" : nullptr;
        case 'o':
            options->reduction = find(REDUCTIONS, value);
            return options->reduction == nullptr ? "sum, prod, max or min" : nullptr;
        default:
            return "one of the options above";
    }
}

/** Reads the command line; complains on `out`. @return whether it is right */
inline bool parse_options(int argc, char **argv, uint32_t ranks, std::ostream &out,
                          Options *options)
{
    options->op = argc > 1 ? find(OPERATORS, argv[1]) : nullptr;
    options->type = find(DATA_TYPES, "fp32");
    options->reduction = find(REDUCTIONS, "sum");
    if (options->op == nullptr) {
        print_usage(out);
        return false;
    }
    for (int i = 2; i < argc; i += 2) {
        const std::string option = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        const bool isOption = option.size() == 2 && option[0] == '-';
        const char *allowed = parse_option(isOption ? option[1] : '?', value, ranks, options);
        if (allowed != nullptr) {
            print_usage(out);
            out << option << " " << value << ": expected is " << allowed << "\n";
            return false;
        }
    }
    if (options->first > options->last) {
        out << "-b " << options->first << " is more than -e " << options->last << "\n";
        return false;
    }
    return true;
}

#endif
