#include "report/listing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace carina::report {

std::string to_text(const Listing& listing) {
  if (!listing.text.empty()) return listing.text;
  std::string out;
  for (const Listing::Part& part : listing.parts) {
    out += part.kind;
    for (const auto& [name, value] : part.properties) out += fmt::format(" {}={}", name, value);
    out += '\n';
  }
  return out;
}

std::string to_json(const Listing& listing) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const Listing::Part& part : listing.parts) {
    nlohmann::ordered_json json = {{"kind", part.kind}};
    for (const auto& [name, value] : part.properties) json[name] = value;
    parts.push_back(std::move(json));
  }
  return nlohmann::ordered_json{{"parts", parts}, {"text", listing.text}}.dump(
             2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace carina::report
