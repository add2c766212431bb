#include "driver/mixed_precision_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

#include "base/text/number.h"
#include "carina/check.h"
#include "datasets/sample_reader.h"
#include "evaluate/kernel_evaluator.h"
#include "quantize/layer_errors.h"
#include "quantize/ptq.h"
#include "quantize/scheme_alternatives.h"
#include "quantize/similarity.h"

namespace carina::driver {

namespace {

constexpr size_t kParts = 12;         // of a model, in the order of its nodes: each is decided as a whole
constexpr size_t kTrialSamples = 4;   // each part is measured on: noise adds up over many elements
constexpr size_t kFinalSamples = 64;  // whole schemes are measured on
constexpr double kDefaultPercent = 150;

struct Budget {
  double number = kDefaultPercent;
  bool is_percent = true;

  [[nodiscard]] int64_t cycles(int64_t narrow) const {
    return static_cast<int64_t>(is_percent ? number / 100 * static_cast<double>(narrow) : number);
  }
};

Result<Budget> budget_of(std::string_view text) {
  if (text.empty()) return Budget{};
  const bool is_percent = text.ends_with('%');
  const auto number = number_in<double>(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  constexpr double kMaxPercent = 1e6, kMaxCycles = 1e15;
  if (number && *number > 0 && *number <= (is_percent ? kMaxPercent : kMaxCycles))
    return Budget{.number = *number, .is_percent = is_percent};
  return fail({.where = "--max-cycles",
               .what = "invalid cycle budget",
               .expected = "a number of cycles (1200000), or a percentage of the cycles with int8 (150%)",
               .got = std::string(text),
               .fault = Fault::kUsage});
}

// What a scheme gives: cycles, and the noise of all outputs in relation to them.
struct Measured {
  int64_t cycles = 0;
  double noise = 0;
};

// Which parts have 16 bits, and what that gives.
struct Choice {
  std::vector<bool> parts;
  Measured gives;
};

double sqnr_db(double noise) {
  return -10 * std::log10(std::max(noise, 1e-30));
}

class MixedPrecision {
 public:
  MixedPrecision(const models::Model& model, const CompileOptions& options, const backends::Backend& backend,
                 const Log& log)
      : model_(model), options_(options), backend_(backend), log_(log) {}

  // The parts are searched with few samples. What the search finds, and each scheme that `accuracy --layers` lists, is
  // then quantized on all samples, and the best of those within the budget is taken.
  Result<quantize::Scheme> choose(const Budget& budget) {
    CARINA_TRY(samples_, options_.quantize.samples(datasets::input_types(model_.graph)));
    CARINA_TRY(trial_samples_, datasets::first_samples(*samples_, kTrialSamples));
    CARINA_TRY(wanted_, quantize::outputs_of(model_.graph, trial_samples_, similarity_options(), log_));
    divide();
    Candidate int8{.scheme = scheme_with(**quantize::parse_scheme("int8"), {}, "int8")};
    CARINA_CHECKED(measure(int8));
    const Measured& narrow = int8.gives;
    const int64_t max = budget.cycles(narrow.cycles);
    if (max < narrow.cycles) {
      return fail({.where = "--max-cycles",
                   .what = "the budget is below the cycles with int8",
                   .expected = fmt::format("at least {}", narrow.cycles),
                   .got = std::to_string(max),
                   .fault = Fault::kUsage});
    }
    CARINA_TRY(const std::vector<std::vector<bool>> found, search(max));
    return best_within(max, found);
  }

 private:
  [[nodiscard]] quantize::SimilarityOptions similarity_options() const {
    return {.threads = options_.quantize.threads, .evaluator = &evaluator_};
  }

  // Runs of nodes, as even as can be.
  void divide() {
    const size_t nodes = model_.graph.nodes.size(), count = std::min(kParts, std::max<size_t>(nodes, 1));
    for (size_t p = 0; p < count; ++p) parts_.emplace_back(p * nodes / count, (p + 1) * nodes / count);
  }

  // A scheme that is considered as a whole, with all samples.
  struct Candidate {
    quantize::Scheme scheme;
    Measured gives = {};
    std::vector<bool> parts = {};  // of a division of the model
  };

  // The user's overrides take precedence over `overrides`.
  [[nodiscard]] quantize::Scheme scheme_with(const quantize::NodeScheme& general,
                                             std::vector<quantize::Override> overrides, std::string name) const {
    quantize::Scheme scheme = options_.quantize.scheme;
    scheme.general = general;
    std::ranges::copy(scheme.overrides, std::back_inserter(overrides));
    scheme.overrides = std::move(overrides);
    scheme.name = "auto: " + std::move(name);
    return scheme;
  }

  // The inputs belong to the first part. Weights that are rounded for their inputs take seconds, so parts are compared
  // with weights that are rounded to nearest.
  [[nodiscard]] quantize::Scheme scheme_of(const std::vector<bool>& is_wide, quantize::NodeScheme narrow) const {
    std::vector<quantize::Override> overrides;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!is_wide[p]) continue;
      quantize::NodeScheme wide = **quantize::parse_scheme("int16x8");
      wide.weights.rounding = narrow.weights.rounding;
      if (p == 0) overrides.push_back({.of = quantize::Override::Of::kInputs, .name = {}, .scheme = wide});
      for (size_t n = parts_[p].first; n < parts_[p].second; ++n)
        overrides.push_back({.of = quantize::Override::Of::kNode, .name = model_.graph.nodes[n].name, .scheme = wide});
    }
    return scheme_with(
        narrow, std::move(overrides),
        fmt::format("{} of {} parts in int16x8, the rest in int8", std::ranges::count(is_wide, true), is_wide.size()));
  }

  [[nodiscard]] quantize::PtqOptions quantize_options(quantize::Scheme scheme) const {
    return {.threads = options_.quantize.threads,
            .scheme = std::move(scheme),
            .evaluator = &evaluator_,
            .data = options_.quantize.data};
  }

  Result<ir::Graph> quantized(const std::vector<bool>& is_wide) const {
    ir::Graph graph = model_.graph;
    const quantize::NodeScheme narrow = **quantize::parse_scheme("int8");
    CARINA_CHECKED(quantize::quantize(graph, trial_samples_, quantize_options(scheme_of(is_wide, narrow)), Log{}));
    return graph;
  }

  Result<double> noise_of(const ir::Graph& graph) const {
    CARINA_TRY(const auto got, quantize::outputs_of(graph, trial_samples_, similarity_options(), Log{}));
    double noise = 0;
    for (const quantize::Similarity& output : quantize::similarity_of_outputs(wanted_, got))
      noise += output.noise / std::max(output.signal, 1e-30);
    return noise;
  }

  Result<int64_t> cycles_of(const ir::Graph& graph) const {
    CARINA_TRY(const Delegated delegated, delegate_graph(graph, backend_, options_.split, options_.delegate, Log{}));
    int64_t cycles = 0;
    for (const backends::Delegate& delegate : delegated.delegates) {
      if (!delegate.report.estimate)
        return fail({.where = "--quantize auto",
                     .what = backend_.target + " has no cycle model",
                     .hint = "choose an Ethos-U target, or set the types with --quantize-at"});
      cycles += delegate.report.estimate->cycles;
    }
    return cycles;
  }

  Result<Measured> measure(const std::vector<bool>& is_wide) const {
    CARINA_TRY(const ir::Graph graph, quantized(is_wide));
    Measured measured;
    CARINA_TRY(measured.noise, noise_of(graph));
    CARINA_TRY(measured.cycles, cycles_of(graph));
    return measured;
  }

  // The benefit of 16 bits in one part, measured with 16 bits in all others: 8 bits add noise and save cycles.
  struct Part {
    size_t index = 0;
    double worth = 0;  // noise for each cycle
    int64_t cycles = 0;
  };

  // Returns the parts in descending order of worth.
  Result<std::vector<Part>> measured_parts(const Measured& wide) const {
    std::vector<Part> parts;
    for (size_t p = 0; p < parts_.size(); ++p) {
      log_.progress("part", p, parts_.size());
      std::vector<bool> others(parts_.size(), true);
      others[p] = false;
      CARINA_TRY(const Measured without, measure(others));
      const int64_t cycles = std::max<int64_t>(wide.cycles - without.cycles, 1);
      parts.push_back(
          {.index = p, .worth = (without.noise - wide.noise) / static_cast<double>(cycles), .cycles = cycles});
    }
    std::ranges::stable_sort(parts, std::ranges::greater(), &Part::worth);
    std::erase_if(parts, [](const Part& part) { return part.worth <= 0; });
    return parts;
  }

  [[nodiscard]] std::vector<bool> first_of(std::span<const Part> parts, size_t count) const {
    std::vector<bool> chosen(parts_.size(), false);
    for (const Part& part : parts.first(count)) chosen[part.index] = true;
    return chosen;
  }

  // Returns how many parts, in order of worth, fit the budget. It bisects and compiles, since cycles of parts do not
  // add up.
  Result<size_t> affordable(std::span<const Part> parts, int64_t max) const {
    size_t fits = 0, beyond = parts.size() + 1;
    while (beyond - fits > 1) {
      const size_t tried = fits + (beyond - fits) / 2;
      CARINA_TRY(const ir::Graph graph, quantized(first_of(parts, tried)));
      CARINA_TRY(const int64_t cycles, cycles_of(graph));
      (cycles <= max ? fits : beyond) = tried;
    }
    return fits;
  }

  // Chooses the parts of most worth, and tries each other part that still fits and reduces the noise.
  Result<Choice> by_worth(const Measured& wide, int64_t max) const {
    CARINA_TRY(const std::vector<Part> parts, measured_parts(wide));
    CARINA_TRY(const size_t fits, affordable(parts, max));
    Choice best{.parts = first_of(parts, fits), .gives = {}};
    CARINA_TRY(best.gives, measure(best.parts));
    for (const Part& part : std::span(parts).subspan(fits)) {
      if (best.gives.cycles + part.cycles > max) continue;
      Choice tried = best;
      tried.parts[part.index] = true;
      CARINA_TRY(tried.gives, measure(tried.parts));
      if (tried.gives.cycles <= max && tried.gives.noise <= best.gives.noise) best = std::move(tried);
    }
    return best;
  }

  // The longest run of parts at the model's beginning, or end, that the budget allows in 16 bits: a run has two
  // boundaries between 8 and 16 bits, whatever its length.
  Result<std::vector<bool>> longest_run(bool at_end, int64_t max) const {
    std::vector<Part> order;
    for (size_t p = 0; p < parts_.size(); ++p) order.push_back({.index = at_end ? parts_.size() - 1 - p : p});
    CARINA_TRY(const size_t fits, affordable(order, max));
    return first_of(order, fits);
  }

  // Divisions that are worth a look with all samples.
  Result<std::vector<std::vector<bool>>> search(int64_t max) const {
    const std::vector<bool> all(parts_.size(), true);
    CARINA_TRY(const Measured wide, measure(all));
    if (wide.cycles <= max) return std::vector<std::vector<bool>>{};
    CARINA_TRY(const Choice choice, by_worth(wide, max));
    std::vector<std::vector<bool>> found{choice.parts};
    for (const bool at_end : {false, true}) {
      CARINA_TRY(std::vector<bool> run, longest_run(at_end, max));
      if (std::ranges::find(found, run) == found.end()) found.push_back(std::move(run));
    }
    std::erase_if(found, [](const std::vector<bool>& parts) { return std::ranges::count(parts, true) == 0; });
    return found;
  }

  // The nodes where most error enters, in 16 bits.
  Result<quantize::Scheme> worst_layers_wide() const {
    ir::Graph graph = model_.graph;
    const quantize::NodeScheme narrow = **quantize::parse_scheme("int8");
    CARINA_CHECKED(quantize::quantize(graph, *samples_, quantize_options(scheme_with(narrow, {}, "int8")), Log{}));
    CARINA_TRY(const auto values,
               quantize::similarity_of_values(model_.graph, graph, trial_samples_, similarity_options(), Log{}));
    const std::vector<std::string> names =
        quantize::worst_layers(model_.graph, quantize::layer_errors(model_.graph, values), quantize::kWorstLayers);
    std::vector<quantize::Override> overrides;
    for (const std::string& name : names)
      overrides.push_back(
          {.of = quantize::Override::Of::kNode, .name = name, .scheme = **quantize::parse_scheme("int16x8")});
    return scheme_with(narrow, std::move(overrides),
                       fmt::format("{} layers in int16x8, the rest in int8", names.size()));
  }

  // Quantized on all samples, as the compilation will be.
  Result<void> measure(Candidate& candidate) const {
    ir::Graph graph = model_.graph;
    CARINA_CHECKED(quantize::quantize(graph, *samples_, quantize_options(candidate.scheme), Log{}));
    CARINA_TRY(candidate.gives.noise, noise_of(graph));
    CARINA_TRY(candidate.gives.cycles, cycles_of(graph));
    return {};
  }

  Result<quantize::Scheme> best_within(int64_t max, const std::vector<std::vector<bool>>& found) {
    CARINA_TRY(trial_samples_, datasets::first_samples(*samples_, kFinalSamples));
    CARINA_TRY(wanted_, quantize::outputs_of(model_.graph, trial_samples_, similarity_options(), log_));
    std::vector<Candidate> candidates;
    for (const quantize::SchemeAlternative& one : quantize::kSchemeAlternatives)
      candidates.push_back({.scheme = scheme_with(**quantize::parse_scheme(one.spec), {}, std::string(one.spec))});
    for (const std::vector<bool>& parts : found) {
      for (const std::string_view narrow : {"int8", "int8+minmax"})
        candidates.push_back({.scheme = scheme_of(parts, **quantize::parse_scheme(narrow)), .parts = parts});
    }
    CARINA_TRY(quantize::Scheme worst, worst_layers_wide());
    candidates.push_back({.scheme = std::move(worst)});
    for (size_t i = 0; i < candidates.size(); ++i) {
      log_.progress("scheme", i, candidates.size());
      CARINA_CHECKED(measure(candidates[i]));
    }
    Candidate best = best_of(candidates, max);
    if (!best.parts.empty()) {  // rounding takes seconds: only of the best division
      Candidate rounded{.scheme = scheme_of(best.parts, **quantize::parse_scheme("int8+rounded-for-inputs")),
                        .parts = best.parts};
      CARINA_CHECKED(measure(rounded));
      best = best_of(std::array{best, rounded}, max);
    }
    say(best, named(candidates, "auto: int8"), named(candidates, "auto: int16x8"));
    return best.scheme;
  }

  static Candidate best_of(std::span<const Candidate> candidates, int64_t max) {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.gives.cycles > max) continue;
      if (best == nullptr || candidate.gives.noise < best->gives.noise) best = &candidate;
    }
    CARINA_CHECK(best != nullptr, "int8 is within the budget");
    return *best;
  }

  static const Measured& named(const std::vector<Candidate>& candidates, std::string_view name) {
    return std::ranges::find(candidates, name, [](const Candidate& one) { return one.scheme.name; })->gives;
  }

  void say(const Candidate& choice, const Measured& narrow, const Measured& wide) const {
    const auto text = [&](const Measured& m) {
      return fmt::format("{} cycles ({:.0f} %), SQNR {:.1f} dB", m.cycles,
                         100 * static_cast<double>(m.cycles) / static_cast<double>(std::max<int64_t>(narrow.cycles, 1)),
                         sqnr_db(m.noise));
    };
    log_.note({.where = model_.name,
               .what = fmt::format(
                   "--quantize {}: {}. With 8 bits everywhere: {}. With 16 bits everywhere: {}. Measured on {} "
                   "samples",
                   choice.scheme.name, text(choice.gives), text(narrow), text(wide), trial_samples_.size()),
               .severity = Severity::kNote});
  }

  const models::Model& model_;
  const CompileOptions& options_;
  const backends::Backend& backend_;
  const Log& log_;
  evaluate::KernelEvaluator evaluator_;
  std::optional<datasets::DataSet> samples_;
  std::vector<datasets::Sample> trial_samples_;
  std::vector<std::vector<Tensor>> wanted_;       // the float model's outputs for these
  std::vector<std::pair<size_t, size_t>> parts_;  // nodes from, to
};

}  // namespace

Result<quantize::Scheme> choose_mixed_scheme(const models::Model& model, const CompileOptions& options,
                                             const backends::Backend& backend, std::string_view budget,
                                             const Log& log) {
  CARINA_TRY(const Budget wanted, budget_of(budget));
  return MixedPrecision(model, options, backend, log).choose(wanted);
}

}  // namespace carina::driver
