//! How long a call has been waiting, by looks at the clock that come now and then.

use std::time::Duration;

/// How often a waiting call asks the kernel whether its peers live.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// The looks of one call. A call that is through soon takes none.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The first look, and the last at which the peers were asked for.
    begun: Option<(Duration, Duration)>,
}

impl Waiting {
    /// A look at a time: how long it has been waiting, and whether to ask for the peers now.
    pub(crate) fn look(&mut self, now: Duration) -> (Duration, bool) {
        let (since, asked) = self.begun.get_or_insert((now, now));
        let is_due = now.saturating_sub(*asked) >= PROBE_INTERVAL;
        if is_due {
            *asked = now;
        }
        (now.saturating_sub(*since), is_due)
    }

    /// How long it has been waiting.
    pub(crate) fn waited(&self, now: Duration) -> Duration {
        self.begun.map_or(Duration::ZERO, |(since, _)| now.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_first_look_on() {
        let mut waiting = Waiting::default();
        let ms = Duration::from_millis;
        assert_eq!(waiting.waited(ms(7)), ms(0));
        assert_eq!(waiting.look(ms(10)), (ms(0), false));
        assert_eq!(waiting.look(ms(109)), (ms(99), false));
        assert_eq!(waiting.look(ms(110)), (ms(100), true));
        assert_eq!(waiting.look(ms(209)), (ms(199), false));
        assert_eq!(waiting.waited(ms(310)), ms(300));
    }
}
