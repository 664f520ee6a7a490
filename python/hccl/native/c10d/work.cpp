#include "work.h"

#include <thread>
#include <utility>

#include <c10/util/Exception.h>
#include <torch/csrc/utils/pybind.h>

#include "callbacks.h"

namespace hccl {

const Table* table = nullptr;

namespace {

// How long a wait lasts before it looks for an interrupt from the keyboard.
constexpr std::chrono::milliseconds SLICE{250};

const std::thread::id main_thread = std::this_thread::get_id();

void check_signals() {
  if (std::this_thread::get_id() != main_thread || !Py_IsInitialized()) {
    return;
  }
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
}

std::exception_ptr as_exception(Status status, const std::string& text) {
  try {
    raise(status, text);
  } catch (...) {
    return std::current_exception();
  }
}

c10::intrusive_ptr<c10::ivalue::Future> new_future() {
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

}  // namespace

void raise(Status status, const std::string& text) {
  switch (status) {
    case INVALID:
      C10_THROW_ERROR(ValueError, text);
    case TIMED_OUT:
      // Words by which callers of other backends know a time-out.
      C10_THROW_ERROR(DistBackendError, "A call has Timed out in hccl: " + text);
    default:
      C10_THROW_ERROR(DistBackendError, text);
  }
}

namespace {

// What holds the tensors of a call without handle.
struct Kept {
  std::vector<at::Tensor> tensors;
};

// Owners are handles, or with this bit set a `Kept`: both lie at multiples of 8.
constexpr uintptr_t KEPT = 1;

}  // namespace

void call_and_wait(const Group* group, Call call, std::vector<at::Tensor> tensors) {
  char text[TEXT_BYTES];
  int32_t source = -1;
  auto kept = std::make_unique<Kept>(Kept{std::move(tensors)});
  call.owner = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(kept.get()) | KEPT);
  const Ticket* made = nullptr;
  auto status = static_cast<Status>(table->submit(group, &call, &made, &source, text));
  if (status == PENDING) {
    // The library gives it back when the call is over.
    kept.release();
    const std::unique_ptr<const Ticket, void (*)(const Ticket*)> ticket(made, table->ticket_free);
    while (table->wait(group, made, SLICE.count()) == PENDING) {
      check_signals();
    }
    status = static_cast<Status>(table->ticket_result(made, &source, text));
  }
  if (status != DONE) {
    raise(status, text);
  }
}

Hooks hooks() {
  return Hooks{&CallWork::finished};
}

CallWork::CallWork(
    std::shared_ptr<GroupHandle> group,
    int rank,
    c10d::OpType type,
    const char* title,
    const std::vector<at::Tensor>& inputs,
    std::vector<at::Tensor> outputs,
    uint64_t sequence)
    : Work(rank, type, title, inputs),
      group_(std::move(group)),
      outputs_(std::move(outputs)),
      sequence_(sequence) {}

CallWork::~CallWork() {
  if (ticket_ != nullptr) {
    table->ticket_free(ticket_);
  }
}

void CallWork::keep(std::vector<at::Tensor> tensors) {
  kept_ = std::move(tensors);
}

void CallWork::submit(Call call) {
  char text[TEXT_BYTES];
  int32_t source = -1;
  // The library holds this handle while the call goes on, so that nobody else needs to.
  call.owner = this;
  c10::raw::intrusive_ptr::incref(this);
  const Ticket* ticket = nullptr;
  const auto status = static_cast<Status>(table->submit(group_->group, &call, &ticket, &source, text));
  if (status == PENDING) {
    std::lock_guard<std::mutex> lock(mutex_);
    ticket_ = ticket;
    return;
  }
  c10::raw::intrusive_ptr::decref(this);
  if (status == DONE) {
    complete(DONE, source, nullptr);
    return;
  }
  // What is recorded of the call ends here.
  complete(status, source, text);
  raise(status, text);
}

void CallWork::finished(void* owner, uint32_t status, int32_t source, const char* text) {
  const auto address = reinterpret_cast<uintptr_t>(owner);
  if ((address & KEPT) != 0) {
    delete reinterpret_cast<Kept*>(address & ~KEPT);
    return;
  }
  auto work = c10::intrusive_ptr<CallWork>::reclaim(static_cast<CallWork*>(owner));
  try {
    work->complete(static_cast<Status>(status), source, text);
  } catch (const std::exception& error) {
    TORCH_WARN("the end of a collective could not be told: ", error.what());
  }
}

void CallWork::complete(Status status, int32_t source, const char* text) {
  std::vector<at::Tensor> kept;
  bool tells = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (completed_) {
      return;
    }
    completed_ = true;
    source_ = source;
    if (status != DONE) {
      exception_ = as_exception(status, text == nullptr ? "" : text);
    }
    kept.swap(kept_);
    tells = future_ != nullptr;
    told_ = !tells;
  }
  if (recordFunctionEndCallback_) {
    recordFunctionEndCallback_();
    recordFunctionEndCallback_ = nullptr;
  }
  cv_.notify_all();
  if (tells) {
    run_aside([work = c10::intrusive_ptr<CallWork>::reclaim_copy(this)] { work->tell(); });
  }
}

namespace {

// The handle whose callbacks this thread runs.
thread_local const CallWork* telling = nullptr;

}  // namespace

// Completes the future, which runs what hangs on it.
void CallWork::tell() {
  const auto before = std::exchange(telling, this);
  try {
    if (exception_) {
      future_->setError(exception_);
    } else {
      future_->markCompleted(c10::IValue(outputs_));
    }
  } catch (const std::exception& error) {
    TORCH_WARN("a callback of a collective raised: ", error.what());
  }
  telling = before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    told_ = true;
  }
  cv_.notify_all();
}

// Whoever waits for a handle may count on what hangs on its future, but for callbacks that wait themselves.
void CallWork::wait_until_told(std::chrono::milliseconds limit) {
  const auto begun = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!told_ && telling != this) {
    if (limit != kNoTimeout && std::chrono::steady_clock::now() - begun >= limit) {
      return;
    }
    if (cv_.wait_for(lock, SLICE) == std::cv_status::timeout) {
      lock.unlock();
      check_signals();
      lock.lock();
    }
  }
}

// Completes it if it is over and nobody was told yet.
void CallWork::look() {
  const Ticket* ticket = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (completed_ || ticket_ == nullptr) {
      return;
    }
    ticket = ticket_;
  }
  char text[TEXT_BYTES];
  int32_t source = -1;
  const auto status = static_cast<Status>(table->ticket_result(ticket, &source, text));
  if (status != PENDING) {
    complete(status, source, text);
  }
}

bool CallWork::isCompleted() {
  look();
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_;
}

bool CallWork::isSuccess() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr CallWork::exception() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

int CallWork::sourceRank() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return source_;
}

std::vector<at::Tensor> CallWork::result() {
  TORCH_CHECK(isCompleted(), "the result of a call is there once it is over: wait for it first");
  return outputs_;
}

bool CallWork::waitFor(std::chrono::milliseconds limit) {
  const auto begun = std::chrono::steady_clock::now();
  while (!isCompleted()) {
    auto slice = SLICE;
    if (limit != kNoTimeout) {
      const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - begun);
      if (passed >= limit) {
        return false;
      }
      slice = std::min(slice, limit - passed);
    }
    if (table->wait(group_->group, ticket_, std::max<int64_t>(slice.count(), 1)) == PENDING) {
      check_signals();
    }
  }
  return true;
}

bool CallWork::wait(std::chrono::milliseconds timeout) {
  // A time-out below zero is PyTorch's word for none.
  const auto limit = timeout.count() < 0 ? kNoTimeout : timeout;
  if (!waitFor(limit)) {
    raise(
        TIMED_OUT,
        c10::str("Operation timed out! ", c10d::opTypeToString(opType_), " is not over after ",
                 timeout.count(), " ms; it goes on."));
  }
  wait_until_told(limit);
  if (auto error = exception()) {
    std::rethrow_exception(error);
  }
  return true;
}

void CallWork::abort() {
  table->group_abort(group_->group, "its handle was told to abort");
}

void CallWork::cancel() {
  if (ticket_ != nullptr) {
    table->cancel(group_->group, ticket_);
  }
}

c10::intrusive_ptr<c10::ivalue::Future> CallWork::getFuture() {
  look();
  std::unique_lock<std::mutex> lock(mutex_);
  if (future_) {
    return future_;
  }
  future_ = new_future();
  auto future = future_;
  const bool over = completed_;
  auto error = exception_;
  lock.unlock();
  if (over && error) {
    future->setError(error);
  } else if (over) {
    future->markCompleted(c10::IValue(outputs_));
  }
  return future;
}

ManyWork::ManyWork(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works)
    : Work(rank, c10d::OpType::COALESCED), works_(std::move(works)) {}

bool ManyWork::isCompleted() {
  for (const auto& work : works_) {
    if (!work->isCompleted()) {
      return false;
    }
  }
  return true;
}

bool ManyWork::isSuccess() const {
  for (const auto& work : works_) {
    if (!work->isSuccess()) {
      return false;
    }
  }
  return true;
}

std::exception_ptr ManyWork::exception() const {
  for (const auto& work : works_) {
    if (auto error = work->exception()) {
      return error;
    }
  }
  return nullptr;
}

std::vector<at::Tensor> ManyWork::result() {
  std::vector<at::Tensor> all;
  for (const auto& work : works_) {
    for (auto& tensor : work->result()) {
      all.push_back(std::move(tensor));
    }
  }
  return all;
}

bool ManyWork::wait(std::chrono::milliseconds timeout) {
  for (const auto& work : works_) {
    work->wait(timeout);
  }
  return true;
}

void ManyWork::abort() {
  for (const auto& work : works_) {
    work->abort();
  }
}

c10::intrusive_ptr<c10::ivalue::Future> ManyWork::getFuture() {
  auto all = c10::List<c10::intrusive_ptr<c10::ivalue::Future>>(
      c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
  for (const auto& work : works_) {
    all.push_back(work->getFuture());
  }
  auto future = new_future();
  c10::collectAll(all)->addCallback([future](c10::ivalue::Future& done) {
    if (done.hasError()) {
      future->setError(done.exception_ptr());
      return;
    }
    std::vector<at::Tensor> tensors;
    for (const c10::IValue& one : done.value().toList()) {
      for (const at::Tensor& tensor : one.toFuture()->value().toTensorVector()) {
        tensors.push_back(tensor);
      }
    }
    future->markCompleted(c10::IValue(tensors));
  });
  return future;
}

}  // namespace hccl
