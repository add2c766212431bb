#include "litert/options_copy_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace carina::litert {

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Table;
using flatbuffers::uoffset_t;
using flatbuffers::Verifier;
using flatbuffers::voffset_t;

struct OptionsRow {
  int number;               // of the table in the union BuiltinOptions
  std::string_view fields;  // one letter per slot
};
constexpr auto kOptions = std::to_array<OptionsRow>({
#define CARINA_TFLITE_OPTIONS(number, name, fields) {number, fields},
#include "facts/tflite_options.def"
#undef CARINA_TFLITE_OPTIONS
});

voffset_t slot(size_t field) {
  return static_cast<voffset_t>(4 + 2 * field);
}

bool is_sound(const Table& table, char kind, voffset_t at, const Verifier& verifier) {
  switch (kind) {
    case '1':
      return table.VerifyField<uint8_t>(verifier, at, 1);
    case '4':
      return table.VerifyField<uint32_t>(verifier, at, 4);
    case '8':
      return table.VerifyField<uint64_t>(verifier, at, 8);
    case '-':
      return true;
    case 's':
      return table.VerifyOffset(verifier, at) &&
             verifier.VerifyString(table.GetPointer<const flatbuffers::String*>(at));
    case 'v':
      return table.VerifyOffset(verifier, at) &&
             verifier.VerifyVector(table.GetPointer<const flatbuffers::Vector<int32_t>*>(at));
    case 'b':
      return table.VerifyOffset(verifier, at) &&
             verifier.VerifyVector(table.GetPointer<const flatbuffers::Vector<uint8_t>*>(at));
    default:
      return false;
  }
}

// The number of a scalar field. FlatBuffers aligns it in its buffer.
template <typename T>
T number_at(const Table& table, voffset_t at) {
  T value{};
  std::memcpy(&value, table.GetAddressOf(at), sizeof value);
  return value;
}

template <typename T>
uoffset_t copy_list(const flatbuffers::Vector<T>& list, FlatBufferBuilder& to) {
  const std::vector<T> values(list.begin(), list.end());
  return to.CreateVector(values).o;
}

// Copies what a field refers to. Returns its offset; 0 for a number.
uoffset_t copy_target(const Table& table, char kind, voffset_t at, FlatBufferBuilder& to) {
  if (table.GetAddressOf(at) == nullptr) return 0;
  if (kind == 's') return to.CreateString(table.GetPointer<const flatbuffers::String*>(at)->str()).o;
  if (kind == 'v') return copy_list(*table.GetPointer<const flatbuffers::Vector<int32_t>*>(at), to);
  if (kind == 'b') return copy_list(*table.GetPointer<const flatbuffers::Vector<uint8_t>*>(at), to);
  return 0;
}

void copy_field(const Table& table, char kind, voffset_t at, uoffset_t target, FlatBufferBuilder& to) {
  if (table.GetAddressOf(at) == nullptr) return;
  if (kind == '1') to.AddElement(at, number_at<uint8_t>(table, at));
  if (kind == '4') to.AddElement(at, number_at<uint32_t>(table, at));
  if (kind == '8') to.AddElement(at, number_at<uint64_t>(table, at));
  if (target != 0) to.AddOffset(at, flatbuffers::Offset<void>(target));
}

std::unexpected<Diagnostics> unknown(const std::string& where, std::string what, std::string got) {
  return fail({.where = where, .what = std::move(what), .expected = {}, .got = std::move(got)});
}

}  // namespace

Result<flatbuffers::Offset<void>> copy_options(const tflite::fb::Operator& from, std::span<const uint8_t> file,
                                               FlatBufferBuilder& to, const std::string& where) {
  const auto number = static_cast<int>(from.builtin_options_type());
  if (number == 0 || from.builtin_options() == nullptr) return flatbuffers::Offset<void>();
  const auto* row = std::ranges::find(kOptions, number, &OptionsRow::number);
  if (row == kOptions.end())
    return unknown(where, "options of a kind that Carina cannot write", fmt::format("table {}", number));
  const auto& table = *static_cast<const Table*>(from.builtin_options());
  Verifier verifier(file.data(), file.size());
  bool sound = table.VerifyTableStart(verifier);
  for (size_t i = 0; sound && i < row->fields.size(); ++i) sound = is_sound(table, row->fields[i], slot(i), verifier);
  if (!sound) return unknown(where, "the options of an operator are damaged", {});
  std::vector<uoffset_t> targets;
  for (size_t i = 0; i < row->fields.size(); ++i) targets.push_back(copy_target(table, row->fields[i], slot(i), to));
  const uoffset_t start = to.StartTable();
  for (size_t i = 0; i < row->fields.size(); ++i) copy_field(table, row->fields[i], slot(i), targets[i], to);
  return flatbuffers::Offset<void>(to.EndTable(start));
}

}  // namespace carina::litert
