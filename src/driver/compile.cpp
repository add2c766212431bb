#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "driver/backend.h"
#include "driver/delegation.h"
#include "driver/import.h"
#include "driver/outputs.h"
#include "driver/package.h"
#include "driver/passes.h"
#include "driver/samples.h"
#include "lower/lower.h"
#include "tosa/flatbuffer.h"

namespace carina::driver {

namespace {

struct Prepared {
  ir::Graph graph;
  std::string quantization;  // for the report
};

Result<Prepared> prepare_model(const CompileRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(request.model));
  Prepared prepared;
  CARINA_TRY(prepared.graph, import_pt2(file, request.model, log, request.passes));
  QuantizeRequest quantization{.mode = request.quantize, .samples = {}, .threads = request.threads};
  if (!request.calibration.empty()) {
    quantization.samples = [&] { return load_samples(request.calibration, input_types(prepared.graph)); };
    quantization.data = request.calibration;
  }
  CARINA_TRY(prepared.quantization, quantize_graph(prepared.graph, quantization, request.model, log));
  return prepared;
}

struct Compilation {
  Delegated delegated;
  std::string quantization;
};

DelegateOptions delegate_options(const CompileRequest& request) {
  return {.threads = request.threads,
          .arena_limit_bytes = request.sram_budget_bytes,
          .artifacts = request.dump_folder.empty() ? Artifacts::kDrop : Artifacts::kKeep};
}

Result<Compilation> compile_pt2(const CompileRequest& request, const Backend& backend, const Log& log) {
  CARINA_TRY(const Prepared prepared, prepare_model(request, log));
  CARINA_TRY(Delegated delegated,
             delegate_graph(prepared.graph, backend,
                            {.delegates = request.delegates, .cpu_nodes = request.cpu_nodes, .passes = request.passes},
                            delegate_options(request), log));
  return Compilation{.delegated = std::move(delegated), .quantization = prepared.quantization};
}

Result<Compilation> compile_tosa(const CompileRequest& request, const Backend& backend, const Log& log) {
  CARINA_TRY(ir::Module module, read_sound_tosa(request.model));
  if (module.graphs.size() != 1)
    return fail({.where = request.model,
                 .what = "control flow does not run on the NPU",
                 .got = fmt::format("{} regions", module.graphs.size())});
  CARINA_TRY(Delegated delegated, compile_delegates(whole_graph_delegated(std::move(module.main())), backend,
                                                    delegate_options(request), log));
  return Compilation{.delegated = std::move(delegated), .quantization = "as in the TOSA file"};
}

// What `--dump` shows of delegate `index`: its TOSA graph, and the backend's artifacts.
Result<void> dump(const Delegated& delegated, size_t index, const Backend& backend, const std::string& folder) {
  CARINA_CHECKED(make_folder(folder));
  ir::Graph graph = delegated.split.tosa[index];
  graph.name = "main";  // the name by which the reference model's program looks for it
  CARINA_TRY(const auto tosa, tosa::write_tosa({.graphs = {std::move(graph)}}));
  CARINA_CHECKED(write_file(fmt::format("{}/output_tag{}_{}.tosa", folder, index, backend.tosa_spec), tosa));
  for (const Artifact& artifact : delegated.delegates[index].artifacts)
    CARINA_CHECKED(write_file(fmt::format("{}/output_tag{}_{}", folder, index, artifact.suffix), artifact.bytes));
  return {};
}

std::vector<report::NodeReport> node_reports(const partition::Partitioned& partitioned,
                                             const std::map<std::string, int64_t>& cycles) {
  std::vector<report::NodeReport> reports;
  for (const partition::Decision& decision : partitioned.decisions) {
    const auto cost = decision.runs_on_npu ? cycles.find(decision.name) : cycles.end();
    reports.push_back({.name = decision.name,
                       .op = decision.op,
                       .source = decision.source,
                       .runs_on_npu = decision.runs_on_npu,
                       .reason = decision.reason,
                       .hint = decision.hint,
                       .cycles = cost == cycles.end() ? 0 : cost->second});
  }
  return reports;
}

report::CompileReport report_of(const Compilation& compilation, const Backend& backend, const std::string& model) {
  report::CompileReport report{.model = model,
                               .target = backend.target,
                               .system_config = backend.system_config,
                               .memory_mode = backend.memory_mode,
                               .quantization = compilation.quantization,
                               .nodes = {},
                               .delegates = {},
                               .output = {}};
  report.clock_hz = backend.clock_hz;
  std::map<std::string, int64_t> cycles;
  for (const Delegate& delegate : compilation.delegated.delegates) {
    report.delegates.push_back(delegate.report);
    report.cycles += delegate.report.cycles;
    report.scratch_bytes = std::max(report.scratch_bytes, delegate.report.scratch_bytes);
    for (const auto& [node, cost] : delegate.cycles_of_node) cycles[node] += cost;
  }
  report.nodes = node_reports(compilation.delegated.split.partitioned, cycles);
  return report;
}

}  // namespace

Result<Compiled> compile(const CompileRequest& request, const Log& log) {
  CARINA_TRY(const Backend backend, find_backend(request.target));
  CARINA_TRY(const Compilation compilation,
             is_graph_file(request.model) ? compile_tosa(request, backend, log) : compile_pt2(request, backend, log));
  if (!request.dump_folder.empty()) {
    for (size_t i = 0; i < compilation.delegated.delegates.size(); ++i)
      CARINA_CHECKED(dump(compilation.delegated, i, backend, request.dump_folder));
  }
  CARINA_TRY(Package packaged, package(compilation.delegated));
  Compiled compiled{.program = std::move(packaged.program), .report = report_of(compilation, backend, request.model)};
  compiled.report.program_bytes = static_cast<int64_t>(compiled.program.size());
  compiled.report.planned_bytes = packaged.planned_bytes;
  return compiled;
}

// A file without a target is written as most that will read it like it.
const lower::Target kTosaFile{.limits = kDefaultLowering.limits, .idioms = kDefaultLowering.idioms};

Result<std::vector<std::byte>> to_tosa(const TosaRequest& request, const Log& log) {
  const std::string& path = request.model.model;
  if (is_graph_file(path)) {
    CARINA_TRY(const ir::Module module, read_sound_tosa(path, request.limits.level));
    return write_sound_tosa(module, request.version, request.limits, path);
  }
  CARINA_TRY(const Prepared prepared, prepare_model(request.model, log));
  CARINA_TRY(
      lower::Lowered lowered,
      lower::to_tosa(prepared.graph, kTosaFile, options_for(request.model.passes, lower::clean_up_pipeline()), log));
  return write_sound_tosa({.graphs = {std::move(lowered.graph)}}, request.version, request.limits, path);
}

}  // namespace carina::driver
