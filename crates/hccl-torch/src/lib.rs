//! `libhccl_torch.so`: what the backend of `torch.distributed` for CPU tensors is made of, but for
//! the C++ class that PyTorch wants to see (`python/hccl/native/c10d`), which only converts.
//!
//! A [`group::Group`] is a communicator with a queue: collectives run one after the other, in the
//! order in which they were called; messages run beside them. Whoever waits for a call drives the
//! group (`drive`); calls that nobody waits for are driven by one thread a process (`background`).
//!
//! Knows nothing of Python, of PyTorch's types, or of algorithms. What it gives to C++ is the table
//! of [`abi`], so that one library serves every version of PyTorch.

mod abi;
mod background;
mod call;
mod drive;
mod exports;
mod group;
mod job;
mod layout;
mod messages;
mod side;
mod tensors;
mod ticket;
