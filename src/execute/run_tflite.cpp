#include <fmt/format.h>

#include "base/io/file.h"
#include "execute/run_tflite_internal.h"
#include "execute/tflite_session.h"

namespace carina::execute {

namespace {

// Options that only a .pte has.
Result<void> check_options(const RunRequest& request) {
  const std::pair<std::string_view, bool> options[] = {
      {"--etdump", !request.etdump.empty()},     {"--bundle", !request.bundle.empty()},
      {"--data", !request.data.empty()},         {"--method", !request.method.empty()},
      {"--state-in", !request.state_in.empty()}, {"--state-out", !request.state_out.empty()}};
  for (const auto& [name, is_given] : options) {
    if (is_given)
      return fail({.where = std::string(name),
                   .what = "a .tflite does not have this",
                   .hint = "carina compile model.tflite --target ... -o model.pte makes a program that has",
                   .fault = Fault::kUsage});
  }
  return {};
}

using NamedTensors = std::vector<datasets::NamedTensor>;

// Several files for each input are inferences one after another: the first file for each input, then the second ones.
Result<results::RunReport> run_one_after_another(const RunRequest& request, TfliteSession& session,
                                                 results::RunReport report) {
  const size_t inputs = session.inputs().size();
  const size_t count = request.inputs.size() / inputs;
  for (size_t k = 0; k < count; ++k) {
    const auto files = std::span(request.inputs).subspan(k * inputs, inputs);
    CARINA_TRY(const datasets::Sample sample, datasets::load_inputs(files, session.inputs(), request.images));
    CARINA_TRY(const NamedTensors outputs, session.run(sample));
    if (k == 0) report.npu = session.npu_report();
    const std::string folder =
        request.output_folder.empty() ? std::string() : fmt::format("{}/{}", request.output_folder, k);
    CARINA_TRY(report.outputs, datasets::report_tensors(outputs, folder));
  }
  report.samples = static_cast<int64_t>(count);
  return report;
}

Result<results::RunReport> run_samples(const RunRequest& request, TfliteSession& session, results::RunReport report,
                                       const Log& log) {
  datasets::InputBatch given;
  if (!request.sequence.empty()) {
    CARINA_TRY(given, datasets::load_sequence(request.sequence, session.inputs(), request.images, request.sound, log));
  } else if (request.inputs.empty()) {
    given.samples = {ones(session.inputs())};
  } else {
    CARINA_TRY(given, datasets::load_batch(request.inputs, session.inputs(), request.images, log));
  }
  std::vector<NamedTensors> all;
  for (const datasets::Sample& sample : given.samples) {
    CARINA_TRY(all.emplace_back(), session.run(sample));
    if (all.size() == 1) report.npu = session.npu_report();
  }
  CARINA_TRY(const NamedTensors outputs, datasets::joined_outputs(all, given.join, session.inputs(), request.program));
  CARINA_TRY(report.outputs, datasets::report_tensors(outputs, request.output_folder));
  report.samples = static_cast<int64_t>(given.samples.size());
  return report;
}

}  // namespace

Result<results::RunReport> run_tflite(const RunRequest& request, const Log& log) {
  CARINA_CHECKED(check_options(request));
  CARINA_TRY(const Buffer file, map_file(request.program));
  TfliteOptions options{.timed = request.timed, .memories = {}, .threads = request.threads};
  CARINA_TRY(options.memories, targets::read_names({.accelerator = {},
                                                    .system_config = request.system_config,
                                                    .memory_mode = request.memory_mode,
                                                    .config_files = request.config_files}));
  CARINA_TRY(TfliteSession session, TfliteSession::create(file, request.program, options, log));
  if (request.timed && session.streams() == 0)
    return fail({.where = "--timed",
                 .what = "the .tflite has no command stream, so it runs without an NPU",
                 .hint = "compile it first: carina compile model.tflite --target ... -o model_npu.tflite",
                 .fault = Fault::kUsage});
  results::RunReport report{.program = request.program,
                            .outputs = {},
                            .memory = {{"arena", session.arena_bytes()}},
                            .cpu_kernels = session.cpu_operators(),
                            .delegate_calls = session.streams(),
                            .timed = request.timed,
                            .npu = {}};
  const size_t inputs = session.inputs().size();
  const bool is_repeated = inputs > 0 && request.inputs.size() > inputs && request.inputs.size() % inputs == 0;
  return is_repeated ? run_one_after_another(request, session, std::move(report))
                     : run_samples(request, session, std::move(report), log);
}

}  // namespace carina::execute
