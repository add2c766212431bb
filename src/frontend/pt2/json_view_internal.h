#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "carina/result.h"

namespace carina::pt2 {

// The first error in a JSON text, and the part of it that is being read.
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

  // Not missing and not null.
  [[nodiscard]] bool present() const { return json_ != nullptr && !json_->is_null(); }
  explicit operator bool() const { return present(); }

  // A member that must be there / that may be missing or null.
  [[nodiscard]] JsonView operator[](std::string_view key) const;
  [[nodiscard]] JsonView optional(std::string_view key) const;

  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  // A number, or the strings "Infinity", "-Infinity", "NaN" that torch writes for what JSON cannot say.
  [[nodiscard]] double number() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] bool is_text() const { return json_ != nullptr && json_->is_string(); }
  [[nodiscard]] bool is_list() const { return json_ != nullptr && json_->is_array(); }

  // The elements of a list (none, and an error, when it is not a list).
  [[nodiscard]] size_t size() const;
  [[nodiscard]] JsonView operator[](size_t index) const { return {&(*json_)[index], errors_}; }

  // A union is an object with exactly one key: the key and its value.
  [[nodiscard]] std::pair<std::string_view, JsonView> alternative() const;

  // Calls visit(key, view) for each member of an object.
  template <typename Visit>
  void each_member(Visit visit) const {
    if (json_ == nullptr || !json_->is_object()) return complain("an object");
    for (const auto& [key, value] : json_->items()) visit(std::string_view(key), JsonView(&value, errors_));
  }

  // Records the error that `expected` was expected here.
  void complain(std::string_view expected) const;
  [[nodiscard]] JsonErrors& errors() const { return *errors_; }

 private:
  const nlohmann::json* json_;
  JsonErrors* errors_;
};

// Parses untrusted JSON text of bounded size. Errors: too large, not JSON (with the offset).
Result<nlohmann::json> parse_json(std::string_view text, const std::string& where);

}  // namespace carina::pt2
