#include "driver/quantize.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/kernel_evaluator.h"
#include "facts/aten_quantization.h"
#include "quantize/import.h"
#include "quantize/ptq.h"

namespace carina::driver {

namespace {

bool is_quantize_node(const ir::Node& node) {
  return node.op.is_aten() && quantization_step_of(node.op.aten()) == QuantizationStep::kQuantize;
}

Result<void> take_imported(Model& model, const QuantizeRequest& request, const Log& log) {
  if (request.samples || request.mode == QuantizeMode::kInt8) {
    log.note({.where = model.name,
              .what = "the model is quantized already; the calibration data is not used",
              .severity = Severity::kNote});
  }
  model.quantization = "imported from the model";
  return quantize::fold_imported(model.graph, log);
}

// The one place where what the user asks for becomes a scheme.
quantize::Scheme scheme_of(QuantizeMode mode) {
  switch (mode) {
    case QuantizeMode::kAuto:
    case QuantizeMode::kInt8:
      return {};
    case QuantizeMode::kNone:
      break;
  }
  CARINA_UNREACHABLE("quantization", mode);
}

Result<void> calibrate(Model& model, const QuantizeRequest& request, const Log& log) {
  CARINA_TRY(const std::vector<Sample> samples, request.samples(input_types(model.graph)));
  const KernelEvaluator evaluator;
  const quantize::PtqOptions options{.threads = request.threads,
                                     .scheme = request.scheme ? *request.scheme : scheme_of(request.mode),
                                     .evaluator = &evaluator,
                                     .data = request.data};
  model.quantization =
      fmt::format("{}, calibrated on {} sample{}", options.scheme.name, samples.size(), samples.size() == 1 ? "" : "s");
  return quantize::quantize(model.graph, samples, options, log);
}

}  // namespace

Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log) {
  if (std::ranges::any_of(model.graph.nodes, is_quantize_node)) return take_imported(model, request, log);
  if (request.mode == QuantizeMode::kNone) return {};
  if (request.samples) return calibrate(model, request, log);
  if (request.mode != QuantizeMode::kInt8) return {};
  return fail({.where = model.name,
               .what = "int8 quantization needs calibration data",
               .hint = "give --calibrate FILE.npz with real inputs of the model",
               .fault = Fault::kUsage});
}

}  // namespace carina::driver
