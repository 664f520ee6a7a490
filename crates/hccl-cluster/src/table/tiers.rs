//! Where ranks are, as groups of groups.

use std::collections::BTreeSet;

use super::RankTable;

impl RankTable {
    /// The sizes of groups of groups of ranks, innermost first: how many ranks each server has,
    /// how many servers each superpod has, and so on up to one group of all, as a topology of
    /// plans wants them.
    ///
    /// In version 2.0 each layer above 0 that all ranks are in is a tier, if its instances hold
    /// whole groups of the tier before, in the order of ranks. A network that lies across the
    /// others is no tier.
    ///
    /// ```
    /// # let text = r#"{"status": "completed", "version": "1.0", "server_count": "1",
    /// #   "server_list": [{"server_id": "a", "device": [
    /// #     {"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}]}]}"#;
    /// let table = hccl_cluster::RankTable::parse(text)?;
    /// assert_eq!(table.groups(), [[2]]);
    /// # Ok::<(), hccl_cluster::RankTableError>(())
    /// ```
    pub fn groups(&self) -> Vec<Vec<u32>> {
        let mut tiers = Tiers { sizes: Vec::new(), starts: (0..self.ranks.len()).collect() };
        tiers.push(self.ranks.iter().map(|rank| Some(rank.server)));
        let server = |rank: &super::Rank| &self.servers[rank.server as usize];
        tiers.push(self.ranks.iter().map(|rank| server(rank).super_pod));
        for layer in 1..=7 {
            let instance = |rank: &'_ super::Rank| {
                let level = rank.levels.iter().find(|level| level.layer == layer);
                level.map(|level| level.instance.clone())
            };
            // One look at the first rank spares most tables the rest.
            if self.ranks.first().is_some_and(|rank| instance(rank).is_some()) {
                tiers.push(self.ranks.iter().map(instance));
            }
        }
        tiers.push(self.ranks.iter().map(|_| Some(())));
        tiers.sizes
    }
}

struct Tiers {
    sizes: Vec<Vec<u32>>,
    /// The first rank of each group of the last tier.
    starts: Vec<usize>,
}

impl Tiers {
    /// Adds a tier, unless all ranks are one group already, or the groups do not fit.
    fn push<K: Ord + Clone>(&mut self, keys: impl Iterator<Item = Option<K>>) {
        if self.sizes.last().is_some_and(|sizes| sizes.len() == 1) {
            return;
        }
        let mut members = self.starts.iter().copied().peekable();
        let mut seen = BTreeSet::new();
        let mut last = None;
        let (mut sizes, mut starts) = (Vec::new(), Vec::new());
        for (rank, key) in keys.enumerate() {
            let Some(key) = key else { return };
            let member = members.next_if_eq(&rank).is_some();
            if last.as_ref() != Some(&key) {
                // A group that comes again, or begins within a member, is none.
                if !member || !seen.insert(key.clone()) {
                    return;
                }
                last = Some(key);
                sizes.push(0);
                starts.push(rank);
            }
            if member && let Some(size) = sizes.last_mut() {
                *size += 1;
            }
        }
        self.sizes.push(sizes);
        self.starts = starts;
    }
}
