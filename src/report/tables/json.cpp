#include <algorithm>
#include <nlohmann/json.hpp>

#include "carina/check.h"
#include "report/tables/json.h"

namespace carina::report {

using nlohmann::ordered_json;

Json::Member::Member(std::string_view its_name, Json its_value) : name(its_name), value(std::move(its_value)) {}

Json::Json() : Json(Kind::kNull) {}
Json::Json(Kind kind) : kind_(kind) {}
Json::Json(std::nullptr_t) : Json(Kind::kNull) {}
Json::Json(bool value) : Json(Kind::kBool) {
  integer_ = value ? 1 : 0;
}
Json::Json(double value) : Json(Kind::kFloat) {
  float_ = value;
}
Json::Json(const char* text) : kind_(Kind::kText), text_(text) {}
Json::Json(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
Json::Json(std::string_view text) : kind_(Kind::kText), text_(text) {}

Json::Json(std::initializer_list<Member> members) : Json(Kind::kObject) {
  names_.reserve(members.size());
  values_.reserve(members.size());
  for (const Member& member : members) {
    names_.emplace_back(member.name);
    values_.push_back(std::move(member.value));
  }
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

void Json::set_integer(int64_t value) {
  kind_ = Kind::kInteger;
  integer_ = value;
}

void Json::set_unsigned(uint64_t value) {
  kind_ = Kind::kUnsigned;
  unsigned_ = value;
}

Json Json::array() {
  return Json(Kind::kArray);
}

Json Json::object() {
  return Json(Kind::kObject);
}

Json Json::number(std::string_view text) {
  const ordered_json parsed = ordered_json::parse(text);
  if (parsed.is_number_unsigned()) return parsed.get<uint64_t>();
  if (parsed.is_number_integer()) return parsed.get<int64_t>();
  return parsed.get<double>();
}

Json& Json::operator[](std::string_view name) {
  if (kind_ == Kind::kNull) kind_ = Kind::kObject;
  CARINA_CHECK(kind_ == Kind::kObject, "{} of what is no object", name);
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return values_[static_cast<size_t>(found - names_.begin())];
  names_.emplace_back(name);
  return values_.emplace_back();
}

Json& Json::push_back(Json value) {
  if (kind_ == Kind::kNull) kind_ = Kind::kArray;
  CARINA_CHECK(kind_ == Kind::kArray, "an element of what is no array");
  return values_.emplace_back(std::move(value));
}

ordered_json Json::tree() const {
  switch (kind_) {
    case Kind::kNull:
      return nullptr;
    case Kind::kBool:
      return integer_ != 0;
    case Kind::kInteger:
      return integer_;
    case Kind::kUnsigned:
      return unsigned_;
    case Kind::kFloat:
      return float_;
    case Kind::kText:
      return text_;
    case Kind::kArray: {
      ordered_json list = ordered_json::array();
      for (const Json& value : values_) list.push_back(value.tree());
      return list;
    }
    case Kind::kObject: {
      ordered_json::object_t members;
      members.reserve(names_.size());
      for (size_t i = 0; i < names_.size(); ++i) members.emplace_back(names_[i], values_[i].tree());
      return members;
    }
  }
  CARINA_UNREACHABLE("kind", kind_);
}

std::string json_tree_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string json_text(const Json& json) {
  return json_tree_text(json.tree());
}

}  // namespace carina::report
