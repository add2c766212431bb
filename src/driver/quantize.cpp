#include "driver/quantize.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/kernel_evaluator.h"
#include "quantize/import.h"
#include "quantize/ptq.h"

namespace carina::driver {

namespace {

bool is_quantize_node(const ir::Node& node) {
  return node.op.is_aten() && node.op.name().starts_with("quantized_decomposed.quantize_per_");
}

Result<std::string> imported(ir::Graph& graph, const QuantizeRequest& request, const std::string& where,
                             const Log& log) {
  if (request.samples || request.mode == QuantizeMode::kInt8) {
    log.note({.where = where,
              .what = "the model is quantized already; the calibration data is not used",
              .severity = Severity::kNote});
  }
  CARINA_CHECKED(quantize::fold_imported(graph, log));
  return "imported from the model";
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

Result<std::string> calibrated(ir::Graph& graph, const QuantizeRequest& request, const Log& log) {
  CARINA_TRY(const std::vector<Sample> samples, request.samples());
  const KernelEvaluator evaluator;
  const quantize::PtqOptions options{
      .threads = request.threads, .scheme = scheme_of(request.mode), .evaluator = &evaluator, .data = request.data};
  CARINA_CHECKED(quantize::quantize(graph, samples, options, log));
  return fmt::format("{}, calibrated on {} sample{}", options.scheme.name, samples.size(),
                     samples.size() == 1 ? "" : "s");
}

}  // namespace

Result<std::string> quantize_graph(ir::Graph& graph, const QuantizeRequest& request, const std::string& where,
                                   const Log& log) {
  if (std::ranges::any_of(graph.nodes, is_quantize_node)) return imported(graph, request, where, log);
  if (request.mode == QuantizeMode::kNone) return "none";
  if (request.samples) return calibrated(graph, request, log);
  if (request.mode == QuantizeMode::kInt8) {
    return fail({.where = where,
                 .what = "int8 quantization needs calibration data",
                 .hint = "give --calibrate FILE.npz with real inputs of the model",
                 .fault = Fault::kUsage});
  }
  return "none";
}

}  // namespace carina::driver
