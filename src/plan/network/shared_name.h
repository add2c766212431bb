#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace carina::plan {

// A name that never changes. Copies share its text: searches copy schedules with the names of all tensors and steps.
class SharedName {
 public:
  SharedName() = default;
  // Both conversions are implicit: it stands for its text.
  SharedName(std::string text) : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedName(const char* text) : SharedName(std::string(text)) {}
  operator const std::string&() const { return text(); }

  [[nodiscard]] const std::string& text() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  [[nodiscard]] bool empty() const { return text_ == nullptr; }

  bool operator==(const SharedName& other) const { return text_ == other.text_ || text() == other.text(); }

 private:
  std::shared_ptr<const std::string> text_;  // null: no text
};

}  // namespace carina::plan

template <>
struct fmt::formatter<carina::plan::SharedName> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const carina::plan::SharedName& name, Context& context) const {
    return fmt::formatter<std::string>::format(name.text(), context);
  }
};
