//! libascendcl.so: the AscendCL runtime C interface on the software NPU
