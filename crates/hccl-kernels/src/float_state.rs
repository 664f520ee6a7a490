//! The floating-point state that kernels run under: rounding to nearest, subnormals kept, no traps.
//!
//! Kernels run on threads of programs, and some programs have another state there: a library that
//! was linked with `-ffast-math` flushes subnormals in every thread that loads it, and PyTorch has a
//! switch for it. Results would then depend on whose thread computes an element, and ranks that each
//! compute all of a small block would differ in their bits.

/// Runs a kernel under the default state, and puts the thread's own state back.
#[inline]
pub(crate) fn under_default<T>(run: impl FnOnce() -> T) -> T {
    let found = control();
    if found == DEFAULT {
        return run();
    }
    let _back = Back(found);
    set_control(DEFAULT);
    run()
}

/// Puts a state back when it is dropped, also where a kernel panics.
struct Back(Control);

impl Drop for Back {
    fn drop(&mut self) {
        set_control(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
use x86::{Control, DEFAULT, control, set_control};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    /// The register MXCSR without the flags of what has happened.
    pub(super) type Control = u32;

    /// All exceptions masked, rounding to nearest, nothing flushed.
    pub(super) const DEFAULT: Control = 0x1f80;
    /// The lowest six bits tell what has happened.
    const FLAGS: u32 = 0x3f;

    #[inline]
    pub(super) fn control() -> Control {
        let mut word = 0u32;
        // SAFETY: stores four bytes into a local.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word & !FLAGS
    }

    #[inline]
    pub(super) fn set_control(control: Control) {
        // SAFETY: reads four bytes of a local, which are a state that was found or the default, so
        // that no reserved bit is set. No Rust code computes floats under a state other than the
        // default: it is set before a kernel, and put back after it.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
use arm::{Control, DEFAULT, control, set_control};

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::asm;

    /// The register FPCR.
    pub(super) type Control = u64;

    /// Rounding to nearest, nothing flushed, NaN propagated, no traps.
    pub(super) const DEFAULT: Control = 0;

    #[inline]
    pub(super) fn control() -> Control {
        let word: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn set_control(control: Control) {
        // SAFETY: a state that was found, or the default. No Rust code computes floats under a state
        // other than the default: it is set before a kernel, and put back after it.
        unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other::{Control, DEFAULT, control, set_control};

/// Elsewhere the state is taken as it is.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    pub(super) type Control = ();
    pub(super) const DEFAULT: Control = ();
    pub(super) fn control() -> Control {}
    pub(super) fn set_control(_: Control) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{control, set_control, under_default};
    use crate::{DataType, ReduceOp, Reducer};

    /// Subnormals flushed on both sides, rounding upwards, and invalid operations trapped.
    const ODD: u32 = 0x8040 | 0x4000 | (0x1f80 & !0x80);

    /// One kernel on one element of each source, under a state.
    fn sum(data_type: DataType, state: u32, sources: [u32; 2]) -> u32 {
        let reducer = Reducer::new(data_type, ReduceOp::Sum).expect("reduced");
        let mut target = 0u32;
        let from: [*const u8; 2] = [(&raw const sources[0]).cast(), (&raw const sources[1]).cast()];
        let before = control();
        set_control(state);
        // SAFETY: words of their own, as large and aligned as an element.
        unsafe { reducer.run(&[(&raw mut target).cast()], &from, 1) };
        let after = control();
        set_control(before);
        assert_eq!(after, state, "the thread's state is put back");
        target
    }

    #[test]
    fn results_do_not_depend_on_the_state_of_the_thread() {
        let cases = [
            // The least subnormals.
            (DataType::F32, [1, 2], 3),
            (DataType::F16, [1, 2], 3),
            (DataType::Bf16, [1, 2], 3),
            // 1 + 2^-24 is a tie and goes to the even 1; upwards it would not.
            (DataType::F32, [0x3f80_0000, 0x3380_0000], 0x3f80_0000),
            // The same for 2048 + 1.
            (DataType::F16, [0x6800, 0x3c00], 0x6800),
            // A trap would end the process.
            (DataType::F32, [0x7f80_0000, 0xff80_0000], 0x7fc0_0000),
        ];
        for (data_type, sources, expected) in cases {
            for state in [super::DEFAULT, ODD] {
                assert_eq!(
                    sum(data_type, state, sources),
                    expected,
                    "{data_type} under {state:#x}"
                );
            }
        }
        let inside = std::cell::Cell::new(0);
        set_control(ODD);
        under_default(|| inside.set(control()));
        set_control(super::DEFAULT);
        assert_eq!(inside.get(), super::DEFAULT);
    }
}
