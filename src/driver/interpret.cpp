#include "driver/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/file.h"
#include "driver/outputs.h"
#include "driver/samples.h"
#include "interpret/interpreter.h"
#include "tensor/npy.h"
#include "tosa/flatbuffer.h"

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

}  // namespace

Result<report::InterpretReport> interpret(const InterpretRequest& request, const Log& /*log*/) {
  CARINA_TRY(const Buffer file, map_file(request.model));
  CARINA_TRY(const ir::Module module, tosa::read_tosa(file, request.model));
  Result<void> dumped;
  interpret::Options options{.threads = request.threads, .where = request.model};
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
