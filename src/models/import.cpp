#include "models/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evaluate/kernel_evaluator.h"
#include "files/file_kind.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/shapes.h"
#include "frontend/tflite/signatures.h"
#include "frontend/tflite/to_aten/to_aten.h"
#include "models/passes.h"
#include "models/quantize.h"
#include "normalize/normalize.h"
#include "quantize/import.h"

namespace carina::models {

Result<void> normalize_graph(ir::Graph& graph, const ImportOptions& options, const Log& log) {
  const ir::PassOptions& passes = options.passes;
  CARINA_CHECKED(check_pass_names(passes));
  const bool for_cpu = options.for_cpu && !is_quantized(graph);
  CARINA_CHECKED(quantize::fold_imported_weights(graph));
  const evaluate::KernelEvaluator evaluator;
  ir::PassOptions own = options_for(passes, normalize::pipeline());
  own.evaluator = &evaluator;
  if (for_cpu) return normalize::normalize_for_cpu(graph, own, log);
  return normalize::normalize(graph, own, log);
}

bool is_float_tflite(const Buffer& file, const std::string& where) {
  if (files::kind_of(file) != files::FileKind::kTflite) return false;
  const auto model = tflite::read_model(file, where);
  return model && tflite::computes_in_floats(*model);
}

namespace {

// Makes the graph of the signature the main one, if there are several.
Result<void> choose_graph(tflite::Model& model, const std::string& signature, const std::string& where) {
  const std::vector<std::string> keys = tflite::separate_signatures(model);
  if (keys.empty()) return {};
  if (!signature.empty()) return tflite::choose_signature(model, signature, where);
  return fail(
      {.where = where,
       .what = "the model of floats has several signatures, which need calibration data of their own",
       .expected = fmt::format("{}", fmt::join(keys, ", ")),
       .hint = fmt::format("--method {} --calibrate DATA --method {}={},DATA", keys.front(), keys.back(), where),
       .fault = Fault::kUsage});
}

Result<ir::Graph> read_float_tflite(const Buffer& file, const std::string& where, const ImportOptions& options,
                                    std::vector<pt2::ModelNode>& nodes) {
  CARINA_TRY(tflite::Model model, tflite::read_model(file, where));
  CARINA_CHECKED(choose_graph(model, options.signature, where));
  CARINA_CHECKED(tflite::set_shapes(model, options.shapes));
  if (!tflite::computes_in_floats(model))
    return fail({.where = where,
                 .what = "a LiteRT model that does not compute in floats alone is not quantized here",
                 .hint = "give the float model from which it was made"});
  const tflite::Subgraph& graph = model.subgraphs.front();
  for (const tflite::Operator& op : graph.operators) {
    const bool is_named = !op.outputs.empty();
    nodes.push_back({.name = is_named ? graph.tensors[static_cast<size_t>(op.outputs.front())].name : op.name,
                     .op = op.name,
                     .source = {}});
  }
  return tflite::to_aten(model, where);
}

Import import_float_tflite(const Buffer& file, const std::string& where, const Log& log, const ImportOptions& options) {
  Import result{.nodes = {}, .graph = ir::Graph()};
  result.graph = read_float_tflite(file, where, options, result.nodes);
  if (!result.graph) return result;
  if (const auto normalized = normalize_graph(*result.graph, options, log); !normalized)
    result.graph = std::unexpected(normalized.error());
  return result;
}

}  // namespace

Import import_model(const Buffer& file, const std::string& where, const Log& log, const ImportOptions& options) {
  if (files::kind_of(file) == files::FileKind::kTflite) return import_float_tflite(file, where, log, options);
  const pt2::ReadOptions how{
      .loop_rounds = options.loop_rounds, .keep_unknown = options.keep_unknown, .shared_states = options.shared_states};
  pt2::Reading reading = pt2::read_model(file, where, log, how);
  Import result{.nodes = std::move(reading.nodes),
                .graph = std::move(reading.graph),
                .readable = std::move(reading.readable),
                .unknown = std::move(reading.unknown)};
  if (!result.graph) return result;
  ir::Graph imported = *result.graph;
  const auto normalized = normalize_graph(*result.graph, options, log);
  if (normalized) return result;
  result.graph = std::unexpected(normalized.error());
  result.readable = std::move(imported);
  return result;
}

Result<Model> import_pt2(const Buffer& file, const std::string& where, const Log& log, const ImportOptions& options) {
  Import result = import_model(file, where, log, options);
  if (!result.graph) return std::unexpected(std::move(result.graph).error());
  return Model{.name = where, .nodes = std::move(result.nodes), .graph = *std::move(result.graph)};
}

}  // namespace carina::models
