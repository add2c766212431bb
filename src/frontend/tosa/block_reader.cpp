#include "frontend/tosa/block_reader_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/checked_math.h"
#include "facts/tosa_0_80.h"
#include "facts/tosa_rows.h"
#include "frontend/tosa/from_0_80_internal.h"
#include "frontend/tosa/packing_internal.h"
#include "ir/tosa_node.h"
#include "ir/tosa_type.h"

namespace carina::tosa {

namespace {

namespace format = carina::tosa::fb;
using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// The meaning of a name in the block: a value, or a variable's tensor.
struct Definition {
  ir::ValueId value;
  std::string variable;  // not empty: the tensor is this variable, and not a value
};

// Reads one block into one graph.
class BlockReader {
 public:
  BlockReader(const Buffer& file, std::string where, const format::TosaBasicBlock& block, FileForm form)
      : file_(file), where_(std::move(where)), block_(block), form_(form) {}

  Result<ir::Graph> read(std::string name) {
    graph_.name = std::move(name);
    for (uint32_t i = 0; i < count_of(block_.inputs()); ++i)
      input_names_.insert(block_.inputs()->Get(i)->string_view());
    for (uint32_t i = 0; i < count_of(block_.tensors()); ++i) CARINA_CHECKED(read_tensor(*block_.tensors()->Get(i)));
    for (uint32_t i = 0; i < count_of(block_.shapes()); ++i) CARINA_CHECKED(read_shape(*block_.shapes()->Get(i)));
    CARINA_TRY(graph_.inputs, values_of(block_.inputs(), where_ + ": inputs"));
    for (const ir::ValueId input : graph_.inputs) {
      if (made_[input.index()]) return error("input " + graph_[input].name + " is listed twice");
      made_[input.index()] = true;
    }
    for (uint32_t i = 0; i < count_of(block_.operators()); ++i)
      CARINA_CHECKED(read_operator(*block_.operators()->Get(i), i));
    CARINA_TRY(graph_.outputs, values_of(block_.outputs(), where_ + ": outputs"));
    for (const ir::ValueId output : graph_.outputs) {
      if (!made_[output.index()]) return error("output " + graph_[output].name + " is never made");
    }
    return std::move(graph_);
  }

 private:
  [[nodiscard]] std::unexpected<Diagnostics> error(std::string what, std::string expected = {},
                                                   std::string got = {}) const {
    return fail({.where = where_, .what = std::move(what), .expected = std::move(expected), .got = std::move(got)});
  }

  Result<Shape> shape_of(const std::string& name, const flatbuffers::Vector<int32_t>* dims) const {
    std::vector<int64_t> sizes;
    if (dims != nullptr) sizes.assign(dims->begin(), dims->end());
    if (sizes.size() > Shape::kMaxRank) {
      return error("tensor " + name + " has too many axes", fmt::format("at most {}", Shape::kMaxRank),
                   std::to_string(sizes.size()));
    }
    if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
      return fail({.where = where_,
                   .what = "tensor " + name + " has an axis of unknown size",
                   .hint = "only tensors of fixed shape are supported"});
    }
    const auto elements = checked_product(sizes);
    if (!elements || !checked_mul<int64_t>(*elements, 8)) return error("the size of tensor " + name + " overflows");
    return Shape(sizes);
  }

  // The bytes of a constant tensor, inside of the FlatBuffer or after it. Empty if it has none.
  Result<Buffer> data_of(const std::string& name, const flatbuffers::Vector<uint8_t>* data, uint64_t offset,
                         uint64_t size) const {
    if (data != nullptr && data->size() > 0) {
      const auto position = static_cast<size_t>(reinterpret_cast<const std::byte*>(data->data()) - file_.data());
      return file_.slice(position, data->size());
    }
    if (size == 0) return Buffer();
    const auto end = checked_add(offset, size);
    if (!end || *end > file_.size()) return error("the data of tensor " + name + " lies outside the file");
    return file_.slice(offset, size);
  }

  Result<std::optional<Tensor>> constant_of(const std::string& name, DType dtype, const Shape& shape,
                                            const Buffer& data) const {
    if (data.size() == 0) return std::optional<Tensor>();
    const bool wide_bf16 = form_ == FileForm::k0_80 && dtype == DType::kBf16;
    const auto needed = file_bytes(wide_bf16 ? DType::kFp32 : dtype, shape.elements());
    if (!needed || *needed > data.size()) {
      return error(fmt::format("the data of {} is too short for {} {}", name, name_of(dtype), to_string(shape)),
                   needed ? fmt::format("{} bytes", *needed) : "", std::to_string(data.size()));
    }
    return std::optional(wide_bf16 ? wide_to_bf16(shape, data) : unpack(dtype, shape, data));
  }

  Result<void> define(std::string name, DType dtype, const Shape& shape, std::optional<Tensor> constant) {
    if (name.empty()) return error("a tensor without a name");
    if (definitions_.contains(name)) return error("the name " + name + " is defined twice");
    // The value of an input has priority over data in the file, because sub-graphs declare constants of the outer graph
    // as inputs.
    if (input_names_.contains(name)) constant.reset();
    made_.push_back(constant.has_value());
    const ir::ValueId id = graph_.add_value(
        {.name = name, .dtype = dtype, .shape = shape, .quantization = {}, .constant = std::move(constant)});
    definitions_.emplace(std::move(name), Definition{.value = id, .variable = {}});
    return {};
  }

  struct FileType {
    DType dtype;
    bool is_unsigned;
  };
  Result<FileType> type_of(const std::string& name, uint32_t number) const {
    if (form_ == FileForm::k0_80 && number < kTosa080Types.size()) {
      const Tosa080Type& row = kTosa080Types[number];
      if (row.type != TosaType::kUnknown) return FileType{ir::dtype_of(row.type), row.is_unsigned};
    }
    const auto dtype = form_ == FileForm::k1_x ? ir::dtype_of_number(number) : std::nullopt;
    if (dtype && *dtype != DType::kShape) return FileType{*dtype, false};
    return error(fmt::format("tensor {} has an unsupported type", name),
                 form_ == FileForm::k1_x ? "a type of TOSA 1.0" : "a type of tensors of TOSA 0.80",
                 fmt::format("number {}", number));
  }

  Result<void> read_tensor(const format::TosaTensor& tensor) {
    const std::string name = text_of(tensor.name());
    CARINA_TRY(const FileType type, type_of(name, static_cast<uint32_t>(tensor.type())));
    if (tensor.scale_size() > 0 || count_of(tensor.scale_data()) > 0)
      return error("tensor " + name + " is block-scaled, which TOSA 1.0 does not have");
    if (tensor.is_unranked()) {
      return fail({.where = where_,
                   .what = "tensor " + name + " has no rank",
                   .hint = "only tensors of fixed shape are supported"});
    }
    CARINA_TRY(const Shape shape, shape_of(name, tensor.shape()));
    CARINA_TRY(const Buffer data, data_of(name, tensor.data(), tensor.offset(), tensor.size()));
    CARINA_TRY(std::optional<Tensor> constant, constant_of(name, type.dtype, shape, data));
    if (tensor.variable())
      return define_variable(name, text_of(tensor.variable_name()), type.dtype, shape, std::move(constant));
    if (type.is_unsigned) unsigned_.insert(graph_.values.size());
    return define(name, type.dtype, shape, std::move(constant));
  }

  Result<void> read_shape(const format::TosaShape& shape) {
    const std::string name = text_of(shape.name());
    const Shape rank{static_cast<int64_t>(shape.rank())};
    if (shape.rank() > size_t{2} * Shape::kMaxRank)
      return error("shape " + name + " is too long", "", std::to_string(shape.rank()));
    CARINA_TRY(const Buffer data, data_of(name, shape.data(), 0, 0));
    CARINA_TRY(std::optional<Tensor> constant, constant_of(name, DType::kShape, rank, data));
    if (shape.rank() == 0 && !constant) constant = unpack(DType::kShape, rank, Buffer());
    return define(name, DType::kShape, rank, std::move(constant));
  }

  // Declares a variable: its tensor becomes a VARIABLE node and no value.
  Result<void> define_variable(std::string name, std::string variable, DType dtype, const Shape& shape,
                               std::optional<Tensor> initial) {
    if (variable.empty()) variable = name;
    if (definitions_.contains(name)) return error("the name " + name + " is defined twice");
    ir::Node node{
        .op = TosaOp::VARIABLE, .name = variable, .inputs = {}, .outputs = {}, .attributes = {}, .source = {}};
    if (initial) {
      node.inputs.push_back(graph_.add_constant(name + "_initial", *std::move(initial)));
      made_.push_back(true);
    }
    node.attributes.set("name", variable);
    node.attributes.set("var_shape", std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
    node.attributes.set("type", dtype);
    graph_.add_node(std::move(node));
    definitions_.emplace(std::move(name), Definition{.value = {}, .variable = std::move(variable)});
    return {};
  }

  Result<std::vector<ir::ValueId>> values_of(const Strings* names, const std::string& where) const {
    std::vector<ir::ValueId> out;
    for (uint32_t i = 0; i < count_of(names); ++i) {
      const auto found = definitions_.find(names->Get(i)->str());
      if (found == definitions_.end())
        return fail({.where = where, .what = "no tensor or shape is called " + names->Get(i)->str()});
      if (!found->second.value.valid())
        return fail({.where = where, .what = "the variable " + names->Get(i)->str() + " is used as a tensor"});
      out.push_back(found->second.value);
    }
    return out;
  }

  [[nodiscard]] const std::string* variable_of(const Strings* names) const {
    if (count_of(names) == 0) return nullptr;
    const auto found = definitions_.find(names->Get(0)->str());
    return found == definitions_.end() || found->second.variable.empty() ? nullptr : &found->second.variable;
  }

  // In files, variables are read and written by IDENTITY (or VARIABLE_*) operators on the variable's tensor.
  Result<bool> read_variable_operator(const format::TosaOperator& op, ir::Node& node) const {
    const std::string* read = variable_of(op.inputs());
    const std::string* written = variable_of(op.outputs());
    const bool access = node.op == ir::Op(TosaOp::IDENTITY) || row_of(node.op.tosa()).group == "Variable";
    if (!access || (read == nullptr && written == nullptr)) return false;
    if (read != nullptr) {
      node.op = TosaOp::VARIABLE_READ;
      CARINA_TRY(node.outputs, values_of(op.outputs(), node.name));
      node.attributes.set("name", *read);
    } else {
      node.op = TosaOp::VARIABLE_WRITE;
      CARINA_TRY(node.inputs, values_of(op.inputs(), node.name));
      node.attributes.set("name", *written);
    }
    return true;
  }

  // The operator in 1.x. Returns no value for operators of 0.80 only.
  Result<std::optional<TosaOp>> operator_of(uint32_t number, const std::string& here) const {
    if (form_ == FileForm::k0_80 && number > 0 && number <= kTosa080Ops.size()) return kTosa080Ops[number - 1].op;
    const auto known = tosa_op_of_number(number);
    if (form_ == FileForm::k1_x && known) return known;
    return fail({.where = here,
                 .what = fmt::format("unknown operator number {}", number),
                 .hint = form_ == FileForm::k0_80
                             ? fmt::format("the operators of TOSA 0.80 are 1 to {}", kTosa080Ops.size())
                             : "Carina has the operators of TOSA 1.0, and of TOSA 1.1 those of EXT-MXFP"});
  }

  Result<void> read_operator(const format::TosaOperator& op, uint32_t index) {
    const std::string here = fmt::format("{}: operator {}", where_, index);
    CARINA_TRY(const std::optional<TosaOp> known, operator_of(op.op(), here));
    const std::string name =
        count_of(op.outputs()) > 0 ? op.outputs()->Get(0)->str() : fmt::format("operator_{}", index);
    if (!known) return read_operator_0_80(op, here, name);
    const TosaOp tosa_op = *known;
    ir::Node node{.op = tosa_op, .name = name, .inputs = {}, .outputs = {}, .attributes = {}, .source = {}};
    if (op.location() != nullptr && form_ == FileForm::k1_x) node.source = text_of(op.location()->text());
    if (tosa_op == TosaOp::CONST || tosa_op == TosaOp::CONST_SHAPE) return check_constant(op, here);
    if (tosa_op == TosaOp::VARIABLE) return {};
    const std::string named = fmt::format("{} {} ({})", here, name_of(tosa_op), node.name);
    CARINA_TRY(const bool variable, read_variable_operator(op, node));
    if (!variable && form_ == FileForm::k0_80) return read_operator_0_80(op, named, name);
    if (!variable) CARINA_CHECKED(read_plain_operator(op, named, node));
    return add(std::move(node), named);
  }

  // Converts an operator of 0.80. Some of its attributes become constants, and one operator may become several.
  Result<void> read_operator_0_80(const format::TosaOperator& op, const std::string& here, const std::string& name) {
    Operator080 old{.row = kTosa080Ops[op.op() - 1], .attributes = nullptr, .inputs = {}, .outputs = {}, .name = name};
    const auto tag = static_cast<uint8_t>(op.attribute_type());
    if (tag != 0 && tag != static_cast<uint8_t>(old.row.table)) {
      return fail({.where = here,
                   .what = "the attributes are those of another kind of operator",
                   .expected = fmt::format("tag {}", static_cast<uint8_t>(old.row.table)),
                   .got = fmt::format("tag {}", tag)});
    }
    if (tag != 0) old.attributes = static_cast<const flatbuffers::Table*>(op.attribute());
    CARINA_TRY(old.inputs, values_of(op.inputs(), here));
    CARINA_TRY(old.outputs, values_of(op.outputs(), here));
    CARINA_TRY(std::vector<ir::Node> nodes, nodes_of_0_80(graph_, old, unsigned_, here));
    while (made_.size() < graph_.values.size()) made_.push_back(graph_.values[made_.size()].constant.has_value());
    for (ir::Node& node : nodes) {
      CARINA_CHECKED(ir::check_row(node, here));
      CARINA_CHECKED(add(std::move(node), here));
    }
    return {};
  }

  Result<void> read_plain_operator(const format::TosaOperator& op, const std::string& here, ir::Node& node) const {
    const TosaOpRow& row = row_of(node.op.tosa());
    if (op.attribute_type() != format::Attribute::NONE && static_cast<uint32_t>(op.attribute_type()) != op.op()) {
      return fail({.where = here,
                   .what = "the attributes are those of another operator",
                   .expected = fmt::format("tag {}", op.op()),
                   .got = fmt::format("tag {}", static_cast<uint32_t>(op.attribute_type()))});
    }
    CARINA_TRY(node.inputs, values_of(op.inputs(), here));
    CARINA_TRY(node.outputs, values_of(op.outputs(), here));
    const DType scalar_type = node.inputs.empty() ? DType::kUnknown : graph_[node.inputs.front()].dtype;
    const auto* table = op.attribute_type() == format::Attribute::NONE
                            ? nullptr
                            : static_cast<const flatbuffers::Table*>(op.attribute());
    CARINA_TRY(node.attributes, read_attributes(row, table, scalar_type, here));
    return ir::check_row(node, here);
  }

  // The data of a CONST are stored with its output tensor. They must be present, unless the tensor has no elements.
  Result<void> check_constant(const format::TosaOperator& op, const std::string& here) {
    if (variable_of(op.outputs()) != nullptr) return {};
    CARINA_TRY(const std::vector<ir::ValueId> outputs, values_of(op.outputs(), here));
    if (outputs.size() != 1) return fail({.where = here, .what = "a constant must have one output"});
    ir::Value& value = graph_[outputs.front()];
    if (input_names_.contains(value.name)) return {};
    if (!value.constant && value.shape.elements() == 0) {
      value.constant = unpack(value.dtype, value.shape, Buffer());
      made_[outputs.front().index()] = true;
    }
    if (!value.constant) return fail({.where = here, .what = "the constant " + value.name + " has no data"});
    return {};
  }

  Result<void> add(ir::Node node, const std::string& here) {
    for (const ir::ValueId input : node.inputs) {
      if (!made_[input.index()]) {
        return fail({.where = here,
                     .what = "reads " + graph_[input].name + " before it is made",
                     .hint = "operators must stand in the order of evaluation; cycles are not allowed"});
      }
    }
    for (const ir::ValueId output : node.outputs) {
      if (made_[output.index()])
        return fail({.where = here, .what = "makes " + graph_[output].name + ", which is already made"});
      made_[output.index()] = true;
    }
    graph_.add_node(std::move(node));
    return {};
  }

  const Buffer& file_;
  std::string where_;
  const format::TosaBasicBlock& block_;
  FileForm form_;
  ir::Graph graph_;
  std::unordered_set<size_t> unsigned_;  // indices of values with an unsigned type in the file
  std::unordered_set<std::string_view> input_names_;
  std::unordered_map<std::string, Definition> definitions_;
  std::vector<bool> made_;  // by value: whether it is an input, a constant or the output of an operator so far
};

}  // namespace

Result<ir::Graph> read_block(const Buffer& file, const std::string& where, const fb::TosaBasicBlock& block,
                             FileForm form, std::string name) {
  return BlockReader(file, where, block, form).read(std::move(name));
}

}  // namespace carina::tosa
