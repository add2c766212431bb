#include "driver/compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "driver/file_kind.h"
#include "driver/sample_reader.h"
#include "driver/tosa_file.h"
#include "driver/vela_flags.h"

namespace carina::driver {

namespace {

SampleSource samples_of(const CompileRequest& request) {
  if (request.samples || request.calibration.empty()) return request.samples;
  return [path = request.calibration](std::span<const InputType> inputs) { return open_data_set(path, inputs); };
}

bool is_asked_to_quantize(const CompileRequest& request) {
  return !request.quantize.scheme.empty() && request.quantize.scheme != "none";
}

Artifacts artifacts_of(const CompileRequest& request) {
  if (!request.dump_folder.empty() || request.output != CompileRequest::Output::kProgram) return Artifacts::kKeep;
  return request.layers ? Artifacts::kLayers : Artifacts::kDrop;
}

}  // namespace

Result<QuantizeRequest> quantization_of(const CompileRequest& request) {
  CARINA_TRY(QuantizeRequest quantize, parse_quantize_flags(request.quantize));
  quantize.samples = samples_of(request);
  quantize.data = request.calibration;
  quantize.threads = request.threads;
  return quantize;
}

DelegateOptions delegate_options_of(const CompileRequest& request) {
  return {.threads = request.threads,
          .arena_limit_bytes = request.sram_budget_bytes,
          .optimize = request.optimize,
          .dynamic_weights = request.dynamic_weights,
          .artifacts = artifacts_of(request),
          .shown = request.shown};
}

Result<CompileOptions> options_of(const CompileRequest& request) {
  CARINA_TRY(QuantizeRequest quantize, quantization_of(request));
  return CompileOptions{.quantize = std::move(quantize),
                        .split = {.delegates = request.delegates,
                                  .cpu_nodes = request.cpu_nodes,
                                  .cpu_ops = request.cpu_ops,
                                  .cpu_modules = request.cpu_modules,
                                  .passes = request.passes},
                        .delegate = delegate_options_of(request),
                        .cpu_kernels = request.cpu_kernels,
                        .legalize = request.legalize,
                        .loop_rounds = request.loop_rounds};
}

ImportOptions import_options_of(const CompileRequest& request) {
  return {.passes = request.passes, .loop_rounds = request.loop_rounds};
}

Result<CompileRequest> with_flags(CompileRequest request, const Log& log) {
  if (request.vela_flags.empty()) return request;
  CARINA_TRY(const VelaFlags flags, read_vela_flags(request.vela_flags, log));
  CARINA_CHECKED(add_vela_flags(flags, request.target, request.optimize));
  std::ranges::copy(flags.shown, std::back_inserter(request.shown));
  return request;
}

bool is_graph(const CompileRequest& request) {
  if (request.file.size() == 0) return is_graph_file(request.model);
  const FileKind kind = kind_of(request.file);
  return kind == FileKind::kTosa || kind == FileKind::kVgf;
}

Result<ir::Module> graph_of(const CompileRequest& request, const std::string& level) {
  return request.file.size() == 0 ? read_sound_tosa(request.model, level)
                                  : sound_graph(request.file, request.model, level);
}

Result<Buffer> pt2_file(const CompileRequest& request) {
  if (request.file.size() == 0) return open_file(request.model, {FileKind::kPt2});
  CARINA_CHECKED(check_kind(request.file, request.model, {FileKind::kPt2}));
  return request.file;
}

Result<ir::Graph> read_tosa_graph(const CompileRequest& request, const Log& log) {
  if (samples_of(request) || is_asked_to_quantize(request)) {
    log.note({.where = request.model,
              .what = "a TOSA file has its types; the calibration data is not used",
              .severity = Severity::kNote});
  }
  CARINA_TRY(ir::Module module, graph_of(request, "8K"));
  if (module.graphs.size() == 1) return std::move(module.main());
  return fail({.where = request.model,
               .what = "control flow does not run on the NPU",
               .got = fmt::format("{} regions", module.graphs.size())});
}

}  // namespace carina::driver
