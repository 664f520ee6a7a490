//! Words in shared memory that streams of several processes set and wait for: what stands behind
//! notifies and events that processes share.
//!
//! All slots of a process lie in one segment. A process that imports one maps the segment of the
//! other and reaches the slot by its offset. Whoever waits marks the slot and looks once more
//! before it sleeps; whoever changes the slot looks for the mark afterwards. Both steps are
//! sequentially consistent on both sides, so one sees the other.

use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, LazyLock, Weak};

use hccl_os::shm::{Mapping, Segment, SegmentId, segment_id};
use hccl_os::sync::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use hccl_os::wait::{Scope, Watch, wake_all};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use crate::error::{NpuError, NpuResult, code};
use crate::share::Place;
use crate::stream::ACTIVITY;

/// Records of an event that are told apart while they are under way.
pub(crate) const TICKETS: usize = 8;

/// One slot. Any process may hold any value in it: nothing here is trusted.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    /// The flag of a notify.
    pub(crate) value: AtomicU32,
    armed: AtomicU32,
    bell: AtomicU32,
    reserved: AtomicU32,
    /// Records of an event that were queued.
    pub(crate) issued: AtomicU64,
    /// The last ticket that came to its end, for each ticket modulo [`TICKETS`].
    pub(crate) ended: [AtomicU64; TICKETS],
    /// The code with which it came to its end.
    pub(crate) codes: [AtomicI32; TICKETS],
    spare: AtomicU64,
}

/// Bytes of a slot: whole cache lines.
const SLOT: usize = size_of::<Slot>();
const _: () = assert!(SLOT == 128);
/// Slots of a process: address space only, since pages are taken when touched.
const SLOTS: usize = 1 << 20;

impl Slot {
    /// Wakes everybody who waits for a change of the slot.
    pub(crate) fn changed(&self) {
        if self.armed.swap(0, Ordering::SeqCst) != 0 {
            self.bell.fetch_add(1, Ordering::SeqCst);
            wake_all(&self.bell, Scope::Shared);
        }
        ACTIVITY.ring();
    }

    /// Announces a sleeper; look at the slot once more after this.
    pub(crate) fn arm(&self) -> Watch {
        let seen = self.bell.load(Ordering::SeqCst);
        self.armed.store(1, Ordering::SeqCst);
        Watch::new(&self.bell, seen, Scope::Shared)
    }

    fn clear(&self) {
        self.value.store(0, Ordering::SeqCst);
        self.issued.store(0, Ordering::SeqCst);
        for (ended, code) in self.ended.iter().zip(&self.codes) {
            ended.store(0, Ordering::SeqCst);
            code.store(0, Ordering::SeqCst);
        }
    }
}

struct Pool {
    segment: Segment,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    next: usize,
    given_back: Vec<usize>,
}

fn pool() -> NpuResult<&'static Pool> {
    // What fails for lack of a descriptor may work later.
    static POOL: OnceCell<Pool> = OnceCell::new();
    POOL.get_or_try_init(|| {
        let segment = Segment::create("softnpu-signals", SLOTS * SLOT).map_err(|error| {
            NpuError::system(code::RT_INTERNAL_ERROR, "shared memory for notifies", &error)
        })?;
        Ok(Pool { segment, free: Mutex::default() })
    })
}

/// A slot of this process or of another.
#[derive(Debug)]
pub(crate) struct Signal {
    slot: std::ptr::NonNull<Slot>,
    index: usize,
    /// Keeps the memory of another process mapped.
    _mapping: Option<Arc<Mapping>>,
    /// Other processes may still write to it, so nobody gets it again.
    shared: hccl_os::sync::AtomicBool,
}

// SAFETY: a slot is atomics in mapped memory that stays mapped.
unsafe impl Send for Signal {}
// SAFETY: as above.
unsafe impl Sync for Signal {}

impl Signal {
    /// A fresh slot of this process, all zero.
    ///
    /// # Errors
    /// 207009 when there is none left.
    pub(crate) fn new() -> NpuResult<Self> {
        let pool = pool()?;
        let index = {
            let mut free = pool.free.lock();
            match free.given_back.pop() {
                Some(index) => index,
                None if free.next < SLOTS => {
                    free.next += 1;
                    free.next - 1
                }
                None => {
                    let text = format!("This process has used all of its {SLOTS} signals.");
                    return Err(NpuError::new(code::RT_NO_NOTIFY_RESOURCE, "EL0010", text));
                }
            }
        };
        let slot = at(&pool.segment, index * SLOT);
        let shared = hccl_os::sync::AtomicBool::new(false);
        let made = Self { slot, index, _mapping: None, shared };
        made.slot().clear();
        Ok(made)
    }

    /// A slot of another process.
    ///
    /// # Errors
    /// 507022 when the place is no slot or cannot be mapped.
    pub(crate) fn adopt(fd: &OwnedFd, place: Place) -> NpuResult<Self> {
        let bad = |what: String| NpuError::new(code::RT_IPC_ERROR, "EE9999", what);
        let (offset, len) = (place.offset as usize, place.file_len as usize);
        if place.len as usize != SLOT || !offset.is_multiple_of(SLOT) || offset + SLOT > len {
            return Err(bad(format!("Another process shares no signal: {place:?}.")));
        }
        let mapping = mapped(fd, len).map_err(|error| {
            NpuError::system(code::RT_IPC_ERROR, "a signal of another process", &error)
        })?;
        let slot = at(&mapping, offset);
        let shared = hccl_os::sync::AtomicBool::new(true);
        Ok(Self { slot, index: offset / SLOT, _mapping: Some(mapping), shared })
    }

    /// The slot itself.
    pub(crate) fn slot(&self) -> &Slot {
        // SAFETY: `at` checked that it lies in the mapping, which this object keeps (our own is never
        // unmapped); a slot is atomics, for which any bits are valid.
        unsafe { self.slot.as_ref() }
    }

    /// Which slot it is at its owner.
    pub(crate) fn index(&self) -> u32 {
        self.index as u32
    }

    /// Where others find it, and the file; it is never given to anybody else from now on.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(crate) fn place(&self, host_device: u32) -> NpuResult<(Place, OwnedFd)> {
        let pool = pool()?;
        self.shared.store(true, Ordering::Release);
        let fd = pool.segment.as_fd().try_clone_to_owned().map_err(|error| {
            let text = format!("No descriptor is left to share a signal: {error}.");
            NpuError::new(code::RT_INTERNAL_ERROR, "EE9999", text)
        })?;
        let file_len = pool.segment.len() as u64;
        let offset = (self.index * SLOT) as u64;
        Ok((Place { host_device, file_len, offset, len: SLOT as u64 }, fd))
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if !self.shared.load(Ordering::Acquire)
            && let Ok(pool) = pool()
        {
            pool.free.lock().given_back.push(self.index);
        }
    }
}

fn at(mapping: &Mapping, offset: usize) -> std::ptr::NonNull<Slot> {
    assert!(offset.is_multiple_of(SLOT) && offset + SLOT <= mapping.len());
    let slot = mapping.base().wrapping_add(offset).cast();
    std::ptr::NonNull::new(slot).expect("a mapping does not begin at zero")
}

/// The segment of another process, mapped once.
fn mapped(fd: &OwnedFd, len: usize) -> hccl_os::OsResult<Arc<Mapping>> {
    static MAPPED: LazyLock<Mutex<HashMap<SegmentId, Weak<Mapping>>>> =
        LazyLock::new(Mutex::default);
    let id = segment_id(fd)?;
    let mut known = MAPPED.lock();
    known.retain(|_, mapping| mapping.strong_count() > 0);
    let usable = known.get(&id).and_then(Weak::upgrade).filter(|mapping| mapping.len() == len);
    if let Some(mapping) = usable {
        return Ok(mapping);
    }
    let mapping = Arc::new(Mapping::adopt(fd, len)?);
    known.insert(id, Arc::downgrade(&mapping));
    Ok(mapping)
}
