#include <fmt/format.h>

#include <variant>

#include "results/listing.h"

namespace carina::results {

std::string lines_of(const Listing& listing) {
  std::string out;
  for (const Listing::Part& part : listing.parts) {
    out += part.kind;
    for (const auto& [name, value] : part.properties)
      out += std::visit([&](const auto& content) { return fmt::format(" {}={}", name, content); }, value);
    out += '\n';
  }
  return out;
}

}  // namespace carina::results
