#include "driver/run.h"

#include "base/file.h"
#include "driver/external_data.h"
#include "driver/file_kind.h"
#include "driver/run_program.h"

namespace carina::driver {

namespace {

Result<report::RunReport> describe(const RunOutcome& outcome, const std::string& program, const RunOptions& options,
                                   const std::string& output_folder) {
  report::RunReport report{
      .program = program,
      .outputs = {},
      .memory = outcome.memory,
      .cpu_kernels = outcome.cpu_kernels,
      .delegate_calls = outcome.delegate_calls,
      .timed = options.timed,
      .npu = outcome.npu,
      .vgf_place = options.vgf == VgfPlace::kVulkan ? "on the Vulkan device" : "in the interpreter",
      .vgf_times = outcome.vgf_times};
  CARINA_TRY(report.outputs, report_tensors(outcome.outputs, output_folder));
  return report;
}

}  // namespace

Result<report::RunReport> describe(const RunOutcome& outcome, const std::string& program, const RunOptions& options) {
  return describe(outcome, program, options, {});
}

Result<report::RunReport> run(const RunRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(request.program));
  // The program's reader says more of what is nearly a program.
  const FileKind kind = kind_of(file);
  if (kind != FileKind::kUnknown && kind != FileKind::kPte && kind != FileKind::kBundledProgram &&
      kind != FileKind::kPtd && kind != FileKind::kEmpty)
    return wrong_kind(request.program, kind, describe(FileKind::kPte));
  RunOptions options{.timed = request.timed,
                     .memories = {},
                     .data = {},
                     .threads = request.threads,
                     .vgf = request.vgf,
                     .portable_kernels = request.portable_kernels};
  CARINA_TRY(options.memories, read_names({.accelerator = {},
                                           .system_config = request.system_config,
                                           .memory_mode = request.memory_mode,
                                           .config_files = request.config_files}));
  CARINA_TRY(options.data, load_external_data(file, request.program, request.data, log));
  const auto inputs = [&](std::span<const InputType> types) -> Result<Sample> {
    return request.inputs.empty() ? ones(types) : load_inputs(request.inputs, types);
  };
  CARINA_TRY(const RunOutcome outcome, run_program(file, request.program, inputs, options, log));
  return describe(outcome, request.program, options, request.output_folder);
}

}  // namespace carina::driver
