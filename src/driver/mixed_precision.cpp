#include "driver/mixed_precision_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text/number.h"
#include "datasets/sample_reader.h"
#include "evaluate/kernel_evaluator.h"
#include "quantize/ptq.h"
#include "quantize/similarity.h"

namespace carina::driver {

namespace {

constexpr size_t kParts = 12;        // of a model, in the order of its nodes: each is decided as a whole
constexpr size_t kTrialSamples = 2;  // each part is measured on: noise adds up over many elements
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

  Result<quantize::Scheme> choose(const Budget& budget) {
    CARINA_TRY(const datasets::DataSet samples, options_.quantize.samples(datasets::input_types(model_.graph)));
    CARINA_TRY(trial_samples_, datasets::first_samples(samples, kTrialSamples));
    CARINA_TRY(wanted_, quantize::outputs_of(model_.graph, trial_samples_, similarity_options(), log_));
    divide();
    const std::vector<bool> none(parts_.size(), false), all(parts_.size(), true);
    CARINA_TRY(const Measured narrow, measure(none));
    CARINA_TRY(const Measured wide, measure(all));
    const int64_t max = budget.cycles(narrow.cycles);
    if (max < narrow.cycles) {
      return fail({.where = "--max-cycles",
                   .what = "the budget is below the cycles with int8",
                   .expected = fmt::format("at least {}", narrow.cycles),
                   .got = std::to_string(max),
                   .fault = Fault::kUsage});
    }
    CARINA_TRY(const Choice choice,
               wide.cycles <= max ? Result<Choice>(Choice{.parts = all, .gives = wide}) : choose(narrow, wide, max));
    say(choice, narrow, wide);
    return scheme_of(choice.parts, quantize::Rounding::kForInputs);
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

  // The inputs belong to the first part. Weights that are rounded for their inputs take seconds, so parts are compared
  // with weights that are rounded to nearest.
  [[nodiscard]] quantize::Scheme scheme_of(const std::vector<bool>& is_wide, quantize::Rounding rounding) const {
    quantize::Scheme scheme = options_.quantize.scheme;
    scheme.general.weights.rounding = rounding;
    std::vector<quantize::Override> overrides;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!is_wide[p]) continue;
      quantize::NodeScheme wide = **quantize::parse_scheme("int16x8");
      wide.weights.rounding = rounding;
      if (p == 0) overrides.push_back({.of = quantize::Override::Of::kInputs, .name = {}, .scheme = wide});
      for (size_t n = parts_[p].first; n < parts_[p].second; ++n)
        overrides.push_back({.of = quantize::Override::Of::kNode, .name = model_.graph.nodes[n].name, .scheme = wide});
    }
    // The user's overrides take precedence.
    std::ranges::copy(scheme.overrides, std::back_inserter(overrides));
    scheme.overrides = std::move(overrides);
    scheme.name = fmt::format("auto: {} of {} parts in int16x8, the rest in int8", std::ranges::count(is_wide, true),
                              is_wide.size());
    return scheme;
  }

  Result<ir::Graph> quantized(const std::vector<bool>& is_wide) const {
    ir::Graph graph = model_.graph;
    const quantize::PtqOptions options{.threads = options_.quantize.threads,
                                       .scheme = scheme_of(is_wide, quantize::Rounding::kNearest),
                                       .evaluator = &evaluator_,
                                       .data = options_.quantize.data};
    CARINA_CHECKED(quantize::quantize(graph, trial_samples_, options, Log{}));
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
  Result<Choice> choose(const Measured& narrow, const Measured& wide, int64_t max) const {
    CARINA_TRY(const std::vector<Part> parts, measured_parts(wide));
    CARINA_TRY(const size_t fits, affordable(parts, max));
    Choice best{.parts = first_of(parts, fits), .gives = {}};
    CARINA_TRY(best.gives, measure(best.parts));
    if (best.gives.noise > narrow.noise) return Choice{.parts = first_of(parts, 0), .gives = narrow};
    for (const Part& part : std::span(parts).subspan(fits)) {
      if (best.gives.cycles + part.cycles > max) continue;
      Choice tried = best;
      tried.parts[part.index] = true;
      CARINA_TRY(tried.gives, measure(tried.parts));
      if (tried.gives.cycles <= max && tried.gives.noise <= best.gives.noise) best = std::move(tried);
    }
    return best;
  }

  void say(const Choice& choice, const Measured& narrow, const Measured& wide) const {
    const auto text = [&](const Measured& m) {
      return fmt::format("{} cycles ({:.0f} %), SQNR {:.1f} dB", m.cycles,
                         100 * static_cast<double>(m.cycles) / static_cast<double>(std::max<int64_t>(narrow.cycles, 1)),
                         sqnr_db(m.noise));
    };
    log_.note(
        {.where = model_.name,
         .what = fmt::format("--quantize auto gives 16 bits to {} of {} parts: {}. With 8 bits everywhere: {}. With 16 "
                             "bits everywhere: {}. Weights rounded for their inputs improve these SQNRs further",
                             std::ranges::count(choice.parts, true), choice.parts.size(), text(choice.gives),
                             text(narrow), text(wide)),
         .severity = Severity::kNote});
  }

  const models::Model& model_;
  const CompileOptions& options_;
  const backends::Backend& backend_;
  const Log& log_;
  evaluate::KernelEvaluator evaluator_;
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
