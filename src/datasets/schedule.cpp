#include "datasets/schedule.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/io/file.h"
#include "datasets/number_text_internal.h"

namespace carina::datasets {

namespace {

using Json = nlohmann::ordered_json;  // inputs by name are in the order of the file

std::unexpected<Diagnostics> no_schedule(const std::string& where, std::string what) {
  return fail(
      {.where = where, .what = std::move(what), .expected = R"([{"method": "decode", "inputs": [[[7]], [2]]}, ...])"});
}

// Appends the numbers of nested lists. Returns false if an element is no number.
bool append(const Json& nested, std::vector<double>& numbers, int depth = 0) {
  constexpr int kMaxDepth = 8;
  if (nested.is_boolean()) {
    numbers.push_back(nested.get<bool>() ? 1 : 0);
    return true;
  }
  if (nested.is_number()) {
    numbers.push_back(nested.get<double>());
    return true;
  }
  if (!nested.is_array() || depth == kMaxDepth) return false;
  for (const Json& element : nested) {
    if (!append(element, numbers, depth + 1)) return false;
  }
  return true;
}

std::optional<ScheduledStep> step_of(const Json& json) {
  if (!json.is_object() || !json.contains("method") || !json["method"].is_string()) return std::nullopt;
  ScheduledStep step{.method = json["method"].get<std::string>(), .inputs = {}};
  for (const auto& [name, given] : json.items()) {
    if (name == "method") continue;
    const Json alone = Json::array({given});
    const Json& inputs = name == "inputs" && given.is_array() ? given : alone;
    for (const Json& input : inputs) {
      if (!append(input, step.inputs.emplace_back())) return std::nullopt;
    }
  }
  return step;
}

}  // namespace

Result<std::vector<ScheduledStep>> read_schedule(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  const auto* text = reinterpret_cast<const char*>(file.data());
  const Json json = Json::parse(text, text + file.size(), nullptr, false);
  if (!json.is_array() || json.empty()) return no_schedule(path, "this is no list of steps in JSON");
  std::vector<ScheduledStep> steps;
  for (const Json& one : json) {
    std::optional<ScheduledStep> step = step_of(one);
    if (!step)
      return no_schedule(path, fmt::format("step {} has no method, or inputs that are no numbers", steps.size()));
    steps.push_back(*std::move(step));
  }
  return steps;
}

Result<Sample> sample_of(const ScheduledStep& step, std::span<const InputType> types, const std::string& where) {
  if (step.inputs.size() != types.size())
    return fail({.where = where,
                 .what = "wrong number of inputs",
                 .expected = std::to_string(types.size()),
                 .got = std::to_string(step.inputs.size())});
  Sample sample;
  for (size_t i = 0; i < types.size(); ++i) {
    CARINA_TRY(Tensor tensor, tensor_of_numbers(step.inputs[i], types[i], fmt::format("{}: input {}", where, i)));
    sample.push_back(std::move(tensor));
  }
  return sample;
}

}  // namespace carina::datasets
