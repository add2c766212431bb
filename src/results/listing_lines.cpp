#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <variant>
#include <vector>

#include "results/listing.h"

namespace carina::results {

namespace {

struct ValueText {
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::vector<int64_t>& numbers) const {
    return fmt::format("{}", fmt::join(numbers, " "));
  }
};

}  // namespace

std::string lines_of(const Listing& listing) {
  std::string out;
  for (const Listing::Part& part : listing.parts) {
    out += part.kind;
    for (const auto& [name, value] : part.properties)
      out += fmt::format(" {}={}", name, std::visit(ValueText{}, value));
    out += '\n';
  }
  return out;
}

}  // namespace carina::results
