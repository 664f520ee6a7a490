// Kernels written by hand: making tensors and copying them, to, from and between devices.
#pragma once

#include <torch/library.h>

#include <cstddef>
#include <string>
#include <vector>

namespace operators {

// Up to this many bytes a plain copy is cheaper than PyTorch's, which makes an iterator first; above, PyTorch's wins
// since it uses several threads.
constexpr std::size_t PLAIN_COPY_MAX = std::size_t{1} << 16;

// Names of the operators of `aten` that have a kernel here.
std::vector<std::string> names_by_hand();

void register_by_hand(torch::Library& library, const std::string& name);

}  // namespace operators
