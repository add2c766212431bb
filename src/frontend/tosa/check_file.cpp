#include <limits>
#include <span>

#include "facts/tosa_0_80.h"
#include "facts/tosa_rows.h"
#include "frontend/tosa/reader_internal.h"

// Checks the FlatBuffer of a TOSA file before the reader uses it.
namespace carina::tosa {

namespace {

using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Table;
using flatbuffers::Vector;
using flatbuffers::voffset_t;

constexpr voffset_t slot(int index) {
  return static_cast<voffset_t>(4 + 2 * index);
}

// Walks a file by the layout in facts/schemas/tosa.fbs, and checks each offset, length and alignment before it follows
// it. The verifier of the schema compiler is not enough: many offsets of a FlatBuffer may point to the same part, so a
// small file could keep the verifier (and a reader) busy for hours. Here each step has a cost, and the total cost of a
// file is limited to a multiple of its size.
class FileCheck {
 public:
  FileCheck(flatbuffers::Verifier& verifier, size_t size, FileForm form)
      : verifier_(verifier), budget_(kFactor * size + kFree), form_(form) {}

  bool graph(const Table& t) {
    return start(t) && t.VerifyOffsetRequired(verifier_, slot(0)) && version(*t.GetPointer<const Table*>(slot(0))) &&
           tables(t, 1, [this](const Table& region) { return this->region(region); }) &&
           table(t, 2, [this](const Table& software) { return software_version(software); }) &&
           table(t, 3, [this](const Table& compatibility) { return this->compatibility(compatibility); });
  }

 private:
  static constexpr size_t kFactor = 16;
  static constexpr size_t kFree = size_t{1} << 20;
  static constexpr size_t kTableCost = 16;

  bool spend(size_t cost) {
    if (cost > budget_) return false;
    budget_ -= cost;
    return true;
  }

  // Tables are not recursive, so the depth limit of FlatBuffers' verifier is not needed. Each table is closed at once.
  bool start(const Table& t) { return spend(kTableCost) && t.VerifyTableStart(verifier_) && verifier_.EndTable(); }

  template <typename T>
  bool field(const Table& t, int index) {
    return t.VerifyField<T>(verifier_, slot(index), sizeof(T));
  }

  bool string(const String* text) {
    return verifier_.VerifyString(text) && spend(8 + (text == nullptr ? 0 : text->size()));
  }

  bool text(const Table& t, int index) {
    return t.VerifyOffset(verifier_, slot(index)) && string(t.GetPointer<const String*>(slot(index)));
  }

  template <typename T>
  bool numbers(const Table& t, int index) {
    if (!t.VerifyOffset(verifier_, slot(index))) return false;
    const auto* list = t.GetPointer<const Vector<T>*>(slot(index));
    return verifier_.VerifyVector(list) && spend(list == nullptr ? 0 : size_t{list->size()} * sizeof(T));
  }

  bool texts(const Table& t, int index) {
    if (!t.VerifyOffset(verifier_, slot(index))) return false;
    const auto* list = t.GetPointer<const Vector<Offset<String>>*>(slot(index));
    if (!verifier_.VerifyVector(list)) return false;
    for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (!string(list->Get(i))) return false;
    }
    return true;
  }

  template <typename Check>
  bool table(const Table& t, int index, const Check& check) {
    if (!t.VerifyOffset(verifier_, slot(index))) return false;
    const auto* inner = t.GetPointer<const Table*>(slot(index));
    return inner == nullptr || check(*inner);
  }

  template <typename Check>
  bool tables(const Table& t, int index, const Check& check) {
    if (!t.VerifyOffset(verifier_, slot(index))) return false;
    const auto* list = t.GetPointer<const Vector<Offset<Table>>*>(slot(index));
    if (!verifier_.VerifyVector(list)) return false;
    for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (!check(*list->Get(i))) return false;
    }
    return true;
  }

  bool version(const Table& t) {
    return start(t) && field<int32_t>(t, 0) && field<int32_t>(t, 1) && field<int32_t>(t, 2) && field<uint8_t>(t, 3);
  }
  bool software_version(const Table& t) {
    return start(t) && field<int32_t>(t, 0) && field<int32_t>(t, 1) && field<int32_t>(t, 2) && text(t, 3);
  }
  bool compatibility(const Table& t) {
    return start(t) && table(t, 0, [this](const Table& software) { return software_version(software); }) &&
           field<uint64_t>(t, 1);
  }
  bool region(const Table& t) {
    return start(t) && text(t, 0) && tables(t, 1, [this](const Table& block) { return this->block(block); });
  }
  bool block(const Table& t) {
    return start(t) && text(t, 0) && tables(t, 1, [this](const Table& op) { return this->op(op); }) &&
           tables(t, 2, [this](const Table& tensor) { return this->tensor(tensor); }) && texts(t, 3) && texts(t, 4) &&
           tables(t, 5, [this](const Table& shape) { return this->shape(shape); });
  }
  bool tensor(const Table& t) {
    return start(t) && text(t, 0) && numbers<int32_t>(t, 1) && field<uint32_t>(t, 2) && numbers<uint8_t>(t, 3) &&
           field<uint8_t>(t, 4) && field<uint8_t>(t, 5) && text(t, 6) && field<uint64_t>(t, 7) &&
           field<uint64_t>(t, 8) && field<uint32_t>(t, 9) && numbers<uint8_t>(t, 10) && field<uint32_t>(t, 11) &&
           field<uint64_t>(t, 12) && field<uint64_t>(t, 13);
  }
  bool shape(const Table& t) { return start(t) && text(t, 0) && field<uint32_t>(t, 1) && numbers<uint8_t>(t, 2); }

  bool op(const Table& t) {
    if (!start(t) || !field<uint32_t>(t, 0) || !field<uint8_t>(t, 1)) return false;
    const auto tag = t.GetField<uint8_t>(slot(1), 0);
    return table(t, 2, [&](const Table& attributes) { return this->attributes(attributes, tag); }) && texts(t, 3) &&
           texts(t, 4) && table(t, 5, [this](const Table& location) { return start(location) && text(location, 0); });
  }

  // The attribute tables of unknown operators are not read, so they are not checked.
  bool attributes(const Table& t, uint8_t tag) {
    if (form_ == FileForm::k0_80) return attributes_0_80(t, tag);
    const auto op = tosa_op_of_number(tag);
    if (!op) return true;
    if (!start(t)) return false;
    int index = 0;
    for (const TosaAttribute& row : row_of(*op).attributes) {
      if (row.stored == TosaAttributeStorage::kTable && !attribute(t, index++, row.kind)) return false;
    }
    return true;
  }

  bool attributes_0_80(const Table& t, uint8_t tag) {
    if (tag == 0 || tag >= kTosa080Tables.size()) return true;
    if (!start(t)) return false;
    int index = 0;
    for (const Tosa080Slot& slot : kTosa080Tables[tag]) {
      if (!field_0_80(t, index++, slot.field)) return false;
    }
    return true;
  }

  bool field_0_80(const Table& t, int index, Tosa080Field kind) {
    switch (kind) {
      case Tosa080Field::kBool:
        return field<uint8_t>(t, index);
      case Tosa080Field::kInt:
      case Tosa080Field::kWord:
        return field<uint32_t>(t, index);
      case Tosa080Field::kInts:
        return numbers<int32_t>(t, index);
      case Tosa080Field::kShorts:
        return numbers<int16_t>(t, index);
      case Tosa080Field::kBytes:
      case Tosa080Field::kFloat:
        return numbers<uint8_t>(t, index);
      case Tosa080Field::kString:
        return text(t, index);
    }
    return false;
  }

  bool attribute(const Table& t, int index, TosaAttributeKind kind) {
    switch (kind) {
      case TosaAttributeKind::kBool:
        return field<uint8_t>(t, index);
      case TosaAttributeKind::kInt:
      case TosaAttributeKind::kType:
      case TosaAttributeKind::kEnum:
        return field<uint32_t>(t, index);
      case TosaAttributeKind::kInts:
        return numbers<int32_t>(t, index);
      case TosaAttributeKind::kScalar:
      case TosaAttributeKind::kBytes:
        return numbers<uint8_t>(t, index);
      case TosaAttributeKind::kString:
      case TosaAttributeKind::kGraph:
        return text(t, index);
    }
    return false;
  }

  flatbuffers::Verifier& verifier_;
  size_t budget_;
  FileForm form_;
};

}  // namespace

bool is_sound(std::span<const uint8_t> file, FileForm form) {
  flatbuffers::Verifier::Options options;
  options.max_tables = std::numeric_limits<flatbuffers::uoffset_t>::max();  // the budget limits them
  flatbuffers::Verifier verifier(file.data(), file.size(), options);
  return verifier.VerifyOffset(0) != 0 &&
         FileCheck(verifier, file.size(), form).graph(*flatbuffers::GetRoot<Table>(file.data()));
}

}  // namespace carina::tosa
