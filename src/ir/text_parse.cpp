#include <fmt/format.h>

#include <bit>

#include "base/checked_math.h"
#include "base/text/number.h"
#include "facts/tosa_rows.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "ir/text_scan_internal.h"
#include "ir/tosa_node.h"
#include "tensor/float_formats.h"

// Reads the text form of graphs (docs/ir.md): parse(print(graph)) == graph.
//   Example: `%y: i8[1,4] = tosa.CLAMP(%x) {min_val = 0, max_val = 127}` is one node with two attributes. The type of a
//   list is that of its first item: [1, 2] has integers, [1.0, 2.0] floats.
namespace carina::ir {

namespace {

std::optional<DType> dtype_of_word(std::string_view word) {
  if (word == name_of(DType::kUnknown)) return DType::kUnknown;
  return dtype_of_name(word);
}

Result<uint64_t> parse_bits(Scanner& scan) {
  CARINA_CHECKED(scan.expect("bits"));
  CARINA_CHECKED(scan.expect("("));
  const std::string_view raw = scan.now().raw;
  const auto bits = raw.starts_with("0x") ? number_in<uint64_t>(raw.substr(2), 16) : std::nullopt;
  if (!bits) return scan.error("unexpected text", "hexadecimal digits as in 0x7fc00000");
  scan.advance();
  CARINA_CHECKED(scan.expect(")"));
  return *bits;
}

template <typename T>
Result<T> parse_float(Scanner& scan) {
  if (scan.is("bits")) {
    CARINA_TRY(const uint64_t bits, parse_bits(scan));
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return std::bit_cast<T>(static_cast<Bits>(bits));
  }
  const std::optional<T> value = number_in<T>(scan.now().raw);
  if (scan.now().kind != Token::Kind::kWord || !value) return scan.error("unexpected text", "a number");
  scan.advance();
  return *value;
}

Result<std::vector<uint8_t>> parse_hex(Scanner& scan) {
  CARINA_CHECKED(scan.expect("hex"));
  const std::string_view digits = scan.now().raw;
  if (scan.now().kind != Token::Kind::kString || digits.size() % 2 != 0)
    return scan.error("unexpected text", "quoted pairs of hexadecimal digits");
  const auto value_of = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::vector<uint8_t> out(digits.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = value_of(digits[2 * i]);
    const int low = value_of(digits[2 * i + 1]);
    if (high < 0 || low < 0) return scan.error("a character that is no hexadecimal digit");
    out[i] = static_cast<uint8_t>(high * 16 + low);
  }
  scan.advance();
  return out;
}

// Parses "[ item, item ]"; `item` parses one item.
template <typename Item>
Result<void> parse_list(Scanner& scan, const Item& item) {
  CARINA_CHECKED(scan.expect("["));
  while (!scan.is("]")) {
    CARINA_CHECKED(item());
    if (!scan.accept(",")) break;
  }
  return scan.expect("]");
}

template <typename T>
void append(std::vector<uint8_t>& out, T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

Result<void> append_integer(Scanner& scan, DType dtype, std::vector<uint8_t>& out) {
  CARINA_TRY(const int64_t value, scan.integer());
  const IntegerRange range =
      dtype == DType::kInt64 || dtype == DType::kShape ? IntegerRange{INT64_MIN, INT64_MAX} : range_of(dtype);
  if (value < range.min || value > range.max)
    return scan.error(fmt::format("{} does not fit {}", value, name_of(dtype)));
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + element_bytes(dtype));
  return {};
}

Result<void> append_narrow(Scanner& scan, DType dtype, std::vector<uint8_t>& out) {
  const bool wide = element_bytes(dtype) == 2;
  uint64_t bits = 0;
  if (scan.is("bits")) {
    CARINA_TRY(bits, parse_bits(scan));
  } else {
    CARINA_TRY(const float value, parse_float<float>(scan));
    bits = dtype == DType::kFp16       ? fp32_to_fp16(value)
           : dtype == DType::kBf16     ? fp32_to_bf16(value)
           : dtype == DType::kFp8E4M3  ? fp32_to_fp8e4m3(value)
           : dtype == DType::kFp6E2M3  ? fp32_to_fp6e2m3(value)
           : dtype == DType::kFp6E3M2  ? fp32_to_fp6e3m2(value)
           : dtype == DType::kFp4E2M1  ? fp32_to_fp4e2m1(value)
           : dtype == DType::kFp8UE8M0 ? fp32_to_fp8ue8m0(value)
                                       : fp32_to_fp8e5m2(value);
  }
  if (wide)
    append(out, static_cast<uint16_t>(bits));
  else
    append(out, static_cast<uint8_t>(bits));
  return {};
}

Result<void> append_element(Scanner& scan, DType dtype, std::vector<uint8_t>& out) {
  if (dtype == DType::kBool) {
    if (!scan.is("true") && !scan.is("false")) return scan.error("unexpected text", "true or false");
    append<uint8_t>(out, scan.is("true") ? 1 : 0);
    scan.advance();
    return {};
  }
  if (is_integer(dtype)) return append_integer(scan, dtype, out);
  if (dtype == DType::kFp32) {
    CARINA_TRY(const float value, parse_float<float>(scan));
    append(out, value);
    return {};
  }
  if (dtype == DType::kFp64) {
    CARINA_TRY(const double value, parse_float<double>(scan));
    append(out, value);
    return {};
  }
  if (!is_float(dtype)) return scan.error("a constant of a type without values");
  return append_narrow(scan, dtype, out);
}

Result<std::vector<int64_t>> parse_integers(Scanner& scan) {
  std::vector<int64_t> out;
  CARINA_CHECKED(parse_list(scan, [&]() -> Result<void> {
    CARINA_TRY(out.emplace_back(), scan.integer());
    return {};
  }));
  return out;
}

Result<std::vector<double>> parse_floats(Scanner& scan) {
  std::vector<double> out;
  CARINA_CHECKED(parse_list(scan, [&]() -> Result<void> {
    CARINA_TRY(out.emplace_back(), parse_float<double>(scan));
    return {};
  }));
  return out;
}

Result<std::vector<bool>> parse_bools(Scanner& scan) {
  std::vector<bool> out;
  CARINA_CHECKED(parse_list(scan, [&]() -> Result<void> {
    if (!scan.is("true") && !scan.is("false")) return scan.error("unexpected text", "true or false");
    out.push_back(scan.accept("true") || !scan.accept("false"));
    return {};
  }));
  return out;
}

bool looks_float(std::string_view word) {
  return word == "bits" ||
         (word.find_first_of(".eE") != std::string_view::npos && word.find_first_of("0123456789") <= 1);
}

// Parses a list. The first item determines the type of the list.
Result<Attribute> parse_list_attribute(Scanner& scan) {
  Scanner ahead = scan;
  ahead.advance();
  if (ahead.is("true") || ahead.is("false")) return parse_bools(scan);
  if (looks_float(ahead.now().raw)) return parse_floats(scan);
  return parse_integers(scan);
}

Result<Attribute> parse_attribute(Scanner& scan, const TosaAttribute* row) {
  if (scan.now().kind == Token::Kind::kString) {
    CARINA_TRY(std::string text, scan.name("text"));
    return Attribute(std::move(text));
  }
  if (scan.is("[")) return parse_list_attribute(scan);
  if (scan.accept("none")) return Attribute();
  if (scan.accept("true")) return Attribute(true);
  if (scan.accept("false")) return Attribute(false);
  if (scan.accept("floats")) return parse_floats(scan);
  if (scan.accept("bools")) return parse_bools(scan);
  if (scan.is("hex")) {
    CARINA_TRY(std::vector<uint8_t> bytes, parse_hex(scan));
    return Attribute(Bytes{std::move(bytes)});
  }
  const std::string_view word = scan.now().raw;
  if (row != nullptr) {
    for (const TosaEnumValue& known : row->values) {
      if (known.name == word) {
        scan.advance();
        return Attribute(known.value);
      }
    }
  }
  if (const auto dtype = dtype_of_word(word)) {
    scan.advance();
    return Attribute(*dtype);
  }
  if (looks_float(word)) return parse_float<double>(scan);
  return scan.integer();
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : scan_(text, where), where_(where) {}

  Result<Module> parse() {
    Module module;
    while (!scan_.at_end()) {
      CARINA_CHECKED(parse_graph());
      if (module.find(graph_.name) != nullptr) return scan_.error("two graphs are called " + graph_.name);
      module.graphs.push_back(std::move(graph_));
    }
    if (module.graphs.empty()) return scan_.error("the text has no graph", "graph @name { ... }");
    return module;
  }

 private:
  Result<void> parse_graph() {
    graph_ = Graph();
    CARINA_CHECKED(scan_.expect("graph"));
    CARINA_CHECKED(scan_.expect("@"));
    CARINA_TRY(graph_.name, scan_.name("the graph's name"));
    CARINA_CHECKED(scan_.expect("{"));
    while (!scan_.is("}")) CARINA_CHECKED(parse_statement());
    scan_.advance();
    auto sound = verify_structure(graph_);
    if (sound) return {};
    for (Diagnostic& diagnostic : sound.error()) {
      diagnostic.where = where_ + ": " + diagnostic.where;
      diagnostic.fault = Fault::kInput;
    }
    return sound;
  }

  Result<void> parse_statement() {
    if (scan_.accept("input")) {
      CARINA_TRY(const ValueId input, parse_made());
      if (!input.valid()) return scan_.error("an input without a value");
      graph_.inputs.push_back(input);
      return {};
    }
    if (scan_.accept("output")) {
      CARINA_TRY(graph_.outputs.emplace_back(), parse_reference());
      return {};
    }
    if (scan_.accept("state")) return parse_state();
    std::vector<ValueId> outputs;
    if (scan_.is("%") || scan_.is("none")) {
      do {
        CARINA_TRY(outputs.emplace_back(), parse_made());
      } while (scan_.accept(","));
      if (!scan_.accept("=")) return {};  // a declaration; a reference without a node is harmless
    }
    if (op_of_name(scan_.now().raw)) return parse_node(std::move(outputs));
    if (outputs.size() != 1 || !outputs.front().valid()) return scan_.error("unexpected text", "an operator");
    return parse_constant(outputs.front());
  }

  // Parses a result. If a type follows, the value is declared here.
  Result<ValueId> parse_made() {
    if (scan_.accept("none")) return ValueId();
    CARINA_CHECKED(scan_.expect("%"));
    CARINA_TRY(std::string name, scan_.name("a value's name"));
    const auto known = graph_.find_value(name);
    if (!scan_.is(":")) {
      if (!known) return scan_.error("the value " + name + " is not declared");
      return *known;
    }
    if (known) return scan_.error("the value " + name + " is declared twice");
    scan_.advance();
    Value value{.name = std::move(name), .dtype = DType::kUnknown, .shape = {}, .quantization = {}, .constant = {}};
    const auto dtype = dtype_of_word(scan_.now().raw);
    if (!dtype) return scan_.error("unexpected text", "a type");
    scan_.advance();
    value.dtype = *dtype;
    CARINA_TRY(value.shape, parse_shape());
    if (scan_.accept("quantized")) {
      CARINA_TRY(value.quantization, parse_quantization());
    }
    if (value.name.empty()) return scan_.error("a value without a name");
    return graph_.add_value(std::move(value));
  }

  Result<ValueId> parse_reference() {
    if (scan_.accept("none")) return ValueId();
    CARINA_CHECKED(scan_.expect("%"));
    CARINA_TRY(const std::string name, scan_.name("a value's name"));
    const auto known = graph_.find_value(name);
    if (!known) return scan_.error("the value " + name + " is not declared");
    return *known;
  }

  Result<Shape> parse_shape() {
    CARINA_TRY(const std::vector<int64_t> dims, parse_integers(scan_));
    if (dims.size() > Shape::kMaxRank) return scan_.error("too many axes", fmt::format("at most {}", Shape::kMaxRank));
    if (std::ranges::any_of(dims, [](int64_t size) { return size < -1; })) return scan_.error("a negative size");
    const auto elements = checked_product(dims);
    if (!elements || !checked_mul<int64_t>(*elements, 8)) return scan_.error("the size of the value overflows");
    return Shape(dims);
  }

  Result<Quantization> parse_quantization() {
    Quantization q;
    CARINA_CHECKED(scan_.expect("("));
    const auto dtype = dtype_of_word(scan_.now().raw);
    if (!dtype) return scan_.error("unexpected text", "a type");
    q.dtype = *dtype;
    scan_.advance();
    CARINA_CHECKED(key("scales"));
    CARINA_TRY(q.scales, parse_floats(scan_));
    CARINA_CHECKED(key("zero_points"));
    CARINA_TRY(q.zero_points, parse_integers(scan_));
    CARINA_CHECKED(key("axis"));
    CARINA_TRY(const int64_t axis, scan_.integer());
    q.axis = static_cast<int>(axis);
    CARINA_CHECKED(key("range"));
    CARINA_TRY(const std::vector<int64_t> range, parse_integers(scan_));
    if (q.scales.empty() || q.zero_points.size() != q.scales.size() || range.size() != 2) {
      return scan_.error(
          "a quantization needs as many zero points as scales, at least one, and a range of two numbers");
    }
    q.qmin = range[0];
    q.qmax = range[1];
    CARINA_CHECKED(scan_.expect(")"));
    return q;
  }

  Result<void> key(std::string_view name) {
    CARINA_CHECKED(scan_.expect(","));
    CARINA_CHECKED(scan_.expect(name));
    return scan_.expect("=");
  }

  Result<void> parse_constant(ValueId id) {
    DType dtype = graph_[id].dtype;
    if (const auto other = dtype_of_word(scan_.now().raw)) {
      dtype = *other;
      scan_.advance();
    }
    CARINA_TRY(graph_[id].constant, parse_elements("constant " + graph_[id].name, dtype, Shape(graph_[id].shape)));
    return {};
  }

  Result<Tensor> parse_elements(const std::string& what, DType dtype, const Shape& shape) {
    if (scan_.is("elided")) return scan_.error("the " + what + " was left out when the text was printed");
    if (std::ranges::any_of(shape.dims(), [](int64_t size) { return size < 0; }))
      return scan_.error("a constant of unknown size");
    std::vector<uint8_t> bytes;
    if (scan_.is("hex")) {
      CARINA_TRY(bytes, parse_hex(scan_));
    } else {
      CARINA_CHECKED(parse_list(scan_, [&] { return append_element(scan_, dtype, bytes); }));
    }
    const size_t needed = tensor_bytes(dtype, shape);
    if (bytes.size() != needed || dtype == DType::kUnknown) {
      return scan_.error(
          fmt::format("the {} has {} bytes, its type {} {}", what, bytes.size(), to_string(shape), needed));
    }
    return Tensor{.dtype = dtype, .shape = shape, .data = Buffer::copy_of(std::as_bytes(std::span(bytes)))};
  }

  Result<void> parse_state() {
    State state;
    CARINA_TRY(state.name, scan_.name("the state's name"));
    CARINA_CHECKED(scan_.expect(":"));
    const auto dtype = dtype_of_word(scan_.now().raw);
    if (!dtype) return scan_.error("unexpected text", "a type");
    scan_.advance();
    CARINA_TRY(const Shape shape, parse_shape());
    CARINA_CHECKED(scan_.expect("="));
    CARINA_TRY(state.initial, parse_elements("state " + state.name, *dtype, shape));
    graph_.states.push_back(std::move(state));
    return {};
  }

  Result<void> parse_node(std::vector<ValueId> outputs) {
    Node node{.op = *op_of_name(scan_.now().raw),
              .name = {},
              .inputs = {},
              .outputs = std::move(outputs),
              .attributes = {},
              .source = {}};
    if (!node.outputs.empty() && node.outputs[0].valid()) node.name = graph_[node.outputs[0]].name;
    scan_.advance();
    CARINA_CHECKED(scan_.expect("("));
    while (!scan_.is(")")) {
      CARINA_TRY(node.inputs.emplace_back(), parse_reference());
      if (!scan_.accept(",")) break;
    }
    CARINA_CHECKED(scan_.expect(")"));
    if (scan_.accept("{")) CARINA_CHECKED(parse_attributes(node));
    if (scan_.accept("name")) {
      CARINA_TRY(node.name, scan_.name("the node's name"));
    }
    if (scan_.accept("at")) {
      CARINA_TRY(node.source, scan_.name("a place in the model"));
    }
    if (node.op.is_tosa())
      CARINA_CHECKED(check_row(node, fmt::format("{}: {} ({})", where_, node.op.name(), node.name)));
    graph_.add_node(std::move(node));
    return {};
  }

  Result<void> parse_attributes(Node& node) {
    while (!scan_.is("}")) {
      CARINA_TRY(const std::string name, scan_.name("an attribute's name"));
      CARINA_CHECKED(scan_.expect("="));
      const TosaAttribute* row = nullptr;
      if (node.op.is_tosa()) {
        const auto rows = row_of(node.op.tosa()).attributes;
        const auto found = std::ranges::find(rows, name, &TosaAttribute::name);
        row = found == rows.end() ? nullptr : &*found;
      }
      CARINA_TRY(Attribute value, parse_attribute(scan_, row));
      if (node.attributes.find(name) != nullptr) return scan_.error("the attribute " + name + " is given twice");
      node.attributes.set(name, std::move(value));
      if (!scan_.accept(",")) break;
    }
    return scan_.expect("}");
  }

  Scanner scan_;
  std::string where_;
  Graph graph_;
};

}  // namespace

Result<Module> parse(std::string_view text, const std::string& where) {
  return Parser(text, where).parse();
}

}  // namespace carina::ir
