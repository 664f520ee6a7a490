// What libhccl_torch.so gives: a table of functions, found by `hccl_torch_table`. The same structures
// stand in crates/hccl-torch/src/abi.rs and exports.rs; VERSION grows with each change of either.

#pragma once

#include <cstddef>
#include <cstdint>

namespace hccl {

constexpr uint32_t VERSION = 2;
constexpr size_t TEXT_BYTES = 4096;
constexpr size_t ROOT_BYTES = 4108;

enum Status : uint32_t { DONE, PENDING, TIMED_OUT, ABORTED, FAILED, INVALID };

// Numbers of operators: HCCL's own, and two for messages.
enum Operator : uint32_t {
  BROADCAST = 1,
  ALL_REDUCE = 2,
  REDUCE = 3,
  ALL_GATHER = 6,
  REDUCE_SCATTER = 7,
  ALL_TO_ALL_V = 8,
  ALL_TO_ALL = 10,
  GATHER = 11,
  SCATTER = 12,
  ALL_GATHER_V = 16,
  REDUCE_SCATTER_V = 17,
  BARRIER = 103,
  SEND = 201,
  RECEIVE = 202,
};

// In place of a rank: whichever sends.
constexpr uint32_t ANY = UINT32_MAX;

struct View {
  void* data;
  uint64_t elements;
  // Read only where `dimensions` is not 0; a tensor whose elements lie in order says 0.
  const int64_t* sizes;
  const int64_t* strides;
  uint64_t dimensions;
};

struct Call {
  uint32_t op;
  uint32_t data_type;
  uint32_t reduce_op;
  uint32_t root;
  uint32_t tag;
  uint32_t background;
  uint64_t timeout_ms;
  const View* inputs;
  uint64_t inputs_len;
  const View* outputs;
  uint64_t outputs_len;
  const uint64_t* send_lengths;
  const uint64_t* receive_lengths;
  void* owner;
};

struct Hooks {
  void (*finished)(void* owner, uint32_t status, int32_t source, const char* text);
};

struct Joining {
  const uint8_t* root;
  const char* name;
  uint32_t rank;
  uint32_t ranks;
  uint64_t timeout_ms;
};

struct Group;
struct Ticket;

struct Table {
  uint32_t version;
  uint32_t bytes;
  uint32_t (*root_open)(uint8_t* block, uint64_t timeout_ms, char* text);
  uint32_t (*group_join)(const Joining*, Hooks, const Group**, char* text);
  void (*group_free)(const Group*);
  void (*group_close)(const Group*, uint64_t limit_ms);
  void (*group_abort)(const Group*, const char* why);
  uint32_t (*group_failure)(const Group*, char* text);
  uint64_t (*group_sequence)(const Group*);
  void (*group_set_timeout)(const Group*, uint64_t timeout_ms);
  uint32_t (*submit)(const Group*, const Call*, const Ticket**, int32_t* source, char* text);
  uint32_t (*wait)(const Group*, const Ticket*, uint64_t limit_ms);
  uint32_t (*ticket_result)(const Ticket*, int32_t* source, char* text);
  void (*ticket_free)(const Ticket*);
  void (*cancel)(const Group*, const Ticket*);
  void (*quiesce)(uint64_t limit_ms);
  void* (*allocate)(uint64_t bytes);
  // Whether it was one of `allocate`.
  uint32_t (*free)(void*);
};

// Set once, before anything else of this module is used.
extern const Table* table;

}  // namespace hccl
