#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

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

// The labels with the fewest right answers of the NPU, and the most frequent wrong answers.
std::string classes_text(const results::AccuracyReport& report) {
  constexpr size_t kShown = 12, kShownAnswers = 5;
  if (report.classes.size() < 2) return {};
  std::vector<results::ClassAccuracy> classes = report.classes;
  const auto right_share = [](const results::ClassAccuracy& one) {
    return static_cast<double>(one.npu_right) / static_cast<double>(one.samples);
  };
  const bool all = classes.size() <= kShown;
  if (!all) {
    std::ranges::stable_sort(classes, {}, right_share);
    classes.resize(kShown);
  }
  using enum Align;
  Table table({{.title = "class"},
               {.title = "samples", .align = kRight},
               {.title = "float right", .align = kRight},
               {.title = report.device + " right", .align = kRight},
               {.title = "%", .align = kRight},
               {.title = "95 %"}});
  for (const results::ClassAccuracy& one : classes)
    table.add({std::to_string(one.label), grouped(one.samples), grouped(one.float_right), grouped(one.npu_right),
               fmt::format("{:.1f}", 100 * right_share(one)),
               fmt::format("{:.1f} to {:.1f}", one.npu_interval.low, one.npu_interval.high)});
  std::string out =
      fmt::format("  by class{}:\n{}", all ? "" : fmt::format(", the {} worst of {}", kShown, report.classes.size()),
                  table.text(4));
  for (size_t i = 0; i < std::min(kShownAnswers, report.confusions.size()); ++i) {
    const results::Confusion& wrong = report.confusions[i];
    out += fmt::format("  {} of class {} taken for class {}\n", wrong.samples, wrong.label, wrong.answer);
  }
  return out;
}

Json classes_json(const results::AccuracyReport& report) {
  Json classes = Json::array();
  for (const results::ClassAccuracy& one : report.classes)
    classes.push_back({{"label", one.label},
                       {"samples", one.samples},
                       {"float_right", one.float_right},
                       {"npu_right", one.npu_right},
                       {"npu_interval", std::vector{one.npu_interval.low, one.npu_interval.high}}});
  return classes;
}

Json confusions_json(const results::AccuracyReport& report) {
  Json list = Json::array();
  for (const results::Confusion& one : report.confusions)
    list.push_back({{"label", one.label}, {"answer", one.answer}, {"samples", one.samples}});
  return list;
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
    out += fmt::format("  {:<22}{}, 95 %: {:.2f} to {:.2f} %\n",
                       report.device + " right:", share(report.npu_right, report.samples),
                       report.npu_right_interval.low, report.npu_right_interval.high);
    out += classes_text(report);
  }
  if (report.has_integer_graph && defined > 0)
    out += fmt::format("  NPU bits = integer graph's bits: {}\n", share(report.npu_equals_integer, defined));
  if (report.integer_undefined > 0)
    out += fmt::format("  integer graph not defined by the specification: {}; the first: {}\n",
                       share(report.integer_undefined, report.samples), report.integer_problem);
  const bool has_several = report.outputs.size() > 1;
  out += fmt::format("  {} answers as the float model:  {}{}\n", report.device,
                     share(report.npu_answers_as_float, report.samples), has_several ? ", in the first output" : "");
  out += fmt::format("  SQNR of the {}'s outputs to the float model's: {:.1f} dB{}\n", report.device, report.sqnr_db,
                     has_several ? fmt::format(", the lowest of {} outputs", report.outputs.size()) : "");
  for (const results::OutputAccuracy& output : report.outputs) {
    if (has_several) out += fmt::format("    {}: {:.1f} dB\n", output.name, output.sqnr_db);
  }
  if (report.steps) {
    const results::StepAccuracy& steps = *report.steps;
    out +=
        fmt::format("  SQNR by step: first {:.1f}, median {:.1f}, last {:.1f} dB; the worst is {:.1f} dB, at step {}\n",
                    steps.first_db, steps.median_db, steps.last_db, steps.worst_db, steps.worst_step);
  }
  return out;
}

std::string to_json(const results::AccuracyReport& report) {
  Json json = {{"program", report.program}, {"device", report.device}, {"samples", report.samples}};
  if (report.has_labels) {
    json["float_right"] = report.float_right;
    json["npu_right"] = report.npu_right;
    json["npu_right_interval"] = std::vector{report.npu_right_interval.low, report.npu_right_interval.high};
    json["classes"] = classes_json(report);
    json["confusions"] = confusions_json(report);
  }
  if (report.task) json["task"] = json_of(*report.task);
  json["npu_answers_as_float"] = report.npu_answers_as_float;
  json["sqnr_db"] = report.sqnr_db;
  json["outputs"] = Json::array();
  for (const results::OutputAccuracy& output : report.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"sqnr_db", output.sqnr_db}, {"mean_absolute_error", output.mean_absolute_error}});
  if (report.steps) {
    json["steps"] = {{"first_db", report.steps->first_db},
                     {"median_db", report.steps->median_db},
                     {"last_db", report.steps->last_db},
                     {"worst_db", report.steps->worst_db},
                     {"worst_step", report.steps->worst_step}};
  }
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
