//! What the suite needs of an implementation beside the trait.

use hccl_fabric::{Call, Fabric, Line, Span};

/// Bytes that each rank shares.
pub(crate) const MEMORY: u64 = 4096;

/// Some ranks that have joined a communicator, all of them used by the thread of the test.
pub(crate) trait World {
    /// The fabric of a rank.
    fn fabric(&self, rank: u32) -> &dyn Fabric;

    /// Drops the fabric of a rank.
    fn drop_fabric(&mut self, rank: u32);

    /// Lets time pass, until all that was done before has arrived everywhere.
    fn let_time_pass(&self);

    /// Lets a little time pass, so that some of it has arrived.
    fn let_a_moment_pass(&self);

    /// Lets a rank fall asleep on a line for which it is announced, does `deed`, and returns when
    /// the rank was woken.
    fn sleep_until(&self, rank: u32, line: Line, deed: &dyn Fn());

    /// A rank that has done [`last_deeds`], and dies now. Its fabric may not be there at all.
    fn let_one_die(&mut self) -> u32;
}

/// How a world is made, of so many ranks.
pub(crate) type Make<'a> = &'a dyn Fn(u32) -> Box<dyn World>;

/// A call that differs from others in every part.
pub(crate) fn call(number: u64) -> Call {
    let span = |part: u64| Span { offset: 100 * number + part, len: 1000 * number + part };
    Call {
        signature: std::array::from_fn(|i| (7 * number + i as u64) as u8),
        input: span(1),
        output: span(2),
        scratch: span(3),
        words: [3 * number, 4 * number],
    }
}

/// What a rank does before it dies.
pub(crate) fn last_deeds(fabric: &dyn Fabric) {
    fabric.publish(1, &call(1));
    fabric.signal(1, 3);
}
