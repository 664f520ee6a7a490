//! Numbers in device memory that streams write and wait for. Any store counts, whoever makes it.

use std::sync::Arc;
use std::time::Duration;

use hccl_os::sync::{AtomicU64, Ordering, low_half};
use hccl_os::wait::{Scope, Watch, wake_all};

use crate::copy::{Place, place};
use crate::error::{NpuError, NpuResult};
use crate::stream::{ACTIVITY, Stream};
use crate::task::{Address, Blocker, Step, Task, Work};

/// What a wait asks of the number in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Not less, as signed numbers whose difference does not overflow.
    AtLeast,
    /// The same.
    Equal,
    /// At least one bit in common.
    And,
    /// At least one bit that neither has.
    Nor,
}

impl Compare {
    fn passes(self, found: u64, value: u64) -> bool {
        match self {
            Self::AtLeast => found.wrapping_sub(value) as i64 >= 0,
            Self::Equal => found == value,
            Self::And => found & value != 0,
            Self::Nor => !(found | value) != 0,
        }
    }
}

/// A store by hand wakes nobody: a waiter looks again after this, and longer from look to look.
const LOOK_MIN: Duration = Duration::from_micros(50);
const LOOK_MAX: Duration = Duration::from_millis(2);

/// The number at an address of device memory.
fn number(address: *mut u8) -> NpuResult<Number> {
    if !(address as usize).is_multiple_of(8) {
        let given = format!("{address:p}");
        return Err(NpuError::value("devAddr", given, "a multiple of 8"));
    }
    match place("devAddr", address, 8)? {
        Place::Device(_) => Ok(Number(Address(address))),
        Place::Pinned | Place::Pageable => {
            let given = format!("{address:p}");
            Err(NpuError::value("devAddr", given, "an address in device memory"))
        }
    }
}

struct Number(Address);

impl Number {
    fn word(&self) -> &AtomicU64 {
        // SAFETY: `number` checked that it is eight aligned bytes of device memory; the caller
        // answers for them until the stream has passed the task.
        unsafe { AtomicU64::from_ptr(self.0.0.cast()) }
    }
}

/// Writes a number in stream order.
///
/// # Errors
/// 107000 for an address that is not aligned or no device memory.
pub fn write(address: *mut u8, value: u64, stream: &Arc<Stream>) -> NpuResult<()> {
    stream.submit(Work::Task(Box::new(Write { number: number(address)?, value })))
}

/// Makes a stream wait for a number.
///
/// # Errors
/// As [`write`].
pub fn wait(address: *mut u8, value: u64, compare: Compare, stream: &Arc<Stream>) -> NpuResult<()> {
    let number = number(address)?;
    stream.submit(Work::Task(Box::new(Wait { number, value, compare, look: LOOK_MIN })))
}

struct Write {
    number: Number,
    value: u64,
}

impl Task for Write {
    fn step(&mut self, _arm: bool) -> Step {
        let word = self.number.word();
        // SYNC(value): pairs with the acquire load of `Wait`: what the stream did before is seen.
        word.store(self.value, Ordering::Release);
        wake_all(low_half(word), Scope::Shared);
        ACTIVITY.ring();
        Step::Done
    }
}

struct Wait {
    number: Number,
    value: u64,
    compare: Compare,
    look: Duration,
}

impl Task for Wait {
    fn step(&mut self, arm: bool) -> Step {
        let word = self.number.word();
        // SYNC(value): pairs with the release store of `Write`.
        let found = word.load(Ordering::Acquire);
        if self.compare.passes(found, self.value) {
            return Step::Done;
        }
        if arm {
            self.look = (self.look * 2).min(LOOK_MAX);
        }
        // The kernel compares once more, so a change before the sleep ends it at once.
        let watch = Some(Watch::new(low_half(word), found as u32, Scope::Shared));
        Step::Blocked(Blocker { watch, sleep: Some(self.look), stream: None, spin: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_those_of_the_interface() {
        use Compare::{And, AtLeast, Equal, Nor};
        for (compare, found, value, passes) in [
            (AtLeast, 5, 5, true),
            (AtLeast, 4, 5, false),
            (AtLeast, 0, u64::MAX, true),
            (AtLeast, u64::MAX, 0, false),
            (Equal, 7, 7, true),
            (Equal, 7, 8, false),
            (And, 0b1100, 0b0110, true),
            (And, 0b1100, 0b0011, false),
            (Nor, 0, 0, true),
            (Nor, u64::MAX, 0, false),
            (Nor, u64::MAX << 1, 1, false),
            (Nor, u64::MAX << 2, 1, true),
        ] {
            assert_eq!(compare.passes(found, value), passes, "{compare:?} {found} {value}");
        }
    }
}
