// The handle of a call.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "table.h"

namespace hccl {

// A group of libhccl_torch.so, which lives as long as somebody may ask about a call of its.
struct GroupHandle {
  const Group* group;
  explicit GroupHandle(const Group* group) : group(group) {}
  GroupHandle(const GroupHandle&) = delete;
  GroupHandle& operator=(const GroupHandle&) = delete;
  ~GroupHandle() { table->group_free(group); }
};

// Raises what became of a call, or of something else that was tried.
[[noreturn]] void raise(Status status, const std::string& text);

// Makes a call and waits until it is over; there is no handle. The tensors are held until then, also
// where an interrupt from the keyboard ends the wait before.
void call_and_wait(const Group* group, Call call, std::vector<at::Tensor> tensors);

class CallWork : public c10d::Work {
 public:
  CallWork(
      std::shared_ptr<GroupHandle> group,
      int rank,
      c10d::OpType type,
      const char* title,
      const std::vector<at::Tensor>& inputs,
      std::vector<at::Tensor> outputs,
      uint64_t sequence);
  ~CallWork() override;

  // Makes the call; what is wrong with it is raised.
  void submit(Call call);

  // Tensors that must stay until the call is over, beside the outputs.
  void keep(std::vector<at::Tensor> tensors);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void synchronize() override { wait(); }
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override { return sequence_; }

  // It is over already.
  void completeNow() { complete(DONE, -1, nullptr); }
  // Waits without raising anything; whether it is over.
  bool waitFor(std::chrono::milliseconds limit);
  // It is not waited for any more, if it is a receive that has no message yet.
  void cancel();

 private:
  static void finished(void* owner, uint32_t status, int32_t source, const char* text);
  friend Hooks hooks();
  void complete(Status status, int32_t source, const char* text);
  void tell();
  void wait_until_told(std::chrono::milliseconds limit);
  void look();

  std::shared_ptr<GroupHandle> group_;
  const Ticket* ticket_ = nullptr;
  // Kept until the call is over.
  std::vector<at::Tensor> kept_;
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  // Whether what hangs on the future has run, if there is anything.
  bool told_ = true;
  uint64_t sequence_;
  int source_ = -1;
};

Hooks hooks();

// Several calls as one: over when all are.
class ManyWork : public c10d::Work {
 public:
  ManyWork(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void synchronize() override { wait(); }
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace hccl
