#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carina::report {

// A JSON value for output; objects keep the order of their members. Reports use it so that the templates of nlohmann's
// library are compiled only in json.cpp and in files that parse JSON.
//
//   Json layer = {{"name", "conv"}, {"macs", 12}};     {"name": "conv", "macs": 12}
//   layer["causes"] = Json::array();                   {"name": "conv", "macs": 12, "causes": []}
//
// Conversions to Json are implicit, since the members of an object have many types.
// NOLINTBEGIN(google-explicit-constructor,hicpp-explicit-conversions)
class Json {
 public:
  struct Member;

  Json();  // null
  Json(std::nullptr_t);
  Json(bool value);
  Json(double value);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <std::integral Number>
  Json(Number value) {
    if constexpr (std::unsigned_integral<Number>)
      set_unsigned(value);
    else
      set_integer(value);
  }
  template <typename T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const T& value : values) push_back(Json(value));
  }
  Json(std::initializer_list<Member> members);  // an object
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json object();
  // Parses a JSON number: 12 or 1.5e3.
  static Json number(std::string_view text);

  // Returns the member of this name, which is added if it is missing. Null becomes an object.
  Json& operator[](std::string_view name);
  // Appends an element and returns it. Null becomes an array.
  Json& push_back(Json value);
  Json& back() { return values_.back(); }

  [[nodiscard]] nlohmann::ordered_json tree() const;

 private:
  enum class Kind { kNull, kBool, kInteger, kUnsigned, kFloat, kText, kArray, kObject };
  explicit Json(Kind kind);
  void set_integer(int64_t value);
  void set_unsigned(uint64_t value);

  Kind kind_;
  union {
    int64_t integer_ = 0;
    uint64_t unsigned_;
    double float_;
  };
  std::string text_;
  std::vector<std::string> names_;  // of an object's members
  std::vector<Json> values_;
};
// NOLINTEND(google-explicit-constructor,hicpp-explicit-conversions)

// One member in an initializer list of an object.
struct Json::Member {
  Member(std::string_view name, Json value);
  std::string_view name;
  mutable Json value;  // moved out of the list, whose elements are const
};

// Returns the object {"name": value ...}, in the order of the list.
template <typename Number>
Json pairs(const std::vector<std::pair<std::string, Number>>& list) {
  Json json = Json::object();
  for (const auto& [name, value] : list) json[name] = value;
  return json;
}

// Formats JSON output: indented, with a final newline. Names and paths may hold any bytes; invalid UTF-8 becomes
// U+FFFD.
std::string json_text(const Json& json);
std::string json_tree_text(const nlohmann::ordered_json& json);

}  // namespace carina::report
