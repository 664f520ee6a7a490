#include "said.h"

#include <torch/csrc/distributed/c10d/Utils.hpp>

namespace hccl {

WorkPtr CpuBackend::broadcast(
    std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& opts) {
  constexpr char what[] = "broadcast";
  Said said(OpType::BROADCAST, BROADCAST, opts);
  said.root = root_of(what, opts.rootRank, size_);
  only(what, tensors, "");
  said.moves(tensors[0]);
  said.in_place(what, tensors);
  return say(said);
}

WorkPtr CpuBackend::allreduce(
    std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& opts) {
  constexpr char what[] = "allreduce";
  if (tensors.size() == 1 && tensors[0].layout() == at::kSparse) {
    return allreduce_sparse(tensors, opts);
  }
  check_all(what, tensors);
  // To some backends a list is tensors that are to be added up, to others it is nothing.
  only(what, tensors, "");
  return reduce_everywhere(OpType::ALLREDUCE, tensors, opts);
}

WorkPtr CpuBackend::allreduce_coalesced(
    std::vector<at::Tensor>& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  check_all("allreduce_coalesced", tensors);
  return reduce_everywhere(OpType::ALLREDUCE_COALESCED, tensors, opts);
}

// Each tensor becomes its sum, or what else, over the ranks.
WorkPtr CpuBackend::reduce_everywhere(
    OpType type, const std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& opts) {
  Said said(type, ALL_REDUCE, opts);
  said.reduces(tensors[0], opts.reduceOp);
  said.in_place("allreduce", tensors);
  if (opts.reduceOp.op_ == c10d::ReduceOp::PREMUL_SUM) {
    said.output = std::move(said.input);
    said.input = Side();
    for (const auto& tensor : tensors) {
      said.input.read(contribution(tensor, opts.reduceOp));
    }
  }
  return say(said);
}

// The non-zero elements of all ranks, added up. Ranks wait for each other here: the sizes that are
// exchanged first say how much the others have.
WorkPtr CpuBackend::allreduce_sparse(
    std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& opts) {
  constexpr char what[] = "allreduce";
  if (tensors.size() != 1) {
    REFUSE(what, "requires a single-element tensor list of sparse tensors, not one of ", tensors.size());
  }
  if (opts.reduceOp.op_ != c10d::ReduceOp::SUM) {
    REFUSE(what, "sparse tensors have sums only");
  }
  auto& target = tensors[0];
  if (target.layout() != at::kSparse) {
    REFUSE(what, "unsupported layout: ", target.layout(), " where a sparse tensor is expected");
  }
  if (!target.device().is_cpu()) {
    REFUSE(what, "unsupported device type: ", target.device().type(), ", only CPU tensors");
  }
  at::NoGradGuard no_grad;
  const auto own = target.coalesce();
  const auto indices = own.indices().t().contiguous();
  const auto values = own.values().contiguous();
  c10d::AllgatherOptions gather;
  gather.timeout = opts.timeout;
  // How many, and a digest of the shape, which must be the same.
  auto said_sizes = at::tensor(own.sizes(), at::kLong);
  auto header = at::cat({at::tensor({own._nnz(), own.sparse_dim(), own.dim()}, at::kLong), said_sizes});
  auto headers = at::empty({size_ * header.numel()}, header.options());
  // Ranks with other shapes may have headers of other lengths, which is found out as a mismatch.
  _allgather_base(headers, header, gather)->wait();
  headers = headers.view({size_, -1});
  std::vector<at::Tensor> all_indices, all_values;
  for (int rank = 0; rank < size_; ++rank) {
    const auto theirs = headers[rank];
    if (!theirs.slice(0, 1).equal(header.slice(0, 1))) {
      const auto listed = [](const at::Tensor& row) {
        return at::IntArrayRef(row.const_data_ptr<int64_t>() + 1, static_cast<size_t>(row.numel()) - 1);
      };
      REFUSE(what, "invalid tensor size: rank ", rank, " has sparse dimensions, dimensions and sizes ",
             listed(theirs), ", this one ", listed(header));
    }
    const auto count = theirs[0].item<int64_t>();
    auto shape = values.sizes().vec();
    shape[0] = count;
    all_indices.push_back(at::empty({count, own.sparse_dim()}, indices.options()));
    all_values.push_back(at::empty(shape, values.options()));
  }
  std::vector<std::vector<at::Tensor>> index_lists{all_indices}, value_lists{all_values};
  std::vector<at::Tensor> index_list{indices}, value_list{values};
  auto first = allgather(index_lists, index_list, gather);
  auto second = allgather(value_lists, value_list, gather);
  first->wait();
  second->wait();
  const auto sum = at::sparse_coo_tensor(
                       at::cat(all_indices).t().contiguous(), at::cat(all_values), own.sizes())
                       .coalesce();
  target.copy_(sum);
  auto work = c10::make_intrusive<CallWork>(
      group_,
      rank_,
      OpType::_ALLREDUCE_SPARSE,
      titles_[static_cast<size_t>(OpType::_ALLREDUCE_SPARSE)].c_str(),
      tensors,
      tensors,
      getSequenceNumberForGroup());
  work->completeNow();
  return return_work(std::move(work));
}

WorkPtr CpuBackend::reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& opts) {
  constexpr char what[] = "reduce";
  Said said(OpType::REDUCE, REDUCE, opts);
  said.root = root_of(what, opts.rootRank, size_);
  only(what, tensors, "");
  said.reduces(tensors[0], opts.reduceOp);
  said.in_place(what, tensors);
  if (opts.reduceOp.op_ == c10d::ReduceOp::PREMUL_SUM) {
    said.output = std::move(said.input);
    said.input = Side();
    said.input.read(contribution(tensors[0], opts.reduceOp));
  }
  return say(said);
}

WorkPtr CpuBackend::allgather(
    std::vector<std::vector<at::Tensor>>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::AllgatherOptions& opts) {
  constexpr char what[] = "allgather";
  const auto& input = only(what, inputs, "input ");
  if (outputs.size() != 1) {
    REFUSE(what, "requires a single-element output list, not one of ", outputs.size(),
           " (invalid output tensor list)");
  }
  const auto& list = outputs[0];
  if (list.size() != static_cast<size_t>(size_)) {
    REFUSE(what, "invalid output tensor list at index 0 (expected length ", size_, ", got ", list.size(), ")");
  }
  check_all(what, list);
  check_type(what, input, list[0]);
  if (list[rank_].numel() != input.numel()) {
    REFUSE(what, "invalid tensor size: output ", rank_, " has ", list[rank_].sizes(), ", the input ", input.sizes());
  }
  Said said(OpType::ALLGATHER, ALL_GATHER, opts);
  said.moves(input);
  said.input.read(input);
  bool even = true;
  for (const auto& tensor : list) {
    said.output.write(what, tensor);
    even = even && tensor.numel() == input.numel();
  }
  if (!even) {
    said.op = ALL_GATHER_V;
    for (const auto& tensor : list) {
      said.receive_lengths.push_back(tensor.numel());
    }
  }
  said.results = list;
  return say(said);
}

WorkPtr CpuBackend::_allgather_base(
    at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) {
  constexpr char what[] = "_allgather_base";
  check(what, output);
  check(what, input);
  check_type(what, output, input);
  if (output.numel() != input.numel() * size_) {
    REFUSE(what, "invalid tensor size: the output has ", output.numel(), " elements, not ", size_,
           " times the ", input.numel(), " of the input");
  }
  Said said(OpType::_ALLGATHER_BASE, ALL_GATHER, opts);
  said.moves(input);
  said.input.read(input);
  said.output.write(what, output);
  said.results = {output};
  return say(said);
}

WorkPtr CpuBackend::allgather_coalesced(
    std::vector<std::vector<at::Tensor>>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::AllgatherOptions& opts) {
  constexpr char what[] = "allgather_coalesced";
  check_all(what, inputs);
  if (outputs.size() != static_cast<size_t>(size_)) {
    REFUSE(what, "invalid output tensor list: its length is ", outputs.size(), ", expected ", size_);
  }
  Said said(OpType::ALLGATHER_COALESCED, ALL_GATHER, opts);
  said.moves(inputs[0]);
  for (const auto& input : inputs) {
    said.input.read(input);
  }
  for (const auto& list : outputs) {
    if (list.size() != inputs.size()) {
      REFUSE(what, "invalid output size: (expected length ", inputs.size(), ", got ", list.size(), ")");
    }
    for (size_t index = 0; index < list.size(); ++index) {
      check(what, list[index]);
      check_type(what, list[index], inputs[index]);
      if (list[index].sizes() != inputs[index].sizes()) {
        REFUSE(what, "invalid size of output tensor at index ", index, " (expected ",
               inputs[index].sizes(), ", got ", list[index].sizes(), "): invalid tensor size");
      }
      said.output.write(what, list[index]);
      said.results.push_back(list[index]);
    }
  }
  return say(said);
}

WorkPtr CpuBackend::allgather_into_tensor_coalesced(
    std::vector<at::Tensor>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::AllgatherOptions& opts) {
  constexpr char what[] = "allgather_into_tensor_coalesced";
  check_all(what, inputs);
  check_all(what, outputs);
  if (outputs.size() != inputs.size()) {
    REFUSE(what, "requires as many outputs (", outputs.size(), ") as inputs (", inputs.size(), ")");
  }
  check_type(what, outputs[0], inputs[0]);
  Said said(OpType::ALLGATHER_COALESCED, ALL_GATHER, opts);
  said.moves(inputs[0]);
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (outputs[index].numel() != inputs[index].numel() * size_) {
      REFUSE(what, "invalid tensor size: output ", index, " has ", outputs[index].numel(),
             " elements, not ", size_, " times the ", inputs[index].numel(), " of its input");
    }
    if (!outputs[index].is_contiguous()) {
      REFUSE(what, "Tensors must be contiguous");
    }
    said.input.read(inputs[index]);
    said.output.held.push_back(outputs[index]);
  }
  for (int rank = 0; rank < size_; ++rank) {
    for (size_t index = 0; index < inputs.size(); ++index) {
      const auto elements = inputs[index].numel();
      said.output.part(outputs[index], rank * elements, elements);
    }
  }
  said.results = outputs;
  return say(said);
}

WorkPtr CpuBackend::gather(
    std::vector<std::vector<at::Tensor>>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::GatherOptions& opts) {
  constexpr char what[] = "gather";
  Said said(OpType::GATHER, GATHER, opts);
  said.root = root_of(what, opts.rootRank, size_);
  const auto& input = only(what, inputs, "input ");
  said.moves(input);
  said.input.read(input);
  if (rank_ != opts.rootRank) {
    if (!outputs.empty()) {
      REFUSE(what, "requires empty output on non-root");
    }
    return say(said);
  }
  if (outputs.size() != 1) {
    REFUSE(what, "requires a single-element output list containing a list with ", size_, " tensors.");
  }
  if (outputs[0].size() != static_cast<size_t>(size_)) {
    REFUSE(what, "Incorrect output list size ", outputs[0].size(), ". Output list size should be ",
           size_, ", same as size of the process group.");
  }
  for (const auto& output : outputs[0]) {
    check(what, output);
    check_type(what, output, input);
    check_sizes(what, output, input);
    said.output.write(what, output);
  }
  said.results = outputs[0];
  return say(said);
}

#ifdef C10D_BACKEND_HAS_HOOKS
WorkPtr CpuBackend::gather_single(
    at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts) {
  constexpr char what[] = "gather_single";
  Said said(OpType::GATHER, GATHER, opts);
  said.root = root_of(what, opts.rootRank, size_);
  check(what, input);
  said.moves(input);
  said.input.read(input);
  if (rank_ == opts.rootRank) {
    check(what, output);
    check_type(what, output, input);
    if (output.numel() != input.numel() * size_) {
      REFUSE(what, "invalid tensor size: the output has ", output.numel(), " elements, not ", size_,
             " times the ", input.numel(), " of the input");
    }
    said.output.write(what, output);
    said.results = {output};
  }
  return say(said);
}
#endif

WorkPtr CpuBackend::scatter(
    std::vector<at::Tensor>& outputs,
    std::vector<std::vector<at::Tensor>>& inputs,
    const c10d::ScatterOptions& opts) {
  constexpr char what[] = "scatter";
  Said said(OpType::SCATTER, SCATTER, opts);
  said.root = root_of(what, opts.rootRank, size_);
  const auto& output = only(what, outputs, "output ");
  said.moves(output);
  said.output.write(what, output);
  said.results = outputs;
  if (rank_ != opts.rootRank) {
    if (!inputs.empty()) {
      REFUSE(what, "requires empty input on non-root");
    }
    return say(said);
  }
  if (inputs.size() != 1) {
    REFUSE(what, "requires a single-element input list containing a list with ", size_, " tensors");
  }
  if (inputs[0].size() != static_cast<size_t>(size_)) {
    REFUSE(what, "Incorrect input list size ", inputs[0].size(), ". Input list size should be ",
           size_, ", same as size of the process group.");
  }
  for (const auto& input : inputs[0]) {
    check(what, input);
    check_type(what, input, output);
    check_sizes(what, input, output);
    said.input.read(input);
  }
  return say(said);
}

WorkPtr CpuBackend::reduce_scatter(
    std::vector<at::Tensor>& outputs,
    std::vector<std::vector<at::Tensor>>& inputs,
    const c10d::ReduceScatterOptions& opts) {
  constexpr char what[] = "reduce_scatter";
  const auto& output = only(what, outputs, "output ");
  if (inputs.size() != 1 || inputs[0].size() != static_cast<size_t>(size_)) {
    REFUSE(what, "requires a single-element input list containing a list with ", size_, " tensors");
  }
  check_all(what, inputs[0]);
  check_type(what, output, inputs[0][0]);
  if (inputs[0][rank_].numel() != output.numel()) {
    REFUSE(what, "invalid tensor size: input ", rank_, " has ", inputs[0][rank_].sizes(), ", the output ", output.sizes());
  }
  Said said(OpType::REDUCE_SCATTER, REDUCE_SCATTER, opts);
  said.reduces(output, opts.reduceOp);
  said.output.write(what, output);
  bool even = true;
  for (const auto& input : inputs[0]) {
    said.input.read(contribution(input, opts.reduceOp));
    even = even && input.numel() == output.numel();
  }
  if (!even) {
    said.op = REDUCE_SCATTER_V;
    for (const auto& input : inputs[0]) {
      said.send_lengths.push_back(input.numel());
    }
  }
  said.results = outputs;
  return say(said);
}

WorkPtr CpuBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) {
  constexpr char what[] = "_reduce_scatter_base";
  check(what, output);
  check(what, input);
  check_type(what, output, input);
  if (input.numel() != output.numel() * size_) {
    REFUSE(what, "invalid tensor size: the input has ", input.numel(), " elements, not ", size_,
           " times the ", output.numel(), " of the output");
  }
  Said said(OpType::_REDUCE_SCATTER_BASE, REDUCE_SCATTER, opts);
  said.reduces(output, opts.reduceOp);
  said.input.read(contribution(input, opts.reduceOp));
  said.output.write(what, output);
  said.results = {output};
  return say(said);
}

WorkPtr CpuBackend::reduce_scatter_tensor_coalesced(
    std::vector<at::Tensor>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::ReduceScatterOptions& opts) {
  constexpr char what[] = "reduce_scatter_tensor_coalesced";
  check_all(what, outputs);
  check_all(what, inputs);
  if (outputs.size() != inputs.size()) {
    REFUSE(what, "requires as many outputs (", outputs.size(), ") as inputs (", inputs.size(), ")");
  }
  check_type(what, outputs[0], inputs[0]);
  Said said(OpType::_REDUCE_SCATTER_BASE, REDUCE_SCATTER, opts);
  said.reduces(outputs[0], opts.reduceOp);
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (inputs[index].numel() != outputs[index].numel() * size_) {
      REFUSE(what, "invalid tensor size: input ", index, " has ", inputs[index].numel(),
             " elements, not ", size_, " times the ", outputs[index].numel(), " of its output");
    }
    said.input.held.push_back(contribution(inputs[index], opts.reduceOp).contiguous());
    said.output.write(what, outputs[index]);
  }
  for (int rank = 0; rank < size_; ++rank) {
    for (size_t index = 0; index < inputs.size(); ++index) {
      const auto elements = outputs[index].numel();
      said.input.part(said.input.held[index], rank * elements, elements);
    }
  }
  said.results = outputs;
  return say(said);
}

WorkPtr CpuBackend::alltoall_base(
    at::Tensor& output,
    at::Tensor& input,
    std::vector<int64_t>& output_splits,
    std::vector<int64_t>& input_splits,
    const c10d::AllToAllOptions& opts) {
  constexpr char what[] = "alltoall_base";
  check(what, output);
  check(what, input);
  check_type(what, output, input);
  Said said(OpType::ALLTOALL_BASE, ALL_TO_ALL, opts);
  said.moves(input);
  said.input.read(input);
  said.output.write(what, output);
  said.results = {output};
  if (input_splits.empty() && output_splits.empty()) {
    if (input.numel() != output.numel()) {
      REFUSE(what, "invalid tensor size: ", input.numel(), " elements in, ", output.numel(), " out");
    }
    if (input.dim() > 0 && input.size(0) % size_ != 0) {
      REFUSE(what, "invalid tensor size: Tensor's dim 0 does not divide equally across group size");
    }
    return say(said);
  }
  check_splits(what, "input_split_sizes", input_splits, input, size_);
  check_splits(what, "output_split_sizes", output_splits, output, size_);
  said.op = ALL_TO_ALL_V;
  const auto lengths = [&](const std::vector<int64_t>& splits, const at::Tensor& tensor) {
    std::vector<uint64_t> made(size_);
    const int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 0;
    const int64_t row = rows > 0 ? tensor.numel() / rows : 0;
    for (int rank = 0; rank < size_; ++rank) {
      made[rank] = static_cast<uint64_t>(row * (splits.empty() ? rows / size_ : splits[rank]));
    }
    return made;
  };
  said.send_lengths = lengths(input_splits, input);
  said.receive_lengths = lengths(output_splits, output);
  return say(said);
}

WorkPtr CpuBackend::alltoall(
    std::vector<at::Tensor>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::AllToAllOptions& opts) {
  constexpr char what[] = "alltoall";
  check_all(what, outputs);
  check_all(what, inputs);
  check_type(what, outputs[0], inputs[0]);
  if (outputs.size() != static_cast<size_t>(size_) || inputs.size() != static_cast<size_t>(size_)) {
    REFUSE(what, "requires lists of ", size_, " tensors, not of ", outputs.size(), " and ", inputs.size());
  }
  Said said(OpType::ALLTOALL, ALL_TO_ALL_V, opts);
  said.moves(inputs[0]);
  for (int rank = 0; rank < size_; ++rank) {
    said.input.read(inputs[rank]);
    said.output.write(what, outputs[rank]);
    said.send_lengths.push_back(inputs[rank].numel());
    said.receive_lengths.push_back(outputs[rank].numel());
  }
  said.results = outputs;
  return say(said);
}

}  // namespace hccl
