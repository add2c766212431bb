#include "report/accuracy_report.h"

#include <fmt/format.h>

#include <vector>

#include "report/tables/json.h"

namespace carina::report {

namespace {

std::string share(int64_t part, int64_t whole) {
  return fmt::format("{} of {} ({:.2f} %)", part, whole,
                     whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string with_unit(double number, const std::string& unit) {
  return unit.empty() ? fmt::format("{:.4g}", number) : fmt::format("{:.2f} {}", number, unit);
}

std::string range_of(const results::Interval& interval, const std::string& unit) {
  return fmt::format("{} to {}", with_unit(interval.low, unit), with_unit(interval.high, unit));
}

std::string to_text(const results::TaskAccuracy& task) {
  std::string out = fmt::format("  {} of the float model:    {}\n", task.metric, with_unit(task.of_float, task.unit));
  if (task.of_integers)
    out += fmt::format("  {} of the integer graph:  {}\n", task.metric, with_unit(*task.of_integers, task.unit));
  out += fmt::format("  {} of the NPU:            {} (95 %: {})\n", task.metric, with_unit(task.of_npu, task.unit),
                     range_of(task.npu_interval, task.unit));
  out += fmt::format("  NPU minus float model:   {} (95 %: {})\n", with_unit(task.of_npu - task.of_float, task.unit),
                     range_of(task.difference_interval, task.unit));
  return out;
}

Json json_of(const results::TaskAccuracy& task) {
  Json json = {{"metric", task.metric}, {"unit", task.unit}, {"float", task.of_float}};
  if (task.of_integers) json["integer"] = *task.of_integers;
  json["npu"] = task.of_npu;
  json["npu_interval"] = std::vector{task.npu_interval.low, task.npu_interval.high};
  json["difference_interval"] = std::vector{task.difference_interval.low, task.difference_interval.high};
  return json;
}

}  // namespace

std::string to_text(const results::AccuracyReport& report) {
  std::string out = fmt::format("{} on {} {} samples\n", report.program, report.samples,
                                report.has_labels || report.task ? "labeled" : "unlabeled");
  const int64_t defined = report.samples - report.integer_undefined;  // results of the integer graph
  if (report.task) out += to_text(*report.task);
  if (report.has_labels) {
    out += fmt::format("  float model right:    {}\n", share(report.float_right, report.samples));
    if (report.has_integer_graph && defined > 0)
      out += fmt::format("  integer graph right:  {}\n", share(report.integer_right, defined));
    out += fmt::format("  NPU right:            {}\n", share(report.npu_right, report.samples));
  }
  if (report.has_integer_graph && defined > 0)
    out += fmt::format("  NPU bits = integer graph's bits: {}\n", share(report.npu_equals_integer, defined));
  if (report.integer_undefined > 0)
    out += fmt::format("  integer graph not defined by the specification: {}; the first: {}\n",
                       share(report.integer_undefined, report.samples), report.integer_problem);
  const bool has_several = report.outputs.size() > 1;
  out += fmt::format("  NPU answers as the float model:  {}{}\n", share(report.npu_answers_as_float, report.samples),
                     has_several ? ", in the first output" : "");
  out += fmt::format("  SQNR of the NPU's outputs to the float model's: {:.1f} dB{}\n", report.sqnr_db,
                     has_several ? fmt::format(", the lowest of {} outputs", report.outputs.size()) : "");
  for (const results::OutputAccuracy& output : report.outputs) {
    if (has_several) out += fmt::format("    {}: {:.1f} dB\n", output.name, output.sqnr_db);
  }
  return out;
}

std::string to_json(const results::AccuracyReport& report) {
  Json json = {{"program", report.program}, {"samples", report.samples}};
  if (report.has_labels) {
    json["float_right"] = report.float_right;
    json["npu_right"] = report.npu_right;
  }
  if (report.task) json["task"] = json_of(*report.task);
  json["npu_answers_as_float"] = report.npu_answers_as_float;
  json["sqnr_db"] = report.sqnr_db;
  json["outputs"] = Json::array();
  for (const results::OutputAccuracy& output : report.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"sqnr_db", output.sqnr_db}, {"mean_absolute_error", output.mean_absolute_error}});
  if (report.has_integer_graph) {
    if (report.has_labels) json["integer_right"] = report.integer_right;
    json["npu_equals_integer"] = report.npu_equals_integer;
  }
  if (report.integer_undefined > 0) {
    json["integer_undefined"] = report.integer_undefined;
    json["integer_problem"] = report.integer_problem;
  }
  return json_text(json);
}

}  // namespace carina::report
