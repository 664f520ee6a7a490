//! A pair of fences of which one costs nothing.
//!
//! Whoever changes a word looks for sleepers afterwards, and whoever will sleep says so and looks at
//! the word afterwards; between the two steps each side needs a fence. Words change all the time
//! and sleepers are rare, so the kernel can make the fences of both: a sleeper has every registered
//! process pass one, and the other side keeps its steps in order for the compiler only.

use rustix::thread::{MembarrierCommand, membarrier};

use crate::sync::{AtomicU64, Ordering, compiler_fence, fence};

/// Lets fences of other processes reach this one. False where the kernel cannot; then it takes
/// [`Pair::Fences`] on all sides.
pub fn register() -> bool {
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
        && membarrier(MembarrierCommand::GlobalExpedited).is_ok()
}

/// How two sides keep their steps in order; the same on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Each by a fence of its own.
    Fences,
    /// The rare side by the kernel, for both. All processes have registered.
    Kernel,
}

/// What [`Pair::of_process`] found, and in which generation of forks.
static OWN: AtomicU64 = AtomicU64::new(0);

impl Pair {
    /// For words that only this process changes.
    #[inline]
    pub fn of_process() -> Self {
        let generation = u64::from(crate::fork::generation()) + 1;
        let found = OWN.load(Ordering::Relaxed);
        // A child registers anew before it relies on it.
        let kernel = match found >> 1 == generation {
            true => found & 1 == 1,
            false => Self::look(generation),
        };
        if kernel { Self::Kernel } else { Self::Fences }
    }

    #[cold]
    fn look(generation: u64) -> bool {
        let kernel = register();
        // The first word stands, so that all threads do alike.
        let word = generation << 1 | u64::from(kernel);
        let found = OWN.load(Ordering::Relaxed);
        if found >> 1 == generation {
            return found & 1 == 1;
        }
        match OWN.compare_exchange(found, word, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => kernel,
            Err(other) => other & 1 == 1,
        }
    }

    /// The fence of the side that passes often.
    pub fn often(self) {
        match self {
            Self::Fences => fence(Ordering::SeqCst),
            Self::Kernel => compiler_fence(Ordering::SeqCst),
        }
    }

    /// The fence of the side that passes rarely; about a microsecond, and more on many cores.
    pub fn rarely(self) {
        fence(Ordering::SeqCst);
        if self == Self::Kernel {
            // It worked when this process registered. Should it not any more, a sleeper may miss
            // a change, and finds it when its bounded sleep ends.
            let _ = membarrier(MembarrierCommand::GlobalExpedited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicU32;

    /// Two threads that each write and then look: at least one sees the other.
    fn one_sees_the_other(pair: Pair) {
        const ROUNDS: u32 = 20_000;
        let marks = [AtomicU32::new(0), AtomicU32::new(0)];
        let meeting = std::sync::Barrier::new(2);
        let run = |own: usize| {
            let look = |round: u32| {
                meeting.wait();
                marks[own].store(round, Ordering::Relaxed);
                if own == 0 {
                    pair.often()
                } else {
                    pair.rarely()
                }
                let seen = marks[1 - own].load(Ordering::Relaxed) == round;
                meeting.wait();
                seen
            };
            (1..=ROUNDS).map(look).collect::<Vec<bool>>()
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(1));
            (run(0), other.join().unwrap())
        });
        assert!(one.iter().zip(&other).all(|(one, other)| *one || *other), "{pair:?}");
    }

    #[test]
    fn neither_side_misses_the_other() {
        one_sees_the_other(Pair::Fences);
        if register() {
            one_sees_the_other(Pair::Kernel);
        }
    }
}
