//! Communicators made of communicators.

use hccl_fabric::{ROOT_INFO_BYTES, RootInfo};

use crate::communicator::{Communicator, Options};
use crate::error::Error;
use crate::join::{JoinOptions, Root};

/// What each rank says: whether it takes part, its colour, its key.
const WORDS: usize = 3;

impl Communicator {
    /// Makes communicators of the ranks with the same colour, in the order of their keys; of equal
    /// keys the lower rank comes first. A rank without colour gets none. All ranks call it, as they
    /// do any collective call; the options are those of this communicator, without its topology.
    ///
    /// # Errors
    /// When this communicator was not joined, the exchange of colours fails, or the ranks of a colour do not come together.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Rows of two, the last rank first.
    /// let places = hccl::run_threads(4, |ranks| {
    ///     let row = ranks.split(Some(ranks.rank() / 2), -i64::from(ranks.rank()))?;
    ///     let row = row.expect("it has a colour");
    ///     Ok::<_, hccl::Error>((row.rank(), row.ranks()))
    /// })?;
    /// assert_eq!(places, [Ok((1, 2)), Ok((0, 2)), Ok((1, 2)), Ok((0, 2))]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, Error> {
        if !self.0.on_heap {
            return Err(Error::Invalid {
                what: "communicator",
                given: "one on memory of the caller's".into(),
                allowed: "one that was joined".into(),
            });
        }
        let ranks = self.ranks() as usize;
        let own = [i64::from(color.is_some()), color.unwrap_or(0).into(), key];
        let mut all = vec![0i64; ranks * WORDS];
        self.all_gather(&own, &mut all)?;
        let mut members: Vec<(i64, u32)> = (0u32..)
            .zip(all.chunks_exact(WORDS))
            .filter(|(_, words)| words[..2] == own[..2])
            .map(|(rank, words)| (words[2], rank))
            .collect();
        members.sort_unstable();
        let place = members.iter().position(|(_, rank)| *rank == self.rank());
        // The first of each colour opens the meeting; the others may do without.
        let leads = color.is_some() && place == Some(0);
        let root = leads.then(Root::open);
        // One that cannot open it still tells the others, who are about to read what it has.
        let block = match &root {
            Some(Ok(root)) => root.info().to_bytes(),
            _ => [0; ROOT_INFO_BYTES],
        };
        let mut blocks = vec![0u8; ranks * ROOT_INFO_BYTES];
        self.all_gather(&block, &mut blocks)?;
        root.transpose()?;
        let (Some(color), Some(place)) = (color, place) else {
            return Ok(None);
        };
        let leader = members[0].1;
        let broken = |what: String| Error::Broken {
            context: self.0.context("split".to_owned()),
            peer: leader,
            what,
        };
        let start = leader as usize * ROOT_INFO_BYTES;
        let block = blocks[start..].first_chunk().ok_or_else(|| broken("its root info".into()))?;
        let info = RootInfo::from_bytes(block)
            .map_err(|error| broken(format!("its root info, of which {error}")))?;
        let options = JoinOptions {
            timeout: None,
            communicator: Options {
                name: format!("{}/{color}", self.name()),
                topology: None,
                ..self.0.options.clone()
            },
        };
        Self::join(&info, place as u32, members.len() as u32, options).map(Some)
    }

    /// Another communicator of the same ranks, whose calls do not wait for those of this one.
    ///
    /// # Errors
    /// As [`Self::split`].
    pub fn dup(&self) -> Result<Self, Error> {
        let copy = self.split(Some(0), self.rank().into())?;
        copy.ok_or_else(|| Error::Invalid {
            what: "colour",
            given: "none".into(),
            allowed: "one".into(),
        })
    }
}
