//! The software NPU: devices, memory arenas, streams and events on host cores and host memory
