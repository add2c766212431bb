#include <fmt/format.h>

#include <algorithm>

#include "base/memory/flatbuffer_memory.h"
#include "base/memory/mapped_pages.h"
#include "facts/tosa_rows.h"
#include "frontend/tosa/file_size_internal.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/packing_internal.h"
#include "frontend/tosa/writer_internal.h"
#include "ir/tosa_type.h"
#include "tosa_generated.h"

namespace carina::tosa {

namespace {

namespace format = carina::tosa::fb;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Name = Offset<flatbuffers::String>;

// Writes one graph as a region with one block.
class GraphWriter {
 public:
  GraphWriter(FlatBufferBuilder& builder, const ir::Graph& graph)
      : builder_(builder),
        graph_(graph),
        names_(graph.values.size()),
        is_input_(graph.values.size(), false),
        is_located_(std::ranges::any_of(graph.nodes, [](const ir::Node& node) { return !node.source.empty(); })) {}

  Result<Offset<format::TosaRegion>> write() {
    for (const ir::ValueId input : graph_.inputs) is_input_[input.index()] = true;
    for (const ir::ValueId id : referenced()) CARINA_CHECKED(write_value(id));
    for (const ir::Node& node : graph_.nodes) CARINA_CHECKED(write_node(node));
    const auto inputs = name_list(graph_.inputs);
    const auto outputs = name_list(graph_.outputs);
    const auto name = builder_.CreateString(graph_.name);
    const auto operators = builder_.CreateVector(operators_);
    const auto tensors = builder_.CreateVector(tensors_);
    const auto shapes = builder_.CreateVector(shapes_);
    const std::vector blocks{format::CreateTosaBasicBlock(builder_, name, operators, tensors, inputs, outputs, shapes)};
    return format::CreateTosaRegion(builder_, name, builder_.CreateVector(blocks));
  }

 private:
  // The values that the file needs, in order: all that an input, an output or a node refers to. The initial value of a
  // VARIABLE is stored with the variable's tensor instead.
  [[nodiscard]] std::vector<ir::ValueId> referenced() const {
    std::vector<bool> used(graph_.values.size(), false);
    const auto mark = [&](const std::vector<ir::ValueId>& list) {
      for (const ir::ValueId id : list) used[id.index()] = true;
    };
    mark(graph_.inputs);
    mark(graph_.outputs);
    for (const ir::Node& node : graph_.nodes) {
      if (node.op == ir::Op(TosaOp::VARIABLE)) continue;
      mark(node.inputs);
      mark(node.outputs);
    }
    std::vector<ir::ValueId> out;
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) out.emplace_back(i);
    }
    return out;
  }

  Offset<flatbuffers::Vector<uint8_t>> data(const Tensor& tensor, size_t bytes) {
    uint8_t* to = nullptr;
    builder_.ForceVectorAlignment(bytes, sizeof(uint8_t), 8);
    const auto offset = builder_.CreateUninitializedVector<uint8_t>(bytes, &to);
    pack(tensor, {to, bytes});
    return offset;
  }

  Offset<flatbuffers::Vector<int32_t>> dims(const Shape& shape) {
    std::vector<int32_t> narrow;
    for (const int64_t size : shape.dims()) narrow.push_back(static_cast<int32_t>(size));
    return builder_.CreateVector(narrow);
  }

  Result<void> check_value(const ir::Value& value) const {
    const std::string where = fmt::format("{}: {}", graph_.name, value.name);
    if (!ir::tosa_type_of(value.dtype)) {
      return fail(
          {.where = where, .what = "a type that TOSA 1.0 does not have", .got = std::string(name_of(value.dtype))});
    }
    if (std::ranges::any_of(value.shape.dims(), [](int64_t size) { return size < 0 || size > INT32_MAX; })) {
      return fail({.where = where, .what = "a shape that a TOSA file cannot hold", .got = to_string(value.shape)});
    }
    if (value.constant && value.constant->dtype != value.dtype) {
      return fail({.where = where, .what = "the constant has another type than its value", .fault = Fault::kInternal});
    }
    return {};
  }

  Result<void> write_value(ir::ValueId id) {
    const ir::Value& value = graph_[id];
    CARINA_CHECKED(check_value(value));
    names_[id.index()] = builder_.CreateString(value.name);
    const bool constant = value.constant && !is_input_[id.index()];
    Offset<flatbuffers::Vector<uint8_t>> bytes;
    if (constant) {
      bytes = data(*value.constant, *file_bytes(value.dtype, value.shape.elements()));
      release_pages_around(value.constant->data.bytes());
    }
    if (value.dtype == DType::kShape) {
      const auto rank = static_cast<uint32_t>(value.shape.elements());
      shapes_.push_back(format::CreateTosaShape(builder_, names_[id.index()], rank, bytes));
    } else {
      const auto type = static_cast<format::DType>(*ir::tosa_type_of(value.dtype));
      tensors_.push_back(format::CreateTosaTensor(builder_, names_[id.index()], dims(value.shape), type, bytes));
    }
    if (!constant) return {};
    const TosaOp op = value.dtype == DType::kShape ? TosaOp::CONST_SHAPE : TosaOp::CONST;
    return write_operator({.op = op,
                           .tag = op,
                           .inputs = {},
                           .outputs = {names_[id.index()]},
                           .attributes = empty_table(),
                           .source = {}});
  }

  Offset<void> empty_table() { return Offset<void>(builder_.EndTable(builder_.StartTable())); }

  struct Operator {
    TosaOp op;
    TosaOp tag;  // operator of the attribute table
    std::vector<Name> inputs;
    std::vector<Name> outputs;
    Offset<void> attributes;
    std::string_view source;
  };

  Result<void> write_operator(const Operator& op) {
    const auto inputs = builder_.CreateVector(op.inputs);
    const auto outputs = builder_.CreateVector(op.outputs);
    Offset<format::OpLocation> location;
    if (is_located_) location = format::CreateOpLocation(builder_, builder_.CreateString(op.source));
    operators_.push_back(format::CreateTosaOperator(builder_, static_cast<uint32_t>(op.op),
                                                    static_cast<format::Attribute>(op.tag), op.attributes, inputs,
                                                    outputs, location));
    return {};
  }

  std::vector<Name> names_of(const std::vector<ir::ValueId>& values) const {
    std::vector<Name> out;
    for (const ir::ValueId id : values) out.push_back(names_[id.index()]);
    return out;
  }
  Offset<flatbuffers::Vector<Name>> name_list(const std::vector<ir::ValueId>& values) {
    return builder_.CreateVector(names_of(values));
  }

  Result<void> write_node(const ir::Node& node) {
    const std::string where = fmt::format("{}: {} ({})", graph_.name, node.op.name(), node.name);
    if (!node.op.is_tosa()) return fail({.where = where, .what = "not an operator of TOSA"});
    const TosaOpRow& row = row_of(node.op.tosa());
    if (row.group == "Variable") return write_variable_operator(node, where);
    const DType scalar_type = node.inputs.empty() ? DType::kUnknown : graph_[node.inputs.front()].dtype;
    CARINA_TRY(const Offset<void> attributes, write_attributes(builder_, row, node.attributes, scalar_type, where));
    return write_operator({.op = row.op,
                           .tag = row.op,
                           .inputs = names_of(node.inputs),
                           .outputs = names_of(node.outputs),
                           .attributes = attributes,
                           .source = node.source});
  }

  // As in files of the official tools, an access to a variable is an IDENTITY operator with the attribute table of the
  // access.
  Result<void> write_variable_operator(const ir::Node& node, const std::string& where) {
    const auto* variable = std::get_if<std::string>(node.attributes.find("name"));
    if (variable == nullptr) return fail({.where = where, .what = "attribute name is missing"});
    const TosaOp op = node.op.tosa();
    if (op == TosaOp::VARIABLE) return declare_variable(node, *variable);
    const auto declared = std::ranges::find(variables_, *variable, &std::pair<std::string, Name>::first);
    if (declared == variables_.end())
      return fail({.where = where, .what = "the variable " + *variable + " is not declared"});
    Operator out{.op = TosaOp::IDENTITY,
                 .tag = op,
                 .inputs = names_of(node.inputs),
                 .outputs = names_of(node.outputs),
                 .attributes = empty_table(),
                 .source = node.source};
    (op == TosaOp::VARIABLE_READ ? out.inputs : out.outputs) = {declared->second};
    return write_operator(out);
  }

  Result<void> declare_variable(const ir::Node& node, const std::string& variable) {
    const std::string name = free_name("variable_" + variable);
    const auto tensor_name = builder_.CreateString(name);
    const DType dtype = node.attributes.get<DType>("type");
    Offset<flatbuffers::Vector<uint8_t>> bytes;
    if (!node.inputs.empty() && graph_[node.inputs[0]].constant) {
      const Tensor& initial = *graph_[node.inputs[0]].constant;
      bytes = data(initial, *file_bytes(initial.dtype, initial.elements()));
    }
    const auto type = static_cast<format::DType>(ir::tosa_type_of(dtype).value_or(TosaType::kUnknown));
    const auto shape = dims(Shape(node.attributes.integers("var_shape")));
    tensors_.push_back(format::CreateTosaTensor(builder_, tensor_name, shape, type, bytes, true, false,
                                                builder_.CreateString(variable)));
    variables_.emplace_back(variable, tensor_name);
    return {};
  }

  [[nodiscard]] std::string free_name(std::string name) const {
    while (graph_.find_value(name)) name += "_";
    return name;
  }

  FlatBufferBuilder& builder_;
  const ir::Graph& graph_;
  std::vector<Name> names_;
  std::vector<bool> is_input_;
  bool is_located_;  // if one operator has a source location, readers expect one for all
  std::vector<Offset<format::TosaOperator>> operators_;
  std::vector<Offset<format::TosaTensor>> tensors_;
  std::vector<Offset<format::TosaShape>> shapes_;
  std::vector<std::pair<std::string, Name>> variables_;
};

bool is_of_1_1(const ir::Node& node) {
  if (!node.op.is_tosa()) return false;
  const auto& types = row_of(node.op.tosa()).types;
  return std::ranges::any_of(types, [](const TosaTypeRow& row) { return row.any_of == only(TosaFeature::kExtMxFp); });
}

bool needs_1_1(const ir::Module& module) {
  return std::ranges::any_of(module.graphs,
                             [](const ir::Graph& graph) { return std::ranges::any_of(graph.nodes, is_of_1_1); });
}

}  // namespace

Result<std::vector<std::byte>> write_1_0(const ir::Module& module) {
  CARINA_TRY(const size_t estimate, estimated_file_bytes(module, 0));
  FlatbufferMemory memory;
  FlatBufferBuilder builder(estimate, &memory);
  std::vector<Offset<format::TosaRegion>> regions;
  for (const ir::Graph& graph : module.graphs) {
    CARINA_TRY(const auto region, GraphWriter(builder, graph).write());
    regions.push_back(region);
  }
  const bool draft = needs_1_1(module);
  const auto version = format::CreateVersion(builder, 1, draft ? 1 : 0, 0, draft);
  const auto list = builder.CreateVector(regions);
  builder.Finish(format::CreateTosaGraph(builder, version, list), "TOSA");
  return memory.take(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
}

Result<std::vector<std::byte>> write_tosa(const ir::Module& module, const WriteOptions& options) {
  return options.version == FileVersion::k1_0 ? write_1_0(module) : write_0_80(module);
}

}  // namespace carina::tosa
