//! What the arguments of calls are. All are whole numbers and addresses, which travel in integer
//! registers and on the stack.

use super::calls::CALLS;

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
    /// An `HcclDataType`, an `HcclReduceOp`, or an `aclrtMemcpyKind`, mostly one that there is.
    DataType,
    ReduceOp,
    Direction,
    /// The number of a device.
    DeviceNumber,
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
    /// Entries that belong together.
    List(List),
    /// A number of attributes of a list, 1 mostly.
    Few,
    /// Bytes from one row to the next, bytes of a row, and a number of rows: all rows together stay
    /// below what there is.
    Pitch,
    Width,
    Rows,
    /// Items of a batch.
    Items,
    /// A number of such items.
    ItemCount,
    /// Ranks of a sub communicator that no other rank has to come for.
    RankList,
    /// A limit in milliseconds, short.
    Milliseconds,
    /// A limit of one second.
    Second,
    /// A pointer to a handle.
    HandlePlace(Pool),
    /// NULL: what programs that mean no harm to themselves give only with something behind it.
    Null,
}

/// What the entries of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// As [`Kind::Memory`].
    Addresses,
    /// Bytes of copies.
    Sizes,
    /// Bytes that there is room for.
    Rooms,
    /// From which copy on an attribute holds.
    Firsts,
    /// `aclrtMemcpyBatchAttr`.
    Ends,
    /// `aclrtMemAccessDesc`.
    Rights,
    /// `aclrtPhysicalMemProp`.
    Property,
}

impl List {
    /// Words of an entry.
    pub(super) fn words(self) -> usize {
        match self {
            Self::Addresses | Self::Sizes | Self::Rooms | Self::Firsts => 1,
            Self::Rights => 3,
            Self::Ends | Self::Property => 4,
        }
    }
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
    Notify,
    Counting,
    OpArgs,
    ChannelConfig,
}

impl Pool {
    pub(super) const COUNT: usize = 16;
}

/// A call: its name, which library has it, its arguments.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<Kind>,
}

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
        "type" => Kind::DataType,
        "op" => Kind::ReduceOp,
        "copykind" => Kind::Direction,
        "number" => Kind::DeviceNumber,
        "rank" => Kind::Rank,
        "flag" => Kind::Flag,
        "word" => Kind::Word,
        "text" => Kind::Text,
        "config" => Kind::Config,
        "counts" => Kind::Counts,
        "deadroot" => Kind::DeadRoot,
        "addresses" => Kind::List(List::Addresses),
        "sizes" => Kind::List(List::Sizes),
        "rooms" => Kind::List(List::Rooms),
        "firsts" => Kind::List(List::Firsts),
        "ends" => Kind::List(List::Ends),
        "rights" => Kind::List(List::Rights),
        "property" => Kind::List(List::Property),
        "few" => Kind::Few,
        "pitch" => Kind::Pitch,
        "width" => Kind::Width,
        "rows" => Kind::Rows,
        "items" => Kind::Items,
        "itemcount" => Kind::ItemCount,
        "ranklist" => Kind::RankList,
        "second" => Kind::Second,
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
        "notify" => Pool::Notify,
        "counting" => Pool::Counting,
        "opargs" => Pool::OpArgs,
        "channelconfig" => Pool::ChannelConfig,
        other => unreachable!("no kind of argument is called {other}"),
    }
}
