/**
 * @file runtime_ipc.c
 * Device memory and events that real processes share.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "hccl/hccl.h"
#include "peer.h"

#define MIB ((size_t)1 << 20)
#define BYTES (3 * MIB)

static aclrtStream stream;

static void need_stream(void)
{
    NEED(aclrtSetDevice(1));
    NEED(aclrtCreateStream(&stream));
}

static void bad_exports(void)
{
    char key[65], *block = NULL;
    void *pinned = NULL;
    int32_t pid = 1;
    aclrtServerPid there = {1000, &pid, 1}, here = {0, &pid, 1};
    need_stream();
    OK(aclrtMalloc((void **)&block, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    CODE(100000, aclrtIpcMemGetExportKey(NULL, BYTES, key, 65, 0));
    CODE(100000, aclrtIpcMemGetExportKey(block, 0, key, 65, 0));
    CODE(100000, aclrtIpcMemGetExportKey(block, BYTES, NULL, 65, 0));
    CODE(107000, aclrtIpcMemGetExportKey(block, BYTES, key, 64, 0));
    CODE(107000, aclrtIpcMemGetExportKey(block, BYTES, key, 65, 2));
    CODE(107000, aclrtIpcMemGetExportKey(block + 64, 4096, key, 65, 0));
    MESSAGE("4096");
    CODE(107000, aclrtIpcMemGetExportKey(block + MIB, BYTES, key, 65, 0));
    OK(aclrtMallocHost(&pinned, 4096));
    CODE(107000, aclrtIpcMemGetExportKey(pinned, 4096, key, 65, 0));
    OK(aclrtFreeHost(pinned));
    OK(aclrtIpcMemGetExportKey(block + MIB, MIB, key, sizeof key, 0));
    THAT(strlen(key) <= 64);
    CODE(100000, aclrtIpcMemSetImportPid(NULL, &pid, 1));
    CODE(100000, aclrtIpcMemSetImportPid(key, NULL, 1));
    CODE(100000, aclrtIpcMemSetImportPid(key, &pid, 0));
    CODE(107000, aclrtIpcMemSetImportPid("no key", &pid, 1));
    CODE(107000, aclrtIpcMemSetImportPid("softnpu-memory-0123456789abcdef", &pid, 1));
    OK(aclrtIpcMemSetImportPid(key, &pid, 1));
    CODE(207000, aclrtIpcMemImportPidInterServer(key, &there, 1));
    CODE(100000, aclrtIpcMemImportPidInterServer(key, NULL, 1));
    OK(aclrtIpcMemImportPidInterServer(key, &here, 1));
    OK(aclrtIpcMemClose(key));
    CODE(107000, aclrtIpcMemClose(key));
    CODE(107000, aclrtIpcMemSetImportPid(key, &pid, 1));
    CODE(107000, aclrtIpcMemClose("no key"));
    CODE(100000, aclrtIpcMemClose(NULL));
    OK(aclrtFree(block));
}

static void bad_imports(void)
{
    char key[65];
    void *block = NULL, *p = NULL;
    CODE(107002, aclrtIpcMemImportByKey(&p, "softnpu-memory-0123456789abcdef", 0));
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    CODE(100000, aclrtIpcMemImportByKey(NULL, key, 0));
    CODE(100000, aclrtIpcMemImportByKey(&p, NULL, 0));
    CODE(107000, aclrtIpcMemImportByKey(&p, key, 2));
    CODE(107000, aclrtIpcMemImportByKey(&p, key, 0));
    MESSAGE("another process");
    CODE(107000, aclrtIpcMemImportByKey(&p, "", 0));
    CODE(107000, aclrtIpcMemImportByKey(&p, "softnpu-memory-0123456789abcdef", 0));
    MESSAGE("still runs");
    OK(aclrtIpcMemClose(key));
    OK(aclrtFree(block));
}

static void the_link_between_dies(void)
{
    void *block = NULL;
    char key[65];
    setenv("SOFTNPU_SOC", "Ascend910_9391", 1);
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    OK(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK,
                          ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS));
    CODE(107000, aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 2));
    CODE(100000, aclrtIpcMemSetAttr(key, (aclrtIpcMemAttrType)1, 0));
    CODE(100000, aclrtIpcMemSetAttr(NULL, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
    CODE(107000, aclrtIpcMemSetAttr("no key", ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
    OK(aclrtIpcMemClose(key));
    OK(aclrtFree(block));
}

static void one_die_has_no_such_link(void)
{
    need_stream();
    CODE(207000, aclrtIpcMemSetAttr("no key", ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
}

/** Imports, looks at what is there, works on it and closes. */
static int role_memory(const char *key)
{
    unsigned char *p = NULL, *again = NULL, *own = NULL;
    static unsigned char bytes[BYTES];
    aclrtPtrAttributes attributes;
    char other[65];
    HcclComm comm = NULL;
    HcclRootInfo root;
    need_stream();
    NEED(aclrtIpcMemImportByKey((void **)&p, key, 1));
    CODE(107000, aclrtIpcMemImportByKey((void **)&again, key, 1));
    MESSAGE("has not imported");
    OK(aclrtPointerGetAttributes(p + BYTES - 1, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 1);
    /* Copies of both kinds, fills, and the end of the range. */
    OK(aclrtMemcpy(bytes, BYTES, p, BYTES, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(bytes[0] == 0x11 && bytes[BYTES - 1] == 0x11);
    OK(aclrtMalloc((void **)&own, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpyAsync(own, BYTES, p, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtMemsetAsync(own, MIB, 0x22, MIB, stream));
    OK(aclrtMemcpyAsync(p, BYTES, own, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    CODE(107000, aclrtMemset(p + MIB, BYTES, 0, BYTES));
    MESSAGE("imported memory");
    /* It is not this process's to free or to export, and no buffer of collectives. */
    CODE(107000, aclrtFree(p));
    CODE(107000, aclrtIpcMemGetExportKey(p, 4096, other, sizeof other, 0));
    OK(HcclGetRootInfo(&root));
    OK(HcclCommInitRootInfo(1, &root, 0, &comm));
    FAILS(HcclAllReduce(p, p, 16, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comm, stream));
    OK(HcclCommDestroy(comm));
    forget_messages();
    turn_give();
    turn_take();
    /* A number in the memory that the other process stores while this stream waits. */
    OK(aclrtValueWait(p, 7, ACL_VALUE_WAIT_EQ, stream));
    OK(aclrtValueWrite(p + 8, 9, 0, stream));
    OK(aclrtSynchronizeStream(stream));
    turn_give();
    turn_take();
    OK(aclrtIpcMemClose(key));
    OK(aclrtPointerGetAttributes(p, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    CODE(107000, aclrtIpcMemClose(key));
    turn_give();
    turn_take();
    CODE(107000, aclrtIpcMemImportByKey((void **)&p, key, 1));
    return role_end();
}

static void memory_between_processes(void)
{
    unsigned char *block = NULL, byte = 0;
    uint64_t number = 0;
    char key[65];
    need_stream();
    /* The interior of a larger block. */
    OK(aclrtMalloc((void **)&block, BYTES + MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, BYTES + MIB, 0x11, BYTES + MIB));
    OK(aclrtIpcMemGetExportKey(block + MIB, BYTES, key, sizeof key,
                               ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    struct peer peer = peer_start("memory", key);
    peer_wait(peer);
    OK(aclrtMemcpy(&byte, 1, block + 2 * MIB - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(byte == 0x22);
    OK(aclrtMemcpy(&byte, 1, block + 2 * MIB, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(byte == 0x11);
    OK(aclrtMemset(block + MIB, 16, 0, 16));
    peer_go(peer);
    sleep_ms(30);
    OK(aclrtValueWrite(block + MIB, 7, 0, stream));
    OK(aclrtValueWait(block + MIB + 8, 9, ACL_VALUE_WAIT_EQ, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(&number, 8, block + MIB + 8, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(number == 9);
    peer_wait(peer);
    /* The exporter closes last. */
    CODE(107000, aclrtIpcMemClose(key));
    MESSAGE("1 other process");
    peer_go(peer);
    peer_wait(peer);
    OK(aclrtIpcMemClose(key));
    peer_go(peer);
    peer_end(peer);
    OK(aclrtFree(block));
}

/** A connection to the socket that a key names; the exporter takes its own too. */
static int knock(const char *key)
{
    struct sockaddr_un address;
    const char *digits = strrchr(key, '-') + 1;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    const int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "softnpu-share-%.10s", digits);
    const int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (door < 0 || connect(door, (struct sockaddr *)&address,
                            (socklen_t)(sizeof address.sun_family + 1 + (size_t)length)) != 0) {
        perror("connect");
        _exit(2);
    }
    return door;
}

/** Strangers who talk nonsense, say nothing or leave at once keep nobody from importing. */
static void strangers_at_the_door(void)
{
    static const char nonsense[3000] = "nonsense";
    static int silent[400];
    void *block = NULL;
    char key[65], answer[256];
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    for (size_t length = 1; length <= sizeof nonsense; length *= 2) {
        const int door = knock(key);
        THAT(send(door, nonsense, length, MSG_NOSIGNAL) == (ssize_t)length);
        /* An answer that gives nothing: its first word is not 0. */
        uint32_t status = 0;
        const ssize_t got = recv(door, answer, sizeof answer, 0);
        THAT(got >= (ssize_t)sizeof status);
        memcpy(&status, answer, sizeof status);
        THAT(status != 0);
        close(door);
        close(knock(key));
    }
    for (size_t i = 0; i < sizeof silent / sizeof *silent; ++i) {
        silent[i] = knock(key);
    }
    peer_end(peer_start("import", key));
    for (size_t i = 0; i < sizeof silent / sizeof *silent; ++i) {
        close(silent[i]);
    }
    OK(aclrtIpcMemClose(key));
    OK(aclrtFree(block));
}

static int role_import(const char *key)
{
    void *p = NULL;
    need_stream();
    OK(aclrtIpcMemImportByKey(&p, key, 0));
    OK(aclrtIpcMemClose(key));
    return role_end();
}

/** A forked child of a process that shares is refused, and hangs nowhere. */
static void a_forked_child_shares_nothing(void)
{
    void *block = NULL, *p = NULL;
    char key[65];
    int32_t pid = 1;
    int status = 0;
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    const pid_t child = check_fork();
    if (child == 0) {
        FAILS(aclrtIpcMemImportByKey(&p, key, 0));
        FAILS(aclrtIpcMemSetImportPid(key, &pid, 1));
        FAILS(aclrtIpcMemClose(key));
        FAILS(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
        FAILS(aclrtMemSetPidToShareableHandle(1, &pid, 1));
        check_leave();
    }
    THAT(waitpid(child, &status, 0) == child && status == 0);
    OK(aclrtIpcMemClose(key));
}

static int role_listed(const char *key)
{
    void *p = NULL;
    need_stream();
    CODE(207006, aclrtIpcMemImportByKey(&p, key, 0));
    MESSAGE("not in the list");
    turn_give();
    turn_take();
    OK(aclrtIpcMemImportByKey(&p, key, 0));
    turn_give();
    turn_take();
    return role_end();
}

static void only_listed_processes_import(void)
{
    void *block = NULL;
    char key[65];
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 0));
    struct peer peer = peer_start("listed", key);
    peer_wait(peer);
    int32_t pid = (int32_t)peer.pid;
    OK(aclrtIpcMemSetImportPid(key, &pid, 1));
    peer_go(peer);
    peer_wait(peer);
    CODE(107000, aclrtIpcMemClose(key));
    /* An importer that ends without closing counts no more. */
    peer_go(peer);
    peer_end(peer);
    OK(aclrtIpcMemClose(key));
    OK(aclrtFree(block));
}

static int role_too_late(const char *key)
{
    void *p = NULL;
    need_stream();
    CODE(107000, aclrtIpcMemImportByKey(&p, key, 0));
    MESSAGE("still shares");
    return role_end();
}

/** Memory that was freed, or went with its device, is not found by its key. */
static void a_key_of_freed_memory(void)
{
    void *block = NULL, *again = NULL;
    char key[65];
    need_stream();
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    OK(aclrtFree(block));
    peer_end(peer_start("late", key));
    /* Not even when other memory is there by then. */
    OK(aclrtMalloc(&again, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    THAT(again == block);
    peer_end(peer_start("late", key));
    OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    OK(aclrtResetDevice(1));
    peer_end(peer_start("late", key));
}

/** Exports memory, tells its key by a file and stays until it is ended by force. */
static int role_mortal(const char *path)
{
    void *block = NULL;
    char key[65];
    FILE *file = fopen(path, "w");
    need_stream();
    NEED(file == NULL);
    NEED(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMemset(block, 4096, 0x33, 4096));
    NEED(aclrtIpcMemGetExportKey(block, 4096, key, sizeof key, 1));
    fputs(key, file);
    fclose(file);
    turn_give();
    turn_take();
    return role_end();
}

static void an_exporter_that_died(void)
{
    char path[] = "/tmp/softnpu-key-XXXXXX", key[65] = {0};
    unsigned char byte = 0;
    void *p = NULL;
    const int file = mkstemp(path);
    need_stream();
    NEED(file < 0);
    struct peer peer = peer_start("mortal", path);
    peer_wait(peer);
    NEED(read(file, key, 64) <= 0);
    close(file);
    unlink(path);
    OK(aclrtIpcMemImportByKey(&p, key, 0));
    peer_kill(peer);
    /* The memory lives as long as somebody has it. */
    OK(aclrtMemcpy(&byte, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(byte == 0x33);
    OK(aclrtIpcMemClose(key));
    CODE(107000, aclrtIpcMemImportByKey(&p, key, 0));
}

static aclrtPhysicalMemProp prop_of_device(uint32_t id)
{
    aclrtPhysicalMemProp prop;
    memset(&prop, 0, sizeof prop);
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = id;
    return prop;
}

/** Takes physical memory over, by the old calls or by the new ones. */
static int take_over(const char *word, int is_new)
{
    uint64_t shareable = strtoull(word, NULL, 10);
    aclrtDrvMemHandle handle = NULL, again = NULL;
    aclrtPtrAttributes attributes;
    unsigned char *p = NULL, byte = 0;
    need_stream();
    if (is_new) {
        CODE(100000, aclrtMemImportFromShareableHandleV2(
                         &shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 1, &handle));
        NEED(aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0,
                                                 &handle));
    } else {
        CODE(107001, aclrtMemImportFromShareableHandle(shareable, 99, &handle));
        CODE(207006, aclrtMemImportFromShareableHandle(shareable, 1, &handle));
        turn_give();
        turn_take();
        NEED(aclrtMemImportFromShareableHandle(shareable, 1, &handle));
    }
    CODE(107000, aclrtMemImportFromShareableHandle(shareable, 1, &again));
    CODE(107000, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &shareable));
    NEED(aclrtReserveMemAddress((void **)&p, 8 * MIB, 0, NULL, 1));
    OK(aclrtMapMem(p + 2 * MIB, 2 * MIB, 0, handle, 0));
    OK(aclrtPointerGetAttributes(p + 2 * MIB, &attributes));
    THAT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 1);
    turn_give();
    turn_take();
    /* The exporter has freed its handle; the memory stays as it is. */
    OK(aclrtMemcpy(&byte, 1, p + 4 * MIB - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(byte == 0x44);
    OK(aclrtMemsetAsync(p + 2 * MIB, 2 * MIB, 0x55, 2 * MIB, stream));
    OK(aclrtSynchronizeStream(stream));
    turn_give();
    turn_take();
    OK(aclrtUnmapMem(p + 2 * MIB));
    OK(aclrtFreePhysical(handle));
    OK(aclrtReleaseMemAddress(p));
    return role_end();
}

/** Pieces that are neighbours by chance are not one range that a key can stand for. */
static void a_key_for_one_piece(void)
{
    aclrtPhysicalMemProp prop = prop_of_device(1);
    aclrtDrvMemHandle one = NULL, two = NULL;
    unsigned char *p = NULL;
    char key[65];
    need_stream();
    OK(aclrtMallocPhysical(&one, 2 * MIB, &prop, 0));
    OK(aclrtMallocPhysical(&two, 2 * MIB, &prop, 0));
    OK(aclrtReserveMemAddress((void **)&p, 4 * MIB, 0, NULL, 1));
    OK(aclrtMapMem(p, 2 * MIB, 0, one, 0));
    OK(aclrtMapMem(p + 2 * MIB, 2 * MIB, 0, two, 0));
    CODE(107000, aclrtIpcMemGetExportKey(p, 4 * MIB, key, sizeof key, 1));
    CODE(107000, aclrtIpcMemGetExportKey(p + MIB, 2 * MIB, key, sizeof key, 1));
    OK(aclrtIpcMemGetExportKey(p + 2 * MIB, 2 * MIB, key, sizeof key, 1));
}

static void share_physical(int is_new)
{
    aclrtPhysicalMemProp prop = prop_of_device(1), found;
    aclrtDrvMemHandle handle = NULL, retained = NULL;
    aclrtMemAccessDesc access;
    aclrtMemLocation location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    uint64_t shareable = 0, flags = 0;
    size_t free_before = 0, free_after = 0, total = 0;
    int32_t pid = 0;
    unsigned char *p = NULL, byte = 0;
    char word[32];
    struct peer peer;
    need_stream();
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    OK(aclrtMallocPhysical(&handle, 2 * MIB, &prop, 0));
    OK(aclrtReserveMemAddress((void **)&p, 2 * MIB, 0, NULL, 1));
    OK(aclrtMapMem(p, 2 * MIB, 0, handle, 0));
    OK(aclrtMemset(p, 2 * MIB, 0x44, 2 * MIB));
    CODE(100000, aclrtMemRetainAllocationHandle(NULL, &retained));
    CODE(107000, aclrtMemRetainAllocationHandle(&pid, &retained));
    OK(aclrtMemRetainAllocationHandle(p + MIB, &retained));
    CODE(100000, aclrtMemGetAllocationPropertiesFromHandle(retained, NULL));
    OK(aclrtMemGetAllocationPropertiesFromHandle(retained, &found));
    THAT(memcmp(&prop, &found, sizeof prop) == 0);
    memset(&access, 0, sizeof access);
    access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    access.location = location;
    OK(aclrtMemSetAccess(p, 2 * MIB, &access, 1));
    CODE(100000, aclrtMemSetAccess(p, 2 * MIB, &access, 0));
    CODE(107000, aclrtMemSetAccess(p, 4 * MIB, &access, 1));
    access.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
    CODE(207000, aclrtMemSetAccess(p, 2 * MIB, &access, 1));
    OK(aclrtMemGetAccess(p, &location, &flags));
    THAT(flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    CODE(100000, aclrtMemGetAccess(p, NULL, &flags));
    if (is_new) {
        CODE(100000, aclrtMemExportToShareableHandleV2(
                         handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, NULL));
        CODE(207000, aclrtMemExportToShareableHandleV2(
                         handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &shareable));
        OK(aclrtMemExportToShareableHandleV2(handle, 1, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT,
                                             &shareable));
    } else {
        CODE(100000, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_POSIX, 0,
                                                     &shareable));
        CODE(100000, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 2,
                                                     &shareable));
        CODE(100000, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, NULL));
        OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable));
    }
    CODE(107000, aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &flags));
    CODE(107000, aclrtMemImportFromShareableHandle(shareable, 1, &handle));
    MESSAGE("another process");
    CODE(107000, aclrtMemImportFromShareableHandle(12345, 1, &handle));
    CODE(107000, aclrtMemSetPidToShareableHandle(12345, &pid, 1));
    CODE(100000, aclrtMemSetPidToShareableHandle(shareable, &pid, 0));
    snprintf(word, sizeof word, "%llu", (unsigned long long)shareable);
    peer = peer_start(is_new ? "physical2" : "physical", word);
    if (!is_new) {
        peer_wait(peer);
        pid = (int32_t)peer.pid;
        OK(aclrtMemSetPidToShareableHandle(shareable, &pid, 1));
        peer_go(peer);
    } else {
        pid = (int32_t)peer.pid;
        OK(aclrtMemSetPidToShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid,
                                             1));
        CODE(100000, aclrtMemSetPidToShareableHandleV2(
                         &shareable, (aclrtMemSharedHandleType)3, &pid, 1));
    }
    peer_wait(peer);
    OK(aclrtFreePhysical(retained));
    OK(aclrtFreePhysical(handle));
    peer_go(peer);
    peer_wait(peer);
    OK(aclrtMemcpy(&byte, 1, p, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    THAT(byte == 0x55);
    OK(aclrtUnmapMem(p));
    OK(aclrtReleaseMemAddress(p));
    /* The importer still has it, so the device does. */
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    THAT(free_after == free_before - 2 * MIB);
    peer_go(peer);
    peer_end(peer);
    for (int i = 0; i < 100 && free_after != free_before; ++i) {
        sleep_ms(50);
        OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    }
    THAT(free_after == free_before);
}

static void physical_memory_between_processes(void)
{
    share_physical(0);
}

static void physical_memory_by_the_newer_calls(void)
{
    share_physical(1);
}

static void spell(const aclrtIpcEventHandle *handle, char *word)
{
    for (size_t i = 0; i < sizeof handle->reserved; ++i) {
        snprintf(word + 2 * i, 3, "%02x", (unsigned char)handle->reserved[i]);
    }
}

static aclrtIpcEventHandle unspell(const char *word)
{
    aclrtIpcEventHandle handle;
    for (size_t i = 0; i < sizeof handle.reserved; ++i) {
        unsigned byte = 0;
        if (sscanf(word + 2 * i, "%2x", &byte) != 1) {
            _exit(2);
        }
        handle.reserved[i] = (char)byte;
    }
    return handle;
}

static void bad_events(void)
{
    aclrtEvent event = NULL, plain = NULL, opened = NULL;
    aclrtIpcEventHandle handle;
    aclrtEventStatus status;
    aclrtEventWaitStatus waited;
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    uint32_t id = 0;
    uint64_t time = 0;
    float ms = 0;
    need_stream();
    CODE(107000, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
    CODE(100000, aclrtIpcGetEventHandle(NULL, &handle));
    CODE(100000, aclrtIpcGetEventHandle(event, NULL));
    CODE(107000, aclrtIpcGetEventHandle(plain, &handle));
    OK(aclrtIpcGetEventHandle(event, &handle));
    CODE(100000, aclrtIpcOpenEventHandle(handle, NULL));
    CODE(107000, aclrtIpcOpenEventHandle(handle, &opened));
    MESSAGE("another process");
    memset(&handle, 'x', sizeof handle);
    CODE(107000, aclrtIpcOpenEventHandle(handle, &opened));
    memset(&handle, 0, sizeof handle);
    CODE(107000, aclrtIpcOpenEventHandle(handle, &opened));
    /* What such events do not do. */
    OK(aclrtQueryEventStatus(event, &recorded));
    THAT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtSynchronizeEvent(event));
    CODE(207000, aclrtResetEvent(event, stream));
    CODE(207000, aclrtQueryEvent(event, &status));
    CODE(207000, aclrtQueryEventWaitStatus(event, &waited));
    CODE(207000, aclrtEventElapsedTime(&ms, event, event));
    CODE(207000, aclrtEventGetTimestamp(event, &time));
    CODE(207000, aclrtGetEventId(event, &id));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(plain));
}

/** Waits in all ways for records of the other process, and answers with records of its own. */
static int role_event(const char *word)
{
    aclrtEvent event = NULL;
    aclrtIpcEventHandle handle = unspell(word);
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    need_stream();
    NEED(aclrtIpcOpenEventHandle(handle, &event));
    CODE(107000, aclrtIpcGetEventHandle(event, &handle));
    /* It was recorded behind something that is not over. */
    OK(aclrtQueryEventStatus(event, &status));
    THAT(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CODE(507047, aclrtSynchronizeEventWithTimeout(event, 30));
    OK(aclrtStreamWaitEvent(stream, event));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 30));
    turn_give();
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtQueryEventStatus(event, &status));
    THAT(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    turn_take();
    /* The way back. */
    OK(aclrtRecordEvent(event, stream));
    turn_give();
    turn_take();
    OK(aclrtDestroyEvent(event));
    return role_end();
}

static void events_between_processes(void)
{
    aclrtEvent event = NULL;
    aclrtIpcEventHandle handle;
    aclrtStream other = NULL;
    uint64_t *number = NULL;
    char word[2 * sizeof handle.reserved + 1];
    need_stream();
    OK(aclrtCreateStream(&other));
    OK(aclrtMalloc((void **)&number, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(number, 64, 0, 64));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtIpcGetEventHandle(event, &handle));
    OK(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, stream));
    OK(aclrtRecordEvent(event, stream));
    spell(&handle, word);
    struct peer peer = peer_start("event", word);
    peer_wait(peer);
    OK(aclrtValueWrite(number, 1, 0, other));
    OK(aclrtSynchronizeStream(stream));
    peer_go(peer);
    peer_wait(peer);
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeEvent(event));
    peer_go(peer);
    peer_end(peer);
    OK(aclrtDestroyEvent(event));
}

/** Waits for a record that is under way although later ones have ended. */
static int role_patient(const char *word)
{
    aclrtEvent event = NULL;
    need_stream();
    NEED(aclrtIpcOpenEventHandle(unspell(word), &event));
    OK(aclrtStreamWaitEvent(stream, event));
    turn_give();
    turn_take();
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 30));
    turn_give();
    turn_take();
    OK(aclrtSynchronizeStream(stream));
    return role_end();
}

/** Later records on a stream that is not held up; here first, then also in another process. */
static void records_that_overtake(void)
{
    aclrtEvent event = NULL;
    aclrtIpcEventHandle handle;
    aclrtStream slow = NULL, fast = NULL;
    struct peer peer = {-1, -1, -1};
    uint64_t *number = NULL;
    char word[2 * sizeof handle.reserved + 1];
    need_stream();
    OK(aclrtCreateStream(&slow));
    OK(aclrtCreateStream(&fast));
    OK(aclrtMalloc((void **)&number, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    for (int round = 0; round < 2; ++round) {
        OK(aclrtMemset(number, 64, 0, 64));
        OK(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, slow));
        OK(aclrtRecordEvent(event, slow));
        OK(aclrtStreamWaitEvent(stream, event));
        if (round == 1) {
            OK(aclrtIpcGetEventHandle(event, &handle));
            spell(&handle, word);
            peer = peer_start("patient", word);
            peer_wait(peer);
        }
        for (int i = 0; i < 9; ++i) {
            OK(aclrtRecordEvent(event, fast));
        }
        OK(aclrtSynchronizeEvent(event));
        CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 300));
        if (round == 1) {
            peer_go(peer);
            peer_wait(peer);
        }
        OK(aclrtValueWrite(number, 1, 0, fast));
        OK(aclrtSynchronizeStream(stream));
    }
    peer_go(peer);
    peer_end(peer);
    OK(aclrtDestroyEvent(event));
}

/** Records behind a wait that nobody will end, and is ended by force. */
static int role_recorder(const char *word)
{
    aclrtEvent event = NULL;
    void *number = NULL;
    need_stream();
    NEED(aclrtIpcOpenEventHandle(unspell(word), &event));
    NEED(aclrtMalloc(&number, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    NEED(aclrtMemset(number, 64, 0, 64));
    NEED(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, stream));
    NEED(aclrtRecordEvent(event, stream));
    turn_give();
    turn_take();
    return role_end();
}

static void a_recorder_that_died(void)
{
    aclrtEvent event = NULL;
    aclrtIpcEventHandle handle;
    char word[2 * sizeof handle.reserved + 1];
    need_stream();
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtIpcGetEventHandle(event, &handle));
    spell(&handle, word);
    struct peer peer = peer_start("recorder", word);
    peer_wait(peer);
    OK(aclrtStreamWaitEvent(stream, event));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 300));
    peer_kill(peer);
    CODE(507022, aclrtSynchronizeStream(stream));
    CODE(507022, aclrtSynchronizeEvent(event));
    MESSAGE("ended before");
    /* The event is as good as before. */
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtDestroyEvent(event));
}

/** A failure on the recording side reaches who waits on the other. */
static int role_failing(const char *word)
{
    aclrtEvent event = NULL;
    aclrtNotify notify = NULL;
    need_stream();
    NEED(aclrtIpcOpenEventHandle(unspell(word), &event));
    NEED(aclrtCreateNotify(&notify, 0));
    NEED(aclrtWaitAndResetNotify(notify, stream, 1));
    NEED(aclrtRecordEvent(event, stream));
    turn_give();
    CODE(107019, aclrtSynchronizeStream(stream));
    turn_take();
    return role_end();
}

static void a_record_behind_a_failure(void)
{
    aclrtEvent event = NULL;
    aclrtIpcEventHandle handle;
    char word[2 * sizeof handle.reserved + 1];
    need_stream();
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtIpcGetEventHandle(event, &handle));
    spell(&handle, word);
    struct peer peer = peer_start("failing", word);
    peer_wait(peer);
    OK(aclrtStreamWaitEvent(stream, event));
    CODE(107019, aclrtSynchronizeStream(stream));
    peer_go(peer);
    peer_end(peer);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        const char *role = argv[1];
        role_begin();
        if (strcmp(role, "memory") == 0) {
            return role_memory(argv[2]);
        }
        if (strcmp(role, "listed") == 0) {
            return role_listed(argv[2]);
        }
        if (strcmp(role, "import") == 0) {
            return role_import(argv[2]);
        }
        if (strcmp(role, "late") == 0) {
            return role_too_late(argv[2]);
        }
        if (strcmp(role, "mortal") == 0) {
            return role_mortal(argv[2]);
        }
        if (strncmp(role, "physical", 8) == 0) {
            return take_over(argv[2], role[8] == '2');
        }
        if (strcmp(role, "event") == 0) {
            return role_event(argv[2]);
        }
        if (strcmp(role, "patient") == 0) {
            return role_patient(argv[2]);
        }
        return strcmp(role, "recorder") == 0 ? role_recorder(argv[2]) : role_failing(argv[2]);
    }
    RUN(bad_exports);
    RUN(bad_imports);
    RUN(the_link_between_dies);
    RUN(one_die_has_no_such_link);
    RUN(memory_between_processes);
    RUN(only_listed_processes_import);
    RUN(strangers_at_the_door);
    RUN(a_forked_child_shares_nothing);
    RUN(a_key_of_freed_memory);
    RUN(an_exporter_that_died);
    RUN(a_key_for_one_piece);
    RUN(physical_memory_between_processes);
    RUN(physical_memory_by_the_newer_calls);
    RUN(bad_events);
    RUN(events_between_processes);
    RUN(records_that_overtake);
    RUN(a_recorder_that_died);
    RUN(a_record_behind_a_failure);
    return check_end();
}
