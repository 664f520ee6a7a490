//! Memory that a plugin keeps for a communicator, by tag.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use parking_lot::Mutex;

/// Of each piece: that of `malloc`, and with no more the system gives zeros without touching them.
const ALIGN: usize = 16;

/// Why there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The size is 0.
    Empty,
    /// The tag has memory already.
    InUse,
    /// The host has none left.
    NoMemory,
}

struct Piece {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is the plugin's; here it is only given back.
unsafe impl Send for Piece {}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: allocated by `create` with this layout, and given back once.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// All of a communicator; it goes when the communicator does.
#[derive(Default)]
pub(super) struct Contexts(Mutex<HashMap<CString, Piece>>);

impl Contexts {
    /// Takes memory, filled with 0.
    pub(super) fn create(&self, tag: &CStr, size: u64) -> Result<NonNull<u8>, Refused> {
        if size == 0 {
            return Err(Refused::Empty);
        }
        let mut pieces = self.0.lock();
        if pieces.contains_key(tag) {
            return Err(Refused::InUse);
        }
        let size = usize::try_from(size).map_err(|_| Refused::NoMemory)?;
        let layout = Layout::from_size_align(size, ALIGN).map_err(|_| Refused::NoMemory)?;
        // SAFETY: the size is not 0.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Refused::NoMemory)?;
        pieces.insert(tag.to_owned(), Piece { memory, layout });
        Ok(memory)
    }

    /// Memory of a tag, and its size.
    pub(super) fn get(&self, tag: &CStr) -> Option<(NonNull<u8>, u64)> {
        self.0.lock().get(tag).map(|piece| (piece.memory, piece.layout.size() as u64))
    }

    /// Gives memory back; whether there was any.
    pub(super) fn destroy(&self, tag: &CStr) -> bool {
        self.0.lock().remove(tag).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_by_its_tag_until_it_is_given_back() {
        let contexts = Contexts::default();
        let memory = contexts.create(c"rules", 100).unwrap();
        assert!(memory.as_ptr().addr().is_multiple_of(ALIGN));
        // SAFETY: 100 bytes that nobody else uses.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), 100) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        assert_eq!(contexts.get(c"rules"), Some((memory, 100)));
        assert_eq!(contexts.create(c"rules", 1), Err(Refused::InUse));
        assert_eq!(contexts.create(c"", 0), Err(Refused::Empty));
        assert_eq!(contexts.create(c"", u64::MAX), Err(Refused::NoMemory));
        assert_eq!(contexts.create(c"", i64::MAX as u64 - 63), Err(Refused::NoMemory));
        assert_eq!(contexts.get(c""), None);
        assert!(contexts.destroy(c"rules") && !contexts.destroy(c"rules"));
        assert!(contexts.create(c"rules", 1).is_ok());
    }
}
