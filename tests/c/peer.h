/**
 * @file peer.h
 * Second processes for tests: the own program, started anew with a role and a word.
 *
 * A forked child of a process that used devices is refused by design, so a second process is made
 * with posix_spawn. Both sides take turns by one byte at a time.
 */
#ifndef TESTS_C_PEER_H_
#define TESTS_C_PEER_H_

#include <fcntl.h>
#include <spawn.h>

#include "check.h"

extern char **environ;

struct peer {
    pid_t pid;
    int to;
    int from;
};

/** Starts the own program with a role and a word (a key, for example). */
static inline struct peer peer_start(const char *role, const char *word)
{
    struct peer peer = {-1, -1, -1};
    int down[2], up[2];
    char *const arguments[] = {(char *)"peer", (char *)role, (char *)word, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
        perror("pipe2");
        _exit(2);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
    if (posix_spawn(&peer.pid, "/proc/self/exe", &actions, NULL, arguments, environ) != 0) {
        perror("posix_spawn");
        _exit(2);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(down[0]);
    close(up[1]);
    peer.to = down[1];
    peer.from = up[0];
    return peer;
}

/** Waits for the turn that the peer gives. */
static inline void peer_wait(struct peer peer)
{
    char byte = 0;
    AT("waiting for the peer's turn");
    if (read(peer.from, &byte, 1) != 1) {
        fprintf(stderr, "%s: the peer ended before its turn\n", __FILE__);
        _exit(1);
    }
}

/** Gives the peer its turn. */
static inline void peer_go(struct peer peer)
{
    if (write(peer.to, "g", 1) != 1) {
        fprintf(stderr, "%s: the peer takes no turn\n", __FILE__);
        _exit(1);
    }
}

/** The peer must end well. */
static inline void peer_end(struct peer peer)
{
    int status = 0;
    AT("waiting for the peer's end");
    close(peer.to);
    close(peer.from);
    if (waitpid(peer.pid, &status, 0) != peer.pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s: the peer ended with status %#x\n", __FILE__, (unsigned)status);
        atomic_fetch_add(&check_failures, 1);
    }
}

/** The peer is ended by force. */
static inline void peer_kill(struct peer peer)
{
    int status = 0;
    kill(peer.pid, SIGKILL);
    waitpid(peer.pid, &status, 0);
    close(peer.to);
    close(peer.from);
}

/** In the peer: gives the turn back. */
static inline void turn_give(void)
{
    fflush(NULL);
    if (write(STDOUT_FILENO, "r", 1) != 1) {
        _exit(1);
    }
}

/** In the peer: waits for the turn. */
static inline void turn_take(void)
{
    char byte = 0;
    AT("waiting for the turn");
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(1);
    }
}

/** In the peer: its role is over. */
static inline int role_end(void)
{
    check_at("the end of the peer");
    return atomic_load(&check_failures) == 0 ? 0 : 1;
}

/** In the peer: begins a role. */
static inline void role_begin(void)
{
    signal(SIGALRM, check_alarm);
    alarm(CHECK_SECONDS);
}

#endif /* TESTS_C_PEER_H_ */
