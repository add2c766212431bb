#include "quantize/ptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "normalize/prepare.h"
#include "quantize/calibrate_internal.h"
#include "quantize/channel_paths_internal.h"
#include "quantize/equalize.h"
#include "quantize/measured_ranges_internal.h"
#include "quantize/own_channels_internal.h"
#include "quantize/prune_internal.h"
#include "quantize/quantizer_internal.h"
#include "quantize/similarity.h"
#include "quantize/softmax_scores_internal.h"
#include "quantize/state_samples.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

// Gives each reader of a shared weight or bias its own value with the same bytes, since the parameters may differ.
void separate_weights(ir::Graph& graph) {
  std::vector<bool> taken(graph.values.size(), false);
  for (Node& node : graph.nodes) {
    const std::optional<WeightRole> role = weight_role_of(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (!id.valid() || !graph[id].constant || graph[id].quantization) continue;
      const bool is_weight = role && (i == role->weight || i == role->bias);
      if (id.index() < taken.size() && taken[id.index()] && is_weight)
        node.inputs[i] = graph.add_value(ir::Value(graph[id]));
      if (id.index() < taken.size()) taken[id.index()] = true;
    }
  }
}

// Returns whether all readers of a value choose it element by element. NaN then reaches a result only where a sample
// chooses it, which calibration reports. PyTorch's xlogy(x, y) chooses NaN where y is NaN, for example.
bool is_only_selected(const ir::Graph& graph, ValueId value) {
  return std::ranges::all_of(graph.nodes, [&](const Node& node) {
    return std::ranges::find(node.inputs, value) == node.inputs.end() ||
           (node.op == ir::Op(AtenOp::where_self) && node.inputs[0] != value);
  });
}

// Returns the elements that are not NaN; 0 if there is none.
std::vector<float> numbers_of(std::span<const float> elements) {
  std::vector<float> numbers;
  std::ranges::copy_if(elements, std::back_inserter(numbers), [](float v) { return !std::isnan(v); });
  if (numbers.empty()) numbers.push_back(0);
  return numbers;
}

// Rejects weights with NaN. NaN would spread through the model and look like an error in the samples.
Result<void> check_weights(const ir::Graph& graph) {
  const auto is_nan = [](float v) { return std::isnan(v); };
  for (const Node& node : graph.nodes) {
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role) continue;
    for (const size_t i : {role->weight, role->bias}) {
      if (i >= node.inputs.size() || !is_float_value(graph, node.inputs[i])) continue;
      const ir::Value& value = graph[node.inputs[i]];
      if (value.constant && std::ranges::any_of(value.constant->values<float>(), is_nan))
        return fail({.where = fmt::format("{} ({})", node.name, value.name),
                     .what = fmt::format("the {} not a number (NaN)", i == role->weight ? "weights are" : "bias is")});
    }
  }
  return {};
}

bool wants_products(const Scheme& scheme) {
  return scheme.general.weights.rounding == Rounding::kForInputs ||
         std::ranges::any_of(scheme.overrides, [](const Override& override) {
           return override.scheme && override.scheme->weights.rounding == Rounding::kForInputs;
         });
}

// Observes constants among the activations (a concatenated table, a factor). Their elements are known without a run.
Result<void> observe_constants(const ir::Graph& graph, Calibrated& calibrated) {
  const std::vector<bool> is_weight = weights_among_values(graph, calibrated.left), scores = softmax_scores(graph);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const ir::Value& value = graph.values[v];
    if (!value.constant || !calibrated.left.quantized[v] || is_weight[v]) continue;
    RangeObserver& observer = calibrated.observers[calibrated.sharing.group[v]];
    const auto elements = value.constant->values<float>();
    const bool is_masked = scores[v] && std::ranges::any_of(elements, [](float x) { return x <= kMaskedScore; });
    if (is_masked ? observer.observe_masked(elements, kMaskedScore, masked_score(elements, value.shape))
                  : observer.observe(elements))
      continue;
    if (!is_only_selected(graph, ValueId(v)))
      return fail({.where = value.name, .what = "a constant of the model is not a number (NaN)"});
    observer.observe(numbers_of(elements));
  }
  return {};
}

bool uses(const Scheme& scheme, RangeChoice ranges) {
  return scheme.general.activations.ranges == ranges ||
         std::ranges::any_of(scheme.overrides, [&](const Override& override) {
           return override.scheme && override.scheme->activations.ranges == ranges;
         });
}

bool measures_ranges(const Scheme& scheme) {
  return uses(scheme, RangeChoice::kMeasured);
}

// Weights that are rounded for their inputs take seconds, and ranges are compared without them.
Scheme rounded_to_nearest(Scheme scheme) {
  scheme.general.weights.rounding = Rounding::kNearest;
  for (Override& override : scheme.overrides) {
    if (override.scheme) override.scheme->weights.rounding = Rounding::kNearest;
  }
  return scheme;
}

}  // namespace

struct Observed::State {
  ir::Graph graph;
  PtqOptions options;
  Calibrated calibrated;
  FigureCache figures{0};
  size_t samples = 0;
  std::optional<std::vector<RangeChoice>> measured;  // per group of values

  // Chooses the ranges where the scheme says kMeasured, by the error of the outputs.
  Result<void> measure_ranges(const Scheme& asked) {
    const Scheme scheme = rounded_to_nearest(asked);
    measured.emplace(graph.values.size(), kFirstRangeChoice);
    ir::Graph first = graph;
    const Application with{.options = options, .calibrated = calibrated, .measured = *measured, .figures = figures};
    CARINA_TRY(const std::vector<size_t> groups, measured_groups(first, scheme, with));
    const OutputErrors errors(calibrated.kept_outputs);
    const auto error_of = [&](const std::vector<RangeChoice>& choices, ErrorCourse& course) -> Result<void> {
      ir::Graph tried = graph;
      const Application with_choices{
          .options = options, .calibrated = calibrated, .measured = choices, .figures = figures};
      CARINA_CHECKED(apply_scheme(tried, scheme, with_choices, Log{}));
      return run_samples(
          tried, calibrated.kept_samples, {.threads = options.threads, .evaluator = options.evaluator}, Log{},
          [&](size_t sample, const std::vector<Tensor>& outputs) { return course.add(errors.of(sample, outputs)); });
    };
    CARINA_TRY(*measured, chosen_ranges(groups, graph.values.size(), samples, error_of));
    return {};
  }
};

Result<void> equalize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options) {
  separate_weights(aten);
  if (options.scheme.general.weights.equalization == Equalization::kNone) return {};
  const std::vector<ValueId> sliced = values_of_channel_slices(aten);
  if (sliced.empty() && channel_paths(aten).empty()) return {};
  CARINA_TRY(const ChannelStatistics statistics,
             channel_statistics(aten, samples,
                                {.threads = options.threads, .evaluator = options.evaluator, .values = sliced}));
  divide_layers(aten, statistics);
  equalize_layers(aten, statistics, options.scheme.general);
  return {};
}

Observed::Observed(std::unique_ptr<State> state) : state_(std::move(state)) {}
Observed::Observed(Observed&&) noexcept = default;
Observed& Observed::operator=(Observed&&) noexcept = default;
Observed::~Observed() = default;

Result<Observed> Observed::create(ir::Graph aten, const datasets::DataSet& given, const PtqOptions& options,
                                  const Log& log) {
  CARINA_CHECKED(normalize::check_computes_in_fp32(aten));
  CARINA_CHECKED(check_weights(aten));
  CARINA_TRY(const datasets::DataSet samples, with_state(aten, given, options.evaluator));
  auto state = std::make_unique<State>();
  CARINA_CHECKED(equalize(aten, samples, options));
  state->graph = std::move(aten);
  state->figures = FigureCache(state->graph.nodes.size());
  state->options = options;
  state->samples = samples.size();
  const ir::Graph& graph = state->graph;
  CARINA_TRY(const SchemeOf schemes, SchemeOf::create(graph, options.scheme, options.user_nodes));
  prune_weights(state->graph, schemes, log);
  CalibrationOptions calibration{
      .threads = options.threads,
      .evaluator = options.evaluator,
      .left_float = std::vector<bool>(graph.nodes.size(), false),
      .data = options.data,
      .gathered = options.for_all_roundings || wants_products(options.scheme) ? Gathered::kProducts : Gathered::kMeans,
      .averages = uses(options.scheme, RangeChoice::kMovingAverage),
      .kept = measures_ranges(options.scheme) ? range_samples(samples.size()) : 0};
  for (size_t n = 0; n < graph.nodes.size(); ++n) calibration.left_float[n] = schemes.is_left_float(n);
  CARINA_TRY(state->calibrated, calibrate(graph, samples, calibration, log));
  CARINA_CHECKED(observe_constants(graph, state->calibrated));
  return Observed(std::move(state));
}

Result<ir::Graph> Observed::quantized(const Scheme& scheme, const Log& log) {
  log.progress("quantize", 0, 1);
  if (measures_ranges(scheme) && !state_->measured) CARINA_CHECKED(state_->measure_ranges(scheme));
  const std::vector<RangeChoice> none;
  ir::Graph graph = state_->graph;
  const Application with{.options = state_->options,
                         .calibrated = state_->calibrated,
                         .measured = state_->measured ? *state_->measured : none,
                         .figures = state_->figures};
  CARINA_CHECKED(apply_scheme(graph, scheme, with, log));
  return graph;
}

const ir::Graph& Observed::floats() const {
  return state_->graph;
}

PtqFindings Observed::findings() const {
  PtqFindings findings;
  for (const ValueId id : state_->calibrated.beyond_int32) findings.beyond_int32.push_back(state_->graph[id].name);
  return findings;
}

Result<PtqFindings> quantize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options,
                             const Log& log) {
  CARINA_TRY(Observed observed, Observed::create(std::move(aten), samples, options, log));
  CARINA_TRY(aten, observed.quantized(options.scheme, log));
  return observed.findings();
}

}  // namespace carina::quantize
