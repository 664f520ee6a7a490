//! Faults that are planted between the engine and its fabric: the simulation must notice each, or
//! it would not notice the like in the engine or in a new fabric.

use std::time::Duration;

use hccl_fabric::simulated::{SimulatedFabric, Visibility};
use hccl_fabric::{Call, Data, Fabric, Fault, Inline, Line, Message};
use hccl_os::sync::{AtomicU64, Ordering};
use hccl_os::wait::Watch;
use simulation::{Failure, Faults, Scenario, run};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    /// Says now and then that a rank has come as far, when it has not.
    SaysReached,
    /// Looks at the progress of a rank, and not at what was written before.
    LooksAtPosition,
    /// Says that the own part is done as soon as a call is published.
    SignalsAtOnce,
    /// Loses a signal now and then.
    LosesSignals,
    /// Does not tell that somebody will sleep.
    SleepsUnannounced,
    /// Tells it to the wrong rank.
    AnnouncesElsewhere,
    /// Gives what the next rank has beside its call.
    ShowsOthersData,
    /// Gives the memory of the next rank.
    TakesOthersMemory,
    /// Gives the last call but one for the last.
    ReadsOldCalls,
    /// Takes a message before the data is copied.
    TakesAtOnce,
    /// Never looks for ranks whose process has ended.
    LooksForNobody,
    /// Blames the next rank.
    BlamesOthers,
}

struct Planted {
    inner: SimulatedFabric,
    plant: Plant,
    calls: AtomicU64,
}

impl Planted {
    fn is(&self, plant: Plant) -> bool {
        self.plant == plant
    }

    fn once_in(&self, times: u64) -> bool {
        (self.calls.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(times)
    }

    fn next(&self, rank: u32) -> u32 {
        (rank + 1) % self.inner.ranks()
    }

    fn line(&self, line: Line) -> Line {
        match line {
            Line::Progress(rank) if self.is(Plant::AnnouncesElsewhere) => {
                Line::Progress(self.next(rank))
            }
            line => line,
        }
    }
}

impl Fabric for Planted {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn publish(&self, sequence: u64, call: &Call) {
        self.inner.publish(sequence, call);
        if self.is(Plant::SignalsAtOnce) {
            self.inner.signal(sequence, 2);
        }
    }

    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.inner.publish_inline(sequence, call, digest, data) };
        if self.is(Plant::SignalsAtOnce) {
            self.inner.signal(sequence, 2);
        }
    }

    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline> {
        let inline = self.inner.inline_of(peer, sequence)?;
        let other = if self.is(Plant::ShowsOthersData) { self.next(peer) } else { peer };
        self.inner.inline_of(other, sequence).or(Some(inline))
    }

    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call> {
        let old = self.is(Plant::ReadsOldCalls) && sequence > 1;
        let call = self.inner.call_of(peer, sequence)?;
        let buffers = if old { self.inner.call_of(peer, sequence - 1)? } else { call };
        Some(Call { signature: call.signature, ..buffers })
    }

    fn signal(&self, sequence: u64, level: u32) {
        if !(self.is(Plant::LosesSignals) && self.once_in(4)) {
            self.inner.signal(sequence, level);
        }
    }

    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool {
        if self.is(Plant::LooksAtPosition) {
            return self.inner.position(peer) >= (sequence, level);
        }
        let lies = level > 1 && self.is(Plant::SaysReached) && self.once_in(50);
        lies || self.inner.reached(peer, sequence, level)
    }

    fn position(&self, peer: u32) -> (u64, u32) {
        self.inner.position(peer)
    }

    fn post(&self, to: u32, number: u64, message: &Message) {
        self.inner.post(to, number, message);
    }

    fn posted(&self, from: u32, number: u64) -> Option<Message> {
        let message = self.inner.posted(from, number);
        if message.is_some() && self.is(Plant::TakesAtOnce) {
            self.inner.take(from, number);
        }
        message
    }

    fn take(&self, from: u32, number: u64) {
        if !self.is(Plant::TakesAtOnce) {
            self.inner.take(from, number);
        }
    }

    fn taken(&self, to: u32, number: u64) -> bool {
        self.inner.taken(to, number)
    }

    fn announce(&self, line: Line) {
        if !self.is(Plant::SleepsUnannounced) {
            self.inner.announce(self.line(line));
        }
    }

    fn retract(&self, line: Line) {
        if !self.is(Plant::SleepsUnannounced) {
            self.inner.retract(self.line(line));
        }
    }

    fn watch(&self, line: Line) -> Option<Watch> {
        self.inner.watch(line)
    }

    fn cores_to_spare(&self) -> bool {
        self.inner.cores_to_spare()
    }

    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8> {
        let peer = if self.is(Plant::TakesOthersMemory) { self.next(peer) } else { peer };
        self.inner.memory(peer, offset, len)
    }

    fn all_copy(&self) -> bool {
        self.inner.all_copy()
    }

    unsafe fn copy_from(
        &self,
        peer: u32,
        from: u64,
        to: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.inner.copy_from(peer, from, to, len) }
    }

    fn any_gone(&self) -> bool {
        self.inner.any_gone()
    }

    fn fault(&self, rank: u32) -> Option<Fault> {
        let fault = self.inner.fault(rank)?;
        if !self.is(Plant::BlamesOthers) {
            return Some(fault);
        }
        let rank = self.next(rank);
        Some(Fault::Dead { rank, pid: self.process(rank) })
    }

    fn probe(&self) {
        if !self.is(Plant::LooksForNobody) {
            self.inner.probe();
        }
    }

    fn fail(&self, reason: u32) {
        self.inner.fail(reason);
    }

    fn leave(&self) {
        self.inner.leave();
    }

    fn process(&self, rank: u32) -> u32 {
        self.inner.process(rank)
    }
}

/// Runs seeds until one fails. A fault that shows only now and then needs some.
fn first_failure(plant: Plant, faults: Faults, visibility: Visibility) -> Option<Failure> {
    let wrap = |inner| Planted { inner, plant, calls: AtomicU64::new(0) };
    (0..40).find_map(|seed| {
        let scenario = Scenario::draw(seed, 6, faults, visibility, None, None);
        run(&scenario, wrap, None, None).err()
    })
}

#[test]
fn every_planted_fault_is_noticed() {
    use Failure::{Breach, Failed, Hang, LostWake, Slow, Touched, Unnamed, Wrong};
    type Expected = fn(&Failure) -> bool;
    let early = Visibility::Early;
    let data: Expected = |failure| matches!(failure, Wrong { .. } | Touched { .. });
    let all: [(Plant, Faults, Visibility, Expected); 12] = [
        // The engine itself refuses a table that is not there yet.
        (Plant::SaysReached, Faults::Delay, early, |failure| {
            matches!(failure, Wrong { .. } | Touched { .. } | Failed { .. })
        }),
        (Plant::LooksAtPosition, Faults::Delay, Visibility::Late, |failure| {
            matches!(failure, Wrong { .. } | Touched { .. } | Failed { .. })
        }),
        (Plant::ShowsOthersData, Faults::None, early, data),
        (Plant::SignalsAtOnce, Faults::Delay, early, data),
        (Plant::LosesSignals, Faults::Delay, early, |failure| {
            matches!(failure, Hang { .. } | Failed { .. })
        }),
        (Plant::SleepsUnannounced, Faults::Delay, early, |failure| {
            matches!(failure, LostWake { .. })
        }),
        (Plant::AnnouncesElsewhere, Faults::Delay, early, |failure| {
            matches!(failure, LostWake { .. })
        }),
        (Plant::TakesOthersMemory, Faults::None, early, data),
        // The engine itself refuses buffers that are too short for the call.
        (Plant::ReadsOldCalls, Faults::None, early, |failure| {
            matches!(failure, Wrong { .. } | Touched { .. } | Failed { .. })
        }),
        (Plant::TakesAtOnce, Faults::Delay, early, |failure| {
            matches!(failure, Wrong { .. } | Breach(_))
        }),
        (Plant::LooksForNobody, Faults::Death, early, |failure| {
            matches!(failure, Hang { .. } | Slow { .. })
        }),
        // The engine does not believe it of a rank that has come as far, and waits on.
        (Plant::BlamesOthers, Faults::Death, early, |failure| {
            matches!(failure, Unnamed { .. } | Hang { .. })
        }),
    ];
    for (plant, faults, visibility, expected) in all {
        let failure = first_failure(plant, faults, visibility)
            .unwrap_or_else(|| panic!("{plant:?} was not noticed"));
        let text = failure.to_string();
        let line = text.lines().next().unwrap_or_default();
        eprintln!("{plant:?}: {line}");
        assert!(expected(&failure), "{plant:?} was noticed as something else: {text}");
    }
}

/// Reading too early mostly goes well where all ranks look at the same bytes; that is why there is
/// memory that shows writes late.
#[test]
fn a_look_without_order_is_noticed_by_late_memory_alone() {
    let failure = |visibility| first_failure(Plant::LooksAtPosition, Faults::Delay, visibility);
    assert_eq!(failure(Visibility::Early), None);
    assert!(failure(Visibility::Late).is_some());
}
