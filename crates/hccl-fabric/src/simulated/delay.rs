//! How long a signal is under way: a pure function of the seed, the two ranks and the number of
//! the signal. So nothing is stored for each observer, and an observer may ask in any order.

use std::time::Duration;

use super::dice::mix;

/// How long signals are under way. All zero: everything is visible at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The shortest.
    pub min: Duration,
    /// The longest, except for late signals and slow links.
    pub max: Duration,
    /// One signal in so many is late; 0 for none.
    pub late_once_in: u32,
    /// One link in so many, each way by itself, is slow; 0 for none.
    pub slow_once_in: u32,
    /// By how much a late signal, or one on a slow link, takes longer. Both together count once.
    pub factor: u32,
}

impl Delays {
    /// Everything is visible at once.
    pub const NONE: Self = Self {
        min: Duration::ZERO,
        max: Duration::ZERO,
        late_once_in: 0,
        slow_once_in: 0,
        factor: 1,
    };

    /// From a fraction of a microsecond to many; some signals and links take forty times longer.
    pub const USUAL: Self = Self {
        min: Duration::from_nanos(200),
        max: Duration::from_micros(20),
        late_once_in: 64,
        slow_once_in: 50,
        factor: 40,
    };
}

/// What is under way; each kind has delays of its own.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Kind {
    Progress = 1,
    Post = 2,
    Take = 3,
    Fate = 4,
}

/// The way of one signal to one observer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) kind: Kind,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Number of the signal, among those of its kind and sender.
    pub(super) event: u64,
}

/// [`Delays`] with a seed, in nanoseconds.
#[derive(Debug)]
pub(super) struct Delay {
    seed: u64,
    min: u64,
    spread: u64,
    /// Numbers of 32 bits below these are late, and slow.
    late_below: u64,
    slow_below: u64,
    factor: u64,
    longest: u64,
}

impl Delay {
    pub(super) fn new(seed: u64, delays: &Delays) -> Self {
        let nanos = |time: Duration| time.as_nanos().min(u128::from(u32::MAX)) as u64;
        let (min, max) = (nanos(delays.min), nanos(delays.max).max(nanos(delays.min)));
        let below = |once_in: u32| (1u64 << 32).checked_div(once_in.into()).unwrap_or(0);
        let (late_below, slow_below) = (below(delays.late_once_in), below(delays.slow_once_in));
        let factor = u64::from(delays.factor.max(1));
        let longest = if late_below + slow_below > 0 { max * factor } else { max };
        Self { seed: mix(seed), min, spread: max - min, late_below, slow_below, factor, longest }
    }

    /// The longest that a look or an announcement is drawn out, so that others get on meanwhile.
    pub(super) fn pause_max(&self) -> u64 {
        2 * (self.min + self.spread)
    }

    /// How long a signal takes.
    #[inline]
    pub(super) fn of(&self, way: Way) -> u64 {
        if way.from == way.to { 0 } else { self.draw(way) }
    }

    /// Whether a signal that was given at `stamp` has arrived by `now`.
    #[inline]
    pub(super) fn is_over(&self, way: Way, stamp: u64, now: u64) -> bool {
        let age = now.saturating_sub(stamp);
        // Most signals are old or brand new, and need no drawing.
        now >= stamp && (age >= self.longest || age >= self.min && age >= self.draw(way))
            || way.from == way.to
    }

    fn draw(&self, way: Way) -> u64 {
        let Way { kind, from, to, event } = way;
        let link = (u64::from(from) << 32 | u64::from(to)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let drawn = mix(self.seed ^ link ^ event << 3 ^ kind as u64);
        let usual = self.min + (((drawn >> 32) * self.spread) >> 32);
        let is_late = u64::from(drawn as u32) < self.late_below;
        // A product is even enough for this, and there are many to draw.
        let is_slow =
            || (self.seed ^ link).wrapping_mul(0x9fb2_1c65_1e98_df25) >> 32 < self.slow_below;
        if is_late || is_slow() { usual * self.factor } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: u32, to: u32, event: u64) -> Way {
        Way { kind: Kind::Progress, from, to, event }
    }

    #[test]
    fn delays_stay_in_their_range_and_differ_by_observer() {
        let delay = Delay::new(7, &Delays::USUAL);
        let all: Vec<u64> =
            (0..2000).map(|i| delay.of(way(i % 9, 10 + i % 11, i.into()))).collect();
        assert!(all.iter().all(|&one| (200..=800_000).contains(&one)));
        let long = all.iter().filter(|&&one| one > 20_000).count();
        assert!((10..300).contains(&long), "{long}");
        let mut distinct = all;
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 1500);
        assert_eq!(delay.of(way(3, 3, 1)), 0);
    }

    #[test]
    fn the_short_cuts_agree_with_the_delay() {
        let delay = Delay::new(1, &Delays::USUAL);
        for event in 0..500 {
            let way = way(1, 2, event);
            let exact = delay.of(way);
            assert!(!delay.is_over(way, 1000, 1000 + exact - 1));
            assert!(delay.is_over(way, 1000, 1000 + exact));
        }
        // A rank sees its own at once, and nobody sees what lies ahead.
        assert!(delay.is_over(way(2, 2, 1), 1000, 1000));
        assert!(!delay.is_over(way(1, 2, 1), 1_000_000, 1000));
        let none = Delay::new(1, &Delays::NONE);
        assert!(none.is_over(way(1, 2, 9), 1000, 1000));
        assert!(!none.is_over(way(1, 2, 9), 1000, 999));
    }
}
