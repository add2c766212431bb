#include "report/render.h"

#include <algorithm>

#include "base/broken_require.h"
#include "report/tables/json.h"

namespace carina::report {

namespace {

constexpr std::string_view kRule = "rule ";

std::string_view kind_of(const Diagnostic& error) {
  if (error.what.starts_with(kRule)) return "rule";
  if (is_broken_require(error)) return "require";
  return "error";
}

// "CONV.3" of "rule CONV.3 (TOSA 1.0, section 2.3.3): ..."
std::string rule_of(const Diagnostic& error) {
  if (!error.what.starts_with(kRule)) return {};
  return error.what.substr(kRule.size(), error.what.find(' ', kRule.size()) - kRule.size());
}

std::string_view status_of(const Diagnostics& errors) {
  if (std::ranges::any_of(errors, is_broken_require)) return "unpredictable";
  return std::ranges::all_of(errors, [](const Diagnostic& error) { return error.fault == Fault::kInput; }) ? "refused"
                                                                                                           : "failed";
}

}  // namespace

std::string to_json(const std::string& file, const Diagnostics& errors) {
  Json list = Json::array();
  for (const Diagnostic& error : errors) {
    list.push_back({{"kind", kind_of(error)},
                    {"rule", rule_of(error)},
                    {"where", error.where},
                    {"what", error.what},
                    {"expected", error.expected},
                    {"got", error.got},
                    {"hint", error.hint}});
  }
  return json_text({{"file", file}, {"status", status_of(errors)}, {"errors", list}});
}

}  // namespace carina::report
