#include "said.h"

namespace hccl {

namespace {

// Tags from here on are the backend's own; PyTorch's end below.
constexpr uint32_t OWN_TAGS = 0x80000000;

}  // namespace

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

}  // namespace hccl
