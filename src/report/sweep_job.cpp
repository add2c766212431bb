#include "report/sweep_job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/tables/json.h"

namespace carina::report {

namespace {

using nlohmann::ordered_json;

std::string compact(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json json_of(const std::vector<GivenOption>& options) {
  ordered_json list = ordered_json::array();
  for (const GivenOption& option : options) list.push_back({{"name", option.name}, {"values", option.values}});
  return list;
}

ordered_json json_of(const SweepDescription& sweep) {
  return {{"model", sweep.model},
          {"key", sweep.key},
          {"options", json_of(sweep.options)},
          {"files", json_of(sweep.files)},
          {"schemes", sweep.schemes},
          {"targets", sweep.targets},
          {"memory_modes", sweep.memory_modes},
          {"missing", sweep.missing}};
}

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::kInput:
      return "input";
    case Fault::kUsage:
      return "usage";
    case Fault::kEnvironment:
      return "environment";
    case Fault::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace

std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const std::vector<SweepDescription>& sweeps) {
  ordered_json json{
      {"version", program.version}, {"program_sha256", program.sha256}, {"here", json_of(here)}, {"sweeps", {}}};
  json["sweeps"] = ordered_json::array();
  for (const SweepDescription& sweep : sweeps) json["sweeps"].push_back(json_of(sweep));
  return json_tree_text(json);
}

Result<SweepJob> read_sweep_job(std::string_view text, const std::string& name) {
  try {
    const ordered_json json = ordered_json::parse(text);
    return SweepJob{.combinations = json.at("combinations").get<std::vector<std::pair<size_t, size_t>>>(),
                    .names = json.at("names").get<std::vector<std::pair<std::string, std::string>>>()};
  } catch (const ordered_json::exception& error) {
    return fail({.where = name, .what = "this is not the JSON of a job", .got = error.what(), .fault = Fault::kUsage});
  }
}

std::string to_json_line(const Diagnostics& errors) {
  const bool machine = std::ranges::find(errors, Fault::kEnvironment, &Diagnostic::fault) != errors.end();
  const Fault fault = machine || errors.empty() ? Fault::kEnvironment : errors.front().fault;
  return compact({{"errors", to_string(errors)}, {"fault", name_of(fault)}});
}

std::string started_line(size_t combination) {
  return compact({{"started", combination}});
}

}  // namespace carina::report
