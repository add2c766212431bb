#include "row_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "facts/tosa_rows.h"
#include "ir/tosa_type.h"

namespace carina::tosa {

namespace {

constexpr std::string_view kOddText = "a \"quoted\"\\ line\n\ttab, \xC3\xA9, %x";

class Maker {
 public:
  Maker(const TosaOpRow& row, const TosaTypeRow* types, uint32_t seed)
      : row_(row),
        types_(types),
        random_(seed),
        node_{
            .op = row.op, .name = "n", .inputs = {}, .outputs = {}, .attributes = {}, .source = std::string(kOddText)} {
  }

  ir::Module make() {
    for (const TosaOperand& operand : row_.inputs) choose_input(operand);
    for (const TosaAttribute& attribute : row_.attributes)
      node_.attributes.set(attribute.name, attribute_of(attribute));
    for (size_t i = 0; i < row_.inputs.size(); ++i) {
      for (int n = 0; n < copies(row_.inputs[i]); ++n) node_.inputs.push_back(input(row_.inputs[i]));
    }
    for (const TosaOperand& operand : row_.outputs) {
      for (int n = 0; n < copies(operand); ++n)
        node_.outputs.push_back(graph_.add_value("out", type_of(operand), shape_of(operand)));
    }
    graph_.name = "main";
    graph_.outputs = node_.outputs;
    graph_.add_node(std::move(node_));
    ir::Module module;
    module.graphs.push_back(std::move(graph_));
    ir::Graph other;
    other.name = "other graph";
    module.graphs.push_back(std::move(other));
    return module;
  }

 private:
  // The same number with every standard library, unlike std::uniform_int_distribution's.
  int number(int low, int high) {
    const uint64_t count = static_cast<uint64_t>(int64_t{high} - low + 1);
    return static_cast<int>(low + static_cast<int64_t>((uint64_t{random_()} * count) >> 32));
  }

  static int copies(const TosaOperand& operand) { return operand.kind == TosaOperandKind::kTensorList ? 2 : 1; }

  // Scalar attributes have the type of the first operand.
  void choose_input(const TosaOperand& operand) {
    if (first_ == DType::kUnknown) first_ = type_of(operand);
  }

  DType type_of(const TosaOperand& operand) {
    if (operand.kind == TosaOperandKind::kShape) return DType::kShape;
    if (operand.type == "mul_t") return node_.attributes.get<bool>("scale32") ? DType::kInt32 : DType::kInt16;
    return type_of_name(operand.type);
  }

  DType type_of_name(std::string_view name) {
    const auto found = std::ranges::find(row_.type_names, name);
    if (types_ != nullptr && found != row_.type_names.end())
      return ir::dtype_of(types_->types[static_cast<size_t>(found - row_.type_names.begin())]);
    return dtype_of_name(name).value_or(DType::kInt32);
  }

  Shape shape_of(const TosaOperand& operand) {
    if (operand.shape == "[1]") return Shape{1};
    if (operand.kind == TosaOperandKind::kShape) return Shape{number(0, 6)};
    const int low = operand.min_rank;
    const int high = operand.max_rank == TosaOperand::kMaxRank ? 5 : operand.max_rank;
    std::vector<int64_t> sizes;
    for (int axis = number(low, std::max(low, high)); axis > 0; --axis) sizes.push_back(number(1, 3));
    return Shape(sizes);
  }

  ir::ValueId input(const TosaOperand& operand) {
    const DType dtype = type_of(operand);
    const Shape shape = shape_of(operand);
    const bool constant = operand.constness == TosaConstness::kCompileTime || operand.kind == TosaOperandKind::kShape;
    if (constant || number(0, 4) == 0) return graph_.add_constant(operand.name, contents(operand, dtype, shape));
    const ir::ValueId id = graph_.add_value(operand.name, dtype, shape);
    graph_.inputs.push_back(id);
    return id;
  }

  Tensor contents(const TosaOperand& operand, DType dtype, const Shape& shape) {
    MutableTensor out(dtype, shape);
    const size_t width = element_bytes(dtype);
    for (size_t i = 0; i < static_cast<size_t>(shape.elements()); ++i) {
      // Zero points of floats are 0. Signalling NaNs do not survive as attributes of 0.80.
      const bool plain = operand.constness == TosaConstness::kCompileTime && is_float(dtype);
      const uint64_t bits = !plain ? element(dtype) : operand.name.ends_with("zp") ? 0 : uint64_t{0x3F};
      std::memcpy(out.bytes().data() + i * width, &bits, width);
    }
    return std::move(out).freeze();
  }

  // The bits of an element: any pattern of a float, any number in the range of an integer. For shapes: small numbers.
  uint64_t element(DType dtype) {
    const uint64_t any = (uint64_t{random_()} << 32) | random_();
    if (is_float(dtype)) return element_bytes(dtype) == 1 ? any & ((1U << row_of(dtype).bits) - 1) : any;
    if (dtype == DType::kShape) return static_cast<uint64_t>(number(0, 5));
    const IntegerRange range = range_of(dtype);
    if (number(0, 3) == 0) return static_cast<uint64_t>(number(0, 1) == 0 ? range.min : range.max);
    return static_cast<uint64_t>(range.min +
                                 static_cast<int64_t>(any % static_cast<uint64_t>(range.max - range.min + 1)));
  }

  ir::Attribute attribute_of(const TosaAttribute& attribute) {
    switch (attribute.kind) {
      case TosaAttributeKind::kBool:
        return number(0, 1) == 1;
      case TosaAttributeKind::kInt:
        return int64_t{number(std::numeric_limits<int>::min(), std::numeric_limits<int>::max())};
      case TosaAttributeKind::kInts: {
        std::vector<int64_t> list(attribute.count == 0 ? static_cast<size_t>(number(0, 5)) : attribute.count);
        for (int64_t& item : list) item = number(-9, 9);
        return list;
      }
      case TosaAttributeKind::kType:
        return type_of_name(attribute.name == "acc_type" ? "acc_t" : "in_t");
      case TosaAttributeKind::kEnum:
        return attribute.values[0].value;
      case TosaAttributeKind::kScalar: {
        const uint64_t bits = element(first_);
        const auto* bytes = reinterpret_cast<const uint8_t*>(&bits);
        const ir::Attribute value = scalar(bytes);
        return value;
      }
      case TosaAttributeKind::kString:
        return std::string(kOddText);
      case TosaAttributeKind::kBytes:
        return ir::Bytes{{0, 255, 34, 10}};
      case TosaAttributeKind::kGraph:
        return std::string("other graph");
    }
    return {};
  }

  // A number of the first operand's type, but no NaN: NaNs are not legal as limits, and lose their bits.
  ir::Attribute scalar(const uint8_t* bytes) {
    if (is_integer(first_)) {
      int64_t value = 0;
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
    constexpr std::array kExact{0.0, -0.0, 1.5, -448.0, std::numeric_limits<double>::infinity()};
    return kExact[bytes[0] % kExact.size()];
  }

  const TosaOpRow& row_;
  const TosaTypeRow* types_;
  std::mt19937 random_;
  ir::Graph graph_;
  ir::Node node_;
  DType first_ = DType::kUnknown;
};

}  // namespace

std::vector<ir::Module> row_modules(uint32_t seed) {
  std::vector<ir::Module> out;
  for (const TosaOpRow& row : kTosaRows) {
    if (row.op == TosaOp::CONST || row.op == TosaOp::CONST_SHAPE) continue;
    if (row.types.empty()) out.push_back(Maker(row, nullptr, seed).make());
    for (const TosaTypeRow& types : row.types) out.push_back(Maker(row, &types, seed).make());
  }
  return out;
}

}  // namespace carina::tosa
