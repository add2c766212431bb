#include "driver/compile_tflite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "driver/budgets.h"
#include "driver/compile_options.h"
#include "files/tflite_file.h"
#include "frontend/tflite/parts.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/shapes.h"
#include "frontend/tflite/tflite.h"
#include "frontend/tflite/to_aten/to_aten.h"
#include "litert/writer.h"
#include "npu/delegate_blob.h"

// Which operators the NPU runs is found by trying: all that have a TOSA form are cut into parts and compiled; operators
// that a part's compilation rejects go to the CPU, and the rest is cut again. So a file needs few compilations: one, if
// nothing is rejected.
namespace carina::driver {

namespace {

// A part of the NPU with what its compilation gave.
struct NpuPart {
  ir::Graph tosa;
  backends::Delegate delegate;
};

class Partitioner {
 public:
  Partitioner(const tflite::Model& model, std::string where, const backends::Backend& backend, const Log& log)
      : graph_(model.subgraphs.front()),
        where_(std::move(where)),
        backend_(backend),
        log_(log),
        reasons_(graph_.operators.size()) {}

  // Finds the parts and compiles them. Errors: those that name no operator.
  Result<void> compile(const backends::DelegateOptions& options) {
    reject_what_has_no_form();
    while (true) {
      parts_ = tflite::split_operators(graph_, on_npu());
      CARINA_TRY(const bool is_done, compile_parts(options));
      if (is_done) return {};
    }
  }

  [[nodiscard]] const std::vector<tflite::Part>& parts() const { return parts_; }
  // Moves what was compiled, in the order of the NPU's parts.
  Delegated delegated() && {
    Delegated out;
    for (const tflite::Part& part : parts_) {
      if (!part.on_npu) continue;
      NpuPart& made = compiled_.at(part.operators);
      out.split.tosa.push_back(std::move(made.tosa));
      out.delegates.push_back(std::move(made.delegate));
    }
    return out;
  }
  [[nodiscard]] const std::optional<Diagnostic>& reason(size_t op) const { return reasons_[op]; }

 private:
  [[nodiscard]] std::vector<bool> on_npu() const {
    std::vector<bool> out;
    for (const auto& reason : reasons_) out.push_back(!reason);
    return out;
  }

  // Returns whether the errors were all about operators, which then stay on the CPU.
  bool reject(const Diagnostics& errors, const std::vector<size_t>& operators) {
    bool all = true;
    for (const Diagnostic& error : errors) {
      const bool is_about_one = error.node && *error.node < operators.size() && error.fault == Fault::kInput;
      all = all && is_about_one;
      if (is_about_one && !reasons_[operators[*error.node]]) reasons_[operators[*error.node]] = error;
    }
    return all;
  }

  void reject_what_has_no_form() {
    std::vector<tflite::Part> parts = tflite::split_operators(graph_, on_npu());
    const bool is_one = parts.size() == 1;
    std::vector<size_t> operators(graph_.operators.size());
    std::iota(operators.begin(), operators.end(), size_t{0});
    const tflite::Part all = is_one ? std::move(parts.front())
                                    : tflite::Part{.on_npu = true,
                                                   .operators = std::move(operators),
                                                   .inputs = graph_.inputs,
                                                   .outputs = graph_.outputs};
    auto module = tflite::to_tosa(tflite::model_of(graph_, all), where_);
    if (!module) {
      reject(module.error(), all.operators);
    } else if (is_one) {
      whole_ = *std::move(module);
    }
  }

  // Compiles the parts that have not been compiled. Returns false if operators were rejected.
  Result<bool> compile_parts(const backends::DelegateOptions& options) {
    bool is_done = true;
    for (const tflite::Part& part : parts_) {
      if (!part.on_npu || compiled_.contains(part.operators)) continue;
      auto made = compile_part(part, options);
      if (made) {
        compiled_.emplace(part.operators, *std::move(made));
        continue;
      }
      if (!reject(made.error(), part.operators)) return fail(std::move(made).error());
      is_done = false;
    }
    return is_done;
  }

  // Errors name operators of the part by their place in it.
  Result<NpuPart> compile_part(const tflite::Part& part, const backends::DelegateOptions& options) {
    CARINA_TRY(ir::Module module, whole_ ? files::sound_model(*std::exchange(whole_, {}), where_, "8K")
                                         : files::sound_model(tflite::model_of(graph_, part), where_, "8K"));
    NpuPart made{.tosa = std::move(module.main()), .delegate = {}};
    auto delegate = backend_.compile(made.tosa, options, log_);
    if (!delegate) return fail(about_origins(std::move(delegate).error(), made.tosa));
    made.delegate = *std::move(delegate);
    return made;
  }

  const tflite::Subgraph& graph_;
  std::string where_;
  const backends::Backend& backend_;
  const Log& log_;
  std::vector<std::optional<Diagnostic>> reasons_;  // by operator: why it stays on the CPU
  std::vector<tflite::Part> parts_;
  std::optional<ir::Module> whole_;  // the form of the only part, if all operators have one, until it is compiled
  std::map<std::vector<size_t>, NpuPart> compiled_;  // by the operators of the part
};

std::string name_of(const tflite::Subgraph& graph, const tflite::Operator& op) {
  return op.outputs.empty() ? op.name : graph.tensors[static_cast<size_t>(op.outputs.front())].name;
}

// One row per operator of the main graph.
std::vector<results::NodeReport> node_rows(const tflite::Subgraph& graph, const Partitioner& made,
                                           const Delegated& delegated) {
  std::vector<results::NodeReport> rows;
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const tflite::Operator& op = graph.operators[i];
    const auto& reason = made.reason(i);
    results::NodeReport row{.name = name_of(graph, op), .op = op.name, .source = {}, .reason = "supported", .hint = {}};
    row.runs_on = reason ? results::RunsOn::kCpu : results::RunsOn::kNpu;
    if (reason) {
      row.reason = reason->what;
      if (!reason->expected.empty()) row.reason += fmt::format(": expected {}", reason->expected);
      if (!reason->got.empty())
        row.reason += fmt::format("{} got {}", reason->expected.empty() ? ":" : ",", reason->got);
      row.hint = reason->hint;
    }
    rows.push_back(std::move(row));
  }
  size_t next = 0;
  for (const tflite::Part& part : made.parts()) {
    if (!part.on_npu) continue;
    const std::vector<ir::Node>& nodes = delegated.split.tosa[next].nodes;
    const std::vector<int64_t>& cycles = delegated.delegates[next++].cycles_of_node;
    for (size_t n = 0; n < nodes.size() && n < cycles.size(); ++n) {
      const ir::NodeId origin = nodes[n].origin;
      if (origin.valid()) rows[part.operators[origin.index()]].cycles += cycles[n];
    }
  }
  return rows;
}

std::vector<results::PortReport> ports_of(const tflite::Subgraph& graph, const std::vector<int32_t>& tensors) {
  std::vector<results::PortReport> ports;
  for (const int32_t index : tensors) {
    const tflite::Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
    results::PortReport port{.name = tensor.name, .dtype = std::string(carina::name_of(tensor.dtype)), .shape = {}};
    port.shape.assign(tensor.shape.dims().begin(), tensor.shape.dims().end());
    if (tensor.quantization.scales.size() == 1) {
      port.scale = tensor.quantization.scales.front();
      port.zero_point = tensor.quantization.zero_points.front();
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

Result<std::vector<litert::CompiledPart>> written_parts(const std::vector<tflite::Part>& parts,
                                                        const Delegated& delegated, const std::string& where) {
  std::vector<litert::CompiledPart> out;
  size_t next = 0;
  for (const tflite::Part& part : parts) {
    litert::CompiledPart& written = out.emplace_back(litert::CompiledPart{.part = part});
    if (!part.on_npu) continue;
    const backends::Delegate& delegate = delegated.delegates[next++];
    CARINA_TRY(written.network, npu::read_delegate_blob_in_place(delegate.packaged.blob, where));
    // The blob does not say how much fast memory its stream uses.
    written.network.network.fast_scratch_bytes = delegate.report.fast_scratch_bytes;
  }
  return out;
}

void warn(const CompileRequest& request, const results::CompileReport& report, const Log& log) {
  if (report.delegates.empty())
    log.note({.where = request.model,
              .what = "nothing runs on the NPU; the file is written as it was",
              .hint = "carina explain says for each operator why",
              .severity = Severity::kWarning});
}

Result<void> check_request(const tflite::Model& model, const CompileRequest& request, const backends::Backend& backend,
                           const Log& log) {
  if (tflite::is_compiled(model.subgraphs.front()))
    return fail({.where = request.model,
                 .what = "the file has been compiled for an NPU already",
                 .hint = "give the file from which it was made"});
  const bool has_data = request.samples || !request.calibration.empty();
  if (has_data && tflite::computes_in_floats(model))
    return fail({.where = "--calibrate",
                 .what = "a model that is quantized here is not written as a .tflite",
                 .hint = "-o FILE.pte writes the program, `carina tosa` the quantized graph",
                 .fault = Fault::kUsage});
  if (has_data)
    log.note({.where = request.model,
              .what = "the calibration data are not used: the model is quantized already",
              .severity = Severity::kNote});
  if (backend.lowering.takes_floats)
    return fail({.where = "--target",
                 .what = "the target cannot write a .tflite",
                 .expected = "an Ethos-U",
                 .got = backend.target,
                 .fault = Fault::kUsage});
  if (!request.dump_folder.empty())
    return fail({.where = "--dump",
                 .what = "--dump is not possible with a .tflite as the output",
                 .hint = "-o FILE.pte compiles the same parts, if the NPU runs all operators",
                 .fault = Fault::kUsage});
  return {};
}

}  // namespace

Result<Compiled> compile_tflite(const Buffer& file, const CompileRequest& request, const backends::Backend& backend,
                                const Log& log) {
  CARINA_TRY(tflite::Model model, tflite::read_model(file, request.model));
  CARINA_CHECKED(tflite::set_shapes(model, request.shapes));
  model.subgraphs.front().rounding = rounding_of(request);
  CARINA_CHECKED(check_request(model, request, backend, log));
  CARINA_TRY(const CompileOptions options, options_of(request, log));
  Compilation compilation{.model = {.name = request.model, .nodes = {}, .graph = {}},
                          .delegated = {},
                          .package = {},
                          .legalized = {},
                          .dispositions = {},
                          .errors = {}};
  compilation.model.quantization = "as in the LiteRT file";
  compilation.sram_budget_bytes = options.sram_budget_bytes.value_or(0);
  compilation.flash_budget_bytes = options.flash_budget_bytes.value_or(0);
  Partitioner parts(model, request.model, backend, log);
  CARINA_CHECKED(parts.compile(options.delegate));
  compilation.delegated = std::move(parts).delegated();
  const Delegated& delegated = *compilation.delegated;
  results::CompileReport report = compile_report(compilation, backend, options.delegate);
  CARINA_TRY(const std::vector<litert::CompiledPart> written, written_parts(parts.parts(), delegated, request.model));
  CARINA_TRY(litert::Written made, litert::write_compiled(file, model, written, request.model));
  report.nodes = node_rows(model.subgraphs.front(), parts, delegated);
  report.inputs = ports_of(model.subgraphs.front(), model.subgraphs.front().inputs);
  report.outputs = ports_of(model.subgraphs.front(), model.subgraphs.front().outputs);
  report.program_bytes = static_cast<int64_t>(made.file.size());
  report.planned_bytes = made.arena_bytes - report.scratch_bytes;
  report.over_budget = exceeded_budgets(report, {});
  if (!report.over_budget.empty()) return fail(std::move(report.over_budget));
  warn(request, report, log);
  return Compiled{.program = std::move(made.file), .report = std::move(report)};
}

}  // namespace carina::driver
