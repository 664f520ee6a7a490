//! Choice of a kernel: data type, operator and instruction set bound to one loop.

use std::fmt;

#[cfg(target_arch = "x86_64")]
use crate::arch::{Avx2, Avx512};
use crate::arch::{Kernel, Portable, Shell};
use crate::element::{Bf16, Bool, Element, F16, Float8};
use crate::float_state::under_default;
use crate::float8::{E4m3, E4m3fnuz, E5m2, E5m2fnuz};
use crate::operator::{And, Avg, Bits, Max, Min, Or, Prod, Sum, Xor};
use crate::{DataType, Isa, ReduceOp};

/// A reduction kernel bound to one data type, operator and instruction set.
#[derive(Clone, Copy)]
pub struct Reducer {
    kernel: Kernel,
    /// Numbers of the kernel's type in an element.
    parts: usize,
    data_type: DataType,
    op: ReduceOp,
    isa: Isa,
}

impl Reducer {
    /// The kernel for the instruction set of this process ([`Isa::chosen`]).
    ///
    /// `None` where the data type can only be moved (128-bit integers, `hif8` and `fp8e8m0`), for
    /// averages of truth values, for bitwise operators on floats, and for all but sums and averages
    /// of complex numbers.
    pub fn new(data_type: DataType, op: ReduceOp) -> Option<Reducer> {
        Self::with_isa(data_type, op, Isa::chosen())
    }

    /// The kernel for one instruction set, for tests and benches that force a variant.
    ///
    /// `None` if the CPU lacks the instruction set, or where [`Reducer::new`] gives `None`.
    pub fn with_isa(data_type: DataType, op: ReduceOp, isa: Isa) -> Option<Reducer> {
        if !isa.available() {
            return None;
        }
        // A complex sum is the sum of the parts, and nothing else that is done to numbers is.
        let (part, parts) = data_type.parts();
        if parts > 1 && !matches!(op, ReduceOp::Sum | ReduceOp::Avg) {
            return None;
        }
        let kernel = match isa {
            Isa::Portable | Isa::Neon => by_type::<Portable>(part, op),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => by_type::<Avx2>(part, op),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => by_type::<Avx512>(part, op),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => None,
        }?;
        Some(Reducer { kernel, parts, data_type, op, isa })
    }

    /// Data type this kernel reduces.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Operator this kernel applies.
    pub fn op(&self) -> ReduceOp {
        self.op
    }

    /// Instruction set this kernel is compiled for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Reduces `len` elements: element `i` of every target becomes `((s0 op s1) op s2) op ...`,
    /// with `sk` the element `i` of source `k`.
    ///
    /// The result is the same bits on every instruction set and wherever `i` lies:
    ///
    /// - Integers wrap.
    /// - Floats are rounded once for each operation; the 8-bit and 16-bit ones are accumulated in
    ///   `f32` and rounded once at the end. Always to nearest, ties to even; subnormals are kept,
    ///   whatever floating-point state the thread is in.
    /// - Complex numbers are two floats each.
    /// - `max` and `min` are NaN if any source is, and order -0 below +0.
    /// - A float that is NaN comes out as the positive quiet one without payload, an 8-bit one as
    ///   `0x7f`, or `0x80` where the format has no -0.
    /// - A single source is copied, bit for bit.
    /// - Averages are not divided; see [`Self::run_divided`].
    ///
    /// Sources are read a block at a time, all of them before any target of that block is written.
    ///
    /// # Panics
    /// If there is no source.
    ///
    /// ```
    /// use hccl_kernels::{DataType, ReduceOp, Reducer};
    ///
    /// let (mut a, b) = ([1.0f32, 2.0, 3.0], [10.0f32, 20.0, 30.0]);
    /// let sum = Reducer::new(DataType::F32, ReduceOp::Sum).unwrap();
    /// let target = a.as_mut_ptr().cast::<u8>();
    /// // SAFETY: two live arrays of three elements; the target is exactly the first source.
    /// unsafe { sum.run(&[target], &[target, b.as_ptr().cast()], 3) };
    /// assert_eq!(a, [11.0, 22.0, 33.0]);
    /// ```
    ///
    /// # Safety
    /// 1. Every source is valid for reads, and every target for writes, of `len` elements.
    /// 2. All pointers are aligned as [`DataType::align`] says, even if `len` is 0.
    /// 3. A target is exactly a source, or exactly another target, or overlaps none of the others.
    /// 4. Until return no other thread or process writes to the sources or touches the targets.
    pub unsafe fn run(&self, targets: &[*mut u8], sources: &[*const u8], len: usize) {
        assert!(!sources.is_empty(), "a reduction needs a source");
        debug_assert!(
            targets
                .iter()
                .map(|t| t.addr())
                .chain(sources.iter().map(|s| s.addr()))
                .all(|address| address.is_multiple_of(self.data_type.align())),
            "a pointer is not aligned to {}",
            self.data_type
        );
        // SAFETY: the demands above; `with_isa` has checked the instruction set.
        under_default(|| unsafe { (self.kernel)(targets, sources, len * self.parts, 1) });
    }

    /// As [`Self::run`], where an average divides the sum by `divisor`, before it rounds to an
    /// 8-bit or 16-bit float. A single source is divided too. Other operators ignore the divisor.
    ///
    /// # Panics
    /// If there is no source.
    ///
    /// # Safety
    /// As for [`Self::run`].
    pub unsafe fn run_divided(
        &self,
        targets: &[*mut u8],
        sources: &[*const u8],
        len: usize,
        divisor: u32,
    ) {
        assert!(!sources.is_empty(), "a reduction needs a source");
        // SAFETY: the demands are those of `run`.
        under_default(|| unsafe { (self.kernel)(targets, sources, len * self.parts, divisor) });
    }
}

impl fmt::Debug for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reducer({} {} {})", self.data_type, self.op, self.isa)
    }
}

// A group has 64 bytes of accumulators: one AVX-512 register, and few enough of the smaller ones
// that the compiler keeps the whole group in registers.
fn by_type<S: Shell>(data_type: DataType, op: ReduceOp) -> Option<Kernel> {
    match data_type {
        DataType::I8 => whole::<S, i8, 64>(op),
        DataType::U8 => whole::<S, u8, 64>(op),
        DataType::I16 => whole::<S, i16, 32>(op),
        DataType::U16 => whole::<S, u16, 32>(op),
        DataType::I32 => whole::<S, i32, 16>(op),
        DataType::U32 => whole::<S, u32, 16>(op),
        DataType::I64 => whole::<S, i64, 8>(op),
        DataType::U64 => whole::<S, u64, 8>(op),
        DataType::F16 => arithmetic::<S, F16, 16>(op),
        DataType::Bf16 => arithmetic::<S, Bf16, 16>(op),
        DataType::F32 => arithmetic::<S, f32, 16>(op),
        DataType::F64 => arithmetic::<S, f64, 8>(op),
        DataType::Bool if op == ReduceOp::Avg => None,
        DataType::Bool => whole::<S, Bool, 64>(op),
        DataType::F8e4m3 => arithmetic::<S, Float8<E4m3>, 16>(op),
        DataType::F8e5m2 => arithmetic::<S, Float8<E5m2>, 16>(op),
        DataType::F8e4m3fnuz => arithmetic::<S, Float8<E4m3fnuz>, 16>(op),
        DataType::F8e5m2fnuz => arithmetic::<S, Float8<E5m2fnuz>, 16>(op),
        DataType::I128 | DataType::Hif8 | DataType::F8e8m0 => None,
        // Reduced by their parts.
        DataType::C32 | DataType::C64 | DataType::C128 => None,
    }
}

/// Every operator.
fn whole<S: Shell, E: Element<Accumulator: Bits>, const N: usize>(op: ReduceOp) -> Option<Kernel> {
    match op {
        ReduceOp::And => Some(S::kernel::<E, And, N>()),
        ReduceOp::Or => Some(S::kernel::<E, Or, N>()),
        ReduceOp::Xor => Some(S::kernel::<E, Xor, N>()),
        other => arithmetic::<S, E, N>(other),
    }
}

/// The operators that need no single bits.
fn arithmetic<S: Shell, E: Element, const N: usize>(op: ReduceOp) -> Option<Kernel> {
    match op {
        ReduceOp::Sum => Some(S::kernel::<E, Sum, N>()),
        ReduceOp::Prod => Some(S::kernel::<E, Prod, N>()),
        ReduceOp::Max => Some(S::kernel::<E, Max, N>()),
        ReduceOp::Min => Some(S::kernel::<E, Min, N>()),
        ReduceOp::Avg => Some(S::kernel::<E, Avg, N>()),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => None,
    }
}
