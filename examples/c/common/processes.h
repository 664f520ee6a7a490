/**
 * @file processes.h
 * A process for each rank: the program starts itself once for each of them, and the root info goes
 * through a file. Ranks of several programs, or of a launcher, meet in the same way.
 */
#ifndef COMMON_PROCESSES_H_
#define COMMON_PROCESSES_H_

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/life.h"

extern char **environ;

namespace sample {

/** How long a rank waits for the file of the root. */
constexpr std::chrono::seconds ROOT_INFO_LIMIT(120);

/** Writes beside the file first: whoever opens it by its name sees all of it. */
inline bool write_root_info(const std::string &path, const HcclRootInfo &rootInfo)
{
    const std::string unfinished = path + ".tmp";
    std::ofstream file(unfinished, std::ios::binary);
    file.write(reinterpret_cast<const char *>(&rootInfo), sizeof rootInfo);
    file.close();
    return !file.fail() && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

/** Waits until the file is there. */
inline bool read_root_info(const std::string &path, HcclRootInfo *rootInfo)
{
    const auto end = std::chrono::steady_clock::now() + ROOT_INFO_LIMIT;
    while (std::chrono::steady_clock::now() < end) {
        std::ifstream file(path, std::ios::binary);
        if (file.read(reinterpret_cast<char *>(rootInfo), sizeof *rootInfo)) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
}

/** What a process does that was started as a rank. */
inline int run_rank(uint32_t id, uint32_t size, const std::string &path, Operation operation)
{
    HcclRootInfo rootInfo;
    ACL_CHECK(aclInit(nullptr));
    ACL_CHECK(aclrtSetDevice(static_cast<int32_t>(id)));
    if (id == 0) {
        HCCL_CHECK(HcclGetRootInfo(&rootInfo));
        if (!write_root_info(path, rootInfo)) {
            std::cerr << path << " cannot be written: " << std::strerror(errno) << std::endl;
            return 1;
        }
    } else if (!read_root_info(path, &rootInfo)) {
        std::cerr << "rank " << id << ": no root info in " << path << " after "
                  << ROOT_INFO_LIMIT.count() << " s" << std::endl;
        return 1;
    }
    Rank rank{id, size, 0, nullptr, nullptr, "", false};
    SAMPLE_CHECK(live(&rootInfo, &rank, operation));
    std::cout << rank.output << std::flush;
    ACL_CHECK(aclFinalize());
    return rank.isWrong ? 1 : 0;
}

/** A process that runs as a rank, and where it writes what it has to say. */
struct Child {
    pid_t pid;
    std::FILE *output;
};

/** Starts this program again as a rank. @return whether it could be started */
inline bool start(uint32_t id, uint32_t size, const std::string &path, Child *child)
{
    std::string arguments[] = {"rank", "--rank", std::to_string(id), std::to_string(size), path};
    std::vector<char *> argv;
    for (std::string &argument : arguments) {
        argv.push_back(&argument[0]);
    }
    argv.push_back(nullptr);
    child->output = std::tmpfile();
    if (child->output == nullptr) {
        std::cerr << "no file for the output of rank " << id << ": " << std::strerror(errno)
                  << std::endl;
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(child->output), STDOUT_FILENO);
    const int code =
        posix_spawn(&child->pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
        std::cerr << "rank " << id << " cannot be started: " << std::strerror(code) << std::endl;
        std::fclose(child->output);
    }
    return code == 0;
}

/** Waits for all ranks; when one fails the others are ended, since they would wait for it. */
inline int wait_for_all(const std::vector<Child> &children)
{
    std::vector<pid_t> running;
    for (const Child &child : children) {
        running.push_back(child.pid);
    }
    int failed = 0;
    for (size_t left = children.size(); left > 0;) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        const auto rank = std::find(running.begin(), running.end(), pid);
        if (pid < 0 || rank == running.end()) {
            std::cerr << "waitpid: " << std::strerror(errno) << std::endl;
            return failed + 1;
        }
        *rank = 0;
        --left;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            continue;
        }
        if (failed == 0) {
            std::cerr << "rank " << (rank - running.begin()) << " failed: "
                      << (WIFSIGNALED(status) ? "signal " : "exit code ")
                      << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status))
                      << std::endl;
            for (const pid_t other : running) {
                if (other != 0) {
                    (void)kill(other, SIGTERM);
                }
            }
        }
        ++failed;
    }
    return failed;
}

/** Runs all ranks, each in a process; what they print comes in the order of the ranks. */
inline int run_processes(uint32_t size, Operation operation)
{
    (void)operation; // The children do it: they are this program.
    ACL_CHECK(aclFinalize());
    const char *temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary == nullptr ? "/tmp" : temporary) + "/ranks-XXXXXX";
    if (mkdtemp(&folder[0]) == nullptr) {
        std::cerr << folder << " cannot be made: " << std::strerror(errno) << std::endl;
        return 1;
    }
    const std::string path = folder + "/root_info";
    std::vector<Child> children;
    int failed = 0;
    for (uint32_t id = 0; id < size && failed == 0; ++id) {
        Child child;
        if (start(id, size, path, &child)) {
            children.push_back(child);
        } else {
            failed = 1;
        }
    }
    if (failed != 0) {
        for (const Child &child : children) {
            (void)kill(child.pid, SIGTERM);
        }
    }
    failed += wait_for_all(children);
    for (const Child &child : children) {
        std::rewind(child.output);
        char part[4096];
        size_t length;
        while ((length = std::fread(part, 1, sizeof part, child.output)) > 0) {
            std::cout.write(part, static_cast<std::streamsize>(length));
        }
        std::fclose(child.output);
    }
    std::cout << std::flush;
    (void)std::remove(path.c_str());
    (void)std::remove((path + ".tmp").c_str());
    (void)rmdir(folder.c_str());
    return failed;
}

} // namespace sample

#endif
