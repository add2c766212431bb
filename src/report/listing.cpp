#include "report/render.h"

#include <fmt/format.h>

#include "report/tables/json.h"

namespace carina::report {

std::string to_text(const results::Listing& listing) {
  return listing.text.empty() ? results::lines_of(listing) : listing.text;
}

std::string to_json(const results::Listing& listing) {
  Json parts = Json::array();
  for (const results::Listing::Part& part : listing.parts) {
    Json json = {{"kind", part.kind}};
    for (const auto& [name, value] : part.properties)
      std::visit([&](const auto& content) { json[name] = content; }, value);
    parts.push_back(std::move(json));
  }
  return json_text({{"parts", parts}, {"text", listing.text}});
}

}  // namespace carina::report
