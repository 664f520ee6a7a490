/**
 * @file sample.h
 * The command line that all samples share. A sample is a function that is a rank; `run` starts it
 * on every device, in threads of this process or in processes of their own.
 */
#ifndef COMMON_SAMPLE_H_
#define COMMON_SAMPLE_H_

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "common/processes.h"
#include "common/threads.h"

namespace sample {

/** Numbers of ranks that a sample can do with. */
enum class Sizes {
    ANY,
    EVEN, // ranks work in pairs
};

/** A number from 0 to `most`; -1 for all else. */
inline long parse(const char *text, long most)
{
    char *end = nullptr;
    const long number = std::strtol(text, &end, 10);
    const bool valid = end != text && *end == '\0' && number >= 0 && number <= most;
    return valid ? number : -1;
}

/** What the command line asks for; the first device is always 0. */
inline int run_all(const char *wanted, bool inProcesses, Operation operation, Sizes sizes)
{
    uint32_t available = 0;
    ACL_CHECK(aclInit(nullptr));
    ACL_CHECK(aclrtGetDeviceCount(&available));
    std::cout << "Found " << available << " NPU device(s) available" << std::endl;
    const long size = wanted == nullptr ? static_cast<long>(available) : parse(wanted, available);
    if (size < 1) {
        std::cerr << "number of devices: a number from 1 to " << available << " is expected, "
                  << (wanted == nullptr ? "0" : wanted) << " was given" << std::endl;
        return 1;
    }
    if (sizes == Sizes::EVEN && size % 2 != 0) {
        std::cerr << "number of devices: an even number is expected, " << size << " was given"
                  << std::endl;
        return 1;
    }
    const uint32_t count = static_cast<uint32_t>(size);
    return inProcesses ? run_processes(count, operation) : run_threads(count, operation);
}

/** `main` of a sample. */
inline int run(int argc, char **argv, Operation operation, Sizes sizes = Sizes::ANY)
{
    // How run_processes starts a rank.
    if (argc == 5 && std::string(argv[1]) == "--rank") {
        const long size = parse(argv[3], 1 << 16);
        const long id = parse(argv[2], size - 1);
        if (id < 0) {
            std::cerr << "--rank: no rank " << argv[2] << " of " << argv[3] << std::endl;
            return EXIT_FAILURE;
        }
        const int code = run_rank(static_cast<uint32_t>(id), static_cast<uint32_t>(size), argv[4],
                                  operation);
        return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    std::vector<const char *> numbers;
    bool inProcesses = false;
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]) == "--processes") {
            inProcesses = true;
        } else {
            numbers.push_back(argv[i]);
        }
    }
    if (numbers.size() > 1) {
        std::cerr << "usage: " << argv[0] << " [--processes] [number of devices]" << std::endl;
        return EXIT_FAILURE;
    }
    const char *wanted = numbers.empty() ? nullptr : numbers[0];
    return run_all(wanted, inProcesses, operation, sizes) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace sample

#endif
