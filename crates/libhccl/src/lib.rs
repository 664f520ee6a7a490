//! libhccl.so: the HCCL C interface on the engine
