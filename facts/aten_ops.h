#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace carina {

// Enumerators are name_overload; those of tosa_mxfp, which has names of aten, are mxfp_name_overload.
#define CARINA_ENUMERATOR_aten(name, overload) name##_##overload
#define CARINA_ENUMERATOR_quantized_decomposed(name, overload) name##_##overload
#define CARINA_ENUMERATOR_dim_order_ops(name, overload) name##_##overload
#define CARINA_ENUMERATOR_higher_order(name, overload) name##_##overload
#define CARINA_ENUMERATOR_tosa_mxfp(name, overload) mxfp_##name##_##overload

// The PyTorch operators that Carina knows.
enum class AtenOp : uint16_t {
#define CARINA_ATEN_OP(space, name, overload, schema, ...) CARINA_ENUMERATOR_##space(name, overload),
#include "facts/aten_ops.def"
#undef CARINA_ATEN_OP
};

// A row of the table: the qualified name and the operator's schema in PyTorch's own notation.
struct AtenOpRow {
  AtenOp op;
  std::string_view name;    // "aten.conv2d.default"
  std::string_view schema;  // "(Tensor input, Tensor weight, ...) -> Tensor"
};

inline constexpr auto kAtenOps = std::to_array<AtenOpRow>({
#define CARINA_ATEN_OP(space, name, overload, schema, ...) \
  {AtenOp::CARINA_ENUMERATOR_##space(name, overload), #space "." #name "." #overload, schema},
#include "facts/aten_ops.def"
#undef CARINA_ATEN_OP
});

constexpr const AtenOpRow& row_of(AtenOp op) {
  return kAtenOps[static_cast<size_t>(op)];
}
constexpr std::string_view name_of(AtenOp op) {
  return row_of(op).name;
}

constexpr std::optional<AtenOp> aten_op_of_name(std::string_view name) {
  for (const AtenOpRow& row : kAtenOps) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

}  // namespace carina
