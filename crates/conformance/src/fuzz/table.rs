//! Which calls there are, and what each argument is. Arguments are words; all travel in integer
//! registers.
//!
//! Calls that wait without a limit of their own for something that may never come are not here.

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A handle of a pool; a call that succeeds may end it.
    Handle(Pool, End),
    /// As before, and never a communicator whose other rank would be waited for.
    Only(Pool),
    /// A place for a new handle, or for an address.
    New(Pool),
    /// An address that is looked up and never followed, so that anything may be given.
    Buffer,
    /// An address that a copy follows: device memory that was allocated once, host memory, or NULL.
    Memory,
    /// Host memory that is long enough for whatever the call reads or writes, or NULL.
    Host,
    /// A number of elements.
    Count,
    /// A number of bytes, which with [`Kind::Memory`] stays below what there is.
    Size,
    /// A number of bytes of an allocation.
    Length,
    /// A small number, or one that is none of an enumeration.
    Small,
    /// A rank, or a number of ranks that no other rank has to come for.
    Rank,
    /// 0 or 1 mostly, since everything else is refused.
    Flag,
    /// Any 64 bits.
    Word,
    /// A text.
    Text,
    /// An `HcclCommConfig`.
    Config,
    /// Numbers of elements for each rank.
    Counts,
    /// A root info that nobody can meet at.
    DeadRoot,
    /// Items of a batch.
    Items,
    /// A number of such items.
    ItemCount,
    /// Ranks of a sub communicator that no other rank has to come for.
    RankList,
    /// A limit in milliseconds, short.
    Milliseconds,
    /// A pointer to a handle.
    HandlePlace(Pool),
    /// NULL: what programs that mean no harm to themselves give only with something behind it.
    Null,
}

/// Whether a successful call ends a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    No,
    Yes,
}

/// Handles and addresses that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    /// Communicators of one rank.
    Alone,
    /// Communicators of two ranks of this process.
    Pair,
    Stream,
    Event,
    Context,
    Window,
    Registered,
    Device,
    Pinned,
    Reserved,
    Physical,
    WindowMemory,
}

impl Pool {
    pub(super) const COUNT: usize = 12;
}

/// A call: its name, which library has it, its arguments.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<Kind>,
}

/// Names, and what their arguments are, in words.
const CALLS: &[(&str, &str)] = &[
    ("HcclAllReduce", "buffer buffer count small small comm stream"),
    ("HcclReduce", "buffer buffer count small small rank comm stream"),
    ("HcclReduceScatter", "buffer buffer count small small comm stream"),
    ("HcclBroadcast", "buffer count small rank comm stream"),
    ("HcclAllGather", "buffer buffer count small comm stream"),
    ("HcclScatter", "buffer buffer count small rank comm stream"),
    ("HcclAlltoAll", "buffer count small buffer count small comm stream"),
    ("HcclAlltoAllV", "buffer counts counts small buffer counts counts small comm stream"),
    ("HcclAlltoAllVC", "buffer counts small buffer small comm stream"),
    ("HcclAllGatherV", "buffer count buffer counts counts small comm stream"),
    ("HcclReduceScatterV", "buffer counts counts buffer count small small comm stream"),
    ("HcclSend", "buffer count small rank comm stream"),
    ("HcclRecv", "buffer count small rank comm stream"),
    ("HcclBatchSendRecv", "items itemcount comm stream"),
    ("HcclBarrier", "comm stream"),
    ("HcclGetRootInfo", "null"),
    ("HcclCommInitRootInfo", "rank deadroot rank new:alone"),
    ("HcclCommInitRootInfoConfig", "rank deadroot rank config new:alone"),
    ("HcclCommInitRootInfoScalable", "rank small deadroot rank small config new:alone"),
    ("HcclCommInitClusterInfo", "text rank new:alone"),
    ("HcclCommInitClusterInfoConfig", "text rank config new:alone"),
    ("HcclCreateSubCommConfig", "place:pair rank ranklist word rank config new:alone"),
    ("HcclCommDestroy", "end:alone"),
    ("HcclCommDestroy", "end:pair"),
    ("HcclGetRankSize", "comm host"),
    ("HcclGetRankId", "comm host"),
    ("HcclGetCommName", "comm host"),
    ("HcclCommGetHandleWithName", "text host"),
    ("HcclGetCommAsyncError", "comm host"),
    ("HcclCommGetStatus", "text host"),
    ("HcclConfigGetInfo", "comm small small host"),
    ("HcclCommRegCommStateCallback", "text null word"),
    ("HcclSetConfig", "small small"),
    ("HcclGetConfig", "small host"),
    ("HcclSetCommConfig", "comm small small"),
    ("HcclGetCommConfig", "comm small host"),
    ("HcclCommSuspend", "comm"),
    ("HcclCommResume", "only:alone"),
    ("HcclCommWorkingDevNicSet", "comm counts counts itemcount"),
    ("HcclCommSetMemoryRange", "comm reserved length flag flag"),
    ("HcclCommUnsetMemoryRange", "comm reserved"),
    ("HcclCommActivateCommMemory", "comm reserved length flag physical flag"),
    ("HcclCommDeactivateCommMemory", "comm reserved"),
    ("HcclCommRegister", "comm buffer length new:registered small"),
    ("HcclCommDeregister", "comm end:registered"),
    ("HcclCommExchangeMem", "comm registered counts itemcount"),
    ("HcclCommSymWinRegister", "alone buffer length new:window flag"),
    ("HcclCommSymWinDeregister", "end:window"),
    ("HcclCommSymWinGet", "comm buffer length host host"),
    ("HcclSymWinGetPeerPointer", "window word rank host"),
    ("HcclGroupStart", ""),
    ("HcclGroupEnd", ""),
    ("HcclGroupStatusGet", "host"),
    ("HcclGetErrorString", "word"),
    ("HcclGetCommConfigCapability", ""),
    ("HcommMemAlloc", "new:windowmemory length"),
    ("HcommMemFree", "end:windowmemory"),
    ("aclrtSetDevice", "small"),
    ("aclrtResetDeviceForce", "small"),
    ("aclrtGetDevice", "host"),
    ("aclrtGetDeviceCount", "host"),
    ("aclrtGetDeviceInfo", "small small host"),
    ("aclrtDeviceCanAccessPeer", "host small small"),
    ("aclrtDeviceEnablePeerAccess", "small flag"),
    ("aclrtGetPhyDevIdByUserDevId", "small host"),
    ("aclrtSynchronizeDeviceWithTimeout", "milliseconds"),
    ("aclrtCreateContext", "new:context small"),
    ("aclrtDestroyContext", "end:context"),
    ("aclrtSetCurrentContext", "context"),
    ("aclrtGetCurrentContext", "host"),
    ("aclrtGetPrimaryCtxState", "small null host"),
    ("aclrtCreateStream", "new:stream"),
    ("aclrtCreateStreamWithConfig", "new:stream small small"),
    ("aclrtDestroyStreamForce", "end:stream"),
    ("aclrtSynchronizeStreamWithTimeout", "stream milliseconds"),
    ("aclrtStreamQuery", "stream host"),
    ("aclrtStreamGetId", "stream host"),
    ("aclrtStreamAbort", "stream"),
    ("aclrtSetStreamFailureMode", "stream small"),
    ("aclrtSetStreamOverflowSwitch", "stream small"),
    ("aclrtSetStreamAttribute", "stream small host"),
    ("aclrtGetStreamAttribute", "stream small host"),
    ("aclrtCreateEvent", "new:event"),
    ("aclrtCreateEventExWithFlag", "new:event small"),
    ("aclrtDestroyEvent", "end:event"),
    ("aclrtRecordEvent", "event stream"),
    ("aclrtStreamWaitEvent", "stream event"),
    ("aclrtQueryEvent", "event host"),
    ("aclrtQueryEventStatus", "event host"),
    ("aclrtQueryEventWaitStatus", "event host"),
    ("aclrtSynchronizeEventWithTimeout", "event milliseconds"),
    ("aclrtEventElapsedTime", "host event event"),
    ("aclrtResetEvent", "event stream"),
    ("aclrtMalloc", "new:device length small"),
    ("aclrtMallocAlign32", "new:device length small"),
    ("aclrtFree", "end:device"),
    ("aclrtMallocHost", "new:pinned length"),
    ("aclrtFreeHost", "end:pinned"),
    ("aclrtMemcpy", "memory size memory size small"),
    ("aclrtMemcpyAsync", "memory size memory size small stream"),
    ("aclrtMemset", "memory size small size"),
    ("aclrtMemsetAsync", "memory size small size stream"),
    ("aclrtGetMemInfo", "small host host"),
    ("aclrtPointerGetAttributes", "buffer host"),
    ("aclrtReserveMemAddress", "new:reserved length flag null flag"),
    ("aclrtReleaseMemAddress", "end:reserved"),
    ("aclrtFreePhysical", "end:physical"),
    ("aclrtMapMem", "reserved length flag physical flag"),
    ("aclrtUnmapMem", "reserved"),
    ("aclrtDeviceTaskAbort", "small milliseconds"),
    ("aclrtLaunchCallback", "null word small stream"),
    ("aclrtSubscribeReport", "word stream"),
    ("aclrtUnSubscribeReport", "word stream"),
    ("aclrtPeekAtLastError", "small"),
    ("aclrtGetLastError", "small"),
];

/// All calls.
pub(super) fn calls() -> Vec<Call> {
    let call = |&(name, words): &(&'static str, &'static str)| Call {
        name,
        arguments: words.split_whitespace().map(kind).collect(),
    };
    CALLS.iter().map(call).collect()
}

fn kind(word: &str) -> Kind {
    if let Some(name) = word.strip_prefix("new:") {
        return Kind::New(pool(name));
    }
    if let Some(name) = word.strip_prefix("end:") {
        return Kind::Handle(pool(name), End::Yes);
    }
    if let Some(name) = word.strip_prefix("only:") {
        return Kind::Only(pool(name));
    }
    if let Some(name) = word.strip_prefix("place:") {
        return Kind::HandlePlace(pool(name));
    }
    match word {
        "buffer" => Kind::Buffer,
        "memory" => Kind::Memory,
        "host" => Kind::Host,
        "count" => Kind::Count,
        "size" => Kind::Size,
        "length" => Kind::Length,
        "small" => Kind::Small,
        "rank" => Kind::Rank,
        "flag" => Kind::Flag,
        "word" => Kind::Word,
        "text" => Kind::Text,
        "config" => Kind::Config,
        "counts" => Kind::Counts,
        "deadroot" => Kind::DeadRoot,
        "items" => Kind::Items,
        "itemcount" => Kind::ItemCount,
        "ranklist" => Kind::RankList,
        "milliseconds" => Kind::Milliseconds,
        "null" => Kind::Null,
        // Operators take either.
        "comm" => Kind::Handle(Pool::Pair, End::No),
        name => Kind::Handle(pool(name), End::No),
    }
}

fn pool(name: &str) -> Pool {
    match name {
        "alone" => Pool::Alone,
        "pair" => Pool::Pair,
        "stream" => Pool::Stream,
        "event" => Pool::Event,
        "context" => Pool::Context,
        "window" => Pool::Window,
        "registered" => Pool::Registered,
        "device" => Pool::Device,
        "pinned" => Pool::Pinned,
        "reserved" => Pool::Reserved,
        "physical" => Pool::Physical,
        "windowmemory" => Pool::WindowMemory,
        other => unreachable!("no kind of argument is called {other}"),
    }
}
