// Kernels written by hand: making tensors and copying them, to, from and between devices.
#pragma once

#include <torch/library.h>

#include <string>
#include <vector>

namespace operators {

// Names of the operators of `aten` that have a kernel here.
std::vector<std::string> names_by_hand();

void register_by_hand(torch::Library& library, const std::string& name);

}  // namespace operators
