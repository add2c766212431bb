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

// torch.export's numbers of element types, layouts and memory formats; they are neither c10's nor those of a .pte.
// Source: docs/facts/formats.md 1.2.
std::optional<DType> dtype_of_scalar_type(int64_t number);
std::string scalar_type_name(int64_t number);
std::optional<int64_t> c10_layout(int64_t number);
std::optional<int64_t> c10_memory_format(int64_t number);

// The sizes that are not fixed in the exported program; each stands at the value of the example it was exported with.
class Symbols {
 public:
  // A SymInt, {"as_int": n} or {"as_expr": {...}}. Nothing when it depends on data, so that there is no example.
  std::optional<int64_t> integer(JsonView sym);
  // "s77 = 4, s12 = 16": the symbols that were met.
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  std::map<std::string, int64_t, std::less<>> values_;
};

// What the exported program says of a tensor.
struct TensorMeta {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::vector<int64_t> strides;  // in elements
  int64_t storage_offset = 0;    // in elements
};

// Reads a TensorMeta. Errors (`where` is the tensor): element types and layouts that we do not have, sizes that are
// negative, too large or depend on data. Wrong JSON is noted in the view's errors.
Result<TensorMeta> read_tensor_meta(JsonView json, Symbols& symbols, const std::string& where);

// The tensor of name `fqn` in a store: a view of the archive's bytes when they are dense there, otherwise a dense copy.
// Errors: pickled, missing, empty or too short payload.
Result<Tensor> read_stored_tensor(Archive& archive, Store store, JsonView config, std::string_view fqn,
                                  Symbols& symbols);

}  // namespace carina::pt2
