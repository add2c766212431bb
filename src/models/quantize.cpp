#include "models/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "evaluate/kernel_evaluator.h"
#include "facts/aten_quantization.h"
#include "models/user_nodes.h"
#include "quantize/import.h"
#include "quantize/ptq.h"
#include "quantize/raw_io.h"

namespace carina::models {

namespace {

// Returns whether the node reads or writes integers of the model as activations. Quantized weights alone do not count.
bool has_quantized_activation(const ir::Graph& graph, const ir::Node& node) {
  if (!node.op.is_aten()) return false;
  const std::optional<QuantizationStep> step = quantization_step_of(node.op.aten());
  if (!step) return false;
  if (*step != QuantizationStep::kDequantize) return *step == QuantizationStep::kQuantize;
  const ir::ValueId integers = node.inputs.front();
  return std::ranges::find(graph.inputs, integers) != graph.inputs.end();
}

Result<void> take_imported(Model& model, const QuantizeRequest& request, const Log& log) {
  if (request.samples || request.mode == QuantizeMode::kAlways) {
    log.note({.where = model.name,
              .what = "the model is quantized already; the calibration data is not used",
              .severity = Severity::kNote});
  }
  model.quantization = "imported from the model";
  return quantize::fold_imported(model.graph, log);
}

Result<void> check_found(const Model& model, const QuantizeRequest& request) {
  if (!request.auto_goal) return {};
  return fail({.where = model.name,
               .what = "--quantize auto needs a target, because it compares cycles",
               .hint = "use `carina compile`, or name a scheme: --quantize int8",
               .fault = Fault::kUsage});
}

Result<void> calibrate(Model& model, const QuantizeRequest& request, const Log& log) {
  CARINA_CHECKED(check_found(model, request));
  CARINA_TRY(const datasets::DataSet samples, request.samples(datasets::input_types(model.graph)));
  const evaluate::KernelEvaluator evaluator;
  const quantize::PtqOptions options{.threads = request.threads,
                                     .scheme = request.scheme,
                                     .evaluator = &evaluator,
                                     .data = request.data,
                                     .user_nodes = user_nodes_of(model)};
  model.quantization =
      fmt::format("{}, calibrated on {} sample{}", options.scheme.name, samples.size(), samples.size() == 1 ? "" : "s");
  CARINA_TRY(quantize::PtqFindings findings, quantize::quantize(model.graph, samples, options, log));
  model.beyond_int32 = std::move(findings.beyond_int32);
  return {};
}

Result<void> quantize_values(Model& model, const QuantizeRequest& request, const Log& log) {
  if (is_quantized(model.graph)) return take_imported(model, request, log);
  if (request.mode == QuantizeMode::kNone) return {};
  if (request.samples) return calibrate(model, request, log);
  if (request.mode != QuantizeMode::kAlways) return {};
  return fail({.where = model.name,
               .what = fmt::format("{} quantization needs calibration data", request.scheme.name),
               .hint = "give --calibrate FILE.npz with real inputs of the model",
               .fault = Fault::kUsage});
}

}  // namespace

bool is_quantized(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const ir::Node& node) { return has_quantized_activation(graph, node); });
}

Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log) {
  CARINA_CHECKED(quantize_values(model, request, log));
  if (!request.raw_io) return {};
  return quantize::make_edges_raw(model.graph, *request.raw_io, log);
}

}  // namespace carina::models
