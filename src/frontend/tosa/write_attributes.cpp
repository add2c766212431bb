#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "carina/check.h"
#include "frontend/tosa/writer_internal.h"
#include "ir/tosa_type.h"
#include "tensor/float_formats.h"

// Writes the attributes of a TOSA operator as the slots of its FlatBuffer table, in the order of the operator's row.
namespace carina::tosa {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::voffset_t;

std::unexpected<Diagnostics> wrong(const std::string& where, const TosaAttribute& row, std::string expected) {
  return fail({.where = where,
               .what = fmt::format("attribute {} cannot be written", row.name),
               .expected = std::move(expected)});
}

bool fits_int32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

// A slot whose vector or string has been written. FlatBuffers needs them before the table begins.
struct Slot {
  enum class Kind { kOffset, kByte, kInt, kWord } kind;
  uint32_t value = 0;
};

Result<Slot> prepare_ints(FlatBufferBuilder& builder, const TosaAttribute& row, const ir::Attribute& value,
                          const std::string& where) {
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  if (list == nullptr) return wrong(where, row, "a list of integers");
  std::vector<int32_t> narrow;
  for (const int64_t item : *list) {
    if (!fits_int32(item)) return wrong(where, row, "numbers of 32 bits");
    narrow.push_back(static_cast<int32_t>(item));
  }
  return Slot{.kind = Slot::Kind::kOffset, .value = builder.CreateVector(narrow).o};
}

Result<Slot> prepare_int(const TosaAttribute& row, const ir::Attribute& value, const std::string& where) {
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr || !fits_int32(*number)) return wrong(where, row, "a number of 32 bits");
  return Slot{.kind = row.kind == TosaAttributeKind::kEnum ? Slot::Kind::kWord : Slot::Kind::kInt,
              .value = static_cast<uint32_t>(*number)};
}

Result<Slot> prepare_type(const TosaAttribute& row, const ir::Attribute& value, const std::string& where) {
  const auto* dtype = std::get_if<DType>(&value);
  if (dtype == nullptr) return wrong(where, row, "a type");
  const auto type = *dtype == DType::kUnknown ? TosaType::kUnknown : ir::tosa_type_of(*dtype);
  if (!type) return wrong(where, row, "a type of TOSA 1.0");
  return Slot{.kind = Slot::Kind::kWord, .value = static_cast<uint32_t>(*type)};
}

Result<Slot> prepare_bytes(FlatBufferBuilder& builder, std::span<const uint8_t> bytes) {
  builder.ForceVectorAlignment(bytes.size(), sizeof(uint8_t), 8);
  return Slot{.kind = Slot::Kind::kOffset, .value = builder.CreateVector(bytes.data(), bytes.size()).o};
}

Result<Slot> prepare(FlatBufferBuilder& builder, const TosaAttribute& row, const ir::Attribute& value,
                     DType scalar_type, const std::string& where) {
  switch (row.kind) {
    case TosaAttributeKind::kBool:
      if (!std::holds_alternative<bool>(value)) return wrong(where, row, "true or false");
      return Slot{.kind = Slot::Kind::kByte, .value = std::get<bool>(value) ? 1U : 0U};
    case TosaAttributeKind::kInt:
    case TosaAttributeKind::kEnum:
      return prepare_int(row, value, where);
    case TosaAttributeKind::kInts:
      return prepare_ints(builder, row, value, where);
    case TosaAttributeKind::kType:
      return prepare_type(row, value, where);
    case TosaAttributeKind::kScalar: {
      CARINA_TRY(const auto bytes, bytes_of_scalar(scalar_type, value, fmt::format("{}: {}", where, row.name)));
      return prepare_bytes(builder, bytes);
    }
    case TosaAttributeKind::kString:
    case TosaAttributeKind::kGraph:
      if (!std::holds_alternative<std::string>(value)) return wrong(where, row, "text");
      return Slot{.kind = Slot::Kind::kOffset, .value = builder.CreateString(std::get<std::string>(value)).o};
    case TosaAttributeKind::kBytes:
      if (!std::holds_alternative<ir::Bytes>(value)) return wrong(where, row, "bytes");
      return prepare_bytes(builder, std::get<ir::Bytes>(value).bytes);
  }
  CARINA_UNREACHABLE("attribute kind", row.kind);
}

void add_slot(FlatBufferBuilder& builder, voffset_t at, const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::kOffset:
      return builder.AddOffset(at, flatbuffers::Offset<void>(slot.value));
    case Slot::Kind::kByte:
      return builder.AddElement<uint8_t>(at, static_cast<uint8_t>(slot.value), 0);
    case Slot::Kind::kInt:
      return builder.AddElement<int32_t>(at, static_cast<int32_t>(slot.value), 0);
    case Slot::Kind::kWord:
      return builder.AddElement<uint32_t>(at, slot.value, 0);
  }
}

template <typename T>
std::array<uint8_t, 8> padded(T value) {
  std::array<uint8_t, 8> out{};
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

Result<std::array<uint8_t, 8>> bytes_of_integer(DType dtype, int64_t value, const std::string& where) {
  const IntegerRange range = range_of(dtype);
  if (value < range.min || value > range.max) {
    return fail({.where = where,
                 .what = "the number does not fit its type",
                 .expected = fmt::format("{} to {}", range.min, range.max),
                 .got = std::to_string(value)});
  }
  std::array<uint8_t, 8> out = padded(value);
  const size_t used = dtype == DType::kInt48 ? 6 : element_bytes(dtype);
  std::fill(out.begin() + static_cast<ptrdiff_t>(used), out.end(), uint8_t{0});
  return out;
}

}  // namespace

Result<std::array<uint8_t, 8>> bytes_of_scalar(DType dtype, const ir::Attribute& value, const std::string& where) {
  const auto* whole = std::get_if<int64_t>(&value);
  if (is_integer(dtype) || dtype == DType::kBool) {
    if (whole == nullptr)
      return fail({.where = where, .what = "a whole number is needed for " + std::string(name_of(dtype))});
    return bytes_of_integer(dtype, *whole, where);
  }
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr && whole == nullptr) return fail({.where = where, .what = "a number is needed"});
  const auto number = real != nullptr ? static_cast<float>(*real) : static_cast<float>(*whole);
  switch (dtype) {
    case DType::kFp32:
      return padded(number);
    case DType::kFp16:
      return padded(fp32_to_fp16(number));
    case DType::kBf16:
      return padded(fp32_to_bf16(number));
    case DType::kFp8E4M3:
      return padded(fp32_to_fp8e4m3(number));
    case DType::kFp8E5M2:
      return padded(fp32_to_fp8e5m2(number));
    default:
      return fail({.where = where, .what = "a scalar of type " + std::string(name_of(dtype)) + " cannot be written"});
  }
}

Result<flatbuffers::Offset<void>> write_attributes(FlatBufferBuilder& builder, const TosaOpRow& row,
                                                   const ir::Attributes& attributes, DType scalar_type,
                                                   const std::string& where) {
  std::vector<Slot> slots;
  for (const TosaAttribute& attribute : row.attributes) {
    if (attribute.stored != TosaAttributeStorage::kTable) continue;
    const ir::Attribute* value = attributes.find(attribute.name);
    if (value == nullptr) return fail({.where = where, .what = fmt::format("attribute {} is missing", attribute.name)});
    CARINA_TRY(slots.emplace_back(), prepare(builder, attribute, *value, scalar_type, where));
  }
  const auto start = builder.StartTable();
  for (size_t i = 0; i < slots.size(); ++i) add_slot(builder, static_cast<voffset_t>(4 + 2 * i), slots[i]);
  return flatbuffers::Offset<void>(builder.EndTable(start));
}

}  // namespace carina::tosa
