#include "report/verify_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "facts/tosa_row.h"

namespace carina::report {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kRule = "rule ";
constexpr std::string_view kRequire = "REQUIRE";

std::string text_of(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string_view kind_of(const Diagnostic& error) {
  if (error.what.starts_with(kRule)) return "rule";
  if (error.what.starts_with(kRequire)) return "require";
  return "error";
}

// "CONV.3" of "rule CONV.3 (TOSA 1.0, section 2.3.3): ..."
std::string rule_of(const Diagnostic& error) {
  if (!error.what.starts_with(kRule)) return {};
  return error.what.substr(kRule.size(), error.what.find(' ', kRule.size()) - kRule.size());
}

std::string_view status_of(const Diagnostics& errors) {
  if (std::ranges::any_of(errors, [](const Diagnostic& error) { return kind_of(error) == "require"; }))
    return "unpredictable";
  return std::ranges::all_of(errors, [](const Diagnostic& error) { return error.fault == Fault::kInput; }) ? "refused"
                                                                                                           : "failed";
}

// "3 rules"
std::string count(int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string to_text(const VerifyReport& report) {
  const bool everything = report.allowed.size() == kTosaFeatureNames.size();
  std::string out = fmt::format("{}: TOSA {}, {}, {}\n", report.file, report.version, count(report.graphs, "graph"),
                                count(report.operators, "operator"));
  out += fmt::format("allowed: {}; level {}\n",
                     everything ? "every profile and extension" : fmt::format("{}", fmt::join(report.allowed, " ")),
                     report.level);
  const auto broken = static_cast<int64_t>(report.violations.size());
  return out + (broken == 0 ? "every rule holds\n" : count(broken, "rule") + " broken\n");
}

std::string to_json(const VerifyReport& report) {
  ordered_json violations = ordered_json::array();
  for (const RuleViolation& violation : report.violations) {
    violations.push_back({{"rule", violation.rule},
                          {"section", violation.section},
                          {"must", violation.must},
                          {"found", violation.found},
                          {"graph", violation.graph},
                          {"op", violation.op},
                          {"node", violation.node},
                          {"source", violation.source}});
  }
  return text_of({{"file", report.file},
                  {"version", report.version},
                  {"level", report.level},
                  {"allowed", report.allowed},
                  {"graphs", report.graphs},
                  {"operators", report.operators},
                  {"sound", report.violations.empty()},
                  {"violations", violations}});
}

std::string to_json(const std::string& file, const Diagnostics& errors) {
  ordered_json list = ordered_json::array();
  for (const Diagnostic& error : errors) {
    list.push_back({{"kind", kind_of(error)},
                    {"rule", rule_of(error)},
                    {"where", error.where},
                    {"what", error.what},
                    {"expected", error.expected},
                    {"got", error.got},
                    {"hint", error.hint}});
  }
  return text_of({{"file", file}, {"status", status_of(errors)}, {"errors", list}});
}

}  // namespace carina::report
