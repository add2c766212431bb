#include "ir/attribute.h"

namespace carina::ir {

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> list) : list_(list) {}
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;
bool Attributes::operator==(const Attributes&) const = default;

void Attributes::set(std::string_view name, Attribute value) {
  for (auto& [key, old] : list_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  list_.emplace_back(std::string(name), std::move(value));
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : list_) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool Attributes::is_none(std::string_view name) const {
  const Attribute* attribute = find(name);
  return attribute == nullptr || std::holds_alternative<std::monostate>(*attribute);
}

double Attributes::number(std::string_view name) const {
  const Attribute* attribute = find(name);
  CARINA_CHECK(attribute != nullptr, "attribute {} is missing", name);
  if (const auto* whole = std::get_if<int64_t>(attribute)) return static_cast<double>(*whole);
  return get<double>(name);
}

int64_t Attributes::integer(std::string_view name) const {
  return get<int64_t>(name);
}

const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(name);
}

}  // namespace carina::ir
