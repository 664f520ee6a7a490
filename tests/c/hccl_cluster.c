/**
 * @file hccl_cluster.c
 * Communicators whose ranks are listed in a file.
 */
#include "ranks.h"

#include <stdarg.h>
#include <sys/stat.h>

static char path[64];

/** Writes a file that goes with the process; its table is no other process's. */
static void write_table(const char *format, ...)
{
    va_list arguments;
    snprintf(path, sizeof path, "/tmp/hccl-table-%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        _exit(2);
    }
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

static void remove_table(void)
{
    unlink(path);
}

#define DEVICE(id) "{\"device_id\":\"" #id "\",\"device_ip\":\"\",\"rank_id\":\"" #id "\"}"

static void two_devices(const char *more)
{
    write_table("{\"version\":\"1.0\",\"status\":\"completed\",\"server_count\":\"1\","
                "\"server_list\":[{\"server_id\":\"s%d\",\"device\":[" DEVICE(0) "," DEVICE(
                    1) "]%s}]}",
                (int)getpid(), more);
}

static void join_twice(Rank *rank)
{
    HcclCommConfig config;
    char name[COMM_NAME_MAX_LENGTH];
    uint32_t found = 99;
    for (int i = 0; i < 3; ++i) {
        OK(HcclCommInitClusterInfo(path, rank->rank, &rank->comm));
        OK(HcclGetRankSize(rank->comm, &found));
        THAT(found == 2);
        OK(HcclGetCommName(rank->comm, name));
        THAT(strcmp(name, "hccl_world_group") == 0);
        THAT(works(rank->comm, rank->rank, 2, rank->stream));
        HcclComm again = NULL;
        CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, rank->rank, &again));
        MESSAGE("EI0003", "hccl_world_group");
        OK(HcclCommDestroy(rank->comm));
    }
    config = default_config();
    snprintf(config.hcclCommName, sizeof config.hcclCommName, "of the file");
    OK(HcclCommInitClusterInfoConfig(path, rank->rank, &config, &rank->comm));
    OK(HcclGetCommName(rank->comm, name));
    THAT(strcmp(name, "of the file") == 0);
    THAT(works(rank->comm, rank->rank, 2, rank->stream));
    OK(HcclCommDestroy(rank->comm));
}

static void ranks_of_a_table(void)
{
    two_devices(",\"host_nic_ip\":\"reserve\"");
    on_devices(2, join_twice);
    remove_table();
}

static void join_two_servers(Rank *rank)
{
    OK(HcclCommInitClusterInfo(path, rank->rank, &rank->comm));
    THAT(works(rank->comm, rank->rank, 4, rank->stream));
    OK(HcclCommDestroy(rank->comm));
}

/** Two servers that are both this host: hierarchies of algorithms run between them. */
static void servers_of_a_table(void)
{
    write_table("{\"version\":\"1.0\",\"status\":\"completed\",\"server_count\":\"2\","
                "\"server_list\":[{\"server_id\":\"a%d\",\"device\":["
                "{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\",\"rank_id\":\"0\"},"
                "{\"device_id\":\"1\",\"device_ip\":\"10.0.0.2\",\"rank_id\":\"1\"}]},"
                "{\"server_id\":\"b\",\"device\":["
                "{\"device_id\":\"2\",\"device_ip\":\"10.0.0.3\",\"rank_id\":\"2\"},"
                "{\"device_id\":\"3\",\"device_ip\":\"10.0.0.4\",\"rank_id\":\"3\"}]}]}",
                (int)getpid());
    setenv("HCCL_ALGO", "level0:NA;level1:ring", 1);
    on_devices(4, join_two_servers);
    remove_table();
}

static void wrong_files(Rank *rank)
{
    HcclComm comm = NULL;
    HcclCommConfig config;
    char longer[5000];
    config = default_config();
    (void)rank;
    CODE(HCCL_E_PTR, HcclCommInitClusterInfo(NULL, 0, &comm));
    MESSAGE("EI0003", "clusterInfo");
    CODE(HCCL_E_PTR, HcclCommInitClusterInfo("/nowhere", 0, NULL));
    CODE(HCCL_E_PTR, HcclCommInitClusterInfoConfig(NULL, 0, &config, &comm));
    CODE(HCCL_E_PTR, HcclCommInitClusterInfoConfig("/nowhere", 0, NULL, &comm));
    MESSAGE("EI0003", "config");
    CODE(HCCL_E_OPEN_FILE_FAILURE, HcclCommInitClusterInfo("/nowhere/table.json", 0, &comm));
    MESSAGE("EI0004", "/nowhere/table.json", "is not a valid real path");
    CODE(HCCL_E_OPEN_FILE_FAILURE, HcclCommInitClusterInfo("/tmp", 0, &comm));
    MESSAGE("EI0004", "it is no file");
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(longer, 0, &comm));
    MESSAGE("EI0004", "4095");
    /* A pipe that nobody writes to must not be waited for. */
    snprintf(path, sizeof path, "/tmp/hccl-table-%d.json", (int)getpid());
    unlink(path);
    THAT(mkfifo(path, 0600) == 0);
    CODE(HCCL_E_OPEN_FILE_FAILURE, HcclCommInitClusterInfo(path, 0, &comm));
    unlink(path);

    write_table("{\"version\"");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 0, &comm));
    MESSAGE("EI0004", "JSON");
    write_table("{\"version\":\"1.0\",\"status\":\"completed\"}");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 0, &comm));
    MESSAGE("EI0017", "server_");
    write_table("{\"version\":\"1.0\",\"status\":\"completed\",\"server_count\":\"2\","
                "\"server_list\":[{\"server_id\":\"s\",\"device\":[" DEVICE(0) "]}]}");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 0, &comm));
    MESSAGE("EI0014", "server_count");
    write_table("{\"version\":\"1.0\",\"status\":\"initializing\",\"server_count\":\"1\","
                "\"server_list\":[{\"server_id\":\"s\",\"device\":[" DEVICE(0) "]}]}");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 0, &comm));
    MESSAGE("EI0014", "initializing");
    two_devices("");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 2, &comm));
    MESSAGE("EI0003", "rank_id", "2", "[0, 1]");
    CODE(HCCL_E_PARA, HcclCommInitClusterInfo(path, 1, &comm));
    MESSAGE("EI0014", "devicePhyId", "device 1", "device 0");
    remove_table();
    THAT(comm == NULL);
}

static void misuse(void)
{
    on_devices(1, wrong_files);
}

/** Joins, works, and goes as often as told. */
static void come(uint32_t rank, int times)
{
    aclrtStream stream = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice((int32_t)rank));
    NEED(aclrtCreateStream(&stream));
    for (int i = 0; i < times; ++i) {
        HcclComm comm = NULL;
        NEED(HcclCommInitClusterInfo(path, rank, &comm));
        THAT(works(comm, rank, 2, stream));
        OK(HcclCommDestroy(comm));
    }
}

static pid_t process_of(uint32_t rank, int times)
{
    const pid_t child = check_fork();
    if (child == 0) {
        come(rank, times);
        check_leave();
    }
    return child;
}

static void end_well(pid_t child)
{
    int status = -1;
    AT("waiting for a rank");
    waitpid(child, &status, 0);
    THAT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/** Comes as rank 0 as another process does, too; writes a byte if it is the one that is refused. */
static void come_as_rank_0(int refused)
{
    HcclComm comm = NULL;
    aclrtStream stream = NULL;
    NEED(aclInit(NULL));
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&stream));
    AT("coming as rank 0");
    const HcclResult code = HcclCommInitClusterInfo(path, 0, &comm);
    if (code == HCCL_E_UNAVAIL) {
        MESSAGE("EI0019", "open already");
        THAT(write(refused, "x", 1) == 1);
    } else {
        CODE(0, code);
        THAT(code == 0 && works(comm, 0, 2, stream));
        OK(HcclCommDestroy(comm));
    }
}

/** Two jobs with the same table: the one whose rank 0 is second is told so; the other one goes on. */
static void a_place_that_is_taken(void)
{
    int ends[2];
    char byte = 0;
    pid_t twins[2];
    two_devices("");
    THAT(pipe(ends) == 0);
    for (int i = 0; i < 2; ++i) {
        twins[i] = check_fork();
        if (twins[i] == 0) {
            close(ends[0]);
            come_as_rank_0(ends[1]);
            check_leave();
        }
    }
    close(ends[1]);
    THAT(read(ends[0], &byte, 1) == 1);
    /* Without a rank 1 the other one would wait for two minutes and more. */
    end_well(process_of(1, 1));
    end_well(twins[0]);
    end_well(twins[1]);
    /* Nobody else was refused. */
    THAT(read(ends[0], &byte, 1) == 0);
    close(ends[0]);
    remove_table();
}

/** One process stays and joins again; the other one is replaced by a new one each time. */
static void one_process_is_replaced(void)
{
    two_devices("");
    for (uint32_t stays = 0; stays < 2; ++stays) {
        const pid_t other = process_of(stays, 5);
        for (int i = 0; i < 5; ++i) {
            end_well(process_of(1 - stays, 1));
        }
        end_well(other);
    }
    remove_table();
}

static void differ_first(Rank *rank)
{
    HcclCommConfig config;
    for (int i = 0; i < 3; ++i) {
        config = default_config();
        config.hcclBufferSize = 100 + rank->rank;
        CODE(HCCL_E_PARA,
             HcclCommInitClusterInfoConfig(path, rank->rank, &config, &rank->comm));
        MESSAGE("EI0005", "100MB", "101MB");
        meet(rank);
        OK(HcclCommInitClusterInfo(path, rank->rank, &rank->comm));
        THAT(works(rank->comm, rank->rank, 2, rank->stream));
        OK(HcclCommDestroy(rank->comm));
    }
}

/** Ranks that failed to come together try again at once. */
static void a_second_try(void)
{
    two_devices("");
    on_devices(2, differ_first);
    remove_table();
}

int main(void)
{
    RUN(ranks_of_a_table);
    RUN(servers_of_a_table);
    RUN(misuse);
    RUN(a_place_that_is_taken);
    RUN(one_process_is_replaced);
    RUN(a_second_try);
    return check_end();
}
