//! The network that all ranks of a simulation share, and what its driver can do with it.

use std::sync::Arc;
use std::time::Duration;

use hccl_os::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};
use parking_lot::Mutex;

use super::delay::{Delay, Delays, Kind, Way};
use super::dice::{mix, mix_all};
use super::fabric::SimulatedFabric;
use super::line::{Lines, position, word};
use super::mail::Mail;
use super::memory::{Memory, Visibility};
use super::record::{Deed, Record, Trace};
use super::seat::{Seat, Told};
use super::sleepers::{Cause, Sleepers, Wake};

/// What a network is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whatever looks random follows from it.
    pub seed: u64,
    /// How many ranks there are.
    pub ranks: u32,
    /// Bytes that each rank shares. They are zero at first.
    pub memory_bytes: usize,
    /// How long signals are under way.
    pub delays: Delays,
    /// When writes to memory are visible.
    pub visibility: Visibility,
    /// Whether ranks can copy from each other's private memory.
    pub all_copy: bool,
}

/// The longest that the process of a dead rank takes to end, nanoseconds.
const EXIT_MAX_NS: u64 = 2_000_000;

pub(super) struct Shared {
    pub(super) ranks: u32,
    seed: u64,
    pub(super) delay: Delay,
    pub(super) seats: Vec<Seat>,
    pub(super) lines: Lines,
    pub(super) memory: Memory,
    pub(super) mail: Mutex<Mail>,
    pub(super) all_copy: bool,
    pub(super) sleepers: Mutex<Sleepers>,
    /// Ranks of which anything was told, and ranks that died.
    gone: AtomicU32,
    dead: AtomicU32,
    deeds: AtomicU64,
    breaches: Mutex<Vec<String>>,
    trace: Option<Trace>,
}

/// The driver's side of a network.
pub struct Network(Arc<Shared>);

impl Network {
    /// A network, and the fabric of each rank in rank order.
    ///
    /// # Panics
    /// Without ranks.
    pub fn new(settings: &Settings, trace: Option<Trace>) -> (Self, Vec<SimulatedFabric>) {
        let &Settings { seed, ranks, memory_bytes, ref delays, visibility, all_copy } = settings;
        assert!(ranks > 0, "a network needs ranks");
        let shared = Arc::new(Shared {
            ranks,
            seed,
            delay: Delay::new(seed, delays),
            seats: (0..ranks).map(|_| Seat::new()).collect(),
            lines: Lines::new(ranks),
            memory: Memory::new(ranks, memory_bytes, visibility),
            mail: Mutex::new(Mail::new(ranks)),
            all_copy,
            sleepers: Mutex::new(Sleepers::new(ranks)),
            gone: AtomicU32::new(0),
            dead: AtomicU32::new(0),
            deeds: AtomicU64::new(0),
            breaches: Mutex::default(),
            trace,
        });
        let fabric = |rank| SimulatedFabric::new(shared.clone(), rank);
        let fabrics = (0..ranks).map(fabric).collect();
        (Self(shared), fabrics)
    }

    /// Where a rank's clock stands, nanoseconds.
    ///
    /// # Panics
    /// Here and below, when there is no such rank.
    pub fn clock_ns(&self, rank: u32) -> u64 {
        self.seat(rank).clock()
    }

    /// Sets a rank's clock forward; it never goes back.
    pub fn advance(&self, rank: u32, to_ns: u64) {
        self.seat(rank).advance(to_ns);
    }

    /// Appends those who are woken, since the last time that this was asked.
    pub fn take_wakes(&self, wakes: &mut Vec<Wake>) {
        self.0.sleepers.lock().take(wakes);
    }

    /// Lets a rank die in its call number `call` of the fabric, counted from 1, or in the next one
    /// if it is past that. Whatever it does from then on is not done. The call itself may be done
    /// half: others see it, and sleepers are not woken.
    pub fn die_in_call(&self, rank: u32, call: u64) {
        self.seat(rank).die_in(call);
    }

    /// When a rank died, if it did, in nanoseconds.
    pub fn died_ns(&self, rank: u32) -> Option<u64> {
        self.seat(rank).died()
    }

    /// How far a rank has come: sequence number and level.
    pub fn position(&self, rank: u32) -> (u64, u32) {
        position(self.0.lines.word(rank))
    }

    /// How often any rank did something that others can see. While this stands still, and all that
    /// was under way has arrived, nobody can get on.
    pub fn deeds(&self) -> u64 {
        self.0.deeds.load(Relaxed)
    }

    /// What ranks did that the contract of the fabric does not allow.
    pub fn breaches(&self) -> Vec<String> {
        self.0.breaches.lock().clone()
    }

    /// Copies bytes into a rank's memory, as it sees it. False if it does not have them.
    ///
    /// To be called by the thread that drives the ranks, as all else here.
    pub fn write(&self, rank: u32, offset: u64, bytes: &[u8]) -> bool {
        let Some(target) = self.0.memory.at(rank, rank, offset, bytes.len() as u64) else {
            return false;
        };
        // SAFETY: the range lies in the rank's arena. Others reach it by addresses from
        // `Fabric::memory`, and answer for not using them now.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Copies bytes out of a rank's memory, as it sees it. False if it does not have them.
    pub fn read(&self, rank: u32, offset: u64, bytes: &mut [u8]) -> bool {
        let Some(source) = self.0.memory.at(rank, rank, offset, bytes.len() as u64) else {
            return false;
        };
        // SAFETY: as in `write`.
        unsafe { source.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        true
    }

    fn seat(&self, rank: u32) -> &Seat {
        &self.0.seats[rank as usize]
    }
}

impl Shared {
    /// A rank does something that others can see.
    pub(super) fn note(&self, rank: u32, deed: Deed) {
        self.deeds.store(self.deeds.load(Relaxed) + 1, Relaxed);
        self.record(rank, deed);
    }

    pub(super) fn record(&self, rank: u32, deed: Deed) {
        if let Some(trace) = &self.trace {
            let at = Duration::from_nanos(self.seats[rank as usize].clock());
            trace(&Record { at, rank, deed });
        }
    }

    pub(super) fn breach(&self, rank: u32, what: impl FnOnce() -> String) {
        let mut breaches = self.breaches.lock();
        // One is enough to fail; a broken engine might make millions.
        if breaches.len() < 100 {
            breaches.push(format!("rank {rank} {}", what()));
        }
    }

    pub(super) fn die(&self, rank: u32) {
        let seat = &self.seats[rank as usize];
        if seat.died().is_none() {
            seat.die();
            self.dead.store(self.dead.load(Relaxed) + 1, Relaxed);
            self.note(rank, Deed::Die);
        }
    }

    /// A number that follows from the seed, a rank and how far it is.
    pub(super) fn draw(&self, rank: u32, salt: u64) -> u64 {
        mix_all([self.seed, rank.into(), self.seats[rank as usize].calls(), salt])
    }

    /// Whether a rank has heard what became of another.
    pub(super) fn heard(&self, observer: u32, rank: u32, now: u64) -> Option<Told> {
        if !self.is_any_gone() {
            return None;
        }
        let told = self.seats.get(rank as usize)?.fate.told()?;
        let Told { stamp, teller, .. } = told;
        let way = Way { kind: Kind::Fate, from: teller, to: observer, event: rank.into() };
        self.delay.is_over(way, stamp, now).then_some(told)
    }

    /// Whether any rank is gone, be it that nobody has heard of it.
    pub(super) fn is_any_gone(&self) -> bool {
        self.gone.load(Relaxed) > 0
    }

    /// Whether a rank has heard of any that is gone.
    pub(super) fn heard_any(&self, observer: u32, now: u64) -> bool {
        let knows = &self.seats[observer as usize].knows_gone;
        if self.is_any_gone() && !knows.load(Relaxed) {
            let any = (0..self.ranks).any(|rank| self.heard(observer, rank, now).is_some());
            knows.store(any, Relaxed);
        }
        knows.load(Relaxed)
    }

    /// Says what became of a rank, and wakes whoever sleeps when the word arrives.
    pub(super) fn tell(&self, rank: u32, told: Told) -> bool {
        if !self.seats[rank as usize].fate.tell(told) {
            return false;
        }
        self.gone.store(self.gone.load(Relaxed) + 1, Relaxed);
        let mut sleepers = self.sleepers.lock();
        for other in (0..self.ranks).filter(|&other| other != told.teller) {
            let (from, to) = (told.teller, other);
            let delay = self.delay.of(Way { kind: Kind::Fate, from, to, event: rank.into() });
            sleepers.wake(other, told.stamp + delay, Cause::Gone);
        }
        true
    }

    /// Ranks whose process has ended by now, and of which nothing was told yet.
    pub(super) fn ended(&self, now: u64) -> Vec<u32> {
        if self.dead.load(Relaxed) == 0 {
            return Vec::new();
        }
        let has_ended = |&rank: &u32| {
            let seat = &self.seats[rank as usize];
            let exit = mix(self.seed ^ u64::from(rank)) % EXIT_MAX_NS;
            seat.died().is_some_and(|died| now >= died + exit) && seat.fate.told().is_none()
        };
        (0..self.ranks).filter(has_ended).collect()
    }

    /// Whether a rank has come to see that another reached a level. What a rank did before it was
    /// gone is seen by all who hear that it is.
    #[inline]
    pub(super) fn reached(&self, observer: u32, peer: u32, wanted: u64, now: u64) -> bool {
        let arrived = |event, stamp| self.arrived(observer, peer, event, stamp, now);
        peer < self.ranks
            && (self.lines.reached(peer, wanted, arrived)
                || self.is_any_gone()
                    && self.lines.word(peer) >= wanted
                    && self.heard(observer, peer, now).is_some())
    }

    #[inline]
    pub(super) fn arrived(
        &self,
        observer: u32,
        peer: u32,
        event: u64,
        stamp: u64,
        now: u64,
    ) -> bool {
        self.delay.is_over(progress(peer, observer, event), stamp, now)
    }

    /// Raises a rank's progress.
    pub(super) fn raise(&self, rank: u32, sequence: u64, level: u32, now: u64, wakes: bool) {
        let mark = self.memory.release(rank);
        let number = self.lines.push(rank, word(sequence, level), now, mark);
        if wakes {
            let delay = |other| self.delay.of(progress(rank, other, number));
            let line = crate::Line::Progress(rank);
            self.sleepers.lock().wake_all(line, |other| now + delay(other));
        }
    }
}

/// The way of an event of a rank's progress.
pub(super) fn progress(from: u32, to: u32, event: u64) -> Way {
    Way { kind: Kind::Progress, from, to, event }
}
