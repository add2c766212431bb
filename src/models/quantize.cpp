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

// Random samples have steps that say nothing about those of real ones.
quantize::WiderSteps QuantizeRequest::wider_steps() const {
  if (origin != Origin::kData) return quantize::WiderSteps::kNever;
  return state_is_shared ? quantize::WiderSteps::kAllButState : quantize::WiderSteps::kAll;
}

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

// Whether the user asked for other weights than the model has.
bool changes_weights(const quantize::WeightScheme& weights) {
  return weights.pruning != quantize::Pruning::kNone || weights.clusters > 0;
}

Result<void> take_imported(Model& model, const QuantizeRequest& request, const Log& log) {
  const bool has_data = request.samples && request.origin != QuantizeRequest::Origin::kStandIn;
  if (changes_weights(request.scheme.general.weights))
    return fail({.where = model.name,
                 .what = "the model is quantized already, so its weights cannot be pruned or clustered",
                 .hint = "give the float model, or leave --prune-weights and --cluster-weights out",
                 .fault = Fault::kUsage});
  if (has_data || request.mode == QuantizeMode::kAlways) {
    log.note({.where = model.name,
              .what = "the model is quantized already; the calibration data is not used",
              .severity = Severity::kNote});
  }
  model.quantization = "imported from the model";
  return quantize::fold_imported(model.graph, log);
}

// Says that ranges of random samples show cycles and memory only.
void warn_of_random(const Model& model, const QuantizeRequest& request, const Log& log) {
  using Origin = QuantizeRequest::Origin;
  if (request.origin == Origin::kData) return;
  const bool is_choice = request.origin == Origin::kStandIn;
  log.note({.where = model.name,
            .what = fmt::format("{}the ranges come from random inputs: cycles and memory are estimates, accuracy has "
                                "no meaning",
                                is_choice ? "the model is not quantized, and there are no calibration data; " : ""),
            .hint = "give --calibrate FILE.npz with real inputs of the model for a program to use",
            .severity = is_choice ? Severity::kNote : Severity::kWarning});
}

std::string calibration_text(const QuantizeRequest& request, size_t samples) {
  if (request.origin != QuantizeRequest::Origin::kData)
    return fmt::format("{}, calibrated on random inputs (cycles and memory only; accuracy has no meaning)",
                       request.scheme.name);
  return fmt::format("{}, calibrated on {} sample{}", request.scheme.name, samples, samples == 1 ? "" : "s");
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
  warn_of_random(model, request, log);
  CARINA_TRY(const datasets::DataSet samples, request.samples(datasets::input_types(model.graph)));
  const evaluate::KernelEvaluator evaluator;
  const quantize::PtqOptions options{.threads = request.threads,
                                     .scheme = request.scheme,
                                     .evaluator = &evaluator,
                                     .data = request.data,
                                     .user_nodes = user_nodes_of(model),
                                     .narrow_outputs = request.has_narrow_outputs(),
                                     .state_limits = request.state_limits,
                                     .wider_steps = request.wider_steps()};
  model.quantization = calibration_text(request, samples.size());
  model.random_ranges = request.origin != QuantizeRequest::Origin::kData;
  model.samples = samples.size();
  model.left_float = quantize::left_float_by(request.scheme, model.graph, options.user_nodes);
  CARINA_TRY(quantize::PtqFindings findings, quantize::quantize(model.graph, samples, options, log));
  model.beyond_int32 = std::move(findings.beyond_int32);
  return {};
}

// Quantizes with random ranges if that works; else the model stays float.
Result<void> estimate(Model& model, const QuantizeRequest& request, const Log& log) {
  Model quantized = model;
  const Result<void> done = calibrate(quantized, request, {.progress = log.progress});
  if (!done) {
    Diagnostic why = done.error().front();
    why.what = "the model is not quantized, and random inputs give no ranges: " + why.what;
    why.severity = Severity::kNote;
    log.note(why);
    return {};
  }
  warn_of_random(model, request, log);
  model = std::move(quantized);
  return {};
}

Result<void> quantize_values(Model& model, const QuantizeRequest& request, const Log& log) {
  if (is_quantized(model.graph)) return take_imported(model, request, log);
  if (request.mode == QuantizeMode::kNone) return {};
  if (request.origin == QuantizeRequest::Origin::kStandIn) return estimate(model, request, log);
  if (request.samples) return calibrate(model, request, log);
  if (request.mode != QuantizeMode::kAlways && !changes_weights(request.scheme.general.weights)) return {};
  return fail({.where = model.name,
               .what = fmt::format("{} quantization needs calibration data", request.scheme.name),
               .hint = "give --calibrate FILE.npz with real inputs of the model; --calibrate random shows cycles and "
                       "memory without data",
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
