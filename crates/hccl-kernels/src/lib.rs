//! Local copy and reduction kernels, data type by operator, chosen at run time by instruction set.
//!
//! The crate turns pointers and a length into other bytes. It knows nothing of ranks, processes or
//! who owns memory: whoever calls promises that the memory is there and quiet.
//!
//! One generic loop (`body`) serves every data type (`element`) and operator (`operator`). Thin
//! shells (`arch`) compile it once for each instruction set, and [`Reducer`] picks one of the
//! shells. The arithmetic of an element never depends on that choice, nor on where the element
//! lies in its buffer, nor on the floating-point state of the thread: results are equal to the last
//! bit on every path.

mod arch;
mod body;
mod copy;
mod data_type;
mod element;
mod float8;
mod float_state;
mod half;
mod isa;
mod lanes;
mod operator;
mod past_cache;
mod reduce_op;
mod reducer;

pub use copy::{Stores, copy, copy_with};
pub use data_type::DataType;
pub use isa::Isa;
pub use reduce_op::ReduceOp;
pub use reducer::Reducer;
