#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "facts/tosa_0_80.h"
#include "frontend/tosa/file_size_internal.h"
#include "frontend/tosa/packing_internal.h"
#include "frontend/tosa/to_0_80_internal.h"
#include "frontend/tosa/writer_internal.h"
#include "ir/tosa_type.h"
#include "tensor/float_formats.h"
#include "tosa_generated.h"

// Writes TOSA 0.80 files. prepare_0_80() has made the graph's operators and types those of 0.80 before.
namespace carina::tosa {

namespace {

namespace format = carina::tosa::fb;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::voffset_t;
using Name = Offset<flatbuffers::String>;

// A slot whose value is ready to be stored in its table.
struct ReadySlot {
  Tosa080Field field;
  uint32_t value;  // the bits of a scalar, or the offset of a vector or string
};

bool is_offset(Tosa080Field field) {
  return field != Tosa080Field::kBool && field != Tosa080Field::kInt && field != Tosa080Field::kWord;
}

// Writes one graph, prepared by prepare_0_80(), as a block.
class BlockWriter {
 public:
  BlockWriter(FlatBufferBuilder& builder, const ir::Graph& graph)
      : builder_(builder), graph_(graph), names_(graph.values.size()), folds_(graph), types_(file_types(graph)) {}

  Result<Offset<format::TosaBasicBlock>> write() {
    std::vector<bool> is_input(graph_.values.size(), false);
    for (const ir::ValueId input : graph_.inputs) is_input[input.index()] = true;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (folds_.stands_in_file(ir::ValueId(i))) CARINA_CHECKED(write_value(ir::ValueId(i), is_input[i]));
    }
    for (const ir::Node& node : graph_.nodes) CARINA_CHECKED(write_node(node));
    const auto inputs = names_of(graph_.inputs);
    const auto outputs = names_of(graph_.outputs);
    return format::CreateTosaBasicBlock(builder_, builder_.CreateString(graph_.name), builder_.CreateVector(operators_),
                                        builder_.CreateVector(tensors_), builder_.CreateVector(inputs),
                                        builder_.CreateVector(outputs));
  }

 private:
  [[nodiscard]] std::vector<Name> names_of(const std::vector<ir::ValueId>& values) const {
    std::vector<Name> out;
    for (const ir::ValueId id : values) out.push_back(names_[id.index()]);
    return out;
  }

  // Constants are padded to 8 bytes; bf16 is stored as fp32.
  Offset<flatbuffers::Vector<uint8_t>> data(const Tensor& tensor) {
    const bool wide = tensor.dtype == DType::kBf16;
    const size_t used = *file_bytes(wide ? DType::kFp32 : tensor.dtype, tensor.elements());
    const size_t padded = (used + 7) / 8 * 8;
    uint8_t* to = nullptr;
    builder_.ForceVectorAlignment(padded, sizeof(uint8_t), 8);
    const auto offset = builder_.CreateUninitializedVector<uint8_t>(padded, &to);
    std::fill(to + used, to + padded, uint8_t{0});
    if (!wide) {
      pack(tensor, {to, used});
      return offset;
    }
    const auto values = tensor.values<uint16_t>();
    for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
      const float value = bf16_to_fp32(values[i]);
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    return offset;
  }

  Result<void> write_value(ir::ValueId id, bool is_input) {
    const ir::Value& value = graph_[id];
    const auto type = types_[id.index()];
    if (!type) {
      return fail({.where = fmt::format("{}: {}", graph_.name, value.name),
                   .what = fmt::format("TOSA 0.80 has no tensors of type {}", name_of(value.dtype))});
    }
    std::vector<int32_t> sizes;
    for (const int64_t size : value.shape.dims()) {
      if (size < 0 || size > INT32_MAX)
        return fail({.where = fmt::format("{}: {}", graph_.name, value.name),
                     .what = "a shape that a TOSA file cannot hold",
                     .got = to_string(value.shape)});
      sizes.push_back(static_cast<int32_t>(size));
    }
    names_[id.index()] = builder_.CreateString(value.name);
    const bool constant = value.constant && !is_input;
    Offset<flatbuffers::Vector<uint8_t>> bytes;
    if (constant) bytes = data(*value.constant);
    tensors_.push_back(format::CreateTosaTensor(builder_, names_[id.index()], builder_.CreateVector(sizes),
                                                static_cast<format::DType>(*type), bytes));
    if (constant) add_operator(*number_in_0_80(TosaOp::CONST), Tosa080Table::kNone, {}, {}, {names_[id.index()]});
    return {};
  }

  void add_operator(uint32_t number, Tosa080Table table, Offset<void> attributes, const std::vector<Name>& inputs,
                    const std::vector<Name>& outputs) {
    const auto in = builder_.CreateVector(inputs);
    const auto out = builder_.CreateVector(outputs);
    operators_.push_back(
        format::CreateTosaOperator(builder_, number, static_cast<format::Attribute>(table), attributes, in, out));
  }

  Result<void> write_node(const ir::Node& node) {
    const std::string where = fmt::format("{}: {} ({})", graph_.name, node.op.name(), node.name);
    const auto number = number_in_0_80(node.op.tosa());
    CARINA_CHECK(number.has_value(), "{} is not of TOSA 0.80", where);
    const Tosa080Table table = kTosa080Ops[*number - 1].table;
    std::vector<ReadySlot> slots;
    for (const Tosa080Slot& slot : slots_of(table)) {
      CARINA_TRY(const ir::Attribute value, value_of_slot(graph_, node, slot, where));
      CARINA_TRY(slots.emplace_back(), ready(slot, value, where));
    }
    Offset<void> attributes;
    if (table != Tosa080Table::kNone) attributes = write_table(slots);
    add_operator(*number, table, attributes, names_of(folds_.inputs_in_file(node)), names_of(node.outputs));
    return {};
  }

  Offset<void> write_table(const std::vector<ReadySlot>& slots) {
    const auto start = builder_.StartTable();
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto at = static_cast<voffset_t>(4 + 2 * i);
      if (is_offset(slots[i].field))
        builder_.AddOffset(at, Offset<void>(slots[i].value));
      else if (slots[i].field == Tosa080Field::kBool)
        builder_.AddElement<uint8_t>(at, static_cast<uint8_t>(slots[i].value), 0);
      else
        builder_.AddElement<uint32_t>(at, slots[i].value, 0);
    }
    return Offset<void>(builder_.EndTable(start));
  }

  template <typename T>
  Result<ReadySlot> ready_list(const Tosa080Slot& slot, const std::vector<int64_t>& list, const std::string& where) {
    std::vector<T> narrow;
    for (const int64_t item : list) {
      if (item < std::numeric_limits<T>::min() || item > std::numeric_limits<T>::max()) {
        return fail({.where = where,
                     .what = fmt::format("{} does not fit its place in a TOSA 0.80 file", slot.name),
                     .expected = fmt::format("numbers of {} bits", 8 * sizeof(T)),
                     .got = fmt::format("{}", item)});
      }
      narrow.push_back(static_cast<T>(item));
    }
    return ReadySlot{.field = slot.field, .value = builder_.CreateVector(narrow).o};
  }

  ReadySlot ready_bytes(const Tosa080Slot& slot, std::span<const uint8_t> bytes) {
    builder_.ForceVectorAlignment(bytes.size(), sizeof(uint8_t), 8);
    return {.field = slot.field, .value = builder_.CreateVector(bytes.data(), bytes.size()).o};
  }

  // Invariant: value_of_slot() has converted `value` to the kind of the field.
  Result<ReadySlot> ready(const Tosa080Slot& slot, const ir::Attribute& value, const std::string& where) {
    switch (slot.field) {
      case Tosa080Field::kBool:
        return ReadySlot{.field = slot.field, .value = std::get<bool>(value) ? 1U : 0U};
      case Tosa080Field::kInt:
      case Tosa080Field::kWord: {
        const int64_t number = std::get<int64_t>(value);
        if (number < INT32_MIN || number > INT32_MAX)
          return fail(
              {.where = where, .what = fmt::format("{} does not fit the 32 bits of a TOSA 0.80 file", slot.name)});
        return ReadySlot{.field = slot.field, .value = static_cast<uint32_t>(number)};
      }
      case Tosa080Field::kInts:
        return ready_list<int32_t>(slot, std::get<std::vector<int64_t>>(value), where);
      case Tosa080Field::kShorts:
        return ready_list<int16_t>(slot, std::get<std::vector<int64_t>>(value), where);
      case Tosa080Field::kBytes:
        return ready_bytes(slot, std::get<ir::Bytes>(value).bytes);
      case Tosa080Field::kFloat: {
        const auto number = static_cast<float>(std::get<double>(value));
        std::array<uint8_t, sizeof number> bytes{};
        std::memcpy(bytes.data(), &number, sizeof number);
        return ready_bytes(slot, bytes);
      }
      case Tosa080Field::kString:
        return ReadySlot{.field = slot.field, .value = builder_.CreateString(std::get<std::string>(value)).o};
    }
    CARINA_UNREACHABLE("field of TOSA 0.80", slot.field);
  }

  FlatBufferBuilder& builder_;
  const ir::Graph& graph_;
  std::vector<Name> names_;
  FoldedOperands folds_;
  std::vector<std::optional<uint32_t>> types_;
  std::vector<Offset<format::TosaOperator>> operators_;
  std::vector<Offset<format::TosaTensor>> tensors_;
};

}  // namespace

Result<std::vector<std::byte>> write_0_80(const ir::Module& module) {
  CARINA_TRY(const ir::Module ready, prepare_0_80(module));
  CARINA_TRY(const size_t estimate, estimated_file_bytes(ready, kMaxGrowthBytes));
  FlatBufferBuilder builder(estimate);
  std::vector<Offset<format::TosaBasicBlock>> blocks;
  for (const ir::Graph& graph : ready.graphs) {
    CARINA_TRY(const auto block, BlockWriter(builder, graph).write());
    blocks.push_back(block);
  }
  // Readers of 0.80 expect one region "main" with all blocks, because control flow refers to blocks.
  const auto list = builder.CreateVector(blocks);
  const std::vector regions{format::CreateTosaRegion(builder, builder.CreateString("main"), list)};
  const auto version = format::CreateVersion(builder, 0, 80, 1, false);
  builder.Finish(format::CreateTosaGraph(builder, version, builder.CreateVector(regions)), "TOSA");
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return std::vector<std::byte>(bytes, bytes + builder.GetSize());
}

}  // namespace carina::tosa
