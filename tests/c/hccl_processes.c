/**
 * @file hccl_processes.c
 * Ranks as processes that come and go.
 */
#include "ranks.h"

#define PROCESSES 4
#define ROUNDS 40

/** Reads or writes all of a root info. */
static void pass(int end, HcclRootInfo *root, ssize_t (*step)(int, void *, size_t))
{
    size_t done = 0;
    while (done < sizeof *root) {
        const ssize_t now = step(end, (char *)root + done, sizeof *root - done);
        if (now <= 0) {
            perror("passing a root info");
            _exit(2);
        }
        done += (size_t)now;
    }
}

static ssize_t give(int end, void *from, size_t size)
{
    return write(end, from, size);
}

/**
 * Closes the ends of pipes that this rank does not use: the root writes to all others, which read
 * from their own. With PROCESSES it closes all. Only so is a rank that waits told that the root ended.
 */
static void close_others(uint32_t rank, int to[PROCESSES][2])
{
    for (uint32_t i = 0; i < PROCESSES; ++i) {
        if (rank != i) {
            close(to[i][0]);
        }
        if (rank != 0) {
            close(to[i][1]);
        }
    }
}

/** Joins the other processes as this rank. */
static HcclComm join(uint32_t rank, int to[PROCESSES][2])
{
    HcclRootInfo root;
    HcclComm comm = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice((int32_t)rank));
    if (rank == 0) {
        NEED(HcclGetRootInfo(&root));
        for (int i = 1; i < PROCESSES; ++i) {
            pass(to[i][1], &root, give);
        }
    } else {
        pass(to[rank][0], &root, read);
    }
    NEED(HcclCommInitRootInfo(PROCESSES, &root, rank, &comm));
    return comm;
}

/** Runs a body in a process per rank; one of them may be meant to be killed. */
static void in_processes(void (*body)(uint32_t rank, int to[PROCESSES][2]), uint32_t killed)
{
    int to[PROCESSES][2];
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; ++i) {
        NEED(pipe(to[i]));
    }
    for (uint32_t i = 0; i < PROCESSES; ++i) {
        children[i] = check_fork();
        if (children[i] == 0) {
            close_others(i, to);
            body(i, to);
            check_leave();
        }
    }
    close_others(PROCESSES, to);
    for (uint32_t i = 0; i < PROCESSES; ++i) {
        int status = -1;
        AT("waiting for a rank");
        THAT(waitpid(children[i], &status, 0) == children[i]);
        THAT(i == killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/** One rank, which does no more than to join; the root's process is gone at once. */
static void be_a_rank(uint32_t rank, int to[PROCESSES][2])
{
    join(rank, to);
}

static void a_root_that_leaves_at_once(void)
{
    for (int round = 0; round < ROUNDS; ++round) {
        in_processes(be_a_rank, UINT32_MAX);
    }
}

/* ---- a member ends before it comes ---- */

/** The rank that ends; the first one opens the meeting, the others come to it. */
static uint32_t ends;

static void be_a_member(uint32_t rank, int to[PROCESSES][2])
{
    uint32_t members[] = {3, 2, 1, 0};
    HcclComm comm = join(rank, to), sub = NULL;
    HcclCommConfig config = default_config();
    if (rank == ends) {
        kill(getpid(), SIGKILL);
    }
    CODE(HCCL_E_NETWORK,
         HcclCreateSubCommConfig(&comm, PROCESSES, members, 1, 3 - rank, &config, &sub));
    MESSAGE("EI0015", ends == 1 ? "rank 1 of" : "rank 3 of", "has ended");
    CODE(HCCL_E_NETWORK, HcclCommResume(comm));
    MESSAGE("EI0015", "has ended");
    OK(HcclCommDestroy(comm));
}

/** The others learn at once who has ended. */
static void a_member_that_ends(void)
{
    for (ends = 1; ends < PROCESSES; ends += 2) {
        in_processes(be_a_member, ends);
    }
}

int main(void)
{
    RUN(a_member_that_ends);
    RUN(a_root_that_leaves_at_once);
    return check_end();
}
