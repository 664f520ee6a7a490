//! What calls read and write: slices and buffers.

use crate::buffer::{Buffer, Lent};
use crate::element::Element;
use crate::memory::Memory;

/// The memory of a slice that a call reads. The call must not outlive the slice's borrow, which
/// [`Pending`] carries.
pub(crate) fn reads<T: Element>(slice: &[T]) -> Memory {
    // SAFETY: the borrow lives as long as the call, which only reads; the engine touches private
    // memory only while it is polled, so a call that is forgotten touches it no more.
    unsafe { Memory::private(slice.as_ptr().cast_mut().cast(), size_of_val(slice) as u64) }
}

/// The memory of a slice that a call writes.
pub(crate) fn writes<T: Element>(slice: &mut [T]) -> Memory {
    // SAFETY: as in `reads`, and the borrow is exclusive.
    unsafe { Memory::private(slice.as_mut_ptr().cast(), size_of_val(slice) as u64) }
}

/// What a call can read: `&[T]`, `&Vec<T>`, `&[T; N]` or `&Buffer<T>`.
pub trait Source<'a, T: Element>: crate::parts::sealed::Source<'a, T> {}
/// What a call can write: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]` or `&mut Buffer<T>`.
pub trait Target<'a, T: Element>: crate::parts::sealed::Target<'a, T> {}

pub(crate) mod sealed {
    use super::*;

    pub trait Source<'a, T: Element> {
        fn source(self, on_heap: bool) -> Part<'a>;
    }

    pub trait Target<'a, T: Element> {
        fn target(self, on_heap: bool) -> Part<'a>;
    }
}

/// A buffer of a call.
pub struct Part<'a> {
    pub(crate) memory: Memory,
    pub(crate) elements: u64,
    /// Where it is a buffer that other ranks map.
    pub(crate) lent: Option<Lent<'a>>,
}

macro_rules! sides {
    ($([$($generics:tt)*] $kind:ty),+) => {$(
        impl<'a, T: Element, $($generics)*> sealed::Source<'a, T> for &'a $kind {
            fn source(self, _: bool) -> Part<'a> {
                let elements = self.len() as u64;
                Part { memory: reads::<T>(&self[..]), elements, lent: None }
            }
        }

        impl<'a, T: Element, $($generics)*> sealed::Target<'a, T> for &'a mut $kind {
            fn target(self, _: bool) -> Part<'a> {
                let elements = self.len() as u64;
                Part { memory: writes::<T>(&mut self[..]), elements, lent: None }
            }
        }

        impl<'a, T: Element, $($generics)*> Source<'a, T> for &'a $kind {}
        impl<'a, T: Element, $($generics)*> Target<'a, T> for &'a mut $kind {}
    )+};
}

sides!([] [T], [] Vec<T>, [const N: usize] [T; N]);

impl<'a, T: Element> sealed::Source<'a, T> for &'a Buffer<T> {
    fn source(self, on_heap: bool) -> Part<'a> {
        let elements = self.len() as u64;
        let (memory, lent) = if on_heap { self.lend() } else { (reads::<T>(&self[..]), None) };
        Part { memory, elements, lent }
    }
}

impl<'a, T: Element> sealed::Target<'a, T> for &'a mut Buffer<T> {
    fn target(self, on_heap: bool) -> Part<'a> {
        let elements = self.len() as u64;
        let (memory, lent) =
            if on_heap { self.lend_mut() } else { (writes::<T>(&mut self[..]), None) };
        Part { memory, elements, lent }
    }
}

impl<'a, T: Element> Source<'a, T> for &'a Buffer<T> {}
impl<'a, T: Element> Target<'a, T> for &'a mut Buffer<T> {}

pub(crate) const NOTHING: Part<'static> = Part { memory: Memory::NONE, elements: 0, lent: None };
