#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace carina::results {
// The content of a file: parts with named properties, and a text form if there is a better one.
struct Listing {
  using Value = std::variant<std::string, int64_t, double, bool, std::vector<int64_t>>;
  using Properties = std::vector<std::pair<std::string, Value>>;
  struct Part {
    std::string kind;
    Properties properties;
  };
  std::vector<Part> parts;
  std::string text;

  void add(std::string kind, Properties properties) {
    parts.push_back({.kind = std::move(kind), .properties = std::move(properties)});
  }
};

// Returns one line per part.
std::string lines_of(const Listing& listing);

}  // namespace carina::results
