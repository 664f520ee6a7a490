#include "backend.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "types.h"

namespace hccl {

using c10d::OpType;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

namespace {

constexpr char ROOT_KEY[] = "hccl/root";
// How long a group that is shut down waits for calls that are still under way.
constexpr uint64_t CLOSE_MS = 10'000;
// Tags from here on are the backend's own; PyTorch's end below.
constexpr uint32_t OWN_TAGS = 0x80000000;

#define REFUSE(what, ...) \
  C10_THROW_ERROR(ValueError, c10::str("hccl::", what, ": ", __VA_ARGS__))

struct Named {
  OpType type;
  const char* name;
};

// As the profiler shows them, after the backend's name and a colon.
constexpr Named NAMES[] = {
    {OpType::BROADCAST, "broadcast"},
    {OpType::ALLREDUCE, "all_reduce"},
    {OpType::ALLREDUCE_COALESCED, "all_reduce"},
    {OpType::_ALLREDUCE_SPARSE, "sparse_all_reduce"},
    {OpType::REDUCE, "reduce"},
    {OpType::ALLGATHER, "all_gather"},
    {OpType::_ALLGATHER_BASE, "all_gather"},
    {OpType::ALLGATHER_COALESCED, "all_gather"},
    {OpType::GATHER, "gather"},
    {OpType::SCATTER, "scatter"},
    {OpType::REDUCE_SCATTER, "reduce_scatter"},
    {OpType::_REDUCE_SCATTER_BASE, "reduce_scatter"},
    {OpType::ALLTOALL, "all_to_all"},
    {OpType::ALLTOALL_BASE, "all_to_all"},
    {OpType::SEND, "send"},
    {OpType::RECV, "recv"},
    {OpType::RECVANYSOURCE, "recvAnySource"},
    {OpType::BARRIER, "barrier"},
};

void check(const char* what, const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided) {
    REFUSE(what, "unsupported layout: ", tensor.layout(), ", only strided tensors");
  }
  if (!tensor.device().is_cpu()) {
    REFUSE(what, "unsupported device type: ", tensor.device().type(), ", only CPU tensors");
  }
}

void check_all(const char* what, const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) {
    REFUSE(what, "requires non-empty tensor list");
  }
  for (const auto& tensor : tensors) {
    check(what, tensor);
    if (tensor.scalar_type() != tensors[0].scalar_type()) {
      REFUSE(what, "invalid tensor type: ", tensor.scalar_type(), " among tensors of ",
             tensors[0].scalar_type());
    }
  }
}

const at::Tensor& only(const char* what, const std::vector<at::Tensor>& tensors, const char* side) {
  if (tensors.size() != 1) {
    REFUSE(what, "requires a single-element ", side, "tensor list, not one of ", tensors.size());
  }
  check(what, tensors[0]);
  return tensors[0];
}

void check_type(const char* what, const at::Tensor& tensor, const at::Tensor& other) {
  if (tensor.scalar_type() != other.scalar_type()) {
    REFUSE(what, "invalid tensor type: ", tensor.scalar_type(), " beside ", other.scalar_type());
  }
}

void check_sizes(const char* what, const at::Tensor& tensor, const at::Tensor& other) {
  if (tensor.sizes() != other.sizes()) {
    REFUSE(what, "invalid tensor size: ", tensor.sizes(), " beside ", other.sizes());
  }
}

uint32_t root_of(const char* what, int64_t root, int size) {
  if (root < 0 || root >= size) {
    REFUSE(what, "invalid root rank: ", root, ", allowed are 0 to ", size - 1);
  }
  return static_cast<uint32_t>(root);
}

}  // namespace

// Tensors of one side of a call.
struct CpuBackend::Side {
  c10::SmallVector<View, 4> views;
  std::vector<at::Tensor> held;

  // Tensors that are read.
  void read(const at::Tensor& tensor) {
    add(tensor.is_conj() || tensor.is_neg() ? tensor.resolve_conj().resolve_neg() : tensor);
  }

  // Tensors that are written.
  void write(const char* what, const at::Tensor& tensor) {
    if (tensor.is_conj() || tensor.is_neg()) {
      REFUSE(what, "unsupported layout: a tensor with a pending conjugation or negation");
    }
    if (!tensor.is_contiguous() && at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
      REFUSE(what, "unsupported layout: elements of the tensor share memory");
    }
    add(tensor);
  }

  // A part of a tensor whose elements lie in order.
  void part(const at::Tensor& tensor, int64_t first, int64_t elements) {
    auto* data = static_cast<char*>(tensor.data_ptr()) + first * tensor.element_size();
    views.push_back(View{data, static_cast<uint64_t>(elements), nullptr, nullptr, 0});
  }

 private:
  void add(at::Tensor tensor) {
    View view{tensor.data_ptr(), static_cast<uint64_t>(tensor.numel()), nullptr, nullptr, 0};
    held.push_back(std::move(tensor));
    const auto& kept = held.back();
    if (!kept.is_contiguous()) {
      // They lie in the tensor itself, which does not move.
      view.sizes = kept.sizes().data();
      view.strides = kept.strides().data();
      view.dimensions = static_cast<uint64_t>(kept.dim());
    }
    views.push_back(view);
  }
};

// A call before it is made.
struct CpuBackend::Said {
  OpType type;
  uint32_t op;
  bool async = true;
  std::chrono::milliseconds timeout = c10d::kUnsetTimeout;
  uint32_t data_type = 0;
  uint32_t reduce_op = 0;
  uint32_t root = 0;
  uint32_t tag = 0;
  Side input;
  Side output;
  // What the handle's result is.
  std::vector<at::Tensor> results;
  std::vector<uint64_t> send_lengths;
  std::vector<uint64_t> receive_lengths;

  template <class Options>
  Said(OpType type, uint32_t op, const Options& opts)
      : type(type), op(op), async(opts.asyncOp), timeout(opts.timeout) {}
  Said(OpType type, uint32_t op) : type(type), op(op) {}

  void moves(const at::Tensor& tensor) { data_type = movable(tensor.scalar_type()); }

  void reduces(const at::Tensor& tensor, const c10d::ReduceOp& op) {
    data_type = reducible(tensor.scalar_type());
    reduce_op = reduction(op, tensor.scalar_type());
  }

  // Input and output are the same tensors.
  void in_place(const char* what, const std::vector<at::Tensor>& tensors) {
    for (const auto& tensor : tensors) {
      input.write(what, tensor);
    }
    results = tensors;
  }
};

c10::intrusive_ptr<CpuBackend> CpuBackend::create(
    const c10::intrusive_ptr<c10d::Store>& store,
    int rank,
    int size,
    std::chrono::milliseconds timeout,
    const std::string& name,
    const std::string& group_name,
    std::vector<uint64_t> global_ranks) {
  TORCH_CHECK_VALUE(size > 0 && rank >= 0 && rank < size, "rank ", rank, " of ", size, " ranks; allowed are 0 to ", size - 1);
  char text[TEXT_BYTES];
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(timeout.count(), 0));
  std::vector<uint8_t> root(ROOT_BYTES);
  if (rank == 0) {
    const auto status = static_cast<Status>(table->root_open(root.data(), limit, text));
    const std::string why = status == DONE ? "" : text;
    // Ranks that wait are told also when it cannot be opened.
    if (size > 1) {
      store->set(ROOT_KEY, status == DONE ? root : std::vector<uint8_t>(why.begin(), why.end()));
    }
    if (status != DONE) {
      raise(status, why);
    }
  } else {
    store->wait({ROOT_KEY}, timeout);
    root = store->get(ROOT_KEY);
    if (root.size() != ROOT_BYTES) {
      raise(FAILED, "rank 0 could not open a meeting place: " + std::string(root.begin(), root.end()));
    }
  }
  const Joining joining{
      root.data(),
      group_name.c_str(),
      static_cast<uint32_t>(rank),
      static_cast<uint32_t>(size),
      limit};
  const Group* group = nullptr;
  const auto status = static_cast<Status>(table->group_join(&joining, hooks(), &group, text));
  if (status != DONE) {
    raise(status, text);
  }
  auto options = c10::make_intrusive<CpuOptions>(name, timeout);
  options->group_name = group_name;
  options->global_ranks_in_group = std::move(global_ranks);
  return c10::make_intrusive<CpuBackend>(
      rank, size, std::make_shared<GroupHandle>(group), std::move(options));
}

CpuBackend::CpuBackend(
    int rank, int size, std::shared_ptr<GroupHandle> group, c10::intrusive_ptr<CpuOptions> options)
    : Backend(rank, size), group_(std::move(group)), options_(std::move(options)) {
  for (const auto& [type, name] : NAMES) {
    const auto index = static_cast<size_t>(type);
    titles_.resize(std::max(titles_.size(), index + 1));
    titles_[index] = options_->backend + ":" + name;
  }
}

CpuBackend::~CpuBackend() = default;

WorkPtr CpuBackend::say(Said& said) {
  Call call{};
  call.op = said.op;
  call.data_type = said.data_type;
  call.reduce_op = said.reduce_op;
  call.root = said.root;
  call.tag = said.tag;
  call.background = said.async ? 1 : 0;
  call.timeout_ms = said.timeout.count() > 0 ? static_cast<uint64_t>(said.timeout.count()) : 0;
  call.inputs = said.input.views.data();
  call.inputs_len = said.input.views.size();
  call.outputs = said.output.views.data();
  call.outputs_len = said.output.views.size();
  call.send_lengths = said.send_lengths.empty() ? nullptr : said.send_lengths.data();
  call.receive_lengths = said.receive_lengths.empty() ? nullptr : said.receive_lengths.data();
  if (!said.async && !coalescing_ && !at::hasCallbacks()) {
    // The caller is about to wait, and there is nobody to tell of the call: PyTorch takes no handle
    // for a call that is over.
    auto kept = std::move(said.input.held);
    for (auto& tensor : said.output.held) {
      kept.push_back(std::move(tensor));
    }
    call_and_wait(group_->group, call, std::move(kept));
    return nullptr;
  }
  const auto& title = titles_[static_cast<size_t>(said.type)];
  auto work = c10::make_intrusive<CallWork>(
      group_,
      rank_,
      said.type,
      title.c_str(),
      said.input.held.empty() ? said.output.held : said.input.held,
      std::move(said.results),
      getSequenceNumberForGroup());
  auto kept = std::move(said.input.held);
  kept.insert(
      kept.end(),
      std::make_move_iterator(said.output.held.begin()),
      std::make_move_iterator(said.output.held.end()));
  work->keep(std::move(kept));
  work->submit(call);
  return return_work(std::move(work));
}

WorkPtr CpuBackend::return_work(c10::intrusive_ptr<CallWork> work) {
  if (coalescing_) {
    coalesced_.push_back(work);
  }
  return work;
}

void CpuBackend::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  table->group_set_timeout(group_->group, static_cast<uint64_t>(std::max<int64_t>(timeout.count(), 0)));
}

void CpuBackend::startCoalescing() {
  coalescing_ = true;
  coalesced_.clear();
}

WorkPtr CpuBackend::endCoalescing() {
  coalescing_ = false;
  return c10::make_intrusive<ManyWork>(rank_, std::move(coalesced_));
}

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
  Said said(OpType::ALLREDUCE, ALL_REDUCE, opts);
  said.reduces(tensors[0], opts.reduceOp);
  said.in_place(what, tensors);
  if (opts.reduceOp.op_ == c10d::ReduceOp::PREMUL_SUM) {
    said.output = std::move(said.input);
    said.input = Side();
    for (const auto& tensor : tensors) {
      said.input.read(contribution(tensor, opts.reduceOp));
    }
  }
  return say(said);
}

WorkPtr CpuBackend::allreduce_coalesced(
    std::vector<at::Tensor>& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return allreduce(tensors, opts);
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
      REFUSE(what, "invalid tensor size: rank ", rank, " has sparse dimensions, dimensions and sizes ",
             theirs.slice(0, 1), ", this one ", header.slice(0, 1));
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
  c10d::checkSplitSizes(input_splits, input, size_);
  c10d::checkSplitSizes(output_splits, output, size_);
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

WorkPtr CpuBackend::send(std::vector<at::Tensor>& tensors, int peer, int tag) {
  constexpr char what[] = "send";
  Said said(OpType::SEND, SEND);
  only(what, tensors, "");
  said.moves(tensors[0]);
  said.input.read(tensors[0]);
  said.root = root_of(what, peer, size_);
  said.tag = static_cast<uint32_t>(tag);
  said.results = tensors;
  TORCH_CHECK_VALUE(tag >= 0, "hccl::send: the tag is ", tag, ", allowed are 0 and above");
  return say(said);
}

WorkPtr CpuBackend::recv(std::vector<at::Tensor>& tensors, int peer, int tag) {
  constexpr char what[] = "recv";
  Said said(OpType::RECV, RECEIVE);
  only(what, tensors, "");
  said.moves(tensors[0]);
  said.output.write(what, tensors[0]);
  said.root = root_of(what, peer, size_);
  said.tag = static_cast<uint32_t>(tag);
  said.results = tensors;
  TORCH_CHECK_VALUE(tag >= 0, "hccl::recv: the tag is ", tag, ", allowed are 0 and above");
  return say(said);
}

WorkPtr CpuBackend::recvAnysource(std::vector<at::Tensor>& tensors, int tag) {
  constexpr char what[] = "recvAnysource";
  Said said(OpType::RECVANYSOURCE, RECEIVE);
  only(what, tensors, "");
  said.moves(tensors[0]);
  said.output.write(what, tensors[0]);
  said.root = ANY;
  said.tag = static_cast<uint32_t>(tag);
  said.results = tensors;
  TORCH_CHECK_VALUE(tag >= 0, "hccl::recv: the tag is ", tag, ", allowed are 0 and above");
  return say(said);
}

WorkPtr CpuBackend::barrier(const c10d::BarrierOptions& opts) {
  Said said(OpType::BARRIER, BARRIER, opts);
  return say(said);
}

c10::intrusive_ptr<CallWork> CpuBackend::message(
    uint32_t op, const std::vector<at::Tensor>& tensors, uint32_t peer, int tag) {
  Said said(op == SEND ? OpType::SEND : OpType::RECV, op);
  said.moves(tensors[0]);
  (op == SEND ? said.input : said.output).write("monitoredBarrier", tensors[0]);
  said.root = peer;
  said.tag = OWN_TAGS + static_cast<uint32_t>(tag);
  said.results = tensors;
  return c10::static_intrusive_pointer_cast<CallWork>(say(said));
}

// All ranks tell rank 0 that they are here; it tells them that all are. Only rank 0 finds out who is
// missing; the others learn from it.
void CpuBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool all_ranks) {
  const auto timeout = opts.timeout.count() >= 0 ? opts.timeout : options_->timeout;
  const int tag = static_cast<int>(barriers_++ % 0x10000000);
  const auto word = [] { return at::zeros({1}, at::kLong); };
  const auto begun = std::chrono::steady_clock::now();
  const auto left = [&] {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begun);
    return std::max(timeout - passed, std::chrono::milliseconds(1));
  };
  if (rank_ != 0) {
    auto sent = message(SEND, {word()}, 0, tag);
    auto released = message(RECEIVE, {word()}, 0, tag);
    // Rank 0 has as long for each, and tells of it.
    if (!sent->waitFor(timeout) || !released->waitFor(timeout + std::chrono::seconds(2)) ||
        released->exception()) {
      released->cancel();
      raise(
          TIMED_OUT,
          c10::str("Rank ", rank_, " successfully reached monitoredBarrier, but received errors while "
                   "waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."));
    }
    return;
  }
  if (timeout.count() == 0) {
    raise(TIMED_OUT, "Rank 0 timed out in monitoredBarrier after 0 ms");
  }
  std::vector<c10::intrusive_ptr<CallWork>> here;
  for (int rank = 1; rank < size_; ++rank) {
    here.push_back(message(RECEIVE, {word()}, static_cast<uint32_t>(rank), tag));
  }
  std::vector<int> missing;
  std::string why;
  for (int rank = 1; rank < size_; ++rank) {
    const auto& work = here[rank - 1];
    if (work->waitFor(left()) && !work->exception()) {
      continue;
    }
    work->cancel();
    missing.push_back(rank);
    if (!all_ranks) {
      break;
    }
  }
  if (missing.empty()) {
    for (int rank = 1; rank < size_; ++rank) {
      message(SEND, {word()}, static_cast<uint32_t>(rank), tag)->wait();
    }
    return;
  }
  for (const auto& work : here) {
    work->cancel();
  }
  std::string names;
  for (const int rank : missing) {
    names += (names.empty() ? "" : ", ") + std::to_string(rank);
  }
  raise(
      TIMED_OUT,
      c10::str(missing.size() == 1 ? "Rank " : "Ranks ", names, " failed to pass monitoredBarrier in ",
               timeout.count(), " ms"));
}

c10::intrusive_ptr<c10d::Backend> CpuBackend::split(
    const c10::intrusive_ptr<c10d::Store>& store,
    const std::vector<int>& ranks,
    const c10::intrusive_ptr<Options>& opts) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank_);
  if (found == ranks.end()) {
    return nullptr;
  }
  const auto timeout = opts ? opts->timeout : options_->timeout;
  std::vector<uint64_t> global;
  for (const int rank : ranks) {
    const auto& parents = options_->global_ranks_in_group;
    global.push_back(
        static_cast<size_t>(rank) < parents.size() ? parents[rank] : static_cast<uint64_t>(rank));
  }
  const auto name = opts ? opts->group_name : options_->group_name + "/split";
  return create(
      store,
      static_cast<int>(found - ranks.begin()),
      static_cast<int>(ranks.size()),
      timeout,
      options_->backend,
      name,
      std::move(global));
}

c10d::ErrorType CpuBackend::getError() {
  char text[TEXT_BYTES];
  switch (static_cast<Status>(table->group_failure(group_->group, text))) {
    case DONE: return c10d::ErrorType::SUCCESS;
    case TIMED_OUT: return c10d::ErrorType::TIMEOUT;
    case FAILED: return c10d::ErrorType::REMOTE_ERROR;
    default: return c10d::ErrorType::COMM_ERROR;
  }
}

void CpuBackend::abort() {
  table->group_abort(group_->group, "the process group was aborted");
}

void CpuBackend::shutdown() {
  const auto most = std::min<uint64_t>(CLOSE_MS, std::max<int64_t>(options_->timeout.count(), 1));
  table->group_close(group_->group, most);
}

}  // namespace hccl
