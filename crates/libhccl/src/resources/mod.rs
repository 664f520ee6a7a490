//! What programs ask of a communicator for operators of their own: its buffer, contexts, memory that
//! they register. Threads and channels between NPUs are not there, and say so.

mod absent;
mod buffer;
mod channel_config;
mod contexts;
mod memory;
mod primitives;

use std::ffi::{c_char, c_int};

use hccl_abi::c_text;

use crate::errors::Failure;

/// What a communicator keeps for programs. It goes with the communicator.
#[derive(Default)]
pub(crate) struct Resources {
    buffer: buffer::Buffer,
    contexts: contexts::Contexts,
    memory: memory::Tagged,
    pub(crate) graph: std::sync::OnceLock<crate::rank_graph::Graph>,
}

pub(crate) use buffer::halves;

/// Longest tag of a context or of memory.
const TAG_MAX: usize = 255;

/// `CommEngine`: who would run the tasks of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Engine {
    Cpu,
    CpuTs,
    AiCpu,
    AiCpuTs,
    Aiv,
    Ccu,
}

impl Engine {
    fn parse(call: &str, name: &str, code: c_int) -> Result<Self, Failure> {
        match code {
            0 => Ok(Self::Cpu),
            1 => Ok(Self::CpuTs),
            2 => Ok(Self::AiCpu),
            3 => Ok(Self::AiCpuTs),
            4 => Ok(Self::Aiv),
            5 => Ok(Self::Ccu),
            other => {
                let expect = "COMM_ENGINE_CPU (0) to COMM_ENGINE_CCU (5)";
                Err(Failure::argument(call, name, &other.to_string(), expect))
            }
        }
    }

    /// Whether it reads what it is given from the memory of the device.
    fn is_on_device(self) -> bool {
        matches!(self, Self::AiCpu | Self::AiCpuTs | Self::Aiv)
    }
}

/// A tag; NULL is the empty one.
///
/// # Safety
/// 1. `tag` is NULL or a C string.
unsafe fn read_tag(call: &str, name: &str, tag: *const c_char) -> Result<String, Failure> {
    // SAFETY: (1).
    let tag = unsafe { c_text(tag) }.unwrap_or_default();
    if tag.len() > TAG_MAX {
        let expect = format!("at most {TAG_MAX} characters");
        return Err(Failure::argument(call, name, &tag, &expect));
    }
    Ok(tag)
}
