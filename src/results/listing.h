#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace carina::results {
// What a file holds, part by part, each with named properties; and a text of its own where there is a better one.
struct Listing {
  using Value = std::variant<std::string, int64_t>;
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

// A line for each part.
std::string lines_of(const Listing& listing);

}  // namespace carina::results
