#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "carina/check.h"
#include "frontend/tosa/reader_internal.h"
#include "ir/tosa_type.h"
#include "tensor/float_formats.h"

// Reads the attributes of a TOSA operator from the slots of its FlatBuffer table, in the order of the operator's row.
namespace carina::tosa {

namespace {

using flatbuffers::Table;
using flatbuffers::voffset_t;

template <typename T>
T bits_of(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

std::vector<int64_t> read_ints(const Table& table, voffset_t slot) {
  std::vector<int64_t> out;
  if (const auto* list = table.GetPointer<const flatbuffers::Vector<int32_t>*>(slot))
    out.assign(list->begin(), list->end());
  return out;
}

Result<ir::Attribute> read_scalar(const Table& table, voffset_t slot, DType dtype, const std::string& where) {
  const auto* bytes = table.GetPointer<const flatbuffers::Vector<uint8_t>*>(slot);
  const size_t needed = dtype == DType::kInt48 ? 6 : element_bytes(dtype);
  const size_t got = bytes == nullptr ? 0 : bytes->size();
  if (got < needed || needed == 0) {
    return fail({.where = where,
                 .what = "a scalar attribute is too short for " + std::string(name_of(dtype)),
                 .expected = fmt::format("{} bytes", needed),
                 .got = fmt::format("{}", got)});
  }
  return scalar_of_bytes(dtype, bytes->data());
}

Result<ir::Attribute> read_type(const Table& table, voffset_t slot, const std::string& where) {
  const auto number = table.GetField<uint32_t>(slot, 0);
  if (number == 0) return DType::kUnknown;
  const auto dtype = ir::dtype_of_number(number);
  if (!dtype) return fail({.where = where, .what = fmt::format("unknown type number {}", number)});
  return *dtype;
}

std::string read_string(const Table& table, voffset_t slot) {
  const auto* text = table.GetPointer<const flatbuffers::String*>(slot);
  return text == nullptr ? std::string() : text->str();
}

ir::Bytes read_bytes(const Table& table, voffset_t slot) {
  ir::Bytes out;
  if (const auto* list = table.GetPointer<const flatbuffers::Vector<uint8_t>*>(slot))
    out.bytes.assign(list->begin(), list->end());
  return out;
}

Result<ir::Attribute> read_one(const TosaAttribute& row, const Table& table, voffset_t slot, DType scalar_type,
                               const std::string& where) {
  switch (row.kind) {
    case TosaAttributeKind::kBool:
      return table.GetField<uint8_t>(slot, 0) != 0;
    case TosaAttributeKind::kInt:
      return int64_t{table.GetField<int32_t>(slot, 0)};
    case TosaAttributeKind::kInts:
      return read_ints(table, slot);
    case TosaAttributeKind::kType:
      return read_type(table, slot, where);
    case TosaAttributeKind::kEnum:
      return int64_t{table.GetField<uint32_t>(slot, 0)};
    case TosaAttributeKind::kScalar:
      return read_scalar(table, slot, scalar_type, where);
    case TosaAttributeKind::kString:
      return read_string(table, slot);
    case TosaAttributeKind::kBytes:
      return read_bytes(table, slot);
    case TosaAttributeKind::kGraph:
      return read_string(table, slot);
  }
  CARINA_UNREACHABLE("attribute kind", row.kind);
}

}  // namespace

ir::Attribute scalar_of_bytes(DType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case DType::kBool:
      return int64_t{bytes[0] != 0};
    case DType::kInt4:
    case DType::kInt8:
      return int64_t{bits_of<int8_t>(bytes)};
    case DType::kInt16:
      return int64_t{bits_of<int16_t>(bytes)};
    case DType::kInt32:
      return int64_t{bits_of<int32_t>(bytes)};
    case DType::kShape:
      return bits_of<int64_t>(bytes);
    case DType::kInt48: {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes, 6);
      return static_cast<int64_t>(bits << 16) >> 16;
    }
    case DType::kFp32:
      return double{bits_of<float>(bytes)};
    case DType::kFp16:
      return double{fp16_to_fp32(bits_of<uint16_t>(bytes))};
    case DType::kBf16:
      return double{bf16_to_fp32(bits_of<uint16_t>(bytes))};
    case DType::kFp8E4M3:
      return double{fp8e4m3_to_fp32(bytes[0])};
    case DType::kFp8E5M2:
      return double{fp8e5m2_to_fp32(bytes[0])};
    case DType::kFp6E2M3:
    case DType::kFp6E3M2:
    case DType::kFp4E2M1:
    case DType::kFp8UE8M0:
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kFp64:
      break;
  }
  CARINA_UNREACHABLE("type of a TOSA scalar", dtype);
}

Result<ir::Attributes> read_attributes(const TosaOpRow& row, const Table* table, DType scalar_type,
                                       const std::string& where) {
  // A table without fields, used if the attributes are absent. Its first word is the distance back to its vtable.
  static constexpr struct {
    uint16_t vtable_bytes = 4;
    uint16_t table_bytes = 4;
    int32_t to_vtable = 4;
  } kEmpty;
  const Table& present = table != nullptr ? *table : *reinterpret_cast<const Table*>(&kEmpty.to_vtable);
  ir::Attributes out;
  voffset_t slot = 4;
  for (const TosaAttribute& attribute : row.attributes) {
    if (attribute.stored != TosaAttributeStorage::kTable) continue;
    CARINA_TRY(ir::Attribute value, read_one(attribute, present, slot, scalar_type, where));
    out.set(attribute.name, std::move(value));
    slot = static_cast<voffset_t>(slot + sizeof(voffset_t));
  }
  return out;
}

}  // namespace carina::tosa
