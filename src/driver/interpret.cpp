#include "driver/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/checked_math.h"
#include "base/file.h"
#include "driver/outputs.h"
#include "driver/samples.h"
#include "driver/tosa_file.h"
#include "interpret/interpreter.h"
#include "tensor/npy.h"

namespace carina::driver {

namespace {

Sample zeros(std::span<const InputType> inputs) {
  Sample sample;
  for (const InputType& input : inputs) {
    MutableTensor tensor(input.dtype, input.shape);
    std::ranges::fill(tensor.bytes(), std::byte{0});
    sample.push_back(std::move(tensor).freeze());
  }
  return sample;
}

std::string file_name_of(const std::string& value) {
  std::string name = value;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.'; },
      '_');
  return name;
}

// Writes each value as it is made; the first failure is kept and ends the run's report.
interpret::Observer dump_to(const std::string& folder, Result<void>& status) {
  return [folder, &status](const ir::Graph& graph, ir::ValueId value, const Tensor& tensor) {
    if (status)
      status = write_file(fmt::format("{}/{}.npy", folder, file_name_of(graph[value].name)), npy_bytes(tensor));
  };
}

// "512M" -> 536870912.
Result<size_t> bytes_of(const std::string& text) {
  struct Unit {
    char letter;
    int log2_bytes;
  };
  static constexpr std::array kUnits{Unit{'K', 10}, Unit{'M', 20}, Unit{'G', 30}};
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  std::optional<size_t> bytes;
  if (error == std::errc()) bytes = number;
  for (const Unit& unit : kUnits) {
    if (rest.size() != 1 || std::toupper(static_cast<unsigned char>(rest[0])) != unit.letter) continue;
    bytes = bytes ? checked_mul(*bytes, size_t{1} << unit.log2_bytes) : std::nullopt;
    rest = {};
  }
  if (bytes && *bytes > 0 && rest.empty()) return *bytes;
  return fail({.where = "--memory-budget",
               .what = "not a number of bytes",
               .expected = "a whole number, with K, M or G after it or not",
               .got = text,
               .fault = Fault::kUsage});
}

// What the budget leaves for the plan and the outputs when the inputs are in memory. Nothing has been allocated yet.
Result<size_t> budget_without_inputs(size_t budget, const ir::Graph& graph, const std::string& where) {
  size_t used = 0;
  for (const ir::ValueId id : graph.inputs) {
    const size_t bytes = tensor_bytes(graph[id].dtype, graph[id].shape);
    used = bytes > budget - used ? budget : used + bytes;
  }
  if (used < budget) return budget - used;
  return fail({.where = where,
               .what = "the graph's inputs do not fit the memory budget",
               .expected = fmt::format("at most {} bytes", budget),
               .got = {},
               .hint = "--memory-budget sets another"});
}

}  // namespace

Result<report::InterpretReport> interpret(const InterpretRequest& request, const Log& /*log*/) {
  CARINA_TRY(const size_t budget, bytes_of(request.memory_budget));
  CARINA_TRY(const ir::Module module, read_sound_tosa(request.model, request.level));
  Result<void> dumped;
  interpret::Options options{.threads = request.threads, .where = request.model};
  CARINA_TRY(options.memory_budget_bytes, budget_without_inputs(budget, module.main(), request.model));
  if (request.profile) options.profiling = interpret::Profiling::kOn;
  if (!request.dump_folder.empty()) {
    CARINA_CHECKED(make_folder(request.dump_folder));
    options.observer = dump_to(request.dump_folder, dumped);
  }
  CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, options));
  const std::vector<InputType> inputs = input_types(module.main());
  Sample sample = zeros(inputs);
  if (!request.inputs.empty()) {
    CARINA_TRY(sample, load_inputs(request.inputs, inputs));
  }
  CARINA_TRY(const std::vector<Tensor> outputs, interpreter.run(sample));
  CARINA_CHECKED(dumped);
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < outputs.size(); ++i)
    named.push_back({.name = module.main()[module.main().outputs[i]].name, .tensor = outputs[i]});
  report::InterpretReport report{.model = request.model,
                                 .outputs = {},
                                 .planned_bytes = static_cast<int64_t>(interpreter.planned_bytes()),
                                 .profile = {}};
  CARINA_TRY(report.outputs, report_tensors(named, request.output_folder));
  for (const interpret::NodeTime& time : interpreter.profile()) {
    report.profile.push_back({.name = time.name, .op = std::string(time.op), .nanoseconds = time.nanoseconds});
  }
  return report;
}

}  // namespace carina::driver
