#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "carina/result.h"

namespace carina::pt2 {

// The first error in a JSON text, and the current position for messages.
struct JsonErrors {
  std::string where;    // the file and the entry
  std::string context;  // "node conv2d_3"; may be empty
  std::optional<Diagnostic> first;
};

// A position in an untrusted JSON text. A wrong access records an error and returns a null view or zero, so that
// callers read without checks and test for an error once at the end.
class JsonView {
 public:
  JsonView(const nlohmann::json* json, JsonErrors* errors) : json_(json), errors_(errors) {}

  // Returns whether the value exists and is not null.
  [[nodiscard]] bool present() const { return json_ != nullptr && !json_->is_null(); }
  explicit operator bool() const { return present(); }

  // A required member, and a member that may be missing or null.
  [[nodiscard]] JsonView operator[](std::string_view key) const;
  [[nodiscard]] JsonView optional(std::string_view key) const;

  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  // A number, or one of the strings "Infinity", "-Infinity" and "NaN", which torch writes because JSON has no such
  // numbers.
  [[nodiscard]] double number() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] bool is_text() const { return json_ != nullptr && json_->is_string(); }
  [[nodiscard]] bool is_list() const { return json_ != nullptr && json_->is_array(); }

  // The number of elements of a list. If the value is not a list, records an error and returns 0.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] JsonView operator[](size_t index) const { return {&(*json_)[index], errors_}; }

  // A union is an object with exactly one key. Returns the key and its value.
  [[nodiscard]] std::pair<std::string_view, JsonView> alternative() const;

  // Records an error with `expected` as the expected value.
  void complain(std::string_view expected) const;
  [[nodiscard]] JsonErrors& errors() const { return *errors_; }

 private:
  const nlohmann::json* json_;
  JsonErrors* errors_;
};

// Parses untrusted JSON text of bounded size. Errors: too large; not JSON (with the offset).
Result<nlohmann::json> parse_json(std::string_view text, const std::string& where);

}  // namespace carina::pt2
