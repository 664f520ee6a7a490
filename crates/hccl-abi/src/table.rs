//! Handles as numbers with a generation instead of addresses: a stale, foreign or invented handle
//! is found by looking it up, never by following it.

use std::ffi::c_void;
use std::sync::Arc;

use parking_lot::RwLock;

/// Objects behind opaque C handles.
///
/// A handle is, from the top, eight bits of kind, 32 bits of generation and 24 bits of index.
#[derive(Debug)]
pub struct Table<T> {
    kind: u8,
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

const INDEX_BITS: u32 = 24;
const INDEX_MAX: usize = (1 << INDEX_BITS) - 1;

impl<T> Table<T> {
    /// An empty table. `kind` (1 to 127) tells the handles of one table from those of another.
    pub const fn new(kind: u8) -> Self {
        assert!(kind > 0 && kind < 128, "the top bit stays clear, so that handles are positive");
        Self { kind, slots: RwLock::new(Slots { slots: Vec::new(), free: Vec::new() }) }
    }

    /// Stores an object and gives its handle; `None` when the table is full (2^24 objects).
    pub fn insert(&self, object: Arc<T>) -> Option<*mut c_void> {
        let mut guard = self.slots.write();
        let index = match guard.free.pop() {
            Some(index) => index as usize,
            None if guard.slots.len() > INDEX_MAX => return None,
            None => {
                guard.slots.push(Slot { generation: 0, object: None });
                guard.slots.len() - 1
            }
        };
        let slot = &mut guard.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.object = Some(object);
        Some(self.handle(slot.generation, index))
    }

    /// The object behind a handle, if the handle is one of ours and still valid.
    pub fn get(&self, handle: *const c_void) -> Option<Arc<T>> {
        let (index, generation) = self.parts(handle)?;
        let guard = self.slots.read();
        let slot = guard.slots.get(index)?;
        if slot.generation != generation {
            return None;
        }
        slot.object.clone()
    }

    /// Puts another object behind a handle that is valid, and gives back the one before.
    pub fn replace(&self, handle: *const c_void, object: Arc<T>) -> Option<Arc<T>> {
        let (index, generation) = self.parts(handle)?;
        let mut guard = self.slots.write();
        let slot = guard.slots.get_mut(index)?;
        if slot.generation != generation {
            return None;
        }
        let before = slot.object.take()?;
        slot.object = Some(object);
        Some(before)
    }

    /// Objects that pass a test, with their handles.
    pub fn find(&self, test: impl Fn(&T) -> bool) -> Vec<(*mut c_void, Arc<T>)> {
        let guard = self.slots.read();
        let mut found = Vec::new();
        for (index, slot) in guard.slots.iter().enumerate() {
            if let Some(object) = slot.object.as_ref().filter(|object| test(object)) {
                found.push((self.handle(slot.generation, index), object.clone()));
            }
        }
        found
    }

    /// Takes the object out; the handle is stale from now on.
    pub fn remove(&self, handle: *const c_void) -> Option<Arc<T>> {
        let (index, generation) = self.parts(handle)?;
        let mut guard = self.slots.write();
        let slot = guard.slots.get_mut(index)?;
        if slot.generation != generation {
            return None;
        }
        let object = slot.object.take()?;
        guard.free.push(index as u32);
        Some(object)
    }

    /// Takes out every object that `keep` refuses.
    pub fn retain(&self, keep: impl Fn(&T) -> bool) {
        let mut guard = self.slots.write();
        let Slots { slots, free } = &mut *guard;
        for (index, slot) in slots.iter_mut().enumerate() {
            if slot.object.as_ref().is_some_and(|object| !keep(object)) {
                slot.object = None;
                free.push(index as u32);
            }
        }
    }

    /// Handle of an object that is in the table, found by identity.
    pub fn handle_of(&self, object: &Arc<T>) -> Option<*mut c_void> {
        let guard = self.slots.read();
        let (index, slot) = guard.slots.iter().enumerate().find(|(_, slot)| {
            slot.object.as_ref().is_some_and(|stored| Arc::ptr_eq(stored, object))
        })?;
        Some(self.handle(slot.generation, index))
    }

    fn handle(&self, generation: u32, index: usize) -> *mut c_void {
        let handle = (usize::from(self.kind) << 56) | ((generation as usize) << INDEX_BITS) | index;
        handle as *mut c_void
    }

    fn parts(&self, handle: *const c_void) -> Option<(usize, u32)> {
        let handle = handle as usize;
        if handle >> 56 != usize::from(self.kind) {
            return None;
        }
        Some((handle & INDEX_MAX, (handle >> INDEX_BITS) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_foreign_and_invented_handles_find_nothing() {
        let table = Table::new(3);
        let other = Table::<i32>::new(4);
        let a = table.insert(Arc::new(10)).unwrap();
        let b = table.insert(Arc::new(11)).unwrap();
        assert!(!a.is_null());
        assert_eq!(table.get(a).as_deref(), Some(&10));
        assert_eq!(other.get(a), None);
        assert_eq!(table.remove(a).as_deref(), Some(&10));
        assert_eq!(table.remove(a), None);
        let c = table.insert(Arc::new(12)).unwrap();
        assert_ne!(a, c);
        assert_eq!((table.get(a), table.get(c).as_deref()), (None, Some(&12)));
        for invented in [0usize, 1, 42, usize::MAX, 0x0300_0000_0100_0063, 0x0300_0000_00ff_ffff] {
            assert_eq!(table.get(invented as *const c_void), None, "{invented:#x}");
        }
        let object = table.get(b).unwrap();
        assert_eq!(table.handle_of(&object), Some(b));
        assert_eq!(table.find(|n| *n > 11), [(c, Arc::new(12))]);
        assert_eq!(table.replace(b, Arc::new(13)).as_deref(), Some(&11));
        assert_eq!(table.get(b).as_deref(), Some(&13));
        assert_eq!(table.replace(a, Arc::new(14)), None);
        table.retain(|n| *n != 13);
        assert_eq!(table.get(b), None);
    }
}
