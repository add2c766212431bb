#pragma once

#include <cstdint>
#include <string>

#include "facts/npu_registers.h"

// The legal values of register fields.
namespace carina::npu {

// Returns whether a field may hold this value on a product. A plain number field may hold any; an enum field only its
// enum's values.
constexpr bool has_value(const FieldRow& field, uint32_t value, Product product) {
  return field.values == nullptr || !value_name(field, value, product).empty();
}

// The legal values of a field on a product, for messages: "0..2", "0, 3, 4, 16..23". Empty for plain numbers.
std::string legal_values(const FieldRow& field, Product product);

}  // namespace carina::npu
