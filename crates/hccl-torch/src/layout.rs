//! Tensors whose elements do not lie in order: into a row and back.

use smallvec::SmallVec;

use crate::abi::Status;
use crate::abi::View;
use crate::ticket::Failure;

/// Most dimensions of a tensor (PyTorch's own limit is 64).
const DIMENSIONS_MAX: u64 = 64;

/// A tensor.
pub(crate) struct Layout {
    data: *mut u8,
    /// Bytes of all elements together.
    bytes: u64,
    /// Lengths and steps in bytes, outermost first; empty where the elements lie in order.
    dimensions: SmallVec<[(u64, i64); 6]>,
    size: usize,
}

// SAFETY: an address, which whoever follows it answers for.
unsafe impl Send for Layout {}

/// Which way elements go.
#[derive(Clone, Copy)]
enum Way {
    Into,
    OutOf,
}

impl Layout {
    /// # Safety
    /// 1. Where the view has dimensions, so many sizes and strides can be read.
    pub(crate) unsafe fn new(view: &View, size: usize) -> Result<Self, Failure> {
        let invalid = |what: String| Err(Failure::new(Status::Invalid, what));
        let Some(bytes) = view.elements.checked_mul(size as u64) else {
            return invalid(format!("a tensor of {} elements is too large", view.elements));
        };
        let mut dimensions = SmallVec::new();
        if view.dimensions > DIMENSIONS_MAX {
            return invalid(format!("a tensor has {} dimensions, at most 64", view.dimensions));
        }
        let mut elements = 1u64;
        for index in 0..view.dimensions as usize {
            // SAFETY: (1).
            let (length, stride) = unsafe { (*view.sizes.add(index), *view.strides.add(index)) };
            let length = length.max(0) as u64;
            elements = elements.saturating_mul(length);
            dimensions.push((length, stride.saturating_mul(size as i64)));
        }
        if !dimensions.is_empty() && elements != view.elements {
            return invalid(format!("a tensor of {} elements has {elements}", view.elements));
        }
        let mut made = Self { data: view.data, bytes, dimensions, size };
        made.simplify();
        Ok(made)
    }

    /// Bytes that lie in order.
    pub(crate) fn row(data: *mut u8, bytes: u64) -> Self {
        Self { data, bytes, dimensions: SmallVec::new(), size: 1 }
    }

    /// Joins dimensions that lie behind each other, and leaves out those of one element.
    fn simplify(&mut self) {
        self.dimensions.retain(|(length, _)| *length != 1);
        let mut joined: SmallVec<[(u64, i64); 6]> = SmallVec::new();
        for &(length, step) in &self.dimensions {
            match joined.last_mut() {
                Some((outer, outer_step)) if *outer_step == step.saturating_mul(length as i64) => {
                    (*outer, *outer_step) = (*outer * length, step);
                }
                _ => joined.push((length, step)),
            }
        }
        if let [(_, step)] = joined[..]
            && step == self.size as i64
        {
            joined.clear();
        }
        self.dimensions = joined;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where its elements lie, if they lie in order.
    pub(crate) fn in_order(&self) -> Option<*mut u8> {
        self.dimensions.is_empty().then_some(self.data)
    }

    /// Copies the elements, in order, to where `row` points.
    ///
    /// # Safety
    /// 1. The tensor can be read, and `row` is writable for as many bytes and apart from it.
    pub(crate) unsafe fn pack(&self, row: *mut u8) {
        // SAFETY: (1).
        unsafe { self.pass(row, Way::Into) }
    }

    /// Copies elements from a row into the tensor.
    ///
    /// # Safety
    /// 1. The tensor can be written, and `row` has as many bytes to read and is apart from it.
    pub(crate) unsafe fn unpack(&self, row: *const u8) {
        // SAFETY: (1).
        unsafe { self.pass(row.cast_mut(), Way::OutOf) }
    }

    /// # Safety
    /// As [`Self::pack`] or [`Self::unpack`].
    unsafe fn pass(&self, row: *mut u8, way: Way) {
        if self.bytes == 0 {
            return;
        }
        let run = match self.dimensions.last() {
            None => self.bytes,
            Some(&(length, step)) if step == self.size as i64 => length * self.size as u64,
            Some(_) => self.size as u64,
        } as usize;
        // Dimensions that are walked: all, but the innermost where its elements lie in order.
        let walked = match self.dimensions.split_last() {
            Some((_, outer)) if run > self.size => outer,
            _ => &self.dimensions[..],
        };
        let mut at: SmallVec<[u64; 6]> = SmallVec::from_elem(0, walked.len());
        let mut offset = 0isize;
        let mut row = row;
        loop {
            let place = self.data.wrapping_offset(offset);
            // SAFETY: by the caller's promise; `place` is one of the tensor's elements.
            unsafe { copy_run(way, row, place, run) };
            row = row.wrapping_add(run);
            let mut dimension = walked.len();
            loop {
                let Some(next) = dimension.checked_sub(1) else { return };
                dimension = next;
                let (length, step) = walked[dimension];
                at[dimension] += 1;
                offset += step as isize;
                if at[dimension] < length {
                    break;
                }
                offset -= step as isize * length as isize;
                at[dimension] = 0;
            }
        }
    }
}

/// # Safety
/// 1. Both sides have `run` bytes, and they are apart.
unsafe fn copy_run(way: Way, row: *mut u8, place: *mut u8, run: usize) {
    let (from, to) = match way {
        Way::Into => (place, row),
        Way::OutOf => (row, place),
    };
    // Lengths that the compiler knows become one move each.
    // SAFETY: (1).
    unsafe {
        match run {
            1 => to.copy_from_nonoverlapping(from, 1),
            2 => to.copy_from_nonoverlapping(from, 2),
            4 => to.copy_from_nonoverlapping(from, 4),
            8 => to.copy_from_nonoverlapping(from, 8),
            _ => to.copy_from_nonoverlapping(from, run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A tensor over a buffer: sizes, steps in elements, first element, and how long the buffer is.
    fn shapes() -> impl Strategy<Value = (Vec<i64>, Vec<i64>, usize)> {
        let dimension = (1i64..5, 0i64..3);
        prop::collection::vec(dimension, 0..5).prop_map(|dimensions| {
            // Each step is at least as long as what lies inside, so that elements are apart.
            let (mut sizes, mut strides, mut inner) = (Vec::new(), Vec::new(), 1i64);
            for (index, (length, gap)) in dimensions.into_iter().enumerate() {
                let step = inner + gap;
                inner = step * length;
                // In no particular order.
                if index % 2 == 0 {
                    sizes.push(length);
                    strides.push(step);
                } else {
                    sizes.insert(0, length);
                    strides.insert(0, step);
                }
            }
            (sizes, strides, inner as usize)
        })
    }

    proptest! {
        #[test]
        fn a_row_has_the_elements_in_order((sizes, strides, len) in shapes()) {
            let mut buffer: Vec<u32> = (0..len as u32).map(|i| i * 7 + 1).collect();
            let elements: i64 = sizes.iter().product();
            let view = View {
                data: buffer.as_mut_ptr().cast(),
                elements: elements as u64,
                sizes: sizes.as_ptr(),
                strides: strides.as_ptr(),
                dimensions: sizes.len() as u64,
            };
            // SAFETY: the vectors are there.
            let layout = unsafe { Layout::new(&view, 4) }.unwrap();
            let mut expected = Vec::new();
            for index in 0..elements {
                let (mut rest, mut offset) = (index, 0);
                for (length, stride) in sizes.iter().zip(&strides).rev() {
                    offset += rest % length * stride;
                    rest /= length;
                }
                expected.push(buffer[offset as usize]);
            }
            let mut row = vec![0u32; elements as usize];
            // SAFETY: the buffer holds the tensor, and the row is as long.
            unsafe { layout.pack(row.as_mut_ptr().cast()) };
            prop_assert_eq!(&row, &expected);

            let before = buffer.clone();
            let changed: Vec<u32> = row.iter().map(|value| value + 1_000_000).collect();
            // SAFETY: as above.
            unsafe { layout.unpack(changed.as_ptr().cast()) };
            let touched = before.iter().zip(&buffer).filter(|(one, other)| one != other).count();
            prop_assert_eq!(touched as i64, elements);
            // SAFETY: as above.
            unsafe { layout.pack(row.as_mut_ptr().cast()) };
            prop_assert_eq!(row, changed);
        }
    }

    #[test]
    fn tensors_in_order_are_known_as_such() {
        let mut data = [0u16; 24];
        let of = |sizes: &[i64], strides: &[i64], data: *mut u16| {
            let elements = sizes.iter().product::<i64>() as u64;
            let (data, dimensions) = (data.cast(), sizes.len() as u64);
            let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
            // SAFETY: the slices are there.
            unsafe { Layout::new(&View { data, elements, sizes, strides, dimensions }, 2) }
        };
        let data = data.as_mut_ptr();
        assert!(of(&[2, 3, 4], &[12, 4, 1], data).unwrap().in_order().is_some());
        assert!(of(&[2, 1, 4], &[4, 99, 1], data).unwrap().in_order().is_some());
        assert!(of(&[], &[], data).unwrap().in_order().is_some());
        assert!(of(&[4, 3], &[1, 4], data).unwrap().in_order().is_none());
        let wrong = View {
            data: data.cast(),
            elements: 5,
            sizes: [4i64].as_ptr(),
            strides: [1i64].as_ptr(),
            dimensions: 1,
        };
        // SAFETY: one size and one stride are there.
        assert!(unsafe { Layout::new(&wrong, 2) }.is_err());
    }
}
