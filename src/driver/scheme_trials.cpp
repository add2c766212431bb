#include "driver/scheme_trials_internal.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "datasets/sample_reader.h"
#include "driver/cpu_nodes.h"
#include "facts/cpu_costs.h"
#include "models/quantize.h"
#include "models/user_nodes.h"
#include "quantize/layer_errors.h"
#include "quantize/state_samples.h"

namespace carina::driver {

namespace {

// The samples to measure on are as many as have enough elements in the outputs, within limits. Parts need fewer than
// whole schemes, since their noise is compared with that of 16 bits.
constexpr size_t kTrialElements = 1 << 12, kMaxTrialSamples = 4;
constexpr size_t kFinalElements = 1 << 15, kMinFinalSamples = 8, kMaxFinalSamples = 64;
constexpr size_t kHeldOut = 3;     // of so many calibration samples one is held out, to measure on
constexpr size_t kFewSamples = 8;  // with fewer, all are calibrated with and measured on

}  // namespace

quantize::SimilarityOptions SchemeTrials::similarity_options() const {
  return {.threads = options_.quantize.threads, .evaluator = &evaluator_};
}

Result<void> SchemeTrials::observe() {
  CARINA_TRY(const datasets::DataSet given, options_.quantize.samples(datasets::input_types(model_.graph)));
  CARINA_TRY(const datasets::DataSet all, quantize::with_state(model_.graph, given, &evaluator_));
  std::vector<size_t> calibrated, held_out;
  const bool few = all.size() < kFewSamples;
  for (size_t s = 0; s < all.size(); ++s) {
    const bool is_held_out = s % kHeldOut == kHeldOut - 1;
    if (few || !is_held_out) calibrated.push_back(s);
    if (few || is_held_out) held_out.push_back(s);
  }
  calibration_.emplace(all.chosen(std::move(calibrated)));
  is_held_out_ = !few;
  const size_t elements = elements_of_outputs();
  const size_t wanted = std::clamp(kFinalElements / elements, kMinFinalSamples, kMaxFinalSamples);
  CARINA_TRY(final_samples_, datasets::first_samples(all.chosen(std::move(held_out)), wanted));
  CARINA_TRY(final_wanted_, quantize::outputs_of(model_.graph, final_samples_, similarity_options(), log_));
  const size_t trials =
      std::min(std::clamp<size_t>(kTrialElements / elements, 1, kMaxTrialSamples), final_samples_.size());
  trial_samples_.assign(final_samples_.begin(), final_samples_.begin() + static_cast<std::ptrdiff_t>(trials));
  trial_wanted_.assign(final_wanted_.begin(), final_wanted_.begin() + static_cast<std::ptrdiff_t>(trials));
  return observe_with("int8", observed_);
}

size_t SchemeTrials::elements_of_outputs() const {
  int64_t elements = 0;
  for (const ir::ValueId id : model_.graph.outputs) elements += id.valid() ? model_.graph[id].shape.elements() : 0;
  return static_cast<size_t>(std::max<int64_t>(elements, 1));
}

// Runs calibration with a scheme. The statistics include those that rounding weights for their inputs needs.
Result<void> SchemeTrials::observe_with(std::string_view spec, std::optional<quantize::Observed>& observed) const {
  quantize::PtqOptions options = quantize_options(scheme_with(**quantize::parse_scheme(spec), {}, ""));
  options.for_all_roundings = true;
  CARINA_TRY(observed, quantize::Observed::create(model_.graph, *calibration_, options, Log{}));
  return {};
}

quantize::Scheme SchemeTrials::scheme_with(const quantize::NodeScheme& general,
                                           std::vector<quantize::Override> overrides, std::string name) const {
  quantize::Scheme scheme = options_.quantize.scheme;
  scheme.general = general;
  std::ranges::copy(scheme.overrides, std::back_inserter(overrides));
  scheme.overrides = std::move(overrides);
  scheme.name = std::string(kNamePrefix) + std::move(name);
  scheme.widening = quantize::Widening::kAsSaid;
  return scheme;
}

quantize::PtqOptions SchemeTrials::quantize_options(quantize::Scheme scheme) const {
  return {.threads = options_.quantize.threads,
          .scheme = std::move(scheme),
          .evaluator = &evaluator_,
          .data = options_.quantize.data,
          .user_nodes = models::user_nodes_of(model_),
          .narrow_outputs = options_.quantize.has_narrow_outputs(),
          .wider_steps = options_.quantize.wider_steps()};
}

// Weights that are not equalized need a calibration of their own, and so do graphs that 16 bits change.
Result<ir::Graph> SchemeTrials::quantized(const quantize::Scheme& scheme) {
  if (scheme.general.activations.dtype == DType::kInt16 && quantize::may_split_functions(model_.graph)) {
    if (!wide_) CARINA_CHECKED(observe_with("int16x8", wide_));
    return wide_->quantized(scheme, Log{});
  }
  if (scheme.general.weights.equalization == quantize::Equalization::kAcrossLayers)
    return observed_->quantized(scheme, Log{});
  if (!unequalized_) CARINA_CHECKED(observe_with("int8+unequalized", unequalized_));
  return unequalized_->quantized(scheme, Log{});
}

Result<bool> SchemeTrials::widen(quantize::Scheme scheme, ir::Graph& quantized) {
  scheme.widening = quantize::Widening::kWhereNeeded;
  return observed_->widen_steps(scheme, quantized, Log{});
}

Result<void> SchemeTrials::measure_noise(const ir::Graph& graph, Samples samples, Measured& measured) const {
  const bool few = samples == Samples::kFew;
  const std::vector<std::vector<Tensor>>& wanted = few ? trial_wanted_ : final_wanted_;
  CARINA_TRY(const auto got,
             quantize::outputs_of(graph, few ? trial_samples_ : final_samples_, similarity_options(), Log{}));
  const std::vector<quantize::Similarity> outputs = quantize::similarity_of_outputs(wanted, got);
  measured.noise = quantize::relative_noise(outputs);
  measured.least_sqnr_db = outputs.empty() ? 0 : INFINITY;
  for (const quantize::Similarity& output : outputs)
    measured.least_sqnr_db = std::min(measured.least_sqnr_db, output.sqnr_db());
  return {};
}

Result<Delegated> SchemeTrials::delegated(const ir::Graph& graph) const {
  CARINA_TRY(const SplitOptions split, with_user_nodes(options_.split, model_));
  backends::DelegateOptions options = options_.delegate;
  options.check = options::Check::kOff;  // the program is thrown away
  return delegate_graph(graph, backend_, split, options, Log{});
}

// Nodes on the CPU count, and so does each delegate after the first: the CPU calls it.
Result<void> SchemeTrials::add_cycles(const Delegated& delegated, Measured& measured) const {
  measured.delegates = delegated.delegates.size();
  measured.cpu_cycles =
      measured.delegates < 2 ? 0 : static_cast<int64_t>(measured.delegates - 1) * kCpuCostOfDelegateCall;
  for (const partition::Decision& decision : delegated.split.partitioned.decisions)
    measured.cpu_cycles += decision.cpu_cycles;
  measured.cycles = measured.cpu_cycles;
  for (const backends::Delegate& delegate : delegated.delegates) {
    if (!delegate.report.estimate)
      return fail({.where = "--quantize auto",
                   .what = backend_.target + " has no cycle model",
                   .hint = "choose an Ethos-U target, or set the types with --quantize-at"});
    measured.cycles += delegate.report.estimate->cycles;
  }
  return {};
}

std::vector<int64_t> SchemeTrials::cycles_of_nodes(const ir::Graph& graph, const Delegated& delegated) const {
  std::map<std::string_view, int64_t> by_name;
  for (size_t d = 0; d < delegated.delegates.size(); ++d) {
    const std::vector<int64_t>& cycles = delegated.delegates[d].cycles_of_node;
    const std::vector<ir::Node>& nodes = delegated.split.tosa[d].nodes;
    for (size_t t = 0; t < std::min(cycles.size(), nodes.size()); ++t) {
      if (nodes[t].origin.valid()) by_name[graph[nodes[t].origin].name] += cycles[t];
    }
  }
  std::vector<int64_t> cycles;
  for (const ir::Node& node : model_.graph.nodes) {
    const auto found = by_name.find(node.name);
    cycles.push_back(found == by_name.end() ? 0 : found->second);
  }
  return cycles;
}

Result<std::vector<std::string>> SchemeTrials::worst_layers(const ir::Graph& quantized) const {
  CARINA_TRY(const auto values, quantize::similarity_of_values(observed_->floats(), quantized, trial_samples_,
                                                               similarity_options(), Log{}));
  return quantize::worst_layers(observed_->floats(), quantize::layer_errors(observed_->floats(), values),
                                quantize::kWorstLayers);
}

}  // namespace carina::driver
