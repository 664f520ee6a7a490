//! What is to happen when.
//!
//! Ranks run in step, so very many things happen at few times: they are kept by time, in the order
//! in which they were announced.

use std::collections::BTreeMap;

pub(super) struct Agenda<E> {
    /// Which of the lists belongs to a time.
    times: BTreeMap<u64, usize>,
    lists: Vec<Vec<E>>,
    free: Vec<usize>,
    /// The time of the last push and its list; mostly the next one is for the same.
    last: Option<(u64, usize)>,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { times: BTreeMap::new(), lists: Vec::new(), free: Vec::new(), last: None }
    }

    pub(super) fn push(&mut self, at_ps: u64, event: E) {
        let list = match self.last {
            Some((last_ps, list)) if last_ps == at_ps => list,
            _ => *self.times.entry(at_ps).or_insert_with(|| {
                self.free.pop().unwrap_or_else(|| {
                    self.lists.push(Vec::new());
                    self.lists.len() - 1
                })
            }),
        };
        self.last = Some((at_ps, list));
        self.lists[list].push(event);
    }

    /// When the next thing happens.
    pub(super) fn next_ps(&self) -> Option<u64> {
        self.times.first_key_value().map(|(at_ps, _)| *at_ps)
    }

    /// All that happens next, for [`Self::done`] afterwards.
    pub(super) fn take(&mut self) -> Vec<E> {
        self.last = None;
        match self.times.pop_first() {
            Some((_, list)) => {
                self.free.push(list);
                std::mem::take(&mut self.lists[list])
            }
            None => Vec::new(),
        }
    }

    /// Gives back the memory of what has happened.
    pub(super) fn done(&mut self, mut events: Vec<E>) {
        if let Some(&list) = self.free.last()
            && self.lists[list].capacity() == 0
        {
            events.clear();
            self.lists[list] = events;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_in_the_order_of_time_and_then_of_announcement() {
        let mut agenda = Agenda::new();
        for (at_ps, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (9, 'e')] {
            agenda.push(at_ps, event);
        }
        assert_eq!(agenda.next_ps(), Some(3));
        let events = agenda.take();
        assert_eq!(events, ['b', 'd']);
        // What is announced for now comes after what was.
        agenda.push(3, 'f');
        agenda.done(events);
        assert_eq!((agenda.next_ps(), agenda.take()), (Some(3), vec!['f']));
        assert_eq!((agenda.next_ps(), agenda.take()), (Some(5), vec!['a', 'c']));
        assert_eq!((agenda.next_ps(), agenda.take()), (Some(9), vec!['e']));
        assert_eq!((agenda.next_ps(), agenda.take()), (None, vec![]));
    }
}
