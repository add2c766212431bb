#include "explore/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel/parallel.h"
#include "driver/prepared_model.h"
#include "explore/choice_internal.h"
#include "facts/npu_targets.h"
#include "targets/target.h"

namespace carina::explore {

namespace {

using results::LayerCost;

struct Method {
  const char* option;
  const char* value;
  std::string options::QuantizeOptions::* detail;
  bool on_all_npus = true;
};
constexpr std::array kMethods{
    Method{
        .option = "--prune-weights", .value = "2:4", .detail = &options::QuantizeOptions::prune, .on_all_npus = false},
    Method{.option = "--prune-weights", .value = "50%", .detail = &options::QuantizeOptions::prune},
    Method{.option = "--cluster-weights", .value = "16", .detail = &options::QuantizeOptions::clusters}};

// The layers with weights of all delegates, in the order in which the NPU reads them. The filters of copies to another
// order of axes count for the layer that they are part of, if it has weights of its own.
std::vector<std::pair<std::string, LayerCost>> layers_of(const results::CompileReport& report) {
  std::vector<std::pair<std::string, LayerCost>> layers;
  for (const results::DelegateReport& delegate : report.delegates) {
    std::map<std::string, int64_t> cycles;
    if (delegate.layers) {
      for (const results::LayerReport& layer : delegate.layers->layers) cycles[layer.name] += layer.cycles;
    }
    for (const results::LayerWeights& weights : delegate.weights) {
      if (weights.elements == 0) continue;
      const auto known = std::ranges::find(layers, weights.layer, &std::pair<std::string, LayerCost>::first);
      const bool is_new = known == layers.end();
      LayerCost& cost = is_new ? layers.emplace_back(weights.layer, LayerCost{}).second : known->second;
      cost.bytes += weights.encoded_bytes + weights.scale_bytes;
      cost.cycles = cycles[weights.layer];
    }
  }
  return layers;
}

LayerCost cost_of(const std::vector<std::pair<std::string, LayerCost>>& layers, const std::string& name) {
  const auto found = std::ranges::find(layers, name, &std::pair<std::string, LayerCost>::first);
  return found == layers.end() ? LayerCost{} : found->second;
}

}  // namespace

Result<results::Compression> find_compression(const driver::CompileRequest& given, const driver::PreparedModel& model,
                                              const results::CompileReport& now, const Log& log) {
  if (!model.calibrated || model.model.quantization.starts_with("auto"))
    return fail({.where = "--compression",
                 .what = "weights are compressed when a float model is quantized with one scheme",
                 .expected = "a float model with --calibrate, and int8, int16x8 or int8x4",
                 .got = model.model.quantization,
                 .fault = Fault::kUsage});
  CARINA_TRY(driver::CompileRequest request, plain_request(given));
  CARINA_TRY(const plan::Target target, targets::find_target(request.target));
  request.layers = true;
  std::vector<Choice> choices;
  results::Compression compression;
  for (const Method& method : kMethods) {
    if (!method.on_all_npus && !npu::limits_of(target.accelerator.product).sparse_weights) continue;
    compression.options.push_back(fmt::format("{} {}", method.option, method.value));
    choices.push_back({.what = "", .options = compression.options.back(), .request = request, .quantizes_anew = true});
    choices.back().request.quantize.*(method.detail) = method.value;
  }
  std::vector<Result<results::CompileReport>> reports(choices.size());
  ThreadPool pool(given.threads);
  pool.parallel_for(choices.size(), [&](size_t i) { reports[i] = compile_choice(choices[i], model); });
  log.progress("compression", choices.size(), choices.size());
  for (const auto& report : reports) {
    if (!report) return std::unexpected(report.error());
  }
  for (auto& [name, cost] : layers_of(now)) compression.layers.push_back({.name = name, .now = cost});
  for (const auto& report : reports) {
    const auto layers = layers_of(*report);
    for (results::Compression::Layer& layer : compression.layers)
      layer.compressed.push_back(cost_of(layers, layer.name));
  }
  return compression;
}

}  // namespace carina::explore
