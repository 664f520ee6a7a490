//! Draws arguments: mostly right ones, so that calls get somewhere, and often wrong ones.

use std::ffi::{CStr, c_void};

use parking_lot::Mutex;

use super::lists::Lists;
use super::table::{End, Kind, Pool};
use crate::libraries::Item;
use crate::oracle::mix;

/// Random numbers from a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Handles and addresses that live, and some that no longer do.
#[derive(Default)]
pub(super) struct Pools {
    live: [Vec<usize>; Pool::COUNT],
    stale: [Vec<usize>; Pool::COUNT],
    /// Device memory that was allocated once, whether it lives or not: its addresses stay mapped.
    pub(super) device: Vec<usize>,
}

/// Handles of a kind that are kept at most.
const KEPT: usize = 40;

impl Pools {
    pub(super) fn add(&mut self, pool: Pool, handle: usize) {
        if pool == Pool::Device {
            self.device.push(handle);
        }
        let live = &mut self.live[pool as usize];
        if live.len() < KEPT {
            live.push(handle);
        }
    }

    pub(super) fn end(&mut self, pool: Pool, handle: usize) {
        let live = &mut self.live[pool as usize];
        let before = live.len();
        live.retain(|it| *it != handle);
        let was_there = live.len() < before;
        let stale = &mut self.stale[pool as usize];
        if was_there && stale.len() < KEPT {
            stale.push(handle);
        }
    }

    pub(super) fn count(&self, pool: Pool) -> usize {
        self.live[pool as usize].len()
    }

    fn only(&self, random: &mut Random, pool: Pool) -> usize {
        let (live, stale) = (&self.live[pool as usize], &self.stale[pool as usize]);
        match random.below(8) {
            0 => 0,
            1 => random.below(1 << 16) as usize,
            2 if !stale.is_empty() => random.pick(stale),
            _ if !live.is_empty() => random.pick(live),
            _ => 0,
        }
    }

    fn any(&self, random: &mut Random, pool: Pool) -> usize {
        let (live, stale) = (&self.live[pool as usize], &self.stale[pool as usize]);
        match random.below(20) {
            0 => 0,
            1 => random.next() as usize,
            2 => random.below(1 << 16) as usize,
            3 | 4 if !stale.is_empty() => random.pick(stale),
            // A handle of another kind.
            5 => {
                let other = random.below(Pool::COUNT as u64) as usize;
                self.live[other].last().copied().unwrap_or(0)
            }
            // One that nearly is one.
            6 if !live.is_empty() => random.pick(live) ^ (1 << random.below(64)),
            _ if !live.is_empty() => random.pick(live),
            _ => 0,
        }
    }
}

/// Bytes of host memory that calls may read and write.
pub(super) const HOST_BYTES: usize = 1 << 20;
/// Bytes that a copy moves at most.
const COPY_BYTES: u64 = 64 << 10;
/// Bytes of every allocation of device memory, at least: a copy may begin anywhere below half.
pub(super) const DEVICE_BYTES: u64 = 256 << 10;
/// A data type that can be moved and reduced.
const FLOAT: usize = 4;
/// A number of elements that comes up often, since some calls take two that must be equal.
const OFTEN: u64 = 64;
/// Entries of the arrays that calls get.
pub(super) const ENTRIES: usize = 16;

/// The group that a world is.
const WORLD: &CStr = c"hccl_world_group";

const TEXTS: &[&CStr] = &[
    c"",
    c"fuzz",
    c"/nowhere/table.json",
    c"/",
    c"\xff\xfe not utf-8",
    c"a name that is much longer than it may be a name that is much longer than it may be a name \
      that is much longer than it may be a name that is much longer than it may be a name that is \
      longer than it may be",
];

/// What the arguments of a call point to. It lives as long as the process: calls may look at it
/// later.
pub(super) struct Scratch {
    host: *mut u8,
    config: *mut u8,
    counts: [*mut u64; 4],
    root: *mut u8,
    items: *mut Item,
    ranks: *mut u32,
    pub(super) lists: Lists,
    pub(super) place: *mut usize,
}

pub(super) fn leaked<T: Clone>(value: T, len: usize) -> *mut T {
    Vec::leak(vec![value; len]).as_mut_ptr()
}

impl Scratch {
    pub(super) fn new() -> Self {
        let null = std::ptr::null_mut();
        let item = Item { kind: 0, buffer: null, count: 0, data_type: 0, remote_rank: 0 };
        Self {
            host: leaked(0u8, HOST_BYTES),
            config: leaked(0u8, 4096),
            counts: std::array::from_fn(|_| leaked(0u64, ENTRIES)),
            root: leaked(0u8, crate::libraries::ROOT_INFO_BYTES),
            items: leaked(item, ENTRIES),
            ranks: leaked(0u32, ENTRIES),
            lists: Lists::new(),
            place: leaked(0usize, 2 * ENTRIES),
        }
    }

    /// A configuration that is mostly right.
    pub(super) fn config(&mut self, random: &mut Random) -> *mut c_void {
        let mut bytes = [0u8; 2248];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        let size = random.pick(&[2248u64, 2248, 2248, 2240, 2240, 32, 0, 31, 1 << 40, u64::MAX]);
        put(0, &size.to_le_bytes());
        put(8, &random.pick(&[0xf0f0_f0f0u32, 0xf0f0_f0f0, 0xf0f0_f0f0, 0]).to_le_bytes());
        put(12, &random.pick(&[11u32, 10, 10, 1, 0, u32::MAX]).to_le_bytes());
        for at in [24, 28, 292, 296, 2228, 2240] {
            let value = if random.one_in(6) { random.next() as u32 } else { u32::MAX };
            put(at, &value.to_le_bytes());
        }
        put(288, &(random.below(9) as u32).to_le_bytes());
        put(2232, &random.pick(&[16u64, 16, 1, 0, u64::MAX]).to_le_bytes());
        if random.one_in(4) {
            put(32, random.pick(&[b"fuzz".as_slice(), b"\xff\xff", &[b'x'; 128]]));
        }
        if random.one_in(8) {
            put(
                320,
                random.pick(&[b"level0:NA;level1:ring".as_slice(), b"level1", b"\0", b";;=/"]),
            );
        }
        if random.one_in(8) {
            put(1970, random.pick(&[b"MaxCnt:1".as_slice(), b"\xff", &[b'9'; 128]]));
        }
        if random.one_in(4) {
            put(random.below(2240) as usize, &random.next().to_le_bytes());
        }
        // Not 0, which waits for ever.
        put(316, &random.pick(&[-1i32, -1, 1, -7]).to_le_bytes());
        // SAFETY: the target is 4096 bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.config, bytes.len()) };
        self.config.cast()
    }

    /// An address of host memory that a copy may follow.
    pub(super) fn host_memory(&self, random: &mut Random) -> usize {
        self.host.wrapping_add(random.below(1 << 19) as usize).addr()
    }

    /// An address of device memory that a copy may follow; of host memory if there is none.
    pub(super) fn device_memory(&self, random: &mut Random, pools: &Mutex<Pools>) -> usize {
        let pools = pools.lock();
        if pools.device.is_empty() {
            return self.host.addr();
        }
        random.pick(&pools.device) + random.below(DEVICE_BYTES / 2) as usize
    }

    /// An argument. `slot` tells arrays of one call apart.
    pub(super) fn draw(
        &mut self,
        random: &mut Random,
        pools: &Mutex<Pools>,
        kind: Kind,
        slot: usize,
    ) -> usize {
        let nothing = random.one_in(20);
        match kind {
            Kind::Null => 0,
            // Operators take communicators of one rank and of two.
            Kind::Handle(Pool::Pair, End::No) => {
                let pool = if random.one_in(2) { Pool::Alone } else { Pool::Pair };
                pools.lock().any(random, pool)
            }
            Kind::Handle(pool, _) => pools.lock().any(random, pool),
            Kind::Only(pool) => pools.lock().only(random, pool),
            Kind::HandlePlace(pool) => {
                if nothing {
                    return 0;
                }
                let handle = pools.lock().any(random, pool);
                // SAFETY: the place has several words, of which the first is for results.
                unsafe { self.place.add(1).write(handle) };
                self.place.wrapping_add(1).addr()
            }
            Kind::New(_) if nothing => 0,
            Kind::New(_) => {
                // SAFETY: the place is this thread's.
                unsafe { self.place.write(0) };
                self.place.addr()
            }
            Kind::Buffer => {
                let pools = pools.lock();
                match random.below(12) {
                    0 => 0,
                    1 => random.next() as usize,
                    2 => self.host.addr(),
                    _ if pools.device.is_empty() => 0,
                    3 => random.pick(&pools.device) + random.below(1 << 20) as usize,
                    4 => random.pick(&pools.device).wrapping_sub(random.below(4096) as usize),
                    _ => random.pick(&pools.device) + 8 * random.below(64) as usize,
                }
            }
            Kind::Memory => match random.below(8) {
                0 => 0,
                1..=3 => self.host_memory(random),
                _ => self.device_memory(random, pools),
            },
            Kind::Host if nothing => 0,
            Kind::Host => self.host.addr(),
            Kind::Count => {
                let any = random.next();
                let few = random.below(5000);
                let list = [
                    0,
                    1,
                    7,
                    OFTEN,
                    OFTEN,
                    OFTEN,
                    few,
                    few,
                    1 << 31,
                    0x7_FFFF_FFFF,
                    0x8_0000_0000,
                    any,
                ];
                random.pick(&list) as usize
            }
            Kind::Size => random.below(COPY_BYTES) as usize,
            Kind::Length => {
                let any = random.next();
                let list = [
                    0,
                    1,
                    DEVICE_BYTES,
                    DEVICE_BYTES,
                    2 << 20,
                    6 << 20,
                    (2 << 20) + 1,
                    1 << 40,
                    1 << 62,
                    any,
                ];
                random.pick(&list) as usize
            }
            Kind::Small => {
                let any = random.next();
                let (low, few) = (random.below(5), random.below(20));
                random.pick(&[low, low, low, few, few, few, 255, u64::MAX, any]) as usize
            }
            // Calls that take two want them equal.
            Kind::DataType if random.one_in(2) => FLOAT,
            Kind::DataType => random.below(if nothing { 64 } else { 18 }) as usize,
            Kind::ReduceOp => random.below(if nothing { 8 } else { 4 }) as usize,
            Kind::Direction => random.below(if nothing { 8 } else { 6 }) as usize,
            Kind::DeviceNumber => random.pick(&[0usize, 0, 1, 1, 2, 3, u32::MAX as usize]),
            Kind::Rank => random.pick(&[0usize, 0, 1, 1, 2, u32::MAX as usize]),
            Kind::Flag => {
                let any = random.next();
                random.pick(&[0, 0, 0, 1, 1, any]) as usize
            }
            Kind::Word => random.next() as usize,
            Kind::Text if nothing => 0,
            // A name that there is, mostly.
            Kind::Text if random.one_in(2) => WORLD.as_ptr().addr(),
            Kind::Text => random.pick(TEXTS).as_ptr().addr(),
            Kind::Config if nothing => 0,
            Kind::Config => self.config(random).addr(),
            Kind::Counts if nothing => 0,
            Kind::Counts => {
                let array = self.counts[slot % self.counts.len()];
                for i in 0..ENTRIES {
                    let any = random.next();
                    let few = random.below(600);
                    let value =
                        random.pick(&[0, few, few, few, OFTEN, OFTEN, OFTEN, OFTEN, OFTEN, any]);
                    // SAFETY: the array has as many entries.
                    unsafe { array.add(i).write(value) };
                }
                array.addr()
            }
            Kind::DeadRoot if nothing => 0,
            Kind::DeadRoot => {
                for i in 0..64 {
                    // SAFETY: a root info is much longer.
                    unsafe { self.root.add(i).write(random.next() as u8) };
                }
                self.root.addr()
            }
            Kind::Items if nothing => 0,
            Kind::Items => {
                for i in 0..ENTRIES {
                    let item = Item {
                        kind: random.pick(&[0, 1, 0, 1, 0, 1, 2, -1]),
                        buffer: self.draw(random, pools, Kind::Buffer, 0) as *mut c_void,
                        count: self.draw(random, pools, Kind::Count, 0) as u64,
                        data_type: self.draw(random, pools, Kind::Small, 0) as i32,
                        remote_rank: self.draw(random, pools, Kind::Rank, 0) as u32,
                    };
                    // SAFETY: the array has as many entries.
                    unsafe { self.items.add(i).write(item) };
                }
                self.items.addr()
            }
            Kind::ItemCount => random.below(ENTRIES as u64 + 1) as usize,
            Kind::RankList if nothing => 0,
            Kind::RankList => {
                // Never two ranks that could come together.
                let list = random.pick(&[[0u32, 0], [1, 1], [0, 9], [1, u32::MAX], [7, 7]]);
                for (i, rank) in list.into_iter().enumerate() {
                    // SAFETY: the array has more entries.
                    unsafe { self.ranks.add(i).write(rank) };
                }
                self.ranks.addr()
            }
            Kind::List(_) if nothing => 0,
            Kind::List(list) => self.list(random, pools, list, slot),
            Kind::Few => random.pick(&[1usize, 1, 1, 1, 0, 2]),
            Kind::Pitch => 1024 + random.below(1024) as usize,
            Kind::Width => random.below(1200) as usize,
            Kind::Rows => random.below(32) as usize,
            Kind::Second => 1,
            Kind::Milliseconds => random.pick(&[1usize, 5, 20, 0, usize::MAX - 6]),
        }
    }
}
