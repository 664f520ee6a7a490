//! Ranges of reserved addresses that communicators may use without copies, and the parts of them
//! that are active. All device memory is used without copies here, so this is book-keeping: what
//! programs do in the wrong order is found out as on real devices.

use std::collections::BTreeMap;
use std::ffi::c_void;

use parking_lot::Mutex;

use crate::border::{hccl_call, present};
use crate::communicators::{Comm, comm};
use crate::errors::Failure;

/// A range, and the lengths of its active blocks by address.
struct Range {
    len: usize,
    active: BTreeMap<usize, usize>,
}

/// Ranges of the process, by their beginning. All communicators see them.
static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());

/// Whether [begin, begin + len) has addresses in common with one of the pieces.
fn overlaps(pieces: impl IntoIterator<Item = (usize, usize)>, begin: usize, len: usize) -> bool {
    let end = begin.saturating_add(len);
    pieces
        .into_iter()
        .any(|(other, other_len)| begin < other.saturating_add(other_len) && other < end)
}

fn zero(call: &str, name: &str, value: u64) -> Result<(), Failure> {
    if value == 0 { Ok(()) } else { Err(Failure::argument(call, name, &value.to_string(), "0")) }
}

fn size(call: &str, size: usize) -> Result<(), Failure> {
    if size == 0 { Err(Failure::argument(call, "size", "0", "greater than 0")) } else { Ok(()) }
}

fn one_server(call: &str, comm: &Comm) -> Result<(), Failure> {
    let servers =
        comm.origin.topology.as_ref().and_then(|it| it.groups.first()).map_or(1, Vec::len);
    if servers > 1 {
        let value = format!("{}, with ranks in {servers} servers", comm.engine.name());
        let expect = "a communicator whose ranks are in one server";
        return Err(Failure::unsupported(call, "comm", &value, expect));
    }
    Ok(())
}

hccl_call! {
    /// Makes a range of reserved addresses known.
    fn HcclCommSetMemoryRange(
        handle: *mut c_void,
        base: *mut c_void,
        len: usize,
        alignment: usize,
        flags: u64,
    ) {
        const CALL: &str = "HcclCommSetMemoryRange";
        let comm = comm(CALL, handle)?;
        present(CALL, "baseVirPtr", base)?;
        size(CALL, len)?;
        zero(CALL, "alignment", alignment as u64)?;
        zero(CALL, "flags", flags)?;
        one_server(CALL, &comm)?;
        let mut ranges = RANGES.lock();
        if overlaps(ranges.iter().map(|(base, range)| (*base, range.len)), base.addr(), len) {
            let value = format!("{base:p} with {len} bytes");
            let expect = "a range that has no address in common with one that is set";
            return Err(Failure::argument(CALL, "baseVirPtr", &value, expect));
        }
        ranges.insert(base.addr(), Range { len, active: BTreeMap::new() });
        Ok(())
    }
}

hccl_call! {
    /// Forgets a range that has no active part.
    fn HcclCommUnsetMemoryRange(handle: *mut c_void, base: *mut c_void) {
        const CALL: &str = "HcclCommUnsetMemoryRange";
        comm(CALL, handle)?;
        present(CALL, "baseVirPtr", base)?;
        let mut ranges = RANGES.lock();
        let bad = |expect: &str| {
            Err(Failure::argument(CALL, "baseVirPtr", &format!("{base:p}"), expect))
        };
        match ranges.get(&base.addr()) {
            None => bad("the beginning of a range that is set"),
            Some(range) if !range.active.is_empty() => {
                let active = range.active.len();
                bad(&format!("a range without active memory; this one has {active} active blocks"))
            }
            Some(_) => {
                ranges.remove(&base.addr());
                Ok(())
            }
        }
    }
}

hccl_call! {
    /// Says that a part of a range has memory now.
    fn HcclCommActivateCommMemory(
        handle: *mut c_void,
        address: *mut c_void,
        len: usize,
        offset: usize,
        memory: *mut c_void,
        flags: u64,
    ) {
        const CALL: &str = "HcclCommActivateCommMemory";
        comm(CALL, handle)?;
        present(CALL, "virPtr", address)?;
        present(CALL, "handle", memory)?;
        size(CALL, len)?;
        zero(CALL, "offset", offset as u64)?;
        zero(CALL, "flags", flags)?;
        let begin = address.addr();
        let end = begin.saturating_add(len);
        let mut ranges = RANGES.lock();
        let value = format!("{address:p} with {len} bytes");
        let range = ranges
            .range_mut(..=begin)
            .next_back()
            .filter(|(base, range)| end <= base.saturating_add(range.len))
            .map(|(_, range)| range);
        let Some(range) = range else {
            let expect = "addresses inside of a range that HcclCommSetMemoryRange set";
            return Err(Failure::argument(CALL, "virPtr", &value, expect));
        };
        if overlaps(range.active.iter().map(|(base, len)| (*base, *len)), begin, len) {
            let expect = "addresses of which none is active";
            return Err(Failure::argument(CALL, "virPtr", &value, expect));
        }
        range.active.insert(begin, len);
        Ok(())
    }
}

hccl_call! {
    /// Says that a part of a range that was active has no memory any more.
    fn HcclCommDeactivateCommMemory(handle: *mut c_void, address: *mut c_void) {
        const CALL: &str = "HcclCommDeactivateCommMemory";
        comm(CALL, handle)?;
        present(CALL, "virPtr", address)?;
        let mut ranges = RANGES.lock();
        let found = ranges.range_mut(..=address.addr()).next_back();
        if found.is_none_or(|(_, range)| range.active.remove(&address.addr()).is_none()) {
            let expect = "the beginning of a block that is active";
            return Err(Failure::argument(CALL, "virPtr", &format!("{address:p}"), expect));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_do_not_overlap() {
        let pieces = [(10, 10), (30, 5)];
        assert!(!overlaps(pieces, 20, 10));
        assert!(overlaps(pieces, 19, 1));
        assert!(overlaps(pieces, 0, 100));
        assert!(!overlaps(pieces, 35, usize::MAX));
    }
}
