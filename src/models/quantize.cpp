#include "models/quantize.h"

#include <fmt/format.h>

#include <algorithm>

#include "evaluate/kernel_evaluator.h"
#include "facts/aten_quantization.h"
#include "quantize/import.h"
#include "quantize/ptq.h"
#include "quantize/raw_io.h"

namespace carina::models {

namespace {

bool is_quantize_node(const ir::Node& node) {
  return node.op.is_aten() && quantization_step_of(node.op.aten()) == QuantizationStep::kQuantize;
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

std::vector<quantize::UserNode> user_nodes_of(const Model& model) {
  std::vector<quantize::UserNode> nodes;
  for (const pt2::ModelNode& node : model.nodes)
    nodes.push_back({.name = node.name, .op = node.op, .modules = node.modules});
  return nodes;
}

Result<void> check_found(const Model& model, const QuantizeRequest& request) {
  if (!request.cycle_budget) return {};
  return fail({.where = model.name,
               .what = "--quantize auto compares cycles: it needs a target",
               .hint = "carina compile, or a scheme: --quantize int8",
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
  return std::ranges::any_of(graph.nodes, is_quantize_node);
}

Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log) {
  CARINA_CHECKED(quantize_values(model, request, log));
  if (!request.raw_io) return {};
  return quantize::make_edges_raw(model.graph, *request.raw_io, log);
}

}  // namespace carina::models
