#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "carina/buffer.h"
#include "carina/dtype.h"
#include "carina/shape.h"

namespace carina::pte {

// The content of a .pte file, as values. Indices are those of the file. Source: ExecuTorch's program.fbs
// (facts/schemas).

// An offset in a buffer of planned memory. `memory_id` is the number of the buffer in the plan, from 1.
struct Allocation {
  uint32_t memory_id = 1;
  uint64_t offset_bytes = 0;
};

struct TensorSpec {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::vector<uint8_t> dim_order;        // outermost first; empty means contiguous
  uint32_t constant = 0;                 // index into Program::constants, 0: none
  std::optional<Allocation> allocation;  // no value and no constant: the caller provides the memory
  std::string external_name = {};        // name of the data in a .ptd file; empty: the data are not external
  std::string state_name = {};           // of the mutable buffer that this planned tensor is; empty: no name is stored
  Buffer initial = {};                   // the first content of a planned tensor; empty: none is stored
};

struct None {
  bool operator==(const None&) const = default;
};
struct IntList {
  std::vector<int64_t> values;  // indices of Int values
};
struct DoubleList {
  std::vector<double> numbers;
};
struct BoolList {
  std::vector<bool> flags;
};
struct TensorList {
  std::vector<int32_t> tensors;  // indices of tensor values; -1 (None) in an optional list
  bool optional = false;
};
using Value =
    std::variant<None, int64_t, bool, double, std::string, TensorSpec, IntList, DoubleList, BoolList, TensorList>;

struct KernelCall {
  int32_t op = 0;  // index into Plan::operators
  std::vector<int32_t> arguments;
};
struct DelegateCall {
  int32_t delegate = 0;  // index into Plan::delegates
  std::vector<int32_t> arguments;
};
struct MoveCall {
  int32_t from = 0;
  int32_t to = 0;
};
struct JumpFalseCall {
  int32_t condition = 0;
  int32_t destination = 0;
};
struct FreeCall {
  int32_t value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Operator {
  std::string name;      // "aten::add"
  std::string overload;  // "out"; may be empty
};

struct Delegate {
  std::string backend;  // "EthosUBackend"
  Buffer blob;
  std::vector<std::pair<std::string, std::vector<uint8_t>>> compile_specs;
};

// One method.
struct Plan {
  std::string name = "forward";
  std::string encoded_inputs;  // pytree text; may be empty
  std::string encoded_outputs;
  std::vector<Value> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<Instruction> instructions;
  std::vector<Operator> operators;
  std::vector<Delegate> delegates;
  std::vector<int64_t> planned_bytes;  // size of each memory buffer, memory_id 1 first
};

struct Program {
  std::vector<Plan> plans;
  std::vector<Buffer> constants;  // entry 0 is the format's dummy and is empty
};

}  // namespace carina::pte
