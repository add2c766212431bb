// Declares the schemas of ATen operators: the arguments and results that facts/aten_ops.def states.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "facts/aten_ops.h"
#include "ir/attribute.h"

namespace carina::aten {

// The element type of an argument of an operator.
enum class ArgumentType : uint8_t {
  kTensor,
  kInt,  // int and SymInt
  kFloat,
  kScalar,  // a number of any kind
  kBool,
  kString,
  kDType,
  kLayout,
  kMemoryFormat,
  kDevice,
};

// One argument of an operator, as its schema declares it.
struct ArgumentRow {
  std::string name;
  ArgumentType type = ArgumentType::kTensor;
  bool is_list = false;
  bool optional_elements = false;  // Tensor?[]: elements of the list may be None
  bool optional = false;           // the whole argument may be None
  bool keyword_only = false;
  bool has_default = false;
  int64_t list_size = 0;        // SymInt[2]: 2, and a single number is repeated; 0: any length
  ir::Attribute default_value;  // as a node's attribute stores it; none for tensors
};

// An operator's arguments and results.
struct Schema {
  std::vector<ArgumentRow> arguments;
  std::vector<bool> result_is_list;  // one per result: Tensor[] or Tensor
  bool returns_view = false;         // a result may share memory with an argument: "Tensor(a)"
};

// Parses PyTorch's notation of a schema without the operator's name: "(Tensor self, int[1]? dim=None) -> Tensor". The
// text comes from facts/aten_ops.def, so a mistake in it is an internal error.
Schema parse_schema(std::string_view text);

// The schema of a row of facts/aten_ops.def. All schemas are parsed at the first call.
const Schema& schema_of(AtenOp op);

}  // namespace carina::aten
