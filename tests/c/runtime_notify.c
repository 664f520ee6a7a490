/**
 * @file runtime_notify.c
 * Notifies in one process and between processes, and counting notifies.
 */
#include "peer.h"

static aclrtStream streams[2];

static void need_streams(void)
{
    NEED(aclrtSetDevice(0));
    NEED(aclrtCreateStream(&streams[0]));
    NEED(aclrtCreateStream(&streams[1]));
}

static void bad_arguments(void)
{
    aclrtNotify notify = NULL;
    aclrtNotify none[1] = {NULL};
    uint32_t id = 0;
    char key[65];
    int32_t pid = 1;
    int local = 0;
    CODE(107002, aclrtCreateNotify(&notify, 0));
    need_streams();
    CODE(100000, aclrtCreateNotify(NULL, 0));
    CODE(107000, aclrtCreateNotify(&notify, 2));
    OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEVICE_USE_ONLY));
    CODE(100000, aclrtRecordNotify(NULL, streams[0]));
    CODE(107017, aclrtRecordNotify(&local, streams[0]));
    CODE(100000, aclrtWaitAndResetNotify(NULL, streams[0], 1));
    CODE(100000, aclrtGetNotifyId(notify, NULL));
    CODE(100000, aclrtGetNotifyId(NULL, &id));
    CODE(100000, aclrtNotifyBatchReset(NULL, 1));
    CODE(100000, aclrtNotifyBatchReset(&notify, 0));
    CODE(100000, aclrtNotifyBatchReset(none, 1));
    CODE(100000, aclrtNotifyGetExportKey(notify, NULL, 65, 0));
    CODE(107000, aclrtNotifyGetExportKey(notify, key, 64, 0));
    CODE(107000, aclrtNotifyGetExportKey(notify, key, 65, 1));
    CODE(107000, aclrtNotifySetImportPid(notify, &pid, 1));
    MESSAGE("exported");
    OK(aclrtNotifyGetExportKey(notify, key, 65, 0));
    CODE(100000, aclrtNotifySetImportPid(notify, NULL, 1));
    CODE(100000, aclrtNotifySetImportPid(notify, &pid, 0));
    CODE(100000, aclrtNotifyImportByKey(NULL, key, 0));
    CODE(100000, aclrtNotifyImportByKey(&none[0], NULL, 0));
    CODE(107000, aclrtNotifyImportByKey(&none[0], key, 1));
    CODE(107000, aclrtNotifyImportByKey(&none[0], key, 0));
    MESSAGE("another process");
    CODE(107000, aclrtNotifyImportByKey(&none[0], "no key", 0));
    MESSAGE("no key");
    CODE(107000, aclrtNotifyImportByKey(&none[0], "softnpu-notify-0123456789abcdef", 0));
    CODE(100000, aclrtDestroyNotify(NULL));
    OK(aclrtDestroyNotify(notify));
    CODE(107017, aclrtDestroyNotify(notify));
}

static void other_servers_are_refused(void)
{
    aclrtNotify notify = NULL;
    char key[65];
    int32_t pid = 1;
    aclrtServerPid here = {0, &pid, 1}, there = {1000, &pid, 1};
    need_streams();
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0));
    OK(aclrtNotifySetImportPidInterServer(notify, &here, 1));
    CODE(207000, aclrtNotifySetImportPidInterServer(notify, &there, 1));
    CODE(100000, aclrtNotifySetImportPidInterServer(notify, NULL, 1));
    CODE(100000, aclrtNotifySetImportPidInterServer(notify, &here, 0));
    OK(aclrtDestroyNotify(notify));
}

static void a_wait_passes_once_for_a_record(void)
{
    aclrtNotify notify = NULL;
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    uint32_t one = 0, two = 0;
    aclrtNotify other = NULL;
    need_streams();
    OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    OK(aclrtCreateNotify(&other, ACL_NOTIFY_DEFAULT));
    OK(aclrtGetNotifyId(notify, &one));
    OK(aclrtGetNotifyId(other, &two));
    THAT(one != two);
    /* A wait before the record. */
    OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
    sleep_ms(20);
    OK(aclrtStreamQuery(streams[0], &status));
    THAT(status == ACL_STREAM_STATUS_NOT_READY);
    OK(aclrtRecordNotify(notify, streams[1]));
    OK(aclrtSynchronizeStream(streams[0]));
    /* A record before the wait, twice as good as once. */
    OK(aclrtRecordNotify(notify, streams[1]));
    OK(aclrtRecordNotify(notify, streams[1]));
    OK(aclrtSynchronizeStream(streams[1]));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
    CODE(507046, aclrtSynchronizeStreamWithTimeout(streams[0], 30));
    OK(aclrtRecordNotify(notify, NULL));
    OK(aclrtSynchronizeStream(streams[0]));
    /* A flag that is taken away lets nobody pass. */
    OK(aclrtRecordNotify(notify, streams[1]));
    OK(aclrtSynchronizeStream(streams[1]));
    OK(aclrtNotifyBatchReset(&notify, 1));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 1));
    CODE(107019, aclrtSynchronizeStream(streams[0]));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyNotify(other));
}

static void a_queued_wait_outlives_its_notify(void)
{
    aclrtNotify notify = NULL;
    need_streams();
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
    OK(aclrtRecordNotify(notify, streams[1]));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtSynchronizeStream(streams[0]));
    /* An aborted stream waits no more. */
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
    sleep_ms(20);
    OK(aclrtStreamAbort(streams[0]));
    CODE(107023, aclrtSynchronizeStream(streams[0]));
    OK(aclrtDestroyNotify(notify));
}

static void there_is_an_end_to_notifies(void)
{
    static aclrtNotify all[2000];
    aclrtCntNotify counter = NULL;
    int made = 0;
    setenv("SOFTNPU_SOC", "Ascend310P3", 1);
    need_streams();
    while (made < 2000 && aclrtCreateNotify(&all[made], 0) == 0) {
        ++made;
    }
    THAT(made == 1024);
    forget_messages();
    CODE(207009, aclrtCreateNotify(&all[made], 0));
    MESSAGE("1024");
    CODE(207009, aclrtCntNotifyCreate(&counter, 0));
    OK(aclrtDestroyNotify(all[0]));
    OK(aclrtCntNotifyCreate(&counter, 0));
    OK(aclrtCntNotifyDestroy(counter));
}

static void counting(void)
{
    static const struct {
        aclrtCntNotifyWaitMode mode;
        uint32_t value;
    } passes[] = {
        {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 13},
        {ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 14},
        {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 12},
        {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 13},
        {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 9},
    };
    static const struct {
        aclrtCntNotifyWaitMode mode;
        uint32_t value;
    } blocks[] = {
        {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 12},
        {ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 13},
        {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 13},
        {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 14},
        {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 2},
    };
    aclrtCntNotify counter = NULL, other = NULL;
    aclrtCntNotifyRecordInfo record = {ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 4};
    aclrtCntNotifyWaitInfo wait = {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 13, 0, 0, {0, 0, 0}};
    uint32_t one = 0, two = 0;
    CODE(107002, aclrtCntNotifyCreate(&counter, 0));
    need_streams();
    CODE(100000, aclrtCntNotifyCreate(NULL, 0));
    CODE(107000, aclrtCntNotifyCreate(&counter, 5));
    OK(aclrtCntNotifyCreate(&counter, 0));
    OK(aclrtCntNotifyCreate(&other, 0));
    OK(aclrtCntNotifyGetId(counter, &one));
    OK(aclrtCntNotifyGetId(other, &two));
    THAT(one != two);
    CODE(100000, aclrtCntNotifyGetId(counter, NULL));
    CODE(100000, aclrtCntNotifyRecord(counter, streams[0], NULL));
    CODE(100000, aclrtCntNotifyRecord(NULL, streams[0], &record));
    CODE(100000, aclrtCntNotifyWaitWithTimeout(counter, streams[0], NULL));
    record.mode = (aclrtCntNotifyRecordMode)3;
    CODE(107000, aclrtCntNotifyRecord(counter, streams[0], &record));
    wait.mode = (aclrtCntNotifyWaitMode)5;
    CODE(107000, aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    /* ((4 + 7) | 4) & 13 = 13, reached while the other stream waits. */
    wait.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE;
    OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    record.mode = ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE;
    OK(aclrtCntNotifyRecord(counter, streams[1], &record));
    record = (aclrtCntNotifyRecordInfo){ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 7};
    OK(aclrtCntNotifyRecord(counter, streams[1], &record));
    record = (aclrtCntNotifyRecordInfo){ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 4};
    OK(aclrtCntNotifyRecord(counter, streams[1], &record));
    record = (aclrtCntNotifyRecordInfo){ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 13};
    OK(aclrtCntNotifyRecord(counter, streams[1], &record));
    OK(aclrtSynchronizeStream(streams[0]));
    for (size_t i = 0; i < sizeof passes / sizeof *passes; ++i) {
        wait = (aclrtCntNotifyWaitInfo){passes[i].mode, passes[i].value, 1, 0, {0, 0, 0}};
        OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
        OK(aclrtSynchronizeStream(streams[0]));
    }
    /* Waits that do not pass hold their stream. */
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        aclrtStream stream = NULL;
        wait = (aclrtCntNotifyWaitInfo){blocks[i].mode, blocks[i].value, 0, 0, {0, 0, 0}};
        OK(aclrtCreateStream(&stream));
        OK(aclrtCntNotifyWaitWithTimeout(counter, stream, &wait));
        CODE(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
        OK(aclrtDestroyStreamForce(stream));
    }
    wait = (aclrtCntNotifyWaitInfo){ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 5, 1, 0, {0, 0, 0}};
    OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    CODE(107019, aclrtSynchronizeStream(streams[0]));
    /* A wait that clears, and a reset. */
    wait = (aclrtCntNotifyWaitInfo){ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 13, 1, 1, {0, 0, 0}};
    OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    wait = (aclrtCntNotifyWaitInfo){ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0, 1, 0, {0, 0, 0}};
    OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    OK(aclrtSynchronizeStream(streams[0]));
    record = (aclrtCntNotifyRecordInfo){ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 9};
    OK(aclrtCntNotifyRecord(counter, streams[0], &record));
    OK(aclrtCntNotifyReset(counter, streams[0]));
    OK(aclrtCntNotifyWaitWithTimeout(counter, streams[0], &wait));
    OK(aclrtSynchronizeStream(streams[0]));
    CODE(100000, aclrtCntNotifyReset(NULL, streams[0]));
    CODE(100000, aclrtCntNotifyDestroy(NULL));
    OK(aclrtCntNotifyDestroy(counter));
    CODE(107017, aclrtCntNotifyDestroy(counter));
    OK(aclrtCntNotifyDestroy(other));
}

/** Answers each record of one notify with one of another: "key key". */
static int role_answer(const char *word)
{
    char ask[65] = {0}, reply[65] = {0};
    aclrtNotify from = NULL, to = NULL;
    uint32_t id = 0;
    need_streams();
    NEED(sscanf(word, "%64s %64s", ask, reply) != 2);
    NEED(aclrtNotifyImportByKey(&from, ask, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    NEED(aclrtNotifyImportByKey(&to, reply, 0));
    OK(aclrtGetNotifyId(from, &id));
    THAT(id == 0);
    CODE(107000, aclrtNotifyGetExportKey(from, ask, sizeof ask, 0));
    for (int i = 0; i < 100; ++i) {
        OK(aclrtWaitAndResetNotify(from, streams[0], 30));
        OK(aclrtRecordNotify(to, streams[0]));
    }
    OK(aclrtSynchronizeStream(streams[0]));
    turn_give();
    turn_take();
    /* The other process has destroyed its notifies; these stay usable until they are too. */
    OK(aclrtRecordNotify(to, streams[0]));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtDestroyNotify(from));
    OK(aclrtDestroyNotify(to));
    return role_end();
}

static void between_processes(void)
{
    aclrtNotify ask = NULL, reply = NULL;
    char keys[2][65], again[65], word[140];
    need_streams();
    OK(aclrtCreateNotify(&ask, 0));
    OK(aclrtCreateNotify(&reply, 0));
    /* For those that are listed; then, by the same key, for anybody. */
    OK(aclrtNotifyGetExportKey(ask, keys[0], 65, 0));
    OK(aclrtNotifyGetExportKey(ask, again, 65, 2));
    THAT(strcmp(keys[0], again) == 0);
    OK(aclrtNotifyGetExportKey(reply, keys[1], 65, 2));
    THAT(strlen(keys[0]) <= 64 && strcmp(keys[0], keys[1]) != 0);
    snprintf(word, sizeof word, "%s %s", keys[0], keys[1]);
    struct peer peer = peer_start("answer", word);
    for (int i = 0; i < 100; ++i) {
        OK(aclrtRecordNotify(ask, streams[0]));
        OK(aclrtWaitAndResetNotify(reply, streams[0], 30));
    }
    OK(aclrtSynchronizeStream(streams[0]));
    peer_wait(peer);
    OK(aclrtDestroyNotify(ask));
    OK(aclrtDestroyNotify(reply));
    peer_go(peer);
    peer_end(peer);
}

/** May not import at first, and may later. */
static int role_listed(const char *word)
{
    aclrtNotify notify = NULL;
    need_streams();
    CODE(207006, aclrtNotifyImportByKey(&notify, word, 0));
    MESSAGE("not in the list");
    turn_give();
    turn_take();
    OK(aclrtNotifyImportByKey(&notify, word, 0));
    OK(aclrtWaitAndResetNotify(notify, streams[0], 30));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtDestroyNotify(notify));
    turn_give();
    turn_take();
    /* The exporter has destroyed it. */
    CODE(107000, aclrtNotifyImportByKey(&notify, word, 0));
    return role_end();
}

static void who_may_import(void)
{
    aclrtNotify notify = NULL;
    char key[65];
    need_streams();
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtNotifyGetExportKey(notify, key, 65, 0));
    struct peer peer = peer_start("listed", key);
    peer_wait(peer);
    int32_t pids[2] = {1, (int32_t)peer.pid};
    OK(aclrtNotifySetImportPid(notify, pids, 2));
    OK(aclrtRecordNotify(notify, NULL));
    peer_go(peer);
    peer_wait(peer);
    OK(aclrtDestroyNotify(notify));
    peer_go(peer);
    peer_end(peer);
}

/** Exports a notify, tells its key by a file, and stays until it is ended by force. */
static int role_mortal(const char *word)
{
    aclrtNotify notify = NULL;
    char key[65];
    FILE *file = fopen(word, "w");
    need_streams();
    NEED(aclrtCreateNotify(&notify, 0));
    NEED(aclrtNotifyGetExportKey(notify, key, 65, 2));
    NEED(file == NULL);
    fputs(key, file);
    fclose(file);
    turn_give();
    turn_take();
    return role_end();
}

static void an_exporter_that_died(void)
{
    char path[] = "/tmp/softnpu-key-XXXXXX", key[65] = {0};
    aclrtNotify notify = NULL;
    const int file = mkstemp(path);
    need_streams();
    NEED(file < 0);
    struct peer peer = peer_start("mortal", path);
    peer_wait(peer);
    NEED(read(file, key, 64) <= 0);
    close(file);
    unlink(path);
    OK(aclrtNotifyImportByKey(&notify, key, 0));
    peer_kill(peer);
    /* What was imported can be used on; nobody sets it, and the limit ends the wait. */
    OK(aclrtWaitAndResetNotify(notify, streams[0], 1));
    CODE(107019, aclrtSynchronizeStream(streams[0]));
    OK(aclrtRecordNotify(notify, streams[0]));
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtDestroyNotify(notify));
    CODE(107000, aclrtNotifyImportByKey(&notify, key, 0));
    MESSAGE("still runs");
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        role_begin();
        if (strcmp(argv[1], "answer") == 0) {
            return role_answer(argv[2]);
        }
        if (strcmp(argv[1], "listed") == 0) {
            return role_listed(argv[2]);
        }
        return role_mortal(argv[2]);
    }
    RUN(bad_arguments);
    RUN(other_servers_are_refused);
    RUN(a_wait_passes_once_for_a_record);
    RUN(a_queued_wait_outlives_its_notify);
    RUN(there_is_an_end_to_notifies);
    RUN(counting);
    RUN(between_processes);
    RUN(who_may_import);
    RUN(an_exporter_that_died);
    return check_end();
}
