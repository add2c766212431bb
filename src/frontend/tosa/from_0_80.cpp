#include "frontend/tosa/from_0_80_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "facts/tosa_rows.h"
#include "frontend/tosa/writer_internal.h"
#include "ir/tosa_type.h"
#include "tensor/float_formats.h"

namespace carina::tosa {

namespace {

using flatbuffers::Table;
using flatbuffers::voffset_t;

constexpr int64_t kPropagate = 1;  // nan_mode
constexpr int64_t kSingleRound = 1;
constexpr int64_t kDoubleRound = 3;

// Operators that may have tensors of unsigned numbers. RESCALE converts them; the others only copy them.
constexpr auto kTakesUnsigned =
    std::to_array({TosaOp::RESCALE, TosaOp::IDENTITY, TosaOp::CUSTOM, TosaOp::COND_IF, TosaOp::WHILE_LOOP});

template <typename T>
std::vector<int64_t> list_of(const Table& table, voffset_t at) {
  std::vector<int64_t> out;
  if (const auto* list = table.GetPointer<const flatbuffers::Vector<T>*>(at)) out.assign(list->begin(), list->end());
  return out;
}

ir::Bytes bytes_of(const Table& table, voffset_t at) {
  ir::Bytes out;
  if (const auto* list = table.GetPointer<const flatbuffers::Vector<uint8_t>*>(at))
    out.bytes.assign(list->begin(), list->end());
  return out;
}

// Builds one node of 1.0 from an operator of 0.80.
class NodeBuilder {
 public:
  NodeBuilder(ir::Graph& graph, const Operator080& op, TosaOp op_1_0, const std::unordered_set<size_t>& unsigned_values,
              const std::string& where)
      : graph_(graph), op_(op), row_(row_of(op_1_0)), unsigned_(unsigned_values), where_(where) {}

  Result<ir::Node> build() {
    CARINA_CHECKED(check_unsigned());
    CARINA_CHECKED(place_inputs());
    ir::Node node{
        .op = row_.op, .name = op_.name, .inputs = {}, .outputs = op_.outputs, .attributes = {}, .source = {}};
    for (const TosaAttribute& attribute : row_.attributes) {
      CARINA_TRY(ir::Attribute value, attribute_of(attribute));
      attributes_.set(attribute.name, std::move(value));
    }
    for (size_t i = 0; i < row_.inputs.size(); ++i) {
      if (folded(row_.inputs[i])) {
        CARINA_TRY(const ir::ValueId made, operand_of(row_.inputs[i]));
        node.inputs.push_back(made);
      } else {
        node.inputs.insert(node.inputs.end(), given_[i].begin(), given_[i].end());
      }
    }
    node.attributes = std::move(attributes_);
    return node;
  }

 private:
  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {},
                                                   std::string got = {}) const {
    return fail({.where = where_, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
  }

  [[nodiscard]] bool has_floats() const { return !op_.inputs.empty() && is_float(graph_[op_.inputs.front()].dtype); }
  [[nodiscard]] const Tosa080Slot* slot_of(const TosaOperand& operand) const {
    return slot_of_operand(op_.row.table, operand.name, has_floats());
  }
  [[nodiscard]] bool folded(const TosaOperand& operand) const { return slot_of(operand) != nullptr; }
  [[nodiscard]] bool is_unsigned(ir::ValueId id) const { return unsigned_.contains(id.index()); }

  Result<void> check_unsigned() const {
    if (std::ranges::find(kTakesUnsigned, row_.op) != kTakesUnsigned.end()) return {};
    for (const auto* list : {&op_.inputs, &op_.outputs}) {
      for (const ir::ValueId id : *list) {
        if (is_unsigned(id))
          return error(fmt::format("{} is of an unsigned type, which only RESCALE may read and make", graph_[id].name));
      }
    }
    return {};
  }

  // Assigns the file's inputs to the operands of 1.0, in order, except operands that are attributes in 0.80.
  Result<void> place_inputs() {
    given_.resize(row_.inputs.size());
    size_t next = 0;
    for (size_t i = 0; i < row_.inputs.size(); ++i) {
      if (folded(row_.inputs[i])) continue;
      const bool list = row_.inputs[i].kind == TosaOperandKind::kTensorList;
      if (!list && next == op_.inputs.size()) return error(fmt::format("operand {} is missing", row_.inputs[i].name));
      const size_t end = list ? op_.inputs.size() : next + 1;
      for (; next < end; ++next) given_[i].push_back(op_.inputs[next]);
    }
    if (next < op_.inputs.size())
      return error("too many operands", fmt::format("{}", next), fmt::format("{}", op_.inputs.size()));
    return {};
  }

  // Reads the value of an attribute slot by the kind of its field.
  [[nodiscard]] Result<ir::Attribute> read(const Tosa080Slot& slot) const {
    const auto at = static_cast<voffset_t>(4 + 2 * (&slot - slots_of(op_.row.table).data()));
    const Table* table = op_.attributes;
    switch (slot.field) {
      case Tosa080Field::kBool:
        return table != nullptr && table->GetField<uint8_t>(at, 0) != 0;
      case Tosa080Field::kInt:
        return table == nullptr ? int64_t{0} : int64_t{table->GetField<int32_t>(at, 0)};
      case Tosa080Field::kWord:
        return table == nullptr ? int64_t{0} : int64_t{table->GetField<uint32_t>(at, 0)};
      case Tosa080Field::kInts:
        return table == nullptr ? std::vector<int64_t>() : list_of<int32_t>(*table, at);
      case Tosa080Field::kShorts:
        return table == nullptr ? std::vector<int64_t>() : list_of<int16_t>(*table, at);
      case Tosa080Field::kBytes:
        return table == nullptr ? ir::Bytes() : bytes_of(*table, at);
      case Tosa080Field::kFloat:
        return read_float(slot, table == nullptr ? ir::Bytes() : bytes_of(*table, at));
      case Tosa080Field::kString: {
        const auto* text = table == nullptr ? nullptr : table->GetPointer<const flatbuffers::String*>(at);
        return text == nullptr ? std::string() : text->str();
      }
    }
    CARINA_UNREACHABLE("field of TOSA 0.80", slot.field);
  }

  [[nodiscard]] Result<ir::Attribute> read_float(const Tosa080Slot& slot, const ir::Bytes& bytes) const {
    float value = 0;
    if (bytes.bytes.size() < sizeof value) {
      return error(fmt::format("{} is too short", slot.name), fmt::format("{} bytes", sizeof value),
                   fmt::format("{}", bytes.bytes.size()));
    }
    std::memcpy(&value, bytes.bytes.data(), sizeof value);
    return double{value};
  }

  Result<ir::Attribute> attribute_of(const TosaAttribute& attribute) const {
    const Tosa080Slot* slot = slot_of_attribute(op_.row.table, attribute.name, has_floats());
    if (slot == nullptr) return implied(attribute);
    CARINA_TRY(ir::Attribute value, read(*slot));
    if (slot->source == Tosa080Source::kDoubleRound) return std::get<bool>(value) ? kDoubleRound : kSingleRound;
    if (attribute.kind == TosaAttributeKind::kType) return accumulator(attribute, std::get<int64_t>(value));
    if (attribute.name.ends_with("put_unsigned")) {
      const auto& touched = attribute.name == "input_unsigned" ? op_.inputs : op_.outputs;
      return std::get<bool>(value) || (!touched.empty() && is_unsigned(touched.front()));
    }
    return value;
  }

  Result<ir::Attribute> accumulator(const TosaAttribute& attribute, int64_t number) const {
    if (number == 0) return implied(attribute);
    if (number < static_cast<int64_t>(kTosa080Types.size())) {
      const Tosa080Type& row = kTosa080Types[static_cast<size_t>(number)];
      if (row.type != TosaType::kUnknown && !row.is_unsigned) return ir::dtype_of(row.type);
    }
    return error(fmt::format("{} is no type of TOSA 1.0", attribute.name), {}, fmt::format("number {}", number));
  }

  // The value of an attribute that 0.80 does not have.
  Result<ir::Attribute> implied(const TosaAttribute& attribute) const {
    if (attribute.name == "nan_mode") return kPropagate;
    if (attribute.name == "acc_type") {
      CARINA_TRY(const DType dtype, type_of_variable("acc_t"));
      return dtype;
    }
    if (attribute.name == "dilation") return std::vector<int64_t>{1, 1};  // pad or stride of a FULLY_CONNECTED
    if (attribute.name == "stride") return std::vector<int64_t>{1, 1};
    if (attribute.name == "pad") return std::vector<int64_t>{0, 0, 0, 0};
    if (attribute.name == "local_bound") return false;
    CARINA_UNREACHABLE("attribute without a slot", attribute.kind);
  }

  // The type that the specification calls `variable`. It comes from the operands of that type, or else from the row of
  // legal types that matches the operands.
  Result<DType> type_of_variable(std::string_view variable) const {
    std::array<TosaType, TosaTypeRow::kMaxTypes> known{};
    const auto note = [&](std::string_view type, ir::ValueId id) {
      const auto found = std::ranges::find(row_.type_names, type);
      if (found == row_.type_names.end()) return;
      auto& slot = known[static_cast<size_t>(found - row_.type_names.begin())];
      if (slot == TosaType::kUnknown) slot = ir::tosa_type_of(graph_[id].dtype).value_or(TosaType::kUnknown);
    };
    for (size_t i = 0; i < row_.inputs.size(); ++i) {
      for (const ir::ValueId id : given_[i]) note(row_.inputs[i].type, id);
    }
    for (size_t i = 0; i < std::min(row_.outputs.size(), op_.outputs.size()); ++i)
      note(row_.outputs[i].type, op_.outputs[i]);
    const auto wanted = std::ranges::find(row_.type_names, variable);
    CARINA_CHECK(wanted != row_.type_names.end(), "{} has no type {}", name_of(row_.op), variable);
    const auto index = static_cast<size_t>(wanted - row_.type_names.begin());
    if (known[index] != TosaType::kUnknown) return ir::dtype_of(known[index]);
    for (const TosaTypeRow& row : row_.types) {
      bool fits = true;
      for (size_t i = 0; i < known.size(); ++i) fits &= known[i] == TosaType::kUnknown || known[i] == row.types[i];
      if (fits) return ir::dtype_of(row.types[index]);
    }
    return error(fmt::format("{} with these types does not exist in TOSA 1.0", name_of(row_.op)));
  }

  Result<DType> type_of(const TosaOperand& operand) const {
    if (operand.kind == TosaOperandKind::kShape) return DType::kShape;
    if (operand.type == "mul_t") return attributes_.get<bool>("scale32") ? DType::kInt32 : DType::kInt16;
    if (const auto fixed = dtype_of_name(operand.type)) return *fixed;
    return type_of_variable(operand.type);
  }

  Result<ir::ValueId> operand_of(const TosaOperand& operand) {
    CARINA_TRY(const DType dtype, type_of(operand));
    CARINA_TRY(ir::Attribute value, read(*slot_of(operand)));
    const std::string here = fmt::format("{}: {}", where_, operand.name);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      CARINA_TRY(Tensor tensor, tensor_of(dtype, *list, here));
      return graph_.add_constant(fmt::format("{}_{}", op_.name, operand.name), std::move(tensor));
    }
    if (auto* number = std::get_if<int64_t>(&value); number != nullptr && reads_unsigned(operand.name)) {
      const int64_t width = range_of(dtype).max - range_of(dtype).min + 1;
      if (*number > range_of(dtype).max && *number < width) *number -= width;  // the signed number with the same bits
    }
    CARINA_TRY(Tensor tensor, element_tensor(dtype, value, here));
    return graph_.add_constant(fmt::format("{}_{}", op_.name, operand.name), std::move(tensor));
  }

  // Returns whether a zero point is that of an unsigned tensor.
  [[nodiscard]] bool reads_unsigned(std::string_view operand) const {
    if (row_.op != TosaOp::RESCALE) return false;
    return (operand == "input_zp" && attributes_.get<bool>("input_unsigned")) ||
           (operand == "output_zp" && attributes_.get<bool>("output_unsigned"));
  }

  static Result<void> put(MutableTensor& tensor, size_t index, const ir::Attribute& value, DType dtype,
                          const std::string& here) {
    const size_t width = element_bytes(dtype);
    std::byte* found = tensor.bytes().data() + index * width;
    if (const auto* whole = std::get_if<int64_t>(&value); whole != nullptr && width == sizeof *whole) {
      std::memcpy(found, whole, width);
      return {};
    }
    CARINA_TRY(const auto bytes, bytes_of_scalar(dtype, value, here));
    std::memcpy(found, bytes.data(), width);
    return {};
  }

  static Result<Tensor> tensor_of(DType dtype, const std::vector<int64_t>& values, const std::string& here) {
    MutableTensor tensor(dtype, Shape{static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) CARINA_CHECKED(put(tensor, i, values[i], dtype, here));
    return std::move(tensor).freeze();
  }

  static Result<Tensor> element_tensor(DType dtype, const ir::Attribute& value, const std::string& here) {
    MutableTensor tensor(dtype, Shape{1});
    CARINA_CHECKED(put(tensor, 0, value, dtype, here));
    return std::move(tensor).freeze();
  }

  ir::Graph& graph_;
  const Operator080& op_;
  const TosaOpRow& row_;
  const std::unordered_set<size_t>& unsigned_;
  const std::string& where_;
  std::vector<std::vector<ir::ValueId>> given_;  // indexed by operand of 1.0
  ir::Attributes attributes_;
};

ir::Node reshape(ir::Graph& graph, ir::ValueId from, ir::ValueId to) {
  std::vector<int64_t> sizes(graph[to].shape.dims().begin(), graph[to].shape.dims().end());
  const Shape rank{static_cast<int64_t>(sizes.size())};
  const ir::ValueId shape = graph.add_constant(
      graph[to].name + "_shape", Tensor::of<int64_t>(DType::kShape, rank, std::span<const int64_t>(sizes)));
  return {.op = TosaOp::RESHAPE,
          .name = graph[to].name,
          .inputs = {from, shape},
          .outputs = {to},
          .attributes = {},
          .source = {}};
}

// Converts FULLY_CONNECTED([N,IC], [OC,IC], [OC]) -> [N,OC] to CONV2D over [N,1,1,IC].
class FullyConnected {
 public:
  FullyConnected(ir::Graph& graph, const Operator080& op) : graph_(graph), op_(op) {}

  Result<std::vector<ir::Node>> nodes(const std::unordered_set<size_t>& unsigned_values, const std::string& where) {
    const auto rank_of = [&](ir::ValueId id) { return graph_[id].shape.rank(); };
    if (op_.inputs.size() != 3 || op_.outputs.size() != 1 || rank_of(op_.inputs[0]) != 2 ||
        rank_of(op_.inputs[1]) != 2 || rank_of(op_.outputs[0]) != 2) {
      return fail({.where = where, .what = "FULLY_CONNECTED has other operands than [N,IC], [OC,IC], [OC] and [N,OC]"});
    }
    Operator080 conv{.row = op_.row,
                     .attributes = op_.attributes,
                     .inputs = {image(op_.inputs[0]), image(op_.inputs[1]), op_.inputs[2]},
                     .outputs = {unmade_image(op_.outputs[0])},
                     .name = op_.name};
    NodeBuilder builder(graph_, conv, TosaOp::CONV2D, unsigned_values, where);
    CARINA_TRY(ir::Node node, builder.build());
    nodes_.push_back(std::move(node));
    nodes_.push_back(reshape(graph_, conv.outputs[0], op_.outputs[0]));
    return std::move(nodes_);
  }

 private:
  // Adds a value of shape [A,1,1,B] for a value of shape [A,B].
  ir::ValueId unmade_image(ir::ValueId id) {
    const Shape& flat = graph_[id].shape;
    const Shape shape{flat[0], 1, 1, flat[1]};
    return graph_.add_value(graph_[id].name + "_image", graph_[id].dtype, shape);
  }

  ir::ValueId image(ir::ValueId id) {
    const ir::ValueId out = unmade_image(id);
    if (graph_[id].constant) {
      graph_[out].constant = graph_[id].constant;
      graph_[out].constant->shape = graph_[out].shape;
    } else {
      nodes_.push_back(reshape(graph_, id, out));
    }
    return out;
  }

  ir::Graph& graph_;
  const Operator080& op_;
  std::vector<ir::Node> nodes_;
};

}  // namespace

Result<std::vector<ir::Node>> nodes_of_0_80(ir::Graph& graph, const Operator080& op,
                                            const std::unordered_set<size_t>& unsigned_values,
                                            const std::string& where) {
  if (op.row.table == Tosa080Table::kFullyConnected) return FullyConnected(graph, op).nodes(unsigned_values, where);
  if (!op.row.op) {
    return fail(
        {.where = where,
         .what = fmt::format("operator {} ({}) of TOSA 0.80 does not exist in TOSA 1.0", op.row.name, op.name)});
  }
  CARINA_TRY(ir::Node node, NodeBuilder(graph, op, *op.row.op, unsigned_values, where).build());
  std::vector<ir::Node> nodes;
  nodes.push_back(std::move(node));
  return nodes;
}

Tensor wide_to_bf16(const Shape& shape, const Buffer& data) {
  MutableTensor out(DType::kBf16, shape);
  const auto values = out.values<uint16_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    float wide = 0;
    std::memcpy(&wide, data.data() + i * sizeof wide, sizeof wide);
    values[i] = fp32_to_bf16(wide);
  }
  return std::move(out).freeze();
}

}  // namespace carina::tosa
