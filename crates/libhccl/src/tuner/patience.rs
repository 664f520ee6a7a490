//! When a slow plugin is not asked any more.

use std::time::Duration;

/// A call that takes longer is slow.
const SLOW: Duration = Duration::from_millis(100);
/// As many slow calls in a row are the last ones.
const CALLS: u32 = 3;

/// How often in a row a plugin was slow for a communicator.
///
/// It is counted for each communicator and not for the process: ranks that are threads of one process
/// ask about the same calls, and all should come to the end of their patience at the same one.
#[derive(Default)]
pub(super) struct Patience {
    slow: u32,
}

impl Patience {
    /// Counts a call; whether it was the last one.
    pub(super) fn took(&mut self, time: Duration) -> bool {
        if self.is_over() {
            return false;
        }
        self.slow = if time > SLOW { self.slow + 1 } else { 0 };
        self.is_over()
    }

    /// Whether the plugin is asked no more.
    pub(super) fn is_over(&self) -> bool {
        self.slow >= CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_slow_calls_in_a_row_are_the_last() {
        let [slow, quick] = [101, 100].map(Duration::from_millis);
        let mut patience = Patience::default();
        for time in [slow, slow, quick, slow, slow] {
            assert!(!patience.took(time) && !patience.is_over());
        }
        assert!(patience.took(slow) && patience.is_over());
        assert!(!patience.took(quick) && patience.is_over(), "it is told once, and stays over");
    }
}
