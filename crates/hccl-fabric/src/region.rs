//! Memory of a rank, at an address of this process.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use hccl_os::OsResult;
use hccl_os::shm::{Mapping, SegmentId, segment_id};
use parking_lot::Mutex;

/// Memory that a rank shares, mapped here once however many communicators use it.
#[derive(Debug)]
pub struct Region {
    base: *mut u8,
    len: usize,
    /// Keeps a mapping that this crate made.
    _mapping: Option<Mapping>,
}

// SAFETY: an address and a length; whoever follows the address answers for the access.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

static REGIONS: Mutex<Option<HashMap<SegmentId, Weak<Region>>>> = Mutex::new(None);

impl Region {
    /// Memory of this process's own, backed by the segment `id`.
    ///
    /// # Safety
    /// 1. `base` stays mapped for `len` bytes as long as the region is in use, and is a mapping
    ///    of that segment from its first byte on.
    /// 2. Ranks read and write it as operations say that are started on it: nobody holds a reference
    ///    to a piece of it during such an operation.
    pub unsafe fn local(id: SegmentId, base: *mut u8, len: usize) -> Arc<Self> {
        let mut regions = REGIONS.lock();
        let regions = regions.get_or_insert_default();
        if let Some(known) = regions.get(&id).and_then(Weak::upgrade)
            && known.base == base
            && known.len == len
        {
            return known;
        }
        let region = Arc::new(Self { base, len, _mapping: None });
        regions.insert(id, Arc::downgrade(&region));
        region
    }

    /// Memory of another rank: mapped now, or already here.
    pub(crate) fn adopt(fd: OwnedFd, len: usize) -> OsResult<Arc<Self>> {
        let id = segment_id(&fd)?;
        let known = {
            let mut regions = REGIONS.lock();
            let regions = regions.get_or_insert_default();
            regions.retain(|_, region| region.strong_count() > 0);
            regions.get(&id).and_then(Weak::upgrade)
        };
        if let Some(known) = known.filter(|region| region.len == len) {
            return Ok(known);
        }
        let mapping = Mapping::adopt(&fd, len)?;
        mapping.advise_huge();
        let base = mapping.base();
        let region = Arc::new(Self { base, len, _mapping: Some(mapping) });
        REGIONS.lock().get_or_insert_default().insert(id, Arc::downgrade(&region));
        Ok(region)
    }

    /// Address of `len` bytes at `offset`, if the region has them.
    pub fn at(&self, offset: u64, len: u64) -> Option<*mut u8> {
        let end = offset.checked_add(len)?;
        (end <= self.len as u64).then(|| self.base.wrapping_add(offset as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hccl_os::shm::Segment;
    use std::os::fd::AsFd as _;

    #[test]
    fn one_segment_is_mapped_once_and_bounds_hold() {
        let segment = Segment::create("test", 8192).unwrap();
        let fd = || segment.as_fd().try_clone_to_owned().unwrap();
        let first = Region::adopt(fd(), 8192).unwrap();
        let second = Region::adopt(fd(), 8192).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert!(Region::adopt(fd(), 4096).is_err());
        assert!(first.at(0, 8192).is_some());
        for (offset, len) in [(0, 8193), (8192, 1), (u64::MAX, 1), (1, u64::MAX)] {
            assert!(first.at(offset, len).is_none());
        }
    }
}
