//! Interrupts a rank in the middle of a poll, as a scheduler interrupts a thread: after something
//! that others can see, or around the announcement of a sleep, other ranks may go on first.
//!
//! Without it a poll would be one step for everybody else, and an engine that says too early that
//! it is done with a buffer would be done before anybody could tell.

#![allow(unsafe_code, reason = "a fabric publishes data by its address")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use hccl_fabric::{Call, Data, Fabric, Fault, Inline, Line, Message};
use hccl_os::wait::Watch;

/// What is called with the rank that may be interrupted.
type Interrupt = Rc<dyn Fn(u32)>;

thread_local! {
    /// That of the simulation which runs on this thread. It is not in the fabric, since a fabric
    /// may go to other threads and a driver may not.
    static INTERRUPT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// As long as it lives, ranks on this thread are interrupted.
pub(crate) struct Armed;

impl Armed {
    pub(crate) fn new(interrupt: Interrupt) -> Self {
        INTERRUPT.set(Some(interrupt));
        Self
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        INTERRUPT.set(None);
    }
}

/// A fabric whose rank may be interrupted.
pub(crate) struct Interruptible<F: Fabric>(pub(crate) F);

impl<F: Fabric> Interruptible<F> {
    fn interrupt(&self) {
        let interrupt = INTERRUPT.with_borrow(Clone::clone);
        if let Some(interrupt) = interrupt {
            interrupt(self.0.rank());
        }
    }
}

impl<F: Fabric> Fabric for Interruptible<F> {
    fn rank(&self) -> u32 {
        self.0.rank()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn now(&self) -> Duration {
        self.0.now()
    }

    fn publish(&self, sequence: u64, call: &Call) {
        self.0.publish(sequence, call);
        self.interrupt();
    }

    unsafe fn publish_inline(&self, sequence: u64, call: &Call, digest: u64, data: Data) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.publish_inline(sequence, call, digest, data) };
        self.interrupt();
    }

    #[inline]
    fn inline_of(&self, peer: u32, sequence: u64) -> Option<Inline> {
        self.0.inline_of(peer, sequence)
    }

    #[inline]
    fn call_of(&self, peer: u32, sequence: u64) -> Option<Call> {
        self.0.call_of(peer, sequence)
    }

    fn signal(&self, sequence: u64, level: u32) {
        self.0.signal(sequence, level);
        self.interrupt();
    }

    #[inline]
    fn reached(&self, peer: u32, sequence: u64, level: u32) -> bool {
        self.0.reached(peer, sequence, level)
    }

    fn position(&self, peer: u32) -> (u64, u32) {
        self.0.position(peer)
    }

    fn post(&self, to: u32, number: u64, message: &Message) {
        self.0.post(to, number, message);
        self.interrupt();
    }

    fn posted(&self, from: u32, number: u64) -> Option<Message> {
        self.0.posted(from, number)
    }

    fn take(&self, from: u32, number: u64) {
        self.0.take(from, number);
        self.interrupt();
    }

    fn taken(&self, to: u32, number: u64) -> bool {
        self.0.taken(to, number)
    }

    fn announce(&self, line: Line) {
        self.interrupt();
        self.0.announce(line);
        self.interrupt();
    }

    fn retract(&self, line: Line) {
        self.0.retract(line);
    }

    fn watch(&self, line: Line) -> Option<Watch> {
        self.0.watch(line)
    }

    fn cores_to_spare(&self) -> bool {
        self.0.cores_to_spare()
    }

    #[inline]
    fn memory(&self, peer: u32, offset: u64, len: u64) -> Option<*mut u8> {
        self.0.memory(peer, offset, len)
    }

    fn all_copy(&self) -> bool {
        self.0.all_copy()
    }

    unsafe fn copy_from(
        &self,
        peer: u32,
        from: u64,
        to: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.0.copy_from(peer, from, to, len) }
    }

    fn any_gone(&self) -> bool {
        self.0.any_gone()
    }

    fn fault(&self, rank: u32) -> Option<Fault> {
        // Between the look at a rank's progress and the look at whether it is gone.
        self.interrupt();
        self.0.fault(rank)
    }

    fn probe(&self) {
        self.0.probe();
    }

    fn fail(&self, reason: u32) {
        self.0.fail(reason);
    }

    fn leave(&self) {
        self.0.leave();
    }

    fn process(&self, rank: u32) -> u32 {
        self.0.process(rank)
    }
}
