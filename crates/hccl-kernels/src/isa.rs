//! The instruction sets a kernel can be compiled for, and which of them this CPU has.
//!
//! All variants exist on all architectures, so that names can be parsed and matched without
//! conditional compilation; [`Isa::available`] tells them apart. The environment may choose one
//! for the whole process, so that every test can be run on each.

use std::fmt;
use std::sync::LazyLock;

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

    /// The environment variable that chooses for the process.
    pub const VARIABLE: &str = "HCCL_KERNELS";

    /// The preferred instruction set among those this CPU has.
    pub fn best() -> Isa {
        Self::ALL.iter().copied().rfind(|isa| isa.available()).unwrap_or(Isa::Portable)
    }

    /// The instruction set that this process uses: the one that [`Self::VARIABLE`] names, else the
    /// [best](Self::best). A word that cannot be followed is reported on standard error, once, and
    /// otherwise ignored. Read once.
    #[inline]
    pub fn chosen() -> Isa {
        *CHOSEN
    }

    /// The instruction set of this name, if it is one and this CPU has it.
    ///
    /// # Errors
    /// What is wrong with the name, and which would do.
    pub fn from_name(name: &str) -> Result<Isa, String> {
        let names = |isas: &mut dyn Iterator<Item = Isa>| {
            isas.map(Isa::name).collect::<Vec<_>>().join(", ")
        };
        let all = || Self::ALL.iter().copied();
        let here = names(&mut all().filter(|isa| isa.available()));
        match all().find(|isa| isa.name().eq_ignore_ascii_case(name)) {
            Some(isa) if isa.available() => Ok(isa),
            Some(isa) => Err(format!("this CPU has no {isa}; it has {here}")),
            None => Err(format!("expected one of {}; this CPU has {here}", names(&mut all()))),
        }
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

static CHOSEN: LazyLock<Isa> = LazyLock::new(|| {
    let text = std::env::var_os(Isa::VARIABLE).unwrap_or_default();
    let text = text.to_string_lossy();
    let name = text.trim();
    if name.is_empty() {
        // People clear variables that way.
        return Isa::best();
    }
    Isa::from_name(name).unwrap_or_else(|why| {
        let isa = Isa::best();
        eprintln!("hccl: {} is {name:?}: {why}; {isa} is used", Isa::VARIABLE);
        isa
    })
});

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
        assert!(Isa::chosen().available());
    }

    #[test]
    fn names_are_read_and_what_cannot_be_is_told() {
        for &isa in Isa::ALL {
            let read = Isa::from_name(&isa.name().to_uppercase());
            if isa.available() {
                assert_eq!(read, Ok(isa));
            } else {
                assert!(read.unwrap_err().contains("this CPU has no"));
            }
        }
        let why = Isa::from_name("sse").unwrap_err();
        assert!(why.contains("portable, neon, avx2, avx512") && why.contains("this CPU has"));
    }
}
