//! Numbers that look random and are the same for the same seed. Refuses to know the clock or the
//! system: whatever a simulation does must be found again from its seed alone.
//!
//! The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).

/// Mixes a number so that neighbours have nothing in common.
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Mixes several numbers, in their order.
pub fn mix_all<const N: usize>(numbers: [u64; N]) -> u64 {
    numbers.into_iter().fold(0, |so_far, number| mix(so_far ^ number))
}

/// A source of numbers, each drawn once.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall in the order of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high half of the product: as even as the numbers are, without a division.
        ((u128::from(self.roll()) * u128::from(end)) >> 64) as u64
    }

    /// True once in `every` times; never if that is 0.
    pub fn once_in(&mut self, every: u64) -> bool {
        every > 0 && self.below(every) == 0
    }

    /// Puts a list into any order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_repeat_themselves_and_reach_every_side() {
        let rolls = |seed| {
            let mut dice = Dice::new(seed);
            (0..1000).map(|_| dice.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(rolls(3), rolls(3));
        assert_ne!(rolls(3), rolls(4));
        assert!((0..7).all(|side| rolls(3).contains(&side)));
        assert!(rolls(3).iter().all(|&side| side < 7));
        let mut dice = Dice::new(1);
        assert_eq!((dice.below(0), dice.once_in(0), dice.once_in(1)), (0, false, true));
        let mut list: Vec<u32> = (0..20).collect();
        dice.shuffle(&mut list);
        assert_ne!(list, (0..20).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..20).collect::<Vec<_>>());
    }
}
