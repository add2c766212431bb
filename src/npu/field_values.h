#pragma once

#include <cstdint>
#include <string>

#include "facts/npu_registers.h"

namespace carina::npu {

// Whether a field may hold this value on a product: any number, or one of its enum's.
constexpr bool has_value(const FieldRow& field, uint32_t value, Product product) {
  return field.values == nullptr || !value_name(field, value, product).empty();
}

// The values that a field may hold on a product, for messages: "0..2", "0, 3, 4, 16..23". Empty for plain numbers.
std::string legal_values(const FieldRow& field, Product product);

}  // namespace carina::npu
