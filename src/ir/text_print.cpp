#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "carina/check.h"
#include "facts/tosa_rows.h"
#include "ir/text.h"
#include "tensor/float_formats.h"

// Writes the text form of graphs (docs/ir.md). Every number is printed with the fewest digits that read back as the
// same bits.
//   Example: the fp32 value 0.1 is "0.1", 1 is "1.0", and a NaN is written by its bits.
namespace carina::ir {

namespace {

constexpr size_t kListedElements = 64;  // larger constants are written as the hexadecimal digits of their bytes

bool is_plain(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '/';
  };
  return !name.empty() && std::ranges::all_of(name, plain);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_text(std::string_view name) {
  return is_plain(name) ? std::string(name) : quoted(name);
}

std::string hex_text(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "hex\"";
  out.reserve(bytes.size() * 2 + 5);
  for (const std::byte byte : bytes) {
    out += kDigits[static_cast<size_t>(byte) >> 4];
    out += kDigits[static_cast<size_t>(byte) & 15];
  }
  return out + "\"";
}

// Formats a number with the shortest digits that give the same value, always with a point or exponent so that it is not
// an integer. Values that digits cannot represent are written as their bits.
template <typename T, typename Bits>
std::string float_text(T value) {
  if (!std::isfinite(value)) return fmt::format("bits(0x{:x})", std::bit_cast<Bits>(value));
  std::string out = fmt::format("{}", value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}
std::string double_text(double value) {
  return float_text<double, uint64_t>(value);
}

std::string narrow_text(DType dtype, uint32_t bits) {
  float value = 0;
  switch (dtype) {
    case DType::kFp16:
      value = fp16_to_fp32(static_cast<uint16_t>(bits));
      break;
    case DType::kBf16:
      value = bf16_to_fp32(static_cast<uint16_t>(bits));
      break;
    case DType::kFp8E4M3:
      value = fp8e4m3_to_fp32(static_cast<uint8_t>(bits));
      break;
    case DType::kFp8E5M2:
      value = fp8e5m2_to_fp32(static_cast<uint8_t>(bits));
      break;
    case DType::kFp6E2M3:
      value = fp6e2m3_to_fp32(static_cast<uint8_t>(bits));
      break;
    case DType::kFp6E3M2:
      value = fp6e3m2_to_fp32(static_cast<uint8_t>(bits));
      break;
    case DType::kFp4E2M1:
      value = fp4e2m1_to_fp32(static_cast<uint8_t>(bits));
      break;
    case DType::kFp8UE8M0:
      value = fp8ue8m0_to_fp32(static_cast<uint8_t>(bits));
      break;
    default:
      CARINA_UNREACHABLE("narrow float", dtype);
  }
  return std::isfinite(value) ? float_text<float, uint32_t>(value) : fmt::format("bits(0x{:x})", bits);
}

template <typename T>
T element(const Tensor& tensor, size_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::string element_text(const Tensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case DType::kBool:
      return element<uint8_t>(tensor, i) != 0 ? "true" : "false";
    case DType::kInt4:
    case DType::kInt8:
      return std::to_string(element<int8_t>(tensor, i));
    case DType::kUInt8:
      return std::to_string(element<uint8_t>(tensor, i));
    case DType::kInt16:
      return std::to_string(element<int16_t>(tensor, i));
    case DType::kUInt16:
      return std::to_string(element<uint16_t>(tensor, i));
    case DType::kInt32:
      return std::to_string(element<int32_t>(tensor, i));
    case DType::kUInt32:
      return std::to_string(element<uint32_t>(tensor, i));
    case DType::kInt48:
    case DType::kInt64:
    case DType::kShape:
      return std::to_string(element<int64_t>(tensor, i));
    case DType::kFp32:
      return float_text<float, uint32_t>(element<float>(tensor, i));
    case DType::kFp64:
      return double_text(element<double>(tensor, i));
    case DType::kFp16:
    case DType::kBf16:
      return narrow_text(tensor.dtype, element<uint16_t>(tensor, i));
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kFp6E2M3:
    case DType::kFp6E3M2:
    case DType::kFp4E2M1:
    case DType::kFp8UE8M0:
      return narrow_text(tensor.dtype, element<uint8_t>(tensor, i));
    case DType::kUnknown:
      break;
  }
  CARINA_UNREACHABLE("type of a constant", tensor.dtype);
}

template <typename List, typename Text>
std::string list_text(const List& list, const Text& text) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += (i == 0 ? "" : ", ") + text(list[i]);
  return out + "]";
}
std::string integer_text(int64_t value) {
  return std::to_string(value);
}

// Returns whether each element is a valid value of its type. The memory of bool, int4 and int48 elements is wider, and
// may contain others.
bool all_named(const Tensor& tensor) {
  if (tensor.dtype != DType::kBool && tensor.dtype != DType::kInt4 && tensor.dtype != DType::kInt48) return true;
  const IntegerRange range = range_of(tensor.dtype);
  for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
    const int64_t value = tensor.dtype == DType::kInt48 ? element<int64_t>(tensor, i) : element<int8_t>(tensor, i);
    if (value < range.min || value > range.max) return false;
  }
  return true;
}

std::string elements_text(const Tensor& tensor, const PrintOptions& options) {
  const auto elements = static_cast<size_t>(tensor.elements());
  if (elements > options.elide_above_elements) return fmt::format("elided({} elements)", elements);
  if (elements > kListedElements || !all_named(tensor))
    return hex_text(tensor.data.bytes().first(elements * element_bytes(tensor.dtype)));
  std::string out = "[";
  for (size_t i = 0; i < elements; ++i) out += (i == 0 ? "" : ", ") + element_text(tensor, i);
  return out + "]";
}

std::string constant_text(const Value& value, const PrintOptions& options) {
  const Tensor& tensor = *value.constant;
  const std::string type = tensor.dtype == value.dtype ? "" : std::string(name_of(tensor.dtype)) + " ";
  return " = " + type + elements_text(tensor, options);
}

std::string quantization_text(const Quantization& q) {
  return fmt::format(" quantized({}, scales = {}, zero_points = {}, axis = {}, range = [{}, {}])", name_of(q.dtype),
                     list_text(q.scales, double_text), list_text(q.zero_points, integer_text), q.axis, q.qmin, q.qmax);
}

const TosaAttribute* attribute_row(Op op, std::string_view name) {
  if (!op.is_tosa()) return nullptr;
  const auto rows = row_of(op.tosa()).attributes;
  const auto found = std::ranges::find(rows, name, &TosaAttribute::name);
  return found == rows.end() ? nullptr : &*found;
}

std::string int_text(int64_t value, const TosaAttribute* row) {
  if (row != nullptr) {
    for (const TosaEnumValue& known : row->values) {
      if (known.value == value) return std::string(known.name);
    }
  }
  return std::to_string(value);
}

std::string attribute_text(const Attribute& attribute, const TosaAttribute* row) {
  struct Visitor {
    const TosaAttribute* row;
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return int_text(value, row); }
    std::string operator()(double value) const { return double_text(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(const std::vector<int64_t>& list) const { return list_text(list, integer_text); }
    std::string operator()(const std::vector<double>& list) const {
      return list.empty() ? "floats[]" : list_text(list, double_text);
    }
    std::string operator()(const std::vector<bool>& list) const {
      return list.empty() ? "bools[]"
                          : list_text(list, [](bool value) { return std::string(value ? "true" : "false"); });
    }
    std::string operator()(DType dtype) const { return std::string(name_of(dtype)); }
    std::string operator()(const Bytes& value) const { return hex_text(std::as_bytes(std::span(value.bytes))); }
  };
  return std::visit(Visitor{row}, attribute);
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {}

  std::string print() {
    out_ = "graph @" + name_text(graph_.name) + " {\n";
    for (const ValueId input : graph_.inputs) print_input(input);
    for (const Node& node : graph_.nodes) print_node(node);
    declare_up_to(graph_.values.size());
    for (const ValueId output : graph_.outputs) out_ += "  output " + reference(output) + "\n";
    for (const State& state : graph_.states) {
      out_ += fmt::format("  state {}: {}{} = {}\n", quoted(state.name), name_of(state.initial.dtype),
                          to_string(state.initial.shape), elements_text(state.initial, options_));
    }
    return out_ + "}\n";
  }

 private:
  [[nodiscard]] std::string reference(ValueId id) const {
    return id.valid() ? "%" + name_text(graph_[id].name) : "none";
  }

  [[nodiscard]] std::string declaration(ValueId id) const {
    const Value& value = graph_[id];
    std::string out = fmt::format("{}: {}{}", reference(id), name_of(value.dtype), to_string(value.shape));
    if (value.quantization) out += quantization_text(*value.quantization);
    return out;
  }

  // Declares values in the order of their ids, because the parser numbers them in that order.
  void declare_up_to(size_t end) {
    for (; next_ < end; ++next_) {
      const ValueId id(next_);
      out_ += "  " + declaration(id);
      if (graph_[id].constant) out_ += constant_text(graph_[id], options_);
      out_ += "\n";
    }
  }

  // Formats a result, with its type if it is the next value to be declared.
  std::string made(ValueId id) {
    if (!id.valid()) return "none";
    if (id.index() != next_ || graph_[id].constant) return reference(id);
    ++next_;
    return declaration(id);
  }

  void print_input(ValueId id) {
    if (id.valid()) declare_up_to(id.index() + (graph_[id].constant ? 1 : 0));
    out_ += "  input " + made(id) + "\n";
  }

  void print_node(const Node& node) {
    // Declares the values that this node reads and those before its first new output.
    size_t end = next_;
    for (const ValueId id : node.inputs) {
      if (id.valid()) end = std::max(end, id.index() + 1);
    }
    for (const ValueId id : node.outputs) {
      if (id.valid() && id.index() >= end) {
        end = id.index();
        break;
      }
    }
    declare_up_to(end);
    out_ += "  ";
    for (size_t i = 0; i < node.outputs.size(); ++i) out_ += (i == 0 ? "" : ", ") + made(node.outputs[i]);
    if (!node.outputs.empty()) out_ += " = ";
    out_ += std::string(node.op.name()) + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) out_ += (i == 0 ? "" : ", ") + reference(node.inputs[i]);
    out_ += ")" + attributes_text(node);
    const bool named_after_output =
        !node.outputs.empty() && node.outputs[0].valid() && graph_[node.outputs[0]].name == node.name;
    if (!named_after_output) out_ += " name " + quoted(node.name);
    if (!node.source.empty()) out_ += " at " + quoted(node.source);
    out_ += "\n";
  }

  [[nodiscard]] static std::string attributes_text(const Node& node) {
    if (node.attributes.list().empty()) return "";
    std::string out = " {";
    for (const auto& [name, value] : node.attributes.list()) {
      if (out.size() > 2) out += ", ";
      out += name_text(name) + " = " + attribute_text(value, attribute_row(node.op, name));
    }
    return out + "}";
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::string out_;
  size_t next_ = 0;  // the first value that is not declared
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).print();
}

std::string print(const Module& module, const PrintOptions& options) {
  std::string out;
  for (const Graph& graph : module.graphs) out += (out.empty() ? "" : "\n") + print(graph, options);
  return out;
}

namespace {

bool identical(const Attribute& a, const Attribute& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a == b;
}

bool identical(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.list(), b.list(), [](const auto& x, const auto& y) {
    return x.first == y.first && identical(x.second, y.second);
  });
}

bool have_same_content(const Tensor& a, const Tensor& b) {
  const auto bytes = [](const Tensor& t) { return t.data.bytes().first(tensor_bytes(t.dtype, t.shape)); };
  return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(bytes(a), bytes(b));
}

bool identical(const State& a, const State& b) {
  return a.name == b.name && have_same_content(a.initial, b.initial);
}

bool identical(const Value& a, const Value& b) {
  if (a.constant.has_value() != b.constant.has_value()) return false;
  const bool same = !a.constant || have_same_content(*a.constant, *b.constant);
  return same && a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.quantization == b.quantization;
}

bool identical(const Node& a, const Node& b) {
  return a.op == b.op && a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.source == b.source &&
         identical(a.attributes, b.attributes);
}

bool identical(const Graph& a, const Graph& b) {
  const auto same = [](const auto& x, const auto& y) { return identical(x, y); };
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.values, b.values, same) && std::ranges::equal(a.nodes, b.nodes, same) &&
         std::ranges::equal(a.states, b.states, same);
}

}  // namespace

bool identical(const Module& a, const Module& b) {
  return std::ranges::equal(a.graphs, b.graphs, [](const Graph& x, const Graph& y) { return identical(x, y); });
}

}  // namespace carina::ir
