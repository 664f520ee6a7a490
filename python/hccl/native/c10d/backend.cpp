#include "backend.h"

#include <ATen/record_function.h>

#include "said.h"

namespace hccl {

namespace {

constexpr char ROOT_KEY[] = "hccl/root";
// How long a group that is shut down or dropped waits for calls that are still under way: all that
// ends a group is through within a second.
constexpr uint64_t CLOSE_MS = 800;

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

}  // namespace

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
  if (rank == 0 && size > 1) {
    // All have read it. Kept, it would be four kilobytes of the store for each group there ever was.
    try {
      store->deleteKey(ROOT_KEY);
    } catch (const std::exception&) {
      // Some stores keep everything.
    }
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

// Calls that are under way end soon or are aborted: their handles keep the group, not the backend.
CpuBackend::~CpuBackend() {
  table->group_close(group_->group, CLOSE_MS);
}

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
  table->group_close(group_->group, CLOSE_MS);
}

}  // namespace hccl
