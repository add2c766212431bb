#include "quantize/ptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "normalize/normalize.h"
#include "quantize/calibrate_internal.h"
#include "quantize/channel_paths_internal.h"
#include "quantize/equalize.h"
#include "quantize/float_values_internal.h"
#include "quantize/measured_ranges_internal.h"
#include "quantize/own_channels_internal.h"
#include "quantize/prune_internal.h"
#include "quantize/quantizer_internal.h"
#include "quantize/similarity.h"
#include "quantize/softmax_scores_internal.h"
#include "quantize/state_samples.h"
#include "quantize/steep_functions_internal.h"
#include "quantize/uneven_rows_internal.h"
#include "quantize/wide_steps_internal.h"
#include "quantize/wide_values.h"

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

constexpr int64_t kSteps16 = 1 << 15;  // fewer: a type of 8 bits

bool has_16_bits(const Scheme& scheme) {
  return scheme.general.activations.steps() >= kSteps16;
}

// 16 bits where they cost a few percent of the cycles, by an estimate. No value: nothing is so cheap.
std::optional<WideValues> cheap_wide_values(const ir::Graph& graph) {
  constexpr double kFewPercent = 0.04;
  std::optional<WideValues> cheap;
  for (WideValues& values : wide_but_expensive(graph, estimated_cycles(graph))) {
    if (values.share <= kFewPercent) cheap = std::move(values);
  }
  return cheap;
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

namespace {

// Below the first, more bits are tried: for a step of a network with state, and for an output of any other, which is
// used as it is. Of a regression whose own error is an eighth of its results (18 dB), 35 dB take 1 %. Below the third,
// weights that are rounded for their inputs are tried, which takes longer. More than the last is as good as it.
constexpr double kPoorStepDb = 30, kPoorOutputDb = 35, kBadDb = 20, kEnoughDb = 40;
constexpr double kMuchMoreDb = 6;  // that is worth a note of what costs much
constexpr size_t kFewSamples = 8;
constexpr size_t kFewScales = 32;  // for weights that are rounded without being asked for: a quarter of the time

// What a quantized graph loses on the samples that calibration has kept.
struct TrialErrors {
  std::vector<double> sqnr_db;  // by step of a network with state, else by output; without those that are zeros
  double sum_of_few = 0;        // of OutputErrors, on the first few_samples()

  void add(std::span<const Similarity> similarities) {
    for (const Similarity& one : similarities) {
      if (one.signal > 0) sqnr_db.push_back(one.sqnr_db());
    }
  }
  [[nodiscard]] double worst() const { return std::ranges::min(sqnr_db); }
  // Steps with more than kEnoughDb count as this much: a softmax that saturates has no error at all in most steps.
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double step : sqnr_db) sum += std::min(step, kEnoughDb);
    return sum / static_cast<double>(sqnr_db.size());
  }
  // Whether these are much better on average, or in the worst step with no loss on average.
  [[nodiscard]] bool are_much_better_than(const TrialErrors& others) const {
    constexpr double kMuchDb = 3;
    return mean() >= others.mean() + kMuchDb || (worst() >= others.worst() + kMuchDb && mean() >= others.mean());
  }
};

// Layers without channels have no integers to run a trial with.
bool has_empty_values(const ir::Graph& graph) {
  return std::ranges::any_of(graph.values, [](const ir::Value& value) { return value.shape.elements() == 0; });
}

// Whether wide_steps() may be tried on a graph.
bool may_widen(const ir::Graph& graph, const PtqOptions& options) {
  if (options.wider_steps == WiderSteps::kNever || has_empty_values(graph)) return false;
  return !graph.states.empty() || waits_for_weights(graph);
}

// How many samples are kept: as many as ranges are compared on. A network that waits for its weights is also tried on
// them, on all of a few. One bad step of a network with state may be the only one, so more of its steps are kept, which
// are small.
size_t samples_to_keep(const ir::Graph& graph, const PtqOptions& options, size_t samples) {
  constexpr size_t kMaxSteps = 64;
  const size_t compared = range_samples(samples);
  if (!may_widen(graph, options)) return measures_ranges(options.scheme) ? compared : 0;
  if (!graph.states.empty()) return std::max(compared, std::min(samples, kMaxSteps));
  return compared == 0 ? samples : compared;
}

}  // namespace

struct Observed::State {
  ir::Graph graph;
  PtqOptions options;
  Calibrated calibrated;
  CalibrationOptions calibration;
  std::optional<datasets::DataSet> data;  // if it may have to run again
  FigureCache figures{0};
  RangeCache ranges{0};
  size_t samples = 0;
  std::optional<std::vector<RangeChoice>> measured;  // per group of values
  // the errors of a graph without state whose ranges were measured, by a scheme without overrides
  std::optional<TrialErrors> errors_of_measured;
  NodeScheme measured_for;
  std::vector<std::string> steep;  // functions whose operands 8 bits do not tell apart

  [[nodiscard]] Application application() {
    static const std::vector<RangeChoice> none;
    return application(measured ? *measured : none);
  }

  [[nodiscard]] Application application(const std::vector<RangeChoice>& choices) {
    return {.options = options, .calibrated = calibrated, .measured = choices, .figures = figures, .ranges = ranges};
  }

  // How many samples a sum of errors is of. Outputs with many elements show their noise in fewer.
  [[nodiscard]] size_t few_samples() const {
    constexpr int64_t kEnoughElements = 1024;
    constexpr size_t kMinFew = 1;
    int64_t elements = 0;
    for (size_t i = 0; i < graph.outputs_without_state(); ++i) elements += graph[graph.outputs[i]].shape.elements();
    return std::clamp(static_cast<size_t>(kEnoughElements / std::max<int64_t>(elements, 1)), kMinFew, kFewSamples);
  }

  // The errors of a quantized graph's outputs on a few samples, added up.
  [[nodiscard]] Result<double> error_of(const ir::Graph& quantized) const {
    const OutputErrors errors(calibrated.kept_outputs);
    const size_t few = few_samples();
    double sum = 0;
    CARINA_CHECKED(run_samples(quantized, calibrated.kept_samples,
                               {.threads = options.threads, .evaluator = options.evaluator}, Log{},
                               [&](size_t sample, const std::vector<Tensor>& outputs) {
                                 sum += errors.of(sample, outputs);
                                 return sample + 1 < few;
                               }));
    return sum;
  }

  // On the first `most` samples, by step if the graph has state, in which errors stay, else by output. If all samples
  // are kept, they are run as the sequences that they are: what a step loses stays in the state. A few of many samples
  // get the states of the float model.
  [[nodiscard]] Result<TrialErrors> trial_errors(const ir::Graph& quantized, size_t most = SIZE_MAX) const {
    const bool by_step = !graph.states.empty();
    const size_t few = few_samples();
    const size_t outputs = graph.outputs_without_state();
    const bool in_order = by_step && data && calibrated.kept_samples.size() == data->size();
    std::vector<Similarity> similarities(by_step ? calibrated.kept_samples.size() : outputs);
    const OutputErrors output_errors(calibrated.kept_outputs);
    TrialErrors errors;
    CARINA_CHECKED(run_steps(
        quantized, calibrated.kept_samples, [&](size_t step) { return !in_order || data->begins_sequence(step); },
        {.threads = options.threads, .evaluator = options.evaluator}, Log{},
        [&](size_t sample, const std::vector<Tensor>& got) {
          for (size_t i = 0; i < outputs; ++i)
            similarities[by_step ? sample : i].add(calibrated.kept_outputs[sample][i], got[i]);
          if (sample < few) errors.sum_of_few += output_errors.of(sample, got);
          return sample + 1 < most;
        }));
    errors.add(similarities);
    return errors;
  }

  // As above, for the result of `scheme`, whose errors are known if its ranges were measured.
  [[nodiscard]] Result<TrialErrors> trial_errors(const Scheme& scheme, const ir::Graph& quantized, size_t most) const {
    if (errors_of_measured && scheme.overrides.empty() && scheme.general == measured_for) return *errors_of_measured;
    return trial_errors(quantized, most);
  }

  // The decibels by which one error of the outputs is below another; 0 if the other is 0.
  static double gain_of(double before, double after) {
    constexpr double kDecibels = 20, kMinShare = 1e-9;
    return before == 0 ? 0 : kDecibels * std::log10(before / std::max(after, kMinShare * before));
  }

  // The decibels that 16 bits in any values bring at most to the outputs of a graph with this error: what floats bring.
  [[nodiscard]] Result<double> gain_of_float_values(const ir::Graph& quantized, double error) const {
    CARINA_TRY(const double error_of_weights, error_of(with_float_values(quantized)));
    return gain_of(error, error_of_weights);
  }

  // The decibels that 16 bits in some values bring to the outputs of a graph that `scheme` has given this error; 0 if
  // it has none.
  [[nodiscard]] Result<double> gain_of_wide(const Scheme& scheme, const std::vector<Override>& values, double error) {
    Scheme wider = rounded_to_nearest(scheme);
    wider.overrides.insert(wider.overrides.begin(), values.begin(), values.end());
    ir::Graph tried = graph;
    CARINA_CHECKED(apply_scheme(tried, wider, application(), Log{}));
    CARINA_TRY(const double error_of_wider, error_of(tried));
    return gain_of(error, error_of_wider);
  }

  // Says what 16 bits in all values and weights would bring to a graph whose worst step or output has `worst_db`, if
  // that is much: where 16 bits in values do not bring it, rounded weights spoil the results.
  Result<void> note_fine_weights(const Scheme& scheme, double worst_db, double error, const Log& log) {
    std::vector<Override> fine = all_values_wide(graph);
    for (Override& override : fine) override.scheme = **parse_scheme("int16x16");
    CARINA_TRY(const double gain_db, gain_of_wide(scheme, fine, error));
    if (gain_db < kMuchMoreDb) return {};
    log.note({.where = scheme.name,
              .what = fmt::format("weights of 8 bits leave {:.0f} dB in {}. With 16 bits in all values and weights, it "
                                  "would have about {:.0f} dB more",
                                  worst_db, graph.states.empty() ? "an output" : "a step", gain_db),
              .hint = "--quantize int16x16 has them; --quantize auto --max-cycles 200% measures what they cost",
              .severity = Severity::kNote});
    return {};
  }

  // Applies a scheme with 16 bits in these groups.
  Result<ir::Graph> with_wide(const Scheme& scheme, std::span<const size_t> groups) {
    ir::Graph tried = graph;
    Application with = application();
    with.wide = groups;
    with.max_scales = kFewScales;
    CARINA_CHECKED(apply_scheme(tried, scheme, with, Log{}));
    return tried;
  }

  // Runs the float model once more, for the products of the layers' inputs.
  Result<void> gather_products() {
    calibration.gathered = Gathered::kProducts;
    CARINA_TRY(calibrated, calibrate(graph, *data, calibration, Log{}));
    return observe_constants(graph, calibrated);
  }

  // Chooses the ranges where the scheme says kMeasured, by the error of the outputs.
  Result<void> measure_ranges(const Scheme& asked) {
    const Scheme scheme = rounded_to_nearest(asked);
    measured.emplace(graph.values.size(), kFirstRangeChoice);
    ir::Graph first = graph;
    CARINA_TRY(const std::vector<size_t> groups, measured_groups(first, scheme, application(*measured)));
    const OutputErrors errors(calibrated.kept_outputs);
    const size_t few = few_samples();
    std::map<std::vector<RangeChoice>, TrialErrors> complete;  // of choices that were not given up
    const auto error_of = [&](const std::vector<RangeChoice>& choices, ErrorCourse& course) -> Result<void> {
      ir::Graph tried = graph;
      CARINA_CHECKED(apply_scheme(tried, scheme, application(choices), Log{}));
      std::vector<Similarity> similarities(graph.outputs_without_state());
      TrialErrors trial;
      size_t last = 0;
      CARINA_CHECKED(run_samples(tried, calibrated.kept_samples,
                                 {.threads = options.threads, .evaluator = options.evaluator}, Log{},
                                 [&](size_t sample, const std::vector<Tensor>& outputs) {
                                   const double error = errors.of(sample, outputs);
                                   for (size_t i = 0; i < similarities.size(); ++i)
                                     similarities[i].add(calibrated.kept_outputs[sample][i], outputs[i]);
                                   if (sample < few) trial.sum_of_few += error;
                                   last = sample;
                                   return course.add(error);
                                 }));
      trial.add(similarities);
      if (last + 1 == calibrated.kept_samples.size()) complete[choices] = std::move(trial);
      return {};
    };
    CARINA_TRY(*measured, chosen_ranges(groups, graph.values.size(), samples, error_of));
    const auto chosen = complete.find(*measured);
    if (chosen == complete.end() || !graph.states.empty() || !asked.overrides.empty() || wants_products(asked))
      return {};
    errors_of_measured = std::move(chosen->second);
    measured_for = asked.general;
    return {};
  }
};

Result<void> equalize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options) {
  separate_weights(aten);
  if (options.scheme.general.weights.equalization == Equalization::kNone) {
    divide_layers(aten, {});  // channels that nothing reads are not computed
    return {};
  }
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
  CARINA_CHECKED(even_out_rows(aten, samples, options.threads, options.evaluator, log));
  const SteepFunctions steep = steep_functions(aten, samples, options.threads, options.evaluator);
  if (has_16_bits(options.scheme)) {
    CARINA_CHECKED(split_steep_functions(aten, steep, log));
  } else {
    for (const SteepFunctions::Found& function : steep.found) state->steep.push_back(aten[function.function.node].name);
  }
  CARINA_CHECKED(equalize(aten, samples, options));
  state->graph = std::move(aten);
  state->figures = FigureCache(state->graph.nodes.size());
  state->ranges = RangeCache(state->graph.values.size());
  state->options = options;
  state->samples = samples.size();
  const ir::Graph& graph = state->graph;
  CARINA_TRY(const SchemeOf schemes, SchemeOf::create(graph, options.scheme, options.user_nodes));
  prune_weights(state->graph, schemes, log);
  CalibrationOptions& calibration = state->calibration;
  calibration = {
      .threads = options.threads,
      .evaluator = options.evaluator,
      .left_float = std::vector<bool>(graph.nodes.size(), false),
      .data = options.data,
      .gathered = options.for_all_roundings || wants_products(options.scheme) ? Gathered::kProducts : Gathered::kMeans,
      .averages = uses(options.scheme, RangeChoice::kMovingAverage),
      .kept = samples_to_keep(graph, options, samples.size())};
  for (size_t n = 0; n < graph.nodes.size(); ++n) calibration.left_float[n] = schemes.is_left_float(n);
  CARINA_TRY(state->calibrated, calibrate(graph, samples, calibration, log));
  CARINA_CHECKED(observe_constants(graph, state->calibrated));
  if (may_widen(graph, options)) state->data = samples;
  return Observed(std::move(state));
}

Result<ir::Graph> Observed::quantized(const Scheme& scheme, const Log& log) {
  log.progress("quantize", 0, 1);
  if (measures_ranges(scheme) && !state_->measured) CARINA_CHECKED(state_->measure_ranges(scheme));
  ir::Graph graph = state_->graph;
  CARINA_CHECKED(apply_scheme(graph, scheme, state_->application(), log));
  return graph;
}

Result<bool> Observed::widen_steps(const Scheme& scheme, ir::Graph& quantized, const Log& log) {
  if (!state_->data || state_->calibrated.kept_samples.empty() || scheme.widening == Widening::kAsSaid) return false;
  ir::Graph graph = state_->graph;
  CARINA_TRY(const std::vector<size_t> groups, step_groups(graph, scheme, state_->application(),
                                                           state_->options.wider_steps == WiderSteps::kAllButState));
  if (groups.empty()) return false;
  const bool has_state = !graph.states.empty();
  CARINA_TRY(const TrialErrors before, state_->trial_errors(scheme, quantized, SIZE_MAX));
  if (before.sqnr_db.empty() || before.worst() >= (has_state ? kPoorStepDb : kPoorOutputDb)) return false;
  CARINA_TRY(ir::Graph wide, state_->with_wide(scheme, groups));
  CARINA_TRY(TrialErrors after, state_->trial_errors(wide));
  std::string_view weights;
  if (after.worst() < kBadDb && scheme.general.weights.rounding == Rounding::kNearest) {
    CARINA_CHECKED(state_->gather_products());
    Scheme rounded = scheme;
    rounded.general.weights.rounding = Rounding::kForInputs;
    CARINA_TRY(ir::Graph tried, state_->with_wide(rounded, groups));
    CARINA_TRY(const TrialErrors errors, state_->trial_errors(tried));
    if (errors.mean() > after.mean()) {
      wide = std::move(tried);
      after = errors;
      weights = ", and its weights are rounded for their inputs";
    }
  }
  if (!after.are_much_better_than(before)) return false;
  quantized = std::move(wide);
  const auto text = [&](const TrialErrors& errors) {
    return errors.sqnr_db.size() == 1
               ? fmt::format("{:.1f} dB", errors.worst())
               : fmt::format("{:.1f} dB in the worst of {} {}, {:.1f} dB on average", errors.worst(),
                             errors.sqnr_db.size(), has_state ? "steps" : "outputs", errors.mean());
  };
  log.note({.where = scheme.name,
            .what = fmt::format("the network {}, and 8 bits leave {}: 16 bits where they cost little{}: {}",
                                has_state ? "has state, in which errors stay" : "waits for its weights", text(before),
                                weights, text(after)),
            .hint = "--quantize int8-only keeps 8 bits",
            .severity = Severity::kNote});
  if (after.worst() < kBadDb) {
    CARINA_TRY(const double error, state_->error_of(quantized));
    CARINA_CHECKED(state_->note_fine_weights(scheme, after.worst(), error, log));
  }
  return true;
}

// A trial takes one more application of a scheme and a few integer runs. Its cycles are not measured, which would take
// another plan: --quantize auto does that.
Result<void> Observed::note_wider(const Scheme& scheme, const ir::Graph& quantized, const Log& log) const {
  const bool is_plain = scheme.general.activations.tail == Tail::kWide &&
                        scheme.general.activations.steps() < kSteps16 && scheme.overrides.empty() &&
                        !scheme.name.starts_with("auto");  // which has measured such schemes
  if (!is_plain || state_->calibrated.kept_samples.empty() || has_empty_values(state_->graph)) return {};
  const bool has_state = !state_->graph.states.empty();
  CARINA_TRY(TrialErrors errors, state_->trial_errors(scheme, quantized, has_state ? SIZE_MAX : state_->few_samples()));
  if (has_state) {  // gain_of_wide() does not carry the state
    CARINA_TRY(errors.sum_of_few, state_->error_of(quantized));
  }
  constexpr double kFewDb = 30;
  const bool has_few_db = !errors.sqnr_db.empty() && errors.worst() < kFewDb;
  if (has_few_db && !state_->steep.empty()) {
    log.note(
        {.where = scheme.name,
         .what = fmt::format("8 bits leave {:.0f} dB in {}. The operands of {} have sizes far apart, which 8 bits do "
                             "not tell from each other",
                             errors.worst(), has_state ? "a step" : "an output", fmt::join(state_->steep, ", ")),
         .hint = "--quantize int16x8 and int16x16 give them several tables; --quantize auto --max-cycles 200% "
                 "measures what they cost",
         .severity = Severity::kNote});
    return {};
  }
  double most_db = INFINITY;  // that 16 bits in values can bring
  if (has_few_db) {
    CARINA_TRY(most_db, state_->gain_of_float_values(quantized, errors.sum_of_few));
  }
  constexpr double kMuchDb = 3;
  if (const auto values = most_db < kMuchDb ? std::nullopt : cheap_wide_values(state_->graph)) {
    CARINA_TRY(const double gain_db, state_->gain_of_wide(scheme, values->wide, errors.sum_of_few));
    if (gain_db >= kMuchDb) {
      log.note({.where = scheme.name,
                .what = fmt::format(
                    "16 bits in all values but those that {} {} would bring {:.0f} dB, for a few percent of the cycles",
                    values->narrow.size() == 1 ? values->narrow.front()
                                               : fmt::format("the {} largest nodes", values->narrow.size()),
                    values->narrow.size() == 1 ? "reads" : "read", gain_db),
                .hint = "--quantize auto --max-cycles 105% measures such schemes; --quantize-at sets them",
                .severity = Severity::kNote});
      return {};
    }
  }
  // What 16 bits in all values would bring to an output for which 256 steps are too few.
  if (!has_few_db) return {};
  double gain_db = most_db;
  if (most_db >= kMuchMoreDb) {
    CARINA_TRY(gain_db, state_->gain_of_wide(scheme, all_values_wide(state_->graph), errors.sum_of_few));
  }
  if (gain_db < kMuchMoreDb) return state_->note_fine_weights(scheme, errors.worst(), errors.sum_of_few, log);
  log.note({.where = scheme.name,
            .what = fmt::format("8 bits leave {:.0f} dB in {}, and 16 bits where they cost few cycles do not bring "
                                "much. In all values, they would bring {:.0f} dB",
                                errors.worst(), has_state ? "a step" : "an output", gain_db),
            .hint = "--quantize auto --max-cycles 200% measures what they cost; --quantize int16x8 has them",
            .severity = Severity::kNote});
  return {};
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
  CARINA_TRY(const bool is_wider, observed.widen_steps(options.scheme, aten, log));
  if (!is_wider) CARINA_CHECKED(observed.note_wider(options.scheme, aten, log));
  return observed.findings();
}

}  // namespace carina::quantize
