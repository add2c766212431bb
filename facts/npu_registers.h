#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "facts/npu_enums.h"

// The table of npu_registers.def as types. The encoder, the decoder, the disassembler and the simulator's register file
// use it.
namespace carina::npu {

// The shape of a command in the stream. CMD0 is one word, CMD1 two.
enum class Form : uint8_t { kNoPayload, kPayload32, kAddress };

// Registers, numbered from 0 without gaps, so a register file is an array of kRegCount. One opcode may be two different
// registers on two products.
enum class Reg : uint8_t {
#define CARINA_NPU_OP(name, opcode, form, products)
#define CARINA_NPU_REG(name, opcode, form, products) name,
#define CARINA_NPU_OP_FIELD(name, field, high, low, products, type)
#define CARINA_NPU_REG_FIELD(name, field, high, low, products, type)
#include "facts/npu_registers.def"
#undef CARINA_NPU_OP
#undef CARINA_NPU_REG
};

// Operations, numbered from 0 without gaps.
enum class Op : uint8_t {
#define CARINA_NPU_OP(name, opcode, form, products) name,
#define CARINA_NPU_REG(name, opcode, form, products)
#include "facts/npu_registers.def"
#undef CARINA_NPU_OP
#undef CARINA_NPU_REG
};
#undef CARINA_NPU_OP_FIELD
#undef CARINA_NPU_REG_FIELD

struct CommandRow {
  std::string_view name;  // as in listings: "NPU_SET_IFM_PAD_TOP", "NPU_OP_CONV"
  uint16_t opcode;
  Form form;
  Products products;
};

// A packed field. `data` of a command is its parameter (bits 0..15) and its payload (bits 16..47).
struct FieldRow {
  uint8_t owner;  // Reg or Op
  std::string_view name;
  uint8_t high;
  uint8_t low;
  Products products;
  const EnumRow* values;  // nullptr: a number

  [[nodiscard]] constexpr uint64_t mask() const { return (uint64_t{2} << (high - low)) - 1; }
  [[nodiscard]] constexpr uint32_t get(uint64_t data) const { return static_cast<uint32_t>(data >> low & mask()); }
  // `data` with this field set. `value` must fit: StreamWriter checks it in debug builds; here it is masked.
  [[nodiscard]] constexpr uint64_t set(uint64_t data, uint64_t value) const {
    return (data & ~(mask() << low)) | (value & mask()) << low;
  }
  [[nodiscard]] constexpr bool fits(uint64_t value) const { return value <= mask(); }
};

namespace detail {
template <typename E>
constexpr const EnumRow* enum_row() {
  return &kEnumRow<E>;
}
template <>
constexpr const EnumRow* enum_row<Number>() {
  return nullptr;
}
}  // namespace detail

inline constexpr auto kRegRows = std::to_array<CommandRow>({
#define CARINA_NPU_OP(name, opcode, form, products)
#define CARINA_NPU_REG(name, opcode, form, products) {"NPU_SET_" #name, opcode, Form::form, Products::products},
#define CARINA_NPU_OP_FIELD(name, field, high, low, products, type)
#define CARINA_NPU_REG_FIELD(name, field, high, low, products, type)
#include "facts/npu_registers.def"
#undef CARINA_NPU_OP
#undef CARINA_NPU_REG
});

inline constexpr auto kOpRows = std::to_array<CommandRow>({
#define CARINA_NPU_OP(name, opcode, form, products) {"NPU_OP_" #name, opcode, Form::form, Products::products},
#define CARINA_NPU_REG(name, opcode, form, products)
#include "facts/npu_registers.def"
#undef CARINA_NPU_OP
#undef CARINA_NPU_OP_FIELD
#undef CARINA_NPU_REG_FIELD
});

inline constexpr auto kRegFieldRows = std::to_array<FieldRow>({
#define CARINA_NPU_OP(name, opcode, form, products)
#define CARINA_NPU_OP_FIELD(name, field, high, low, products, type)
#define CARINA_NPU_REG_FIELD(name, field, high, low, products, type) \
  {static_cast<uint8_t>(Reg::name), #field, high, low, Products::products, detail::enum_row<type>()},
#include "facts/npu_registers.def"
#undef CARINA_NPU_OP_FIELD
#undef CARINA_NPU_REG_FIELD
});

inline constexpr auto kOpFieldRows = std::to_array<FieldRow>({
#define CARINA_NPU_REG_FIELD(name, field, high, low, products, type)
#define CARINA_NPU_OP_FIELD(name, field, high, low, products, type) \
  {static_cast<uint8_t>(Op::name), #field, high, low, Products::products, detail::enum_row<type>()},
#include "facts/npu_registers.def"
#undef CARINA_NPU_REG
#undef CARINA_NPU_OP
#undef CARINA_NPU_OP_FIELD
#undef CARINA_NPU_REG_FIELD
});

inline constexpr size_t kRegCount = kRegRows.size();
inline constexpr size_t kOpCount = kOpRows.size();

constexpr const CommandRow& row_of(Reg reg) {
  return kRegRows[static_cast<size_t>(reg)];
}
constexpr const CommandRow& row_of(Op op) {
  return kOpRows[static_cast<size_t>(op)];
}

namespace detail {
template <size_t N>
constexpr std::span<const FieldRow> fields_of(const std::array<FieldRow, N>& rows, uint8_t owner) {
  size_t first = 0;
  while (first < N && rows[first].owner != owner) ++first;
  size_t last = first;
  while (last < N && rows[last].owner == owner) ++last;
  return {rows.data() + first, last - first};
}

// Not constexpr: a call in a constant expression is a compile error whose text names the mistake.
inline void no_such_field_on_this_product() {}

constexpr FieldRow find_field(std::span<const FieldRow> fields, std::string_view name, Product product) {
  for (const FieldRow& field : fields) {
    if (field.name == name && contains(field.products, product)) return field;
  }
  no_such_field_on_this_product();
  return fields.front();
}
}  // namespace detail

// The fields of a command on all products (filter with contains(field.products, product)). kAddress has none.
constexpr std::span<const FieldRow> fields_of(Reg reg) {
  return detail::fields_of(kRegFieldRows, static_cast<uint8_t>(reg));
}
constexpr std::span<const FieldRow> fields_of(Op op) {
  return detail::fields_of(kOpFieldRows, static_cast<uint8_t>(op));
}

// A field by its name, at compile time: field_of(Reg::KERNEL_STRIDE, "weight_order", Product::kU55).get(data).
consteval FieldRow field_of(Reg reg, std::string_view name, Product product) {
  return detail::find_field(fields_of(reg), name, product);
}
consteval FieldRow field_of(Op op, std::string_view name, Product product) {
  return detail::find_field(fields_of(op), name, product);
}

// The name of a field's value without its prefix; empty if the value has no name on this product.
constexpr std::string_view value_name(const FieldRow& field, uint32_t value, Product product) {
  if (field.values == nullptr) return {};
  for (const EnumValueRow& row : field.values->values) {
    if (row.value == value && contains(row.products, product)) return row.name;
  }
  return {};
}

// The command word's opcode field, and its control field (bits 14 and 15).
inline constexpr uint32_t kOpcodeMask = 0x3FF;
inline constexpr uint32_t kControlShift = 14;
inline constexpr uint32_t kControlMask = 3;
inline constexpr uint32_t kReservedMask = 0x3C00;  // bits 10..13, zero
inline constexpr uint32_t kCmd0 = 0;
inline constexpr uint32_t kCmd1 = 1;

// The widest address and stride of each product, in bits.
constexpr unsigned address_bits(Product product) {
  return product == Product::kU55 ? 32 : 40;
}

// ---- Checks of the table ----
namespace detail {
template <size_t N, size_t M>
constexpr bool fields_are_disjoint(const std::array<CommandRow, N>& commands, const std::array<FieldRow, M>& fields) {
  for (const Product product : {Product::kU55, Product::kU65, Product::kU85}) {
    std::array<uint64_t, N> used{};
    for (const FieldRow& field : fields) {
      const CommandRow& command = commands[field.owner];
      const unsigned bits = command.form == Form::kNoPayload ? 16 : 48;
      if (field.high < field.low || field.high >= bits || command.form == Form::kAddress) return false;
      if ((static_cast<unsigned>(field.products) & ~static_cast<unsigned>(command.products)) != 0) return false;
      if (!contains(field.products, product)) continue;
      if ((used[field.owner] & field.mask() << field.low) != 0) return false;
      used[field.owner] |= field.mask() << field.low;
    }
  }
  return true;
}

template <size_t N>
constexpr bool opcodes_are_unique(const std::array<CommandRow, N>& rows) {
  for (size_t a = 0; a < N; ++a) {
    for (size_t b = a + 1; b < N; ++b) {
      const bool shared = (static_cast<unsigned>(rows[a].products) & static_cast<unsigned>(rows[b].products)) != 0;
      const bool same_control = (rows[a].form == Form::kNoPayload) == (rows[b].form == Form::kNoPayload);
      if (shared && same_control && rows[a].opcode == rows[b].opcode) return false;
    }
  }
  return true;
}

template <size_t M>
constexpr bool fields_round_trip(const std::array<FieldRow, M>& fields) {
  for (const FieldRow& field : fields) {
    const uint64_t all = field.set(0, field.mask());
    if (field.get(all) != field.mask() || field.set(all, 0) != 0 || field.get(field.set(~uint64_t{0}, 0)) != 0)
      return false;
  }
  return true;
}
}  // namespace detail

static_assert(detail::fields_are_disjoint(kRegRows, kRegFieldRows) &&
              detail::fields_are_disjoint(kOpRows, kOpFieldRows));
static_assert(detail::opcodes_are_unique(kRegRows) && detail::opcodes_are_unique(kOpRows));
static_assert(detail::fields_round_trip(kRegFieldRows) && detail::fields_round_trip(kOpFieldRows));

}  // namespace carina::npu
