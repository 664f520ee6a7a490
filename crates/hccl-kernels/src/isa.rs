//! The instruction sets a kernel can be compiled for, and which of them this CPU has.
//!
//! All variants exist on all architectures, so that names can be parsed and matched without
//! conditional compilation; [`Isa::available`] tells them apart.

use std::fmt;

/// An instruction set for which kernels exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// Whatever the compiler assumes for the target.
    Portable,
    /// x86-64 with AVX2 and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL and DQ.
    Avx512,
    /// AArch64 Advanced SIMD.
    Neon,
}

impl Isa {
    /// Every instruction set, the preferred ones last.
    pub const ALL: &[Isa] = &[Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The preferred instruction set among those this CPU has.
    pub fn best() -> Isa {
        Self::ALL.iter().copied().rfind(|isa| isa.available()).unwrap_or(Isa::Portable)
    }

    /// Whether this CPU, under this operating system, runs the instruction set.
    pub fn available(self) -> bool {
        match self {
            Isa::Portable => true,
            Isa::Avx2 => has_avx2(),
            Isa::Avx512 => has_avx512(),
            Isa::Neon => cfg!(all(target_arch = "aarch64", target_feature = "neon")),
        }
    }

    /// Name of the instruction set in logs and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Neon => "neon",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Isa;

    #[test]
    fn the_best_is_available() {
        assert!(Isa::Portable.available());
        assert!(Isa::best().available());
    }
}
