#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/tosa_row.h"
#include "report/tables/json.h"

namespace carina::report {

namespace {

// A count with its noun: "3 rules", "1 rule".
std::string count(int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string to_text(const results::VerifyReport& report) {
  const bool everything = report.allowed.size() == kTosaFeatureNames.size();
  std::string out = fmt::format("{}: TOSA {}, {}, {}\n", report.file, report.version, count(report.graphs, "graph"),
                                count(report.operators, "operator"));
  out += fmt::format("allowed: {}; level {}\n",
                     everything ? "every profile and extension" : fmt::format("{}", fmt::join(report.allowed, " ")),
                     report.level);
  const auto broken = static_cast<int64_t>(report.violations.size());
  return out + (broken == 0 ? "every rule holds\n" : count(broken, "rule") + " broken\n");
}

std::string to_json(const results::VerifyReport& report) {
  Json violations = Json::array();
  for (const results::RuleViolation& violation : report.violations) {
    violations.push_back({{"rule", violation.rule},
                          {"section", violation.section},
                          {"must", violation.must},
                          {"found", violation.found},
                          {"graph", violation.graph},
                          {"op", violation.op},
                          {"node", violation.node},
                          {"source", violation.source}});
  }
  return json_text({{"file", report.file},
                    {"version", report.version},
                    {"level", report.level},
                    {"allowed", report.allowed},
                    {"graphs", report.graphs},
                    {"operators", report.operators},
                    {"sound", report.violations.empty()},
                    {"violations", violations}});
}

}  // namespace carina::report
