#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace carina::report {

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

// The listing's own text, or a line for each part.
std::string to_text(const Listing& listing);
std::string to_json(const Listing& listing);

}  // namespace carina::report
