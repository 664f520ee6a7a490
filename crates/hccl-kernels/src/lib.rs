//! Local copy and reduction kernels, data type by operator, chosen at run time by instruction set
