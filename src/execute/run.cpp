#include "execute/run.h"

#include <fmt/format.h>

#include "base/io/file.h"
#include "base/memory/mapped_pages.h"
#include "execute/external_data.h"
#include "execute/interpret.h"
#include "execute/run_tflite_internal.h"
#include "execute/schedule.h"
#include "execute/state_files.h"
#include "files/file_kind.h"
#include "pte/etdump.h"

namespace carina::execute {

namespace {

// If the file resembles a program, the program reader gives the better message.
Result<Buffer> open_program(const std::string& path) {
  CARINA_TRY(Buffer file, map_large_file(path));
  const files::FileKind kind = files::kind_of(file, path);
  if (kind != files::FileKind::kUnknown && kind != files::FileKind::kPte && kind != files::FileKind::kBundledProgram &&
      kind != files::FileKind::kPtd && kind != files::FileKind::kEmpty)
    return files::wrong_kind(path, kind, files::text_of_kind(files::FileKind::kPte));
  return file;
}

Result<RunOptions> options_of(const RunRequest& request, const Buffer& program, const Log& log) {
  RunOptions options{.timed = request.timed,
                     .memories = {},
                     .data = {},
                     .threads = request.threads,
                     .vgf = request.vgf,
                     .portable_kernels = request.portable_kernels,
                     .method = request.method,
                     .pools = request.pools,
                     .record = !request.etdump.empty(),
                     .record_values = !request.debug_buffer.empty()};
  CARINA_TRY(options.memories, targets::read_names({.accelerator = {},
                                                    .system_config = request.system_config,
                                                    .memory_mode = request.memory_mode,
                                                    .config_files = request.config_files}));
  CARINA_TRY(options.data, load_external_data(program, request.program, request.data, log));
  return options;
}

// The run report without its tensors.
results::RunReport figures_of(const RunOutcome& outcome, const std::string& program, bool timed, VgfDevice vgf) {
  return {.program = program,
          .outputs = {},
          .memory = outcome.memory,
          .cpu_kernels = outcome.cpu_kernels,
          .delegate_calls = outcome.delegate_calls,
          .timed = timed,
          .npu = outcome.npu,
          .vgf_device = vgf == VgfDevice::kVulkan ? "on the Vulkan device" : "in the interpreter",
          .vgf_times = outcome.vgf_times,
          .tosa_times = outcome.tosa_times,
          .method = outcome.method,
          .methods = outcome.methods};
}

Result<void> write_record(const RunRequest& request, std::span<const pte::RunRecord> records) {
  if (request.etdump.empty()) return {};
  const pte::EtDump dump = pte::write_etdump(records);
  CARINA_CHECKED(write_file(request.etdump, dump.record));
  if (!request.debug_buffer.empty()) CARINA_CHECKED(write_file(request.debug_buffer, dump.debug_buffer));
  return {};
}

// ExecuTorch's Inspector assumes that all runs of one method are repetitions with equal values.
Result<void> check_values_of_one(const RunRequest& request, size_t samples) {
  if (request.debug_buffer.empty() || samples <= 1) return {};
  return fail({.where = "--debug-buffer",
               .what = "--debug-buffer records one sample only",
               .expected = "1 sample",
               .got = fmt::format("{}", samples),
               .hint = "give one sample, or a .bpte, whose test cases are recorded separately",
               .fault = Fault::kUsage});
}

Result<results::RunReport> report_of(const RunRequest& request, const RunOutcome& outcome,
                                     const std::vector<datasets::NamedTensor>& outputs) {
  CARINA_CHECKED(write_record(request, outcome.records));
  results::RunReport report = figures_of(outcome, request.program, request.timed, request.vgf);
  CARINA_TRY(report.outputs, datasets::report_tensors(outputs, request.output_folder));
  return report;
}

StateOptions state_of(const RunRequest& request) {
  StateOptions state{.reset_every = request.reset_every};
  if (!request.state_in.empty())
    state.first = [&](std::span<const datasets::InputType> states) { return read_state(request.state_in, states); };
  return state;
}

Result<results::RunReport> run_samples(const Buffer& program, const RunRequest& request, const Log& log) {
  CARINA_TRY(const RunOptions options, options_of(request, program, log));
  if (!request.schedule.empty())
    return run_schedule(program, request.program, request.schedule, request.output_folder, options, log);
  if (request.generate.count > 0)
    return generate(program, request.program, request.generate, request.output_folder, options, log);
  datasets::InputBatch given;
  const auto source = [&](std::span<const datasets::InputType> types) -> Result<std::vector<datasets::Sample>> {
    if (!request.sequence.empty()) {
      CARINA_TRY(given, datasets::load_sequence(request.sequence, types, request.images, request.sound, log));
    } else if (request.inputs.empty()) {
      given.samples = {ones(types)};
    } else {
      CARINA_TRY(given, datasets::load_batch(request.inputs, types, request.images, log));
    }
    CARINA_CHECKED(check_values_of_one(request, given.samples.size()));
    return given.samples;
  };
  CARINA_TRY(BatchOutcome batch, run_batch(program, request.program, source, options, log, state_of(request)));
  CARINA_TRY(const std::vector<datasets::NamedTensor> outputs,
             datasets::joined_outputs(batch.outputs, given.join, batch.inputs, request.program));
  CARINA_CHECKED(write_state(request.state_out, request.program, batch.state));
  if (!request.bundle.empty()) {
    CARINA_TRY(const auto bundle, write_bundle(program, batch.method, given.samples, batch.outputs, batch.inputs));
    CARINA_CHECKED(write_file(request.bundle, bundle));
  }
  CARINA_TRY(results::RunReport report, report_of(request, batch.run, outputs));
  report.samples = static_cast<int64_t>(given.samples.size());
  return report;
}

// Writes the outputs of a test case to a folder with the case's number.
Result<void> write_outputs(const RunRequest& request, const results::TestCaseReport& test,
                           const std::vector<datasets::NamedTensor>& outputs) {
  if (request.output_folder.empty()) return {};
  CARINA_TRY(const auto written, datasets::report_tensors(
                                     outputs, fmt::format("{}/{}_{}", request.output_folder, test.method, test.index)));
  static_cast<void>(written);
  return {};
}

Result<results::RunReport> run_test_cases(const pte::BundledProgram& bundle, const RunRequest& request,
                                          const Log& log) {
  if (!request.bundle.empty())
    return fail({.where = "--bundle",
                 .what = "the program already has test cases",
                 .hint = "give inputs (-i) for other test cases",
                 .fault = Fault::kUsage});
  CARINA_TRY(const RunOptions options, options_of(request, bundle.program, log));
  CARINA_TRY(BundleOutcome outcome, run_bundle(bundle, request.program, request.tolerance, options, log));
  for (size_t i = 0; i < outcome.outputs.size(); ++i)
    CARINA_CHECKED(write_outputs(request, outcome.tests.cases[i], outcome.outputs[i]));
  CARINA_TRY(results::RunReport report, report_of(request, outcome.run, {}));
  report.samples = static_cast<int64_t>(outcome.tests.cases.size());
  report.tests = std::move(outcome.tests);
  return report;
}

}  // namespace

Result<results::RunReport> run_report(const RunOutcome& outcome, const std::string& program,
                                      const RunOptions& options) {
  results::RunReport report = figures_of(outcome, program, options.timed, options.vgf);
  CARINA_TRY(report.outputs, datasets::report_tensors(outcome.outputs, {}));
  return report;
}

Result<results::RunReport> run(const RunRequest& request, const Log& log) {
  if (!request.debug_buffer.empty() && request.etdump.empty())
    return fail({.where = "--debug-buffer",
                 .what = "--debug-buffer needs --etdump, which describes its tensors",
                 .hint = "give --etdump FILE too",
                 .fault = Fault::kUsage});
  if (request.program.ends_with(".tflite")) return run_tflite(request, log);
  CARINA_TRY(const Buffer file, open_program(request.program));
  if (!pte::is_bundled_program(file)) return run_samples(file, request, log);
  CARINA_TRY(const pte::BundledProgram bundle, pte::read_bundled_program(file, request.program));
  return request.inputs.empty() && request.sequence.empty() && request.schedule.empty() && request.generate.count == 0
             ? run_test_cases(bundle, request, log)
             : run_samples(bundle.program, request, log);
}

}  // namespace carina::execute
