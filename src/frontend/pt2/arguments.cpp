#include "frontend/pt2/arguments_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "tensor/float_formats.h"

namespace carina::pt2 {

namespace {

using aten::ArgumentRow;
using aten::ArgumentType;
using aten::Schema;

// A Python number that replaces a tensor operand. Its type is known once the types of the node's tensors are known.
struct PendingScalar {
  size_t input;  // index into node.inputs
  std::string name;
  ir::Attribute value;  // bool, int64_t or double
};

// The category of a type in PyTorch's type promotion: bool, integer, float. A number changes a tensor's type only if
// its category is higher.
int category_of(DType dtype) {
  return is_float(dtype) ? 2 : dtype == DType::kBool ? 0 : 1;
}
int category_of(const ir::Attribute& number) {
  return std::holds_alternative<double>(number) ? 2 : std::holds_alternative<bool>(number) ? 0 : 1;
}

template <typename T>
Tensor scalar_of(DType dtype, T value) {
  return Tensor::of<T>(dtype, Shape{}, std::span<const T>(&value, 1));
}

Tensor scalar_tensor(DType dtype, const ir::Attribute& number) {
  const double real = std::visit(
      [](const auto& v) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>) return static_cast<double>(v);
        return 0;
      },
      number);
  const int64_t whole = std::holds_alternative<int64_t>(number) ? std::get<int64_t>(number)
                        : std::holds_alternative<bool>(number)  ? int64_t{std::get<bool>(number)}
                                                                : 0;
  const auto single = static_cast<float>(real);
  switch (dtype) {
    case DType::kFp64:
      return scalar_of(dtype, real);
    case DType::kFp16:
      return scalar_of(dtype, fp32_to_fp16(single));
    case DType::kBf16:
      return scalar_of(dtype, fp32_to_bf16(single));
    case DType::kFp8E4M3:
      return scalar_of(dtype, fp32_to_fp8e4m3(single));
    case DType::kFp8E5M2:
      return scalar_of(dtype, fp32_to_fp8e5m2(single));
    case DType::kInt64:
      return scalar_of(dtype, whole);
    case DType::kInt32:
    case DType::kUInt32:
      return scalar_of(dtype, static_cast<int32_t>(whole));
    case DType::kInt16:
    case DType::kUInt16:
      return scalar_of(dtype, static_cast<int16_t>(whole));
    case DType::kInt8:
    case DType::kUInt8:
      return scalar_of(dtype, static_cast<int8_t>(whole));
    case DType::kBool:
      return scalar_of(dtype, static_cast<uint8_t>(whole != 0));
    default:
      return scalar_of(DType::kFp32, single);
  }
}

class Reader {
 public:
  Reader(ir::Graph& graph, const Scope& scope, Symbols& symbols, const std::string& where, ir::Node& node)
      : graph_(graph),
        scope_(scope),
        symbols_(symbols),
        where_(where),
        node_(node),
        schema_(aten::schema_of(node.op.aten())) {}

  Result<void> read(JsonView arguments, DType result_dtype) {
    CARINA_TRY(const std::vector<JsonView> given, match(arguments));
    for (size_t i = 0; i < schema_.arguments.size(); ++i) {
      const ArgumentRow& row = schema_.arguments[i];
      if (row.type == ArgumentType::kTensor) {
        CARINA_CHECKED(read_tensors(row, given[i]));
      } else {
        CARINA_TRY(ir::Attribute value, read_attribute(row, given[i]));
        node_.attributes.set(row.name, std::move(value));
      }
    }
    for (const PendingScalar& scalar : pending_) add_scalar(scalar, result_dtype);
    return {};
  }

 private:
  Diagnostic wrong(const ArgumentRow& row, std::string_view expected, std::string_view got) const {
    return {.where = where_,
            .what = fmt::format("argument {} of {} cannot be read", row.name, node_.op.name()),
            .expected = std::string(expected),
            .got = std::string(got)};
  }
  Diagnostic depends_on_data(const ArgumentRow& row) const {
    return {
        .where = where_,
        .what = fmt::format("argument {} of {} depends on the data", row.name, node_.op.name()),
        .hint =
            "only sizes that are fixed, or known from the example input, are supported; where a tensor is meant, leave "
            "out item()"};
  }

  // Returns the given arguments in the order of the schema. The EDGE dialect does not name positional arguments.
  Result<std::vector<JsonView>> match(JsonView arguments) {
    std::vector<JsonView> given(schema_.arguments.size(), JsonView(nullptr, &arguments.errors()));
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string_view name = arguments[i]["name"].text();
      const auto row = std::ranges::find(schema_.arguments, name, &ArgumentRow::name);
      // The written operand is called "self", even if the functional form has another name for it (dropout_).
      const bool is_self = row == schema_.arguments.end() && name == "self";
      const size_t at = name.empty() ? i : is_self ? 0 : static_cast<size_t>(row - schema_.arguments.begin());
      if (at >= given.size() || given[at]) {
        return fail({.where = where_,
                     .what = fmt::format("{} has no argument {} in torch 2.13", node_.op.name(),
                                         name.empty() ? std::to_string(i) : std::string(name)),
                     .hint = "was the model saved by a newer torch?"});
      }
      given[at] = arguments[i]["arg"];
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i] && !schema_.arguments[i].has_default) {
        return fail({.where = where_,
                     .what = fmt::format("argument {} of {} is missing", schema_.arguments[i].name, node_.op.name())});
      }
    }
    return given;
  }

  // Tensors.

  Result<ir::ValueId> tensor_named(const ArgumentRow& row, std::string_view name) const {
    const std::optional<ir::ValueId> value = scope_.find(name);
    if (!value || !value->valid())
      return fail(wrong(row, "a tensor that an earlier node or the model's inputs give", name));
    return *value;
  }

  Result<void> add_element(const ArgumentRow& row, JsonView element) {
    const auto [kind, value] = element.alternative();
    if (kind == "as_none") {
      node_.inputs.emplace_back();
      return {};
    }
    if (kind != "as_tensor") return fail(wrong(row, "a tensor or None", kind));
    CARINA_TRY(const ir::ValueId id, tensor_named(row, value["name"].text()));
    node_.inputs.push_back(id);
    return {};
  }

  Result<void> read_tensors(const ArgumentRow& row, JsonView given) {
    if (!given) {
      if (!row.is_list) node_.inputs.emplace_back();
      return {};
    }
    const auto [kind, value] = given.alternative();
    if (row.is_list) return read_tensor_list(row, kind, value);
    if (kind == "as_optional_tensor") return add_element(row, value);
    if (kind == "as_tensor" || (kind == "as_none" && row.optional)) return add_element(row, given);
    const Result<ir::Attribute> number = read_number(row, kind, value);
    if (!number) return fail(kind.starts_with("as_sym") ? depends_on_data(row) : wrong(row, "a tensor", kind));
    pending_.push_back(
        {.input = node_.inputs.size(), .name = fmt::format("{}_{}", node_.name, row.name), .value = *number});
    node_.inputs.emplace_back();
    return {};
  }

  Result<void> read_tensor_list(const ArgumentRow& row, std::string_view kind, JsonView value) {
    if (kind == "as_none" && row.optional) return {};
    if (kind == "as_tensors") {
      for (size_t i = 0; i < value.size(); ++i) {
        CARINA_TRY(const ir::ValueId id, tensor_named(row, value[i]["name"].text()));
        node_.inputs.push_back(id);
      }
      return {};
    }
    if (kind != "as_optional_tensors") return fail(wrong(row, "a list of tensors", kind));
    for (size_t i = 0; i < value.size(); ++i) CARINA_CHECKED(add_element(row, value[i]));
    return {};
  }

  void add_scalar(const PendingScalar& scalar, DType result_dtype) {
    DType dtype = DType::kUnknown;
    for (const ir::ValueId input : node_.inputs) {
      if (!input.valid()) continue;
      const DType operand = graph_[input].dtype;
      if (dtype == DType::kUnknown || category_of(operand) > category_of(dtype)) dtype = operand;
    }
    if (dtype == DType::kUnknown || category_of(scalar.value) > category_of(dtype)) {
      const int category = category_of(scalar.value);
      dtype = category == 2   ? (is_float(result_dtype) ? result_dtype : DType::kFp32)
              : category == 1 ? DType::kInt64
                              : DType::kBool;
    }
    node_.inputs[scalar.input] = graph_.add_constant(scalar.name, scalar_tensor(dtype, scalar.value));
  }

  // Attributes.

  Result<ir::Attribute> read_attribute(const ArgumentRow& row, JsonView given) const {
    if (!given) return row.default_value;
    const auto [kind, value] = given.alternative();
    if (kind == "as_none") {
      if (row.optional) return ir::Attribute{};
      return fail(wrong(row, "a value", "None"));
    }
    if (row.is_list) return read_list(row, kind, value);
    switch (row.type) {
      case ArgumentType::kInt:
        return read_integer(row, kind, value);
      case ArgumentType::kFloat:
        return read_float(row, kind, value);
      case ArgumentType::kScalar:
        return read_scalar(row, kind, value);
      case ArgumentType::kBool:
        return read_bool(row, kind, value);
      case ArgumentType::kString:
        if (kind == "as_string") return std::string(value.text());
        return fail(wrong(row, "a string", kind));
      case ArgumentType::kDType:
        return read_dtype(row, kind, value);
      case ArgumentType::kLayout:
        return read_enum(row, kind, "as_layout", value, c10_layout);
      case ArgumentType::kMemoryFormat:
        return read_enum(row, kind, "as_memory_format", value, c10_memory_format);
      case ArgumentType::kDevice:
        return int64_t{0};  // the device of the export does not matter
      case ArgumentType::kTensor:
        break;
    }
    CARINA_UNREACHABLE("argument type", row.type);
  }

  // Reads a SymIntArgument, {"as_int": n} or {"as_name": "sym_size"}.
  Result<ir::Attribute> symbolic_integer(const ArgumentRow& row, JsonView argument) const {
    const auto [kind, value] = argument.alternative();
    if (kind == "as_int") return value.integer();
    const std::optional<int64_t> example = scope_.symbolic_integer(value.text(), symbols_);
    if (!example) return fail(depends_on_data(row));
    return *example;
  }

  // Reads a number with its type: bool, int64_t or double.
  Result<ir::Attribute> read_number(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    if (kind == "as_int") return value.integer();
    if (kind == "as_float") return value.number();
    if (kind == "as_bool") return value.boolean();
    if (kind == "as_sym_int") return symbolic_integer(row, value);
    if (kind == "as_sym_float") {
      const auto [form, number] = value.alternative();
      const std::optional<double> example =
          form == "as_float" ? std::optional(number.number()) : scope_.symbolic_float(number.text());
      if (!example) return fail(depends_on_data(row));
      return *example;
    }
    if (kind == "as_sym_bool") {
      const auto [form, truth] = value.alternative();
      const std::optional<bool> example =
          form == "as_bool" ? std::optional(truth.boolean()) : scope_.symbolic_bool(truth.text());
      if (!example) return fail(depends_on_data(row));
      return *example;
    }
    return fail(wrong(row, "a number", kind));
  }

  Result<ir::Attribute> read_integer(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    CARINA_TRY(const ir::Attribute number, read_number(row, kind, value));
    if (const auto* truth = std::get_if<bool>(&number)) return int64_t{*truth};
    if (std::holds_alternative<int64_t>(number)) return number;
    return fail(wrong(row, "a whole number", kind));
  }

  Result<ir::Attribute> read_float(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    CARINA_TRY(const ir::Attribute number, read_number(row, kind, value));
    if (const auto* whole = std::get_if<int64_t>(&number)) return static_cast<double>(*whole);
    if (const auto* truth = std::get_if<bool>(&number)) return *truth ? 1.0 : 0.0;
    return number;
  }

  // Attributes::number() supports integers and floats. A bool that is given as a number becomes 0 or 1.
  Result<ir::Attribute> read_scalar(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    if (kind == "as_complex") return fail(wrong(row, "a real number", "a complex number"));
    CARINA_TRY(const ir::Attribute number, read_number(row, kind, value));
    if (const auto* truth = std::get_if<bool>(&number)) return int64_t{*truth};
    return number;
  }

  Result<ir::Attribute> read_bool(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    CARINA_TRY(const ir::Attribute number, read_number(row, kind, value));
    if (const auto* whole = std::get_if<int64_t>(&number)) return *whole != 0;
    if (std::holds_alternative<bool>(number)) return number;
    return fail(wrong(row, "true or false", kind));
  }

  Result<ir::Attribute> read_dtype(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    if (kind != "as_scalar_type") return fail(wrong(row, "an element type", kind));
    const std::optional<DType> dtype = dtype_of_scalar_type(value.integer());
    if (!dtype) return fail(wrong(row, "an element type that is supported", scalar_type_name(value.integer())));
    return *dtype;
  }

  Result<ir::Attribute> read_enum(const ArgumentRow& row, std::string_view kind, std::string_view wanted,
                                  JsonView value, std::optional<int64_t> (*c10)(int64_t)) const {
    if (kind != wanted) return fail(wrong(row, wanted, kind));
    const std::optional<int64_t> number = c10(value.integer());
    if (!number) return fail(wrong(row, "a supported layout or memory format", std::to_string(value.integer())));
    return *number;
  }

  Result<ir::Attribute> read_list(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    switch (row.type) {
      case ArgumentType::kInt:
        return read_integers(row, kind, value);
      case ArgumentType::kFloat:
        return read_floats(row, kind, value);
      case ArgumentType::kBool:
        return read_bools(row, kind, value);
      default:
        return fail(wrong(row, "a list that is supported", kind));
    }
  }

  Result<ir::Attribute> read_integers(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    std::vector<int64_t> numbers;
    if (kind == "as_ints") {
      for (size_t i = 0; i < value.size(); ++i) numbers.push_back(value[i].integer());
    } else if (kind == "as_sym_ints") {
      for (size_t i = 0; i < value.size(); ++i) {
        CARINA_TRY(const ir::Attribute number, symbolic_integer(row, value[i]));
        numbers.push_back(std::get<int64_t>(number));
      }
    } else {
      CARINA_TRY(const ir::Attribute number, read_integer(row, kind, value));
      numbers.push_back(std::get<int64_t>(number));
    }
    // A single number is repeated: stride=2 is [2, 2].
    if (numbers.size() == 1 && row.list_size > 1) numbers.resize(static_cast<size_t>(row.list_size), numbers.front());
    return numbers;
  }

  Result<ir::Attribute> read_floats(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    if (kind != "as_floats" && kind != "as_ints") return fail(wrong(row, "a list of numbers", kind));
    std::vector<double> numbers;
    for (size_t i = 0; i < value.size(); ++i) numbers.push_back(value[i].number());
    return numbers;
  }

  Result<ir::Attribute> read_bools(const ArgumentRow& row, std::string_view kind, JsonView value) const {
    if (kind != "as_bools") return fail(wrong(row, "a list of truth values", kind));
    std::vector<bool> truths;
    for (size_t i = 0; i < value.size(); ++i) truths.push_back(value[i].boolean());
    return truths;
  }

  ir::Graph& graph_;
  const Scope& scope_;
  Symbols& symbols_;
  const std::string& where_;
  ir::Node& node_;
  const Schema& schema_;
  std::vector<PendingScalar> pending_;
};

}  // namespace

Result<void> read_arguments(JsonView arguments, ir::Graph& graph, const Scope& scope, Symbols& symbols,
                            DType result_dtype, const std::string& where, ir::Node& node) {
  return Reader(graph, scope, symbols, where, node).read(arguments, result_dtype);
}

}  // namespace carina::pt2
