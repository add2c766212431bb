#include "report/sweep_job.h"

#include <algorithm>
#include <bit>
#include <cstdint>
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

// The bits of a number, so that it is read back exactly, NaN and infinities too.
uint64_t bits_of(double number) {
  return std::bit_cast<uint64_t>(number);
}

double number_of(const ordered_json& bits) {
  return std::bit_cast<double>(bits.get<uint64_t>());
}

ordered_json json_of(const results::OutputSums& sums) {
  return {{"signal_bits", bits_of(sums.signal)},
          {"noise_bits", bits_of(sums.noise)},
          {"absolute_bits", bits_of(sums.absolute)},
          {"elements", sums.elements}};
}

results::OutputSums output_sums_of(const ordered_json& json) {
  return {.signal = number_of(json.at("signal_bits")),
          .noise = number_of(json.at("noise_bits")),
          .absolute = number_of(json.at("absolute_bits")),
          .elements = json.at("elements")};
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

std::string to_json(const ProgramIdentity& program, const std::vector<GivenOption>& here,
                    const AccuracyDescription& accuracy) {
  return json_tree_text({{"version", program.version},
                         {"program_sha256", program.sha256},
                         {"here", json_of(here)},
                         {"key", accuracy.key},
                         {"words", accuracy.words},
                         {"files", json_of(accuracy.files)},
                         {"samples", accuracy.samples},
                         {"missing", accuracy.missing}});
}

std::string to_json_line(size_t sample, const results::SampleScore& score) {
  ordered_json json{{"sample", sample},
                    {"float_right", score.float_right},
                    {"integer_right", score.integer_right},
                    {"npu_right", score.npu_right},
                    {"npu_equals_integer", score.npu_equals_integer},
                    {"npu_answers_as_float", score.npu_answers_as_float},
                    {"label", score.label},
                    {"answer", score.answer},
                    {"outputs", ordered_json::array()}};
  for (const results::OutputSums& sums : score.outputs) json["outputs"].push_back(json_of(sums));
  if (!score.integer_problem.empty()) json["integer_problem"] = score.integer_problem;
  return compact(json);
}

Result<std::pair<size_t, results::SampleScore>> read_score_line(std::string_view text, const std::string& name) {
  try {
    const ordered_json json = ordered_json::parse(text);
    results::SampleScore score{.float_right = json.at("float_right"),
                               .integer_right = json.at("integer_right"),
                               .npu_right = json.at("npu_right"),
                               .npu_equals_integer = json.at("npu_equals_integer"),
                               .npu_answers_as_float = json.at("npu_answers_as_float"),
                               .label = json.value("label", int64_t{-1}),
                               .answer = json.value("answer", int64_t{-1})};
    for (const ordered_json& sums : json.at("outputs")) score.outputs.push_back(output_sums_of(sums));
    score.integer_problem = json.value("integer_problem", "");
    return std::pair{json.at("sample").get<size_t>(), std::move(score)};
  } catch (const ordered_json::exception& error) {
    return fail({.where = name, .what = "this is not a line of `carina accuracy`", .got = error.what()});
  }
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
