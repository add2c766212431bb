#pragma once

#include <string>
#include <utility>
#include <vector>

namespace carina::report {

// What a file holds, part by part, each with named properties; and a text of its own where there is a better one.
struct Listing {
  struct Part {
    std::string kind;
    std::vector<std::pair<std::string, std::string>> properties;
  };
  std::vector<Part> parts;
  std::string text;

  void add(std::string kind, std::vector<std::pair<std::string, std::string>> properties) {
    parts.push_back({.kind = std::move(kind), .properties = std::move(properties)});
  }
};

// The listing's own text, or a line for each part.
std::string to_text(const Listing& listing);
std::string to_json(const Listing& listing);

}  // namespace carina::report
