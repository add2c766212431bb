#include "frontend/tosa/to_0_80_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/tosa/reader_internal.h"
#include "frontend/tosa/verify/rule.h"
#include "ir/tosa_type.h"

namespace carina::tosa {

namespace {

constexpr int64_t kPropagate = 1;    // nan_mode
constexpr int64_t kSingleRound = 1;  // rounding_mode
constexpr int64_t kDoubleRound = 3;

constexpr auto kHasBias =
    std::to_array({TosaOp::CONV2D, TosaOp::CONV3D, TosaOp::DEPTHWISE_CONV2D, TosaOp::TRANSPOSE_CONV2D});
constexpr size_t kBias = 2;  // operand index

const Tosa080Op* find_row(const ir::Node& node) {
  if (!node.op.is_tosa()) return nullptr;
  const auto number = number_in_0_80(node.op.tosa());
  return number ? &kTosa080Ops[*number - 1] : nullptr;
}

bool has_floats(const ir::Graph& graph, const ir::Node& node) {
  return !node.inputs.empty() && is_float(graph[node.inputs.front()].dtype);
}

// The row of an operand. The row of a list applies to all operands from its index on.
const TosaOperand& operand_row(const ir::Node& node, size_t index) {
  const auto rows = row_of(node.op.tosa()).inputs;
  return rows[std::min(index, rows.size() - 1)];
}

bool is_folded(const ir::Graph& graph, const ir::Node& node, size_t index) {
  return slot_of_operand(find_row(node)->table, operand_row(node, index).name, has_floats(graph, node)) != nullptr;
}

bool has_bias(const ir::Node& node) {
  return std::ranges::find(kHasBias, node.op.tosa()) != kHasBias.end();
}

// Collects the properties of a node that 0.80 cannot represent.
class Objections {
 public:
  Objections(const ir::Graph& graph, const ir::Node& node) : graph_(graph), node_(node) {}

  std::optional<std::string> find() const {
    const Tosa080Op* row = find_row(node_);
    if (row == nullptr) return fmt::format("operator {} does not exist in TOSA 0.80", node_.op.name());
    for (const auto& objection : {operands(), result(), attributes(*row)}) {
      if (objection) return objection;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::string> operands() const {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (is_folded(graph_, node_, i) && !graph_[node_.inputs[i]].constant) {
        return fmt::format("operand {} is not a constant; TOSA 0.80 has it as an attribute",
                           operand_row(node_, i).name);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> attributes(const Tosa080Op& row) const {
    for (const TosaAttribute& attribute : row_of(node_.op.tosa()).attributes) {
      const ir::Attribute* value = node_.attributes.find(attribute.name);
      if (value == nullptr) return fmt::format("attribute {} is missing", attribute.name);
      if (attribute.name == "nan_mode" && has_floats(graph_, node_) && *value != ir::Attribute(kPropagate))
        return "attribute nan_mode is not PROPAGATE, which is all that TOSA 0.80 does";
      if (attribute.name == "rounding_mode" && *value != ir::Attribute(kSingleRound) &&
          *value != ir::Attribute(kDoubleRound))
        return "attribute rounding_mode is INEXACT_ROUND, which TOSA 0.80 does not have";
      const bool implied = slot_of_attribute(row.table, attribute.name, has_floats(graph_, node_)) == nullptr;
      if (attribute.name == "acc_type" && implied && *value != ir::Attribute(graph_[node_.outputs.front()].dtype))
        return "attribute acc_type is not the result's type, which TOSA 0.80 accumulates in";
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> result() const {
    for (const Tosa080MissingResult& missing : kTosa080MissingResults) {
      if (node_.op == ir::Op(missing.op) && graph_[node_.outputs.front()].dtype == ir::dtype_of(missing.type)) {
        return fmt::format("a result of type {} does not exist in TOSA 0.80 (it gives fp32 there)",
                           name_of(missing.type));
      }
    }
    if (!has_bias(node_)) return std::nullopt;
    const ir::Value& bias = graph_[node_.inputs[kBias]];
    if (bias.shape.elements() == channels() || bias.constant) return std::nullopt;
    return "operand bias has one element for all channels and is not a constant; TOSA 0.80 wants one for each";
  }

  [[nodiscard]] int64_t channels() const {
    const Shape& shape = graph_[node_.outputs.front()].shape;
    return shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
};

// Repeats the single element of a constant for each channel.
Tensor broadcast(const Tensor& one, int64_t channels) {
  MutableTensor out(one.dtype, Shape{channels});
  const size_t width = element_bytes(one.dtype);
  for (size_t i = 0; i < static_cast<size_t>(channels); ++i)
    std::memcpy(out.bytes().data() + i * width, one.data.data(), width);
  return std::move(out).freeze();
}

// The number of channels over which this node's bias must be broadcast. 0 if it stays as it is.
int64_t channels_to_spread(const ir::Graph& graph, const ir::Node& node) {
  if (!has_bias(node)) return 0;
  const Shape& result = graph[node.outputs.front()].shape;
  const int64_t channels = result.rank() == 0 ? 1 : result[result.rank() - 1];
  return graph[node.inputs[kBias]].shape.elements() == 1 && channels > 1 ? channels : 0;
}

void broadcast_bias(ir::Graph& graph, ir::Node& node) {
  const int64_t channels = channels_to_spread(graph, node);
  if (channels == 0) return;
  Tensor wide = broadcast(*graph[node.inputs[kBias]].constant, channels);
  const std::string name = graph[node.inputs[kBias]].name + "_spread";
  node.inputs[kBias] = graph.add_constant(name, std::move(wide));
}

// The growth of the module in bytes. No value if it exceeds kMaxGrowthBytes.
std::optional<int64_t> growth_bytes(const ir::Module& module) {
  int64_t bytes = 0;
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Node& node : graph.nodes) {
      bytes += std::min(channels_to_spread(graph, node), kMaxGrowthBytes) * int64_t{sizeof(int64_t)};
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (is_folded(graph, node, i)) bytes += graph[node.inputs[i]].shape.elements() * int64_t{sizeof(int32_t)};
      }
      if (bytes > kMaxGrowthBytes) return std::nullopt;
    }
  }
  return bytes;
}

// Returns whether a zero point is that of an unsigned tensor. TOSA 1.0 stores it as the signed number with the same
// bits.
bool is_unsigned_zero_point(const ir::Node& node, std::string_view operand) {
  if (node.op != ir::Op(TosaOp::RESCALE)) return false;
  return (operand == "input_zp" && node.attributes.get<bool>("input_unsigned")) ||
         (operand == "output_zp" && node.attributes.get<bool>("output_unsigned"));
}

Result<ir::Attribute> number_of(const ir::Node& node, const Tosa080Slot& slot, const ir::Value& value,
                                const std::string& where) {
  const Tensor& tensor = *value.constant;
  if (tensor.elements() != 1) {
    return fail({.where = where,
                 .what = fmt::format("operand {} must have one element", slot.name_1_0),
                 .got = to_string(tensor.shape)});
  }
  const ir::Attribute scalar = scalar_of_bytes(tensor.dtype, reinterpret_cast<const uint8_t*>(tensor.data.data()));
  if (const auto* real = std::get_if<double>(&scalar)) {
    if (slot.field == Tosa080Field::kFloat) return *real;
    if (*real == 0) return int64_t{0};
    return fail({.where = where, .what = fmt::format("operand {} must be 0", slot.name_1_0)});
  }
  const int64_t number = std::get<int64_t>(scalar);
  if (slot.field == Tosa080Field::kFloat) return static_cast<double>(number);
  const bool wraps = number < 0 && is_unsigned_zero_point(node, slot.name_1_0);
  return wraps ? number + (int64_t{1} << row_of(tensor.dtype).bits) : number;
}

Result<ir::Attribute> operand_in_slot(const ir::Graph& graph, const ir::Node& node, const Tosa080Slot& slot,
                                      const std::string& where) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (operand_row(node, i).name != slot.name_1_0) continue;
    const ir::Value& value = graph[node.inputs[i]];
    const bool list = slot.field == Tosa080Field::kInts || slot.field == Tosa080Field::kShorts;
    if (!list) return number_of(node, slot, value, where);
    auto numbers = constant_ints(value);
    if (!numbers) return fail({.where = where, .what = fmt::format("operand {} has no integers", slot.name_1_0)});
    return *std::move(numbers);
  }
  return std::monostate();
}

ir::Attribute nothing_in(Tosa080Field field) {
  switch (field) {
    case Tosa080Field::kBool:
      return false;
    case Tosa080Field::kInt:
    case Tosa080Field::kWord:
      return int64_t{0};
    case Tosa080Field::kInts:
    case Tosa080Field::kShorts:
      return std::vector<int64_t>();
    case Tosa080Field::kBytes:
      return ir::Bytes();
    case Tosa080Field::kFloat:
      return 0.0;
    case Tosa080Field::kString:
      return std::string();
  }
  return std::monostate();
}

ir::Attribute attribute_in_slot(const ir::Node& node, const Tosa080Slot& slot) {
  const ir::Attribute* value = node.attributes.find(slot.name_1_0);
  if (value == nullptr) return std::monostate();
  if (slot.source == Tosa080Source::kDoubleRound) return *value == ir::Attribute(kDoubleRound);
  if (const auto* dtype = std::get_if<DType>(value))
    return int64_t{number_in_0_80(ir::tosa_type_of(*dtype).value_or(TosaType::kUnknown), false).value_or(0)};
  const auto* whole = std::get_if<int64_t>(value);
  if (slot.field == Tosa080Field::kFloat && whole != nullptr) return static_cast<double>(*whole);
  return *value;
}

bool counts(Tosa080Source source, bool floats) {
  switch (source) {
    case Tosa080Source::kIntegerOperand:
    case Tosa080Source::kIntegerAttribute:
      return !floats;
    case Tosa080Source::kFloatOperand:
    case Tosa080Source::kFloatAttribute:
      return floats;
    case Tosa080Source::kAttribute:
    case Tosa080Source::kOperand:
    case Tosa080Source::kDoubleRound:
    case Tosa080Source::kOutputShape:
      return true;
  }
  return true;
}

bool is_operand(Tosa080Source source) {
  return source == Tosa080Source::kOperand || source == Tosa080Source::kIntegerOperand ||
         source == Tosa080Source::kFloatOperand;
}

}  // namespace

Result<ir::Module> prepare_0_80(const ir::Module& module) {
  Diagnostics all;
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Node& node : graph.nodes) {
      auto objection = Objections(graph, node).find();
      if (!objection) continue;
      all.push_back(
          {.where = fmt::format("{}: {} ({})", graph.name, node.op.name(), node.name), .what = *std::move(objection)});
    }
  }
  if (!all.empty()) return fail(std::move(all));
  if (!growth_bytes(module)) {
    return fail({.where = "TOSA file",
                 .what = "the graph is too large for TOSA 0.80, which repeats shared operands for each operator",
                 .expected = fmt::format("at most {} bytes more", kMaxGrowthBytes)});
  }
  ir::Module out = module;
  for (ir::Graph& graph : out.graphs) {
    for (ir::Node& node : graph.nodes) broadcast_bias(graph, node);
  }
  return out;
}

FoldedOperands::FoldedOperands(const ir::Graph& graph) : graph_(graph), stands_(graph.values.size(), false) {
  const auto mark = [&](const std::vector<ir::ValueId>& list) {
    for (const ir::ValueId id : list) stands_[id.index()] = true;
  };
  mark(graph.inputs);
  mark(graph.outputs);
  for (const ir::Node& node : graph.nodes) {
    mark(inputs_in_file(node));
    mark(node.outputs);
  }
}

std::vector<ir::ValueId> FoldedOperands::inputs_in_file(const ir::Node& node) const {
  std::vector<ir::ValueId> out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_folded(graph_, node, i)) out.push_back(node.inputs[i]);
  }
  return out;
}

std::vector<std::optional<uint32_t>> file_types(const ir::Graph& graph) {
  std::vector<bool> as_unsigned(graph.values.size(), false);
  std::vector<bool> as_signed(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes) {
    const bool rescale = node.op == ir::Op(TosaOp::RESCALE);
    const bool in = rescale && node.attributes.get<bool>("input_unsigned");
    const bool out = rescale && node.attributes.get<bool>("output_unsigned");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_folded(graph, node, i)) (in ? as_unsigned : as_signed)[node.inputs[i].index()] = true;
    }
    for (const ir::ValueId id : node.outputs) (out ? as_unsigned : as_signed)[id.index()] = true;
  }
  std::vector<std::optional<uint32_t>> types;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const auto type = ir::tosa_type_of(graph.values[i].dtype);
    types.push_back(type ? number_in_0_80(*type, as_unsigned[i] && !as_signed[i]) : std::nullopt);
  }
  return types;
}

Result<ir::Attribute> value_of_slot(const ir::Graph& graph, const ir::Node& node, const Tosa080Slot& slot,
                                    const std::string& where) {
  ir::Attribute value;
  if (slot.source == Tosa080Source::kOutputShape) {
    const auto sizes = graph[node.outputs.front()].shape.dims();
    return std::vector<int64_t>(sizes.begin(), sizes.end());
  }
  if (!counts(slot.source, has_floats(graph, node))) return nothing_in(slot.field);
  if (is_operand(slot.source)) {
    CARINA_TRY(value, operand_in_slot(graph, node, slot, where));
  } else {
    value = attribute_in_slot(node, slot);
  }
  const ir::Attribute nothing = nothing_in(slot.field);
  if (std::holds_alternative<std::monostate>(value)) return nothing;
  if (value.index() == nothing.index()) return value;
  return fail({.where = where, .what = fmt::format("{} cannot stand in a TOSA 0.80 file", slot.name_1_0)});
}

}  // namespace carina::tosa
