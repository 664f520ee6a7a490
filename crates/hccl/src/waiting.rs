//! How long a call has been waiting, by looks at the clock that come now and then.

use std::time::Duration;

/// How often a waiting call asks the kernel whether its peers live.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// The looks of one call. A call that is through soon takes none.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// How long the call may wait; `None` for as long as it takes.
    limit: Option<Duration>,
    /// The first look, and the last at which the peers were asked for.
    begun: Option<(Duration, Duration)>,
}

impl Waiting {
    /// For a call that may wait for so long.
    pub(crate) fn up_to(limit: Option<Duration>) -> Self {
        Self { limit, begun: None }
    }

    /// How long it may wait, if that is over.
    pub(crate) fn overdue(&self, waited: Duration) -> Option<Duration> {
        self.limit.filter(|&limit| waited >= limit)
    }

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

    #[test]
    fn a_limit_is_over_once_it_is_reached() {
        let ms = Duration::from_millis;
        let waiting = Waiting::up_to(Some(ms(5)));
        assert_eq!(waiting.overdue(ms(4)), None);
        assert_eq!(waiting.overdue(ms(5)), Some(ms(5)));
        assert_eq!(Waiting::default().overdue(Duration::MAX), None);
    }
}
