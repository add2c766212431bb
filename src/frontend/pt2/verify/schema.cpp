#include "frontend/pt2/verify/schema.h"

#include <array>
#include <cctype>
#include <utility>

#include "base/text/number.h"
#include "carina/check.h"

namespace carina::aten {

namespace {

struct TypeName {
  std::string_view text;
  ArgumentType type;
};
constexpr std::array kTypeNames = {
    TypeName{"Tensor", ArgumentType::kTensor},
    TypeName{"SymInt", ArgumentType::kInt},
    TypeName{"int", ArgumentType::kInt},
    TypeName{"float", ArgumentType::kFloat},
    TypeName{"Scalar", ArgumentType::kScalar},
    TypeName{"bool", ArgumentType::kBool},
    TypeName{"str", ArgumentType::kString},
    TypeName{"ScalarType", ArgumentType::kDType},
    TypeName{"Layout", ArgumentType::kLayout},
    TypeName{"MemoryFormat", ArgumentType::kMemoryFormat},
    TypeName{"Device", ArgumentType::kDevice},
    // A model for inference has no generator: the argument is always None.
    TypeName{"Generator", ArgumentType::kDevice},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    Schema schema;
    expect('(');
    bool keyword_only = false;
    while (!take(')')) {
      if (take('*')) {
        keyword_only = true;
      } else {
        schema.arguments.push_back(argument(keyword_only));
      }
      take(',');
    }
    expect('-');
    expect('>');
    parse_results(schema);
    CARINA_CHECK(at_end(), "schema {}: text after the results", text_);
    return schema;
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }
  bool take(char wanted) {
    skip_spaces();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }
  void expect(char wanted) { CARINA_CHECK(take(wanted), "schema {}: expected '{}' at {}", text_, wanted, position_); }

  std::string_view word() {
    skip_spaces();
    const size_t begin = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 || text_[position_] == '_'))
      ++position_;
    CARINA_CHECK(position_ > begin, "schema {}: expected a name at {}", text_, position_);
    return text_.substr(begin, position_ - begin);
  }

  // Skips an alias set: "(a)", "(a!)", "(a -> *)", "(b|a)". It says which memory is shared.
  bool skip_alias() {
    if (!take('(')) return false;
    while (!take(')')) ++position_;
    return true;
  }

  static ArgumentType type_named(std::string_view name) {
    for (const TypeName& row : kTypeNames) {
      if (row.text == name) return row.type;
    }
    CARINA_CHECK(false, "schema type {}", name);
    return ArgumentType::kTensor;
  }

  ArgumentRow argument(bool keyword_only) {
    ArgumentRow row;
    row.type = type_named(word());
    row.keyword_only = keyword_only;
    skip_alias();
    row.optional = take('?');
    if (take('[')) {
      row.is_list = true;
      row.optional_elements = std::exchange(row.optional, false);
      if (!take(']')) {
        row.list_size = whole_number();
        expect(']');
      }
      skip_alias();
      row.optional = take('?');
    }
    row.name = word();
    row.has_default = take('=');
    if (row.has_default) row.default_value = default_of(row);
    return row;
  }

  std::string_view number_text() {
    skip_spaces();
    const size_t begin = position_;
    while (position_ < text_.size() && std::string_view("+-.0123456789einfa").contains(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }
  int64_t whole_number() {
    const std::string_view digits = number_text();
    const auto value = number_in<int64_t>(digits);
    CARINA_CHECK(value.has_value(), "schema {}: whole number '{}'", text_, digits);
    return *value;
  }
  ir::Attribute number() {
    const std::string_view digits = number_text();
    if (digits.find_first_of(".einfa") == std::string_view::npos) {
      position_ -= digits.size();
      return whole_number();
    }
    const auto value = number_in<double>(digits);
    CARINA_CHECK(value.has_value(), "schema {}: number '{}'", text_, digits);
    return *value;
  }

  bool take_word(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(wanted)) return false;
    position_ += wanted.size();
    return true;
  }

  std::string quoted() {
    expect('"');
    const size_t end = text_.find('"', position_);
    CARINA_CHECK(end != std::string_view::npos, "schema {}: open string", text_);
    const std::string value(text_.substr(position_, end - position_));
    position_ = end + 1;
    return value;
  }

  std::vector<int64_t> whole_numbers() {
    std::vector<int64_t> values;
    expect('[');
    while (!take(']')) {
      values.push_back(whole_number());
      take(',');
    }
    return values;
  }

  ir::Attribute default_of(const ArgumentRow& row) {
    if (take_word("None")) return std::monostate{};
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    if (row.is_list) {
      CARINA_CHECK(row.type == ArgumentType::kInt, "schema {}: default of list {}", text_, row.name);
      skip_spaces();
      if (text_.substr(position_).starts_with('[')) return whole_numbers();
      return std::vector<int64_t>(static_cast<size_t>(row.list_size), whole_number());
    }
    if (row.type == ArgumentType::kString) return quoted();
    ir::Attribute value = number();
    // "float eps=0" has a default of type float.
    if (const auto* whole = std::get_if<int64_t>(&value); whole != nullptr && row.type == ArgumentType::kFloat)
      return static_cast<double>(*whole);
    return value;
  }

  void parse_result(Schema& schema) {
    CARINA_CHECK(type_named(word()) == ArgumentType::kTensor, "schema {}: a result that is no tensor", text_);
    schema.returns_view |= skip_alias();
    const bool list = take('[');
    if (list) expect(']');
    schema.result_is_list.push_back(list);
  }

  void parse_results(Schema& schema) {
    if (!take('(')) return parse_result(schema);
    while (!take(')')) {
      parse_result(schema);
      skip_spaces();
      if (position_ < text_.size() && text_[position_] != ',' && text_[position_] != ')') word();
      take(',');
    }
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) {
  return Parser(text).parse();
}

const Schema& schema_of(AtenOp op) {
  static const std::vector<Schema> kSchemas = [] {
    std::vector<Schema> all;
    all.reserve(kAtenOps.size());
    for (const AtenOpRow& row : kAtenOps) all.push_back(parse_schema(row.schema));
    return all;
  }();
  return kSchemas[static_cast<size_t>(op)];
}

}  // namespace carina::aten
