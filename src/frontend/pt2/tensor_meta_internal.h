#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/tensor.h"
#include "frontend/pt2/archive_internal.h"
#include "frontend/pt2/json_view_internal.h"

namespace carina::pt2 {

// torch.export's numbers of element types, layouts and memory formats. They differ from c10's and from those of a .pte.
// Source: docs/facts/formats.md 1.2.
std::optional<DType> dtype_of_scalar_type(int64_t number);
std::string scalar_type_name(int64_t number);
std::optional<int64_t> c10_layout(int64_t number);
std::optional<int64_t> c10_memory_format(int64_t number);

// The symbolic sizes of the exported program. Each has the value of the example input.
class Symbols {
 public:
  // The value of a SymInt, {"as_int": n} or {"as_expr": {...}}. Returns no value if it depends on data and so has no
  // example.
  std::optional<int64_t> integer(JsonView sym);
  // The symbols so far, for messages: "s77 = 4, s12 = 16".
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  std::map<std::string, int64_t, std::less<>> values_;
};

// The description of a tensor in the exported program.
struct TensorMeta {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::vector<int64_t> strides;  // in elements
  int64_t storage_offset = 0;    // in elements
};

// Reads a TensorMeta. Errors (`where` is the tensor): unsupported element types and layouts; sizes that are negative,
// too large or depend on data. Malformed JSON is recorded in the view's errors.
Result<TensorMeta> read_tensor_meta(JsonView json, Symbols& symbols, const std::string& where);

// Reads the tensor `fqn` of a store. The result is a view of the archive's bytes if they are dense there, otherwise a
// dense copy. Errors: a payload that is pickled, missing, empty or too short.
Result<Tensor> read_stored_tensor(Archive& archive, Store store, JsonView config, std::string_view fqn,
                                  Symbols& symbols);

}  // namespace carina::pt2
