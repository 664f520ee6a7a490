//! What the software NPU says it is. Names and figures are public facts of the product lines.

/// Facts of one system on chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soc {
    /// Full name, as `aclrtGetSocName` gives it.
    pub name: &'static str,
    /// Cube cores.
    pub cube_cores: u32,
    /// Vector cores.
    pub vector_cores: u32,
    /// Memory of a device, MiB.
    pub memory_mib: u64,
    /// Second-level cache, MiB.
    pub l2_mib: u64,
    /// Which generation it belongs to.
    pub family: Family,
}

/// Product generations that differ in limits and habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    Ascend910,
    Ascend310P,
    Ascend310B,
    A2,
    A3,
    Ascend950,
}

impl Family {
    /// Streams of a device, default streams included.
    pub fn streams_max(self) -> usize {
        match self {
            Self::Ascend910 => 2048,
            Self::Ascend310P => 1024,
            Self::Ascend310B => 512,
            Self::A2 | Self::A3 | Self::Ascend950 => 1984,
        }
    }

    /// Notifies of a device.
    pub fn notifies_max(self) -> usize {
        match self {
            Self::Ascend910 | Self::Ascend310P => 1024,
            Self::Ascend310B => 2048,
            Self::A2 | Self::A3 => 8192,
            Self::Ascend950 => 65_535,
        }
    }

    /// Events of a device.
    pub fn events_max(self) -> usize {
        match self {
            Self::Ascend910 => 65_535,
            Self::Ascend310P => 1023,
            // No figure is public: as many as its relatives have.
            Self::Ascend310B => 1023,
            Self::A2 | Self::A3 | Self::Ascend950 => 65_536,
        }
    }

    /// Whether infinities and NaN are kept (1) or saturated (0) by default, and bf16 exists.
    pub fn has_inf_nan(self) -> bool {
        matches!(self, Self::A2 | Self::A3 | Self::Ascend950)
    }

    /// Whether devices can saturate instead of keeping infinities and NaN.
    pub fn can_saturate(self) -> bool {
        self != Self::Ascend950
    }

    /// Whether devices can keep infinities and NaN instead of saturating.
    pub fn has_mode(self, inf_nan: bool) -> bool {
        if inf_nan { self.has_inf_nan() } else { self.can_saturate() }
    }

    /// The step of limits of a kernel's time, microseconds; 254 steps are the most.
    pub fn execute_step_us(self) -> u64 {
        let shift = match self {
            Self::Ascend910 => 28,
            Self::Ascend310P => 31,
            Self::Ascend310B | Self::A2 | Self::A3 | Self::Ascend950 => 32,
        };
        (1u64 << shift) / 1000
    }

    /// Bytes that an allocation holds beyond its size.
    pub fn allocation_tail(self) -> usize {
        if self == Self::Ascend950 { 0 } else { 32 }
    }

    /// Number of the instruction-set architecture.
    pub fn architecture(self) -> i64 {
        match self {
            Self::Ascend910 => 1001,
            Self::Ascend310P => 2002,
            Self::Ascend310B => 3002,
            Self::A2 | Self::A3 => 2201,
            Self::Ascend950 => 3510,
        }
    }
}

const fn soc(
    name: &'static str,
    family: Family,
    cube_cores: u32,
    vector_cores: u32,
    memory_gib: u64,
    l2_mib: u64,
) -> Soc {
    Soc { name, cube_cores, vector_cores, memory_mib: memory_gib * 1024, l2_mib, family }
}

/// Every name that `SOFTNPU_SOC` may have. Where the makers name figures for one product of a series
/// only, the others of the series have the same here; memory of the 910 series and all figures of
/// the 310B series are not public, and round numbers stand in for them.
pub const SOCS: &[Soc] = &[
    soc("Ascend910A", Family::Ascend910, 32, 0, 32, 32),
    soc("Ascend910ProA", Family::Ascend910, 32, 0, 32, 32),
    soc("Ascend910PremiumA", Family::Ascend910, 32, 0, 32, 32),
    soc("Ascend910B", Family::Ascend910, 30, 0, 32, 32),
    soc("Ascend910ProB", Family::Ascend910, 30, 0, 32, 32),
    soc("Ascend310P1", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310P2", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310P3", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310P4", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310P5", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310P7", Family::Ascend310P, 8, 7, 24, 16),
    soc("Ascend310B1", Family::Ascend310B, 1, 1, 8, 2),
    soc("Ascend310B2", Family::Ascend310B, 1, 1, 8, 2),
    soc("Ascend310B3", Family::Ascend310B, 1, 1, 8, 2),
    soc("Ascend310B4", Family::Ascend310B, 1, 1, 8, 2),
    soc("Ascend910B1", Family::A2, 24, 48, 64, 192),
    soc("Ascend910B2", Family::A2, 24, 48, 64, 192),
    soc("Ascend910B2C", Family::A2, 24, 48, 64, 192),
    soc("Ascend910B3", Family::A2, 20, 40, 64, 192),
    soc("Ascend910B4", Family::A2, 20, 40, 32, 96),
    soc("Ascend910B4-1", Family::A2, 20, 40, 32, 168),
    soc("Ascend910_9391", Family::A3, 24, 48, 64, 192),
    soc("Ascend910_9392", Family::A3, 24, 48, 64, 192),
    soc("Ascend910_9381", Family::A3, 24, 48, 64, 192),
    soc("Ascend910_9382", Family::A3, 24, 48, 64, 192),
    soc("Ascend910_9372", Family::A3, 20, 40, 64, 192),
    soc("Ascend910_9362", Family::A3, 20, 40, 64, 168),
    soc("Ascend910_9363", Family::A3, 20, 40, 64, 168),
    soc("Ascend950PR_9579", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_957b", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_957c", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_957d", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_9589", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_958b", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950PR_9599", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9571", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9572", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9573", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9574", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9575", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9576", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9577", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9578", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9581", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9582", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9583", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9584", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9585", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9586", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9587", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9588", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9591", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9592", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9595", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_9596", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_95A1", Family::Ascend950, 28, 56, 144, 128),
    soc("Ascend950DT_95A2", Family::Ascend950, 28, 56, 144, 128),
];

/// The product that people's code most often expects.
pub const DEFAULT: &str = "Ascend910B1";

/// Facts of a name.
pub fn find(name: &str) -> Option<&'static Soc> {
    SOCS.iter().find(|soc| soc.name == name)
}
