//! Notifies, counting notifies, and numbers in device memory that streams wait for.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use hccl_abi::Table;
use softnpu::context::current;
use softnpu::notify::{Change, Compare, Counter, Notify, give_number, take_number};
use softnpu::value;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, StreamHandle, Text, acl, handle, pids, put_key};

static NOTIFIES: Table<Notify> = Table::new(0x21);
static COUNTERS: Table<Counter> = Table::new(0x22);

/// A handle of a notify as it comes in.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct NotifyHandle(*mut c_void);

impl NotifyHandle {
    fn get(self) -> NpuResult<Arc<Notify>> {
        softnpu::runtime::runtime()?;
        if self.0.is_null() {
            return Err(NpuError::null("notify"));
        }
        NOTIFIES.get(self.0).ok_or_else(|| NpuError::handle("notify", self.0))
    }
}

/// A handle of a counting notify as it comes in.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct CounterHandle(*mut c_void);

impl CounterHandle {
    fn get(self) -> NpuResult<Arc<Counter>> {
        softnpu::runtime::runtime()?;
        if self.0.is_null() {
            return Err(NpuError::null("cntNotify"));
        }
        COUNTERS.get(self.0).ok_or_else(|| NpuError::handle("counting notify", self.0))
    }
}

/// Limit of a wait in seconds: 0 for none.
fn limit_s(seconds: u32) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

fn flags(given: u64, other: u64) -> NpuResult<bool> {
    if given != 0 && given != other {
        return Err(NpuError::value("flag", given, &format!("0 or {other}")));
    }
    Ok(given == other)
}

/// A new object that counts among the notifies of the current device.
fn create<T>(
    out: Out<*mut c_void>,
    table: &Table<T>,
    make: impl FnOnce(u32) -> NpuResult<Arc<T>>,
) -> NpuResult<()> {
    let device = current()?.device();
    take_number(device)?;
    let made = make(device).and_then(|made| handle(table, made, "notify"));
    match made {
        Ok(made) => out.put("notify", made),
        Err(error) => {
            give_number(device);
            Err(error)
        }
    }
}

acl! {
    /// Makes a notify of the current device.
    fn aclrtCreateNotify(notify: Out<*mut c_void>, flag: u64) {
        notify.check("notify")?;
        flags(flag, 1)?;
        create(notify, &NOTIFIES, Notify::new)
    }
}

acl! {
    /// Ends a notify; waits that are queued stay valid.
    fn aclrtDestroyNotify(notify: NotifyHandle) {
        let found = notify.get()?;
        if NOTIFIES.remove(notify.0).is_some() && !found.is_imported() {
            give_number(found.device());
        }
        Ok(())
    }
}

acl! {
    /// Sets a notify in stream order.
    fn aclrtRecordNotify(notify: NotifyHandle, stream: StreamHandle) {
        notify.get()?.record(&stream.here()?)
    }
}

acl! {
    /// Makes a stream wait for a notify and take it away; fails after so many seconds (0: never).
    fn aclrtWaitAndResetNotify(notify: NotifyHandle, stream: StreamHandle, seconds: u32) {
        notify.get()?.wait_on(&stream.here()?, limit_s(seconds))
    }
}

acl! {
    /// Number of a notify.
    fn aclrtGetNotifyId(notify: NotifyHandle, id: Out<u32>) {
        id.check("notifyId")?;
        id.put("notifyId", notify.get()?.id())
    }
}

acl! {
    /// Takes the flags of several notifies away at once.
    fn aclrtNotifyBatchReset(list: In<NotifyHandle>, count: usize) {
        if list.is_null() {
            return Err(NpuError::null("notifies"));
        }
        if count == 0 {
            return Err(NpuError::argument("num", 0, "greater than 0"));
        }
        let found: NpuResult<Vec<_>> =
            list.list(count)?.into_iter().map(NotifyHandle::get).collect();
        found?.iter().for_each(|notify| notify.reset());
        Ok(())
    }
}

/// Flag of an export that anybody may import.
const ANYBODY: u64 = 2;

acl! {
    /// A key by which other processes find a notify.
    fn aclrtNotifyGetExportKey(notify: NotifyHandle, key: *mut c_char, len: usize, flag: u64) {
        let found = notify.get()?;
        let open = flags(flag, ANYBODY)?;
        put_key(key, len, || found.export(open))
    }
}

acl! {
    /// Finds a notify of another process.
    fn aclrtNotifyImportByKey(notify: Out<*mut c_void>, key: Text, flag: u64) {
        notify.check("notify")?;
        let key = key.get().ok_or_else(|| NpuError::null("key"))?;
        // With flag 2 memory of the peer is opened too, which it always is.
        flags(flag, 2)?;
        let found = Notify::import(current()?.device(), &key)?;
        notify.put("notify", handle(&NOTIFIES, found, "notify")?)
    }
}

acl! {
    /// Lets processes import a notify.
    fn aclrtNotifySetImportPid(notify: NotifyHandle, list: In<i32>, count: usize) {
        let found = notify.get()?;
        found.allow(&pids(list, count)?)
    }
}

/// `aclrtServerPid`: processes of one server.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ServerPid {
    pod_device: u32,
    pids: In<i32>,
    count: usize,
}
const _: () = assert!(size_of::<ServerPid>() == 24);

/// Processes of this server in a list of servers.
pub(crate) fn server_pids(list: In<ServerPid>, count: usize) -> NpuResult<Vec<i32>> {
    if list.is_null() {
        return Err(NpuError::null("serverPids"));
    }
    if count == 0 {
        return Err(NpuError::argument("num", 0, "greater than 0"));
    }
    let mut all = Vec::new();
    for entry in list.list(count)? {
        if !crate::device::is_of_this_server(entry.pod_device)? {
            let what = format!("processes of device {} of another server", entry.pod_device);
            return Err(NpuError::unsupported(what));
        }
        all.extend(pids(entry.pids, entry.count)?);
    }
    Ok(all)
}

acl! {
    /// As `aclrtNotifySetImportPid`, by server; there is this one only.
    fn aclrtNotifySetImportPidInterServer(
        notify: NotifyHandle,
        list: In<ServerPid>,
        count: usize,
    ) {
        let found = notify.get()?;
        found.allow(&server_pids(list, count)?)
    }
}

acl! {
    /// Makes a counting notify of the current device.
    fn aclrtCntNotifyCreate(counter: Out<*mut c_void>, flag: u64) {
        counter.check("cntNotify")?;
        flags(flag, 1)?;
        create(counter, &COUNTERS, Counter::new)
    }
}

acl! {
    /// Ends a counting notify; waits that are queued stay valid.
    fn aclrtCntNotifyDestroy(counter: CounterHandle) {
        let found = counter.get()?;
        if COUNTERS.remove(counter.0).is_some() {
            give_number(found.device());
        }
        Ok(())
    }
}

/// `aclrtCntNotifyRecordInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RecordInfo {
    mode: c_int,
    value: u32,
}
const _: () = assert!(size_of::<RecordInfo>() == 8);

/// `aclrtCntNotifyWaitInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct WaitInfo {
    mode: c_int,
    value: u32,
    seconds: u32,
    clear: u8,
    reserved: [u8; 3],
}
const _: () = assert!(size_of::<WaitInfo>() == 16);

acl! {
    /// Changes a counting notify in stream order.
    fn aclrtCntNotifyRecord(counter: CounterHandle, stream: StreamHandle, info: In<RecordInfo>) {
        let counter = counter.get()?;
        let info = info.get("info")?;
        let change = match info.mode {
            0 => Change::Set,
            1 => Change::Add,
            2 => Change::Or,
            4 => Change::And,
            other => return Err(NpuError::value("info.mode", other, "0, 1, 2 or 4")),
        };
        counter.record(&stream.here()?, change, info.value)
    }
}

acl! {
    /// Makes a stream wait for a counting notify.
    fn aclrtCntNotifyWaitWithTimeout(
        counter: CounterHandle,
        stream: StreamHandle,
        info: In<WaitInfo>,
    ) {
        let counter = counter.get()?;
        let info = info.get("info")?;
        let compare = match info.mode {
            0 => Compare::Less,
            1 => Compare::Equal,
            2 => Compare::Bigger,
            3 => Compare::BiggerOrEqual,
            4 => Compare::EqualWithBitmask,
            other => return Err(NpuError::value("info.mode", other, "a number from 0 to 4")),
        };
        let limit = limit_s(info.seconds);
        counter.wait_on(&stream.here()?, compare, info.value, info.clear != 0, limit)
    }
}

acl! {
    /// Sets a counting notify to 0 in stream order.
    fn aclrtCntNotifyReset(counter: CounterHandle, stream: StreamHandle) {
        counter.get()?.record(&stream.here()?, Change::Set, 0)
    }
}

acl! {
    /// Number of a counting notify.
    fn aclrtCntNotifyGetId(counter: CounterHandle, id: Out<u32>) {
        id.check("cntNotifyId")?;
        id.put("cntNotifyId", counter.get()?.id())
    }
}

acl! {
    /// Writes eight bytes of device memory in stream order.
    fn aclrtValueWrite(address: *mut c_void, number: u64, flag: u32, stream: StreamHandle) {
        if address.is_null() {
            return Err(NpuError::null("devAddr"));
        }
        if flag != 0 {
            return Err(NpuError::value("flag", flag, "0"));
        }
        value::write(address.cast(), number, &stream.here()?)
    }
}

acl! {
    /// Makes a stream wait for eight bytes of device memory.
    fn aclrtValueWait(address: *mut c_void, number: u64, flag: u32, stream: StreamHandle) {
        if address.is_null() {
            return Err(NpuError::null("devAddr"));
        }
        let compare = match flag {
            0 => value::Compare::AtLeast,
            1 => value::Compare::Equal,
            2 => value::Compare::And,
            3 => value::Compare::Nor,
            other => return Err(NpuError::value("flag", other, "0, 1, 2 or 3")),
        };
        value::wait(address.cast(), number, compare, &stream.here()?)
    }
}
