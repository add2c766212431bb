#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "carina/result.h"
#include "npu/field_values.h"
#include "npu/registers.h"
#include "simulate/decode/operation.h"

// The parts of the decoder, and how they read registers.
namespace carina::simulate {

using npu::Product;
using npu::Reg;

// A field that has the same name on all products, though its bits may differ. `r` is the register file.
#define FIELD(reg, name)                                                    \
  (npu::is_u85(r.product()) ? npu::field_of(Reg::reg, name, Product::kU85)  \
                            : npu::field_of(Reg::reg, name, Product::kU55)) \
      .get(r.data(Reg::reg))
#define FIELD_U55(reg, name) npu::field_of(Reg::reg, name, Product::kU55).get(r.data(Reg::reg))
#define FIELD_U65(reg, name) npu::field_of(Reg::reg, name, Product::kU65).get(r.data(Reg::reg))
#define FIELD_U85(reg, name) npu::field_of(Reg::reg, name, Product::kU85).get(r.data(Reg::reg))

// An address: the bits of the register, zero-extended.
inline uint64_t base_at(const npu::RegisterFile& r, Reg reg) {
  return static_cast<uint64_t>(r.address(reg)) & ((uint64_t{1} << npu::address_bits(r.product())) - 1);
}

inline Diagnostic bad_value(std::string_view reg, std::string_view field, uint64_t value, std::string_view expected) {
  return {.where = {},
          .what = fmt::format("register {} has no meaning in field {}", reg, field),
          .expected = std::string(expected),
          .got = fmt::format("{}", value)};
}

// A field as its enum. Errors: a value that the product does not have.
template <typename E>
Result<E> value_of(const npu::FieldRow& field, std::string_view owner, uint64_t data, Product product) {
  const uint32_t value = field.get(data);
  if (!npu::has_value(field, value, product))
    return fail(bad_value(owner, field.name, value, npu::legal_values(field, product)));
  return static_cast<E>(value);
}
#define VALUE_U55(Type, reg, name) \
  value_of<npu::Type>(npu::field_of(Reg::reg, name, Product::kU55), #reg, r.data(Reg::reg), r.product())
#define VALUE_U85(Type, reg, name) \
  value_of<npu::Type>(npu::field_of(Reg::reg, name, Product::kU85), #reg, r.data(Reg::reg), r.product())

// Decodes scaling, rounding and activation of the output unit. Errors: as decode().
Result<void> decode_scaling(const npu::RegisterFile& r, Operation& op);
Result<void> decode_activation(const npu::RegisterFile& r, Operation& op);

// Decodes a DMA transfer. Errors: as decode().
Result<Operation> decode_dma(const npu::RegisterFile& r);

}  // namespace carina::simulate
