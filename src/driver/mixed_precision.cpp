#include "driver/mixed_precision_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "base/io/file.h"
#include "base/text/number.h"
#include "carina/check.h"
#include "driver/scheme_trials_internal.h"
#include "facts/aten_traits.h"
#include "quantize/ptq.h"
#include "quantize/scheme_alternatives.h"
#include "quantize/wide_values.h"

namespace carina::driver {

namespace {

constexpr size_t kParts = 12;  // of a model, in the order of its nodes: each is decided as a whole
constexpr double kDefaultPercent = 150;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

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

// Searches for the scheme. SchemeTrials measures each one.
class MixedPrecision {
 public:
  MixedPrecision(const models::Model& model, const CompileOptions& options, const backends::Backend& backend,
                 const Log& log)
      : model_(model), backend_(backend), log_(log), trials_(model, options, backend, log) {}

  // Part of the calibration samples is held out, and schemes are measured on those: the promised SQNR is that of
  // samples that calibration has not seen. The parts are searched with few samples. What the search finds, and each
  // plain scheme, is then measured on all that are held out.
  Result<MixedChoice> choose(const models::AutoGoal& goal) {
    CARINA_TRY(const Budget budget, budget_of(goal.max_cycles));
    CARINA_CHECKED(trials_.observe());
    divide();
    CARINA_TRY(Candidate int8, measured_int8());
    const Measured& narrow = int8.gives;
    const int64_t max = goal.max_cycles.empty() && goal.min_sqnr_db ? kNoLimit : budget.cycles(narrow.cycles);
    if (max < narrow.cycles) {
      return fail({.where = "--max-cycles",
                   .what = "the budget is below the cycles with int8",
                   .expected = fmt::format("at least {}", narrow.cycles),
                   .got = std::to_string(max),
                   .fault = Fault::kUsage});
    }
    CARINA_TRY(std::vector<Candidate> candidates, measured_candidates(std::move(int8)));
    if (goal.wants_front()) CARINA_CHECKED(measure_all_cycles(candidates));
    CARINA_TRY(const size_t best, picked(candidates, max, goal));
    MixedChoice choice{.scheme = candidates[best].scheme, .front = {}};
    if (goal.wants_front()) choice.front = front_of(candidates);
    if (!goal.front_file.empty()) CARINA_CHECKED(write_front(goal.front_file, choice.front));
    CARINA_CHECKED(log_candidates(candidates, best));
    return choice;
  }

 private:
  // Runs of nodes, as even as can be.
  void divide() {
    const size_t nodes = model_.graph.nodes.size(), count = std::min(kParts, std::max<size_t>(nodes, 1));
    for (size_t p = 0; p < count; ++p) parts_.emplace_back(p * nodes / count, (p + 1) * nodes / count);
  }

  // A scheme that is considered as a whole.
  struct Candidate {
    quantize::Scheme scheme;
    Measured gives = {};
    std::vector<bool> parts = {};  // of a division of the model
    std::string narrow = {};       // the nodes that read 8 bits, if all other values have 16
    bool knows_cycles = false;     // which take a compilation
  };

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
    return trials_.scheme_with(
        narrow, std::move(overrides),
        fmt::format("{} of {} parts in int16x8, the rest in int8", std::ranges::count(is_wide, true), is_wide.size()));
  }

  Result<Measured> measure(const std::vector<bool>& is_wide) {
    CARINA_TRY(const ir::Graph graph, trials_.quantized(scheme_of(is_wide, **quantize::parse_scheme("int8"))));
    Measured measured;
    CARINA_CHECKED(trials_.measure_noise(graph, SchemeTrials::Samples::kFew, measured));
    CARINA_TRY(const Delegated program, trials_.delegated(graph));
    CARINA_CHECKED(trials_.add_cycles(program, measured));
    return measured;
  }

  Result<void> measure(Candidate& candidate, size_t number, size_t all) {
    log_.progress("scheme", number, all);
    CARINA_TRY(const ir::Graph graph, trials_.quantized(candidate.scheme));
    return trials_.measure_noise(graph, SchemeTrials::Samples::kHeldOut, candidate.gives);
  }

  Result<void> measure_cycles(Candidate& candidate) {
    if (candidate.knows_cycles) return {};
    CARINA_TRY(const ir::Graph graph, trials_.quantized(candidate.scheme));
    CARINA_TRY(const Delegated program, trials_.delegated(graph));
    candidate.knows_cycles = true;
    return trials_.add_cycles(program, candidate.gives);
  }

  // What plain int8 gives: 8 bits, and 16 where a network that waits for its weights would lose much. Keeps the graph
  // with 8 bits and the cycles of its nodes.
  Result<Candidate> measured_int8() {
    Candidate int8{.scheme = trials_.scheme_with(**quantize::parse_scheme("int8"), {}, "int8"), .knows_cycles = true};
    log_.progress("scheme", 0, 1);
    CARINA_TRY(int8_, trials_.quantized(int8.scheme));
    CARINA_CHECKED(trials_.measure_noise(*int8_, SchemeTrials::Samples::kHeldOut, int8.gives));
    CARINA_TRY(const Delegated program, trials_.delegated(*int8_));
    CARINA_CHECKED(trials_.add_cycles(program, int8.gives));
    cycles_of_nodes_ = trials_.cycles_of_nodes(*int8_, program);
    noise_of_8_bits_ = int8.gives.noise;
    ir::Graph wider = *int8_;
    CARINA_TRY(const bool is_wider, trials_.widen(int8.scheme, wider));
    if (!is_wider) return int8;
    int8.scheme.widening = quantize::Widening::kWhereNeeded;
    int8.scheme.name += ", 16 bits where they cost little";
    CARINA_CHECKED(trials_.measure_noise(wider, SchemeTrials::Samples::kHeldOut, int8.gives));
    CARINA_TRY(const Delegated wider_program, trials_.delegated(wider));
    CARINA_CHECKED(trials_.add_cycles(wider_program, int8.gives));
    return int8;
  }

  // The benefit of 16 bits in one part, measured with 16 bits in all others: 8 bits add noise and save cycles.
  struct Part {
    size_t index = 0;
    double worth = 0;  // noise for each cycle
    int64_t cycles = 0;
  };

  // Returns the parts in descending order of worth.
  Result<std::vector<Part>> measured_parts(const Measured& wide) {
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

  // Divisions by worth: the part of most worth has 16 bits, then the next as well, and so on.
  Result<std::vector<std::vector<bool>>> divisions() {
    CARINA_TRY(const Measured wide, measure(std::vector<bool>(parts_.size(), true)));
    CARINA_TRY(const std::vector<Part> parts, measured_parts(wide));
    std::vector<std::vector<bool>> found;
    for (size_t count = 1; count <= parts.size(); ++count) found.push_back(first_of(parts, count));
    return found;
  }

  // Schemes with 16 bits in all values but those that expensive nodes read.
  void add_wide_but_expensive(std::vector<Candidate>& candidates) const {
    for (quantize::WideValues& values : quantize::wide_but_expensive(model_.graph, cycles_of_nodes_)) {
      const size_t count = values.narrow.size();
      candidates.push_back(
          {.scheme = trials_.scheme_with(**quantize::parse_scheme("int8"), std::move(values.wide),
                                         fmt::format("int16x8, but int8 where the {} most expensive {} read", count,
                                                     count == 1 ? "node" : "nodes")),
           .narrow = fmt::format("{}", fmt::join(values.narrow, ", "))});
    }
  }

  // The same schemes with weights of 16 bits in the cheap nodes, and 16 bits in all values with such weights there.
  void add_fine_weights(std::vector<Candidate>& candidates) const {
    const quantize::NodeScheme fine = **quantize::parse_scheme("int16x16");
    for (quantize::WideValues& values : quantize::wide_but_expensive(model_.graph, cycles_of_nodes_)) {
      const auto is_cheap = [&](const std::string& name) {
        return std::ranges::find(values.narrow, name) == values.narrow.end();
      };
      const size_t count = values.narrow.size();
      const std::string expensive = fmt::format("the {} most expensive {}", count, count == 1 ? "node" : "nodes");
      for (quantize::Override& override : values.wide) {
        if (is_cheap(override.name)) override.scheme = fine;
      }
      candidates.push_back(
          {.scheme = trials_.scheme_with(**quantize::parse_scheme("int8"), std::move(values.wide),
                                         fmt::format("int16x16, but int8 where {} read, and their weights", expensive)),
           .narrow = fmt::format("{}", fmt::join(values.narrow, ", "))});
      std::vector<quantize::Override> cheap;
      for (const ir::Node& node : model_.graph.nodes) {
        if (is_cheap(node.name))
          cheap.push_back({.of = quantize::Override::Of::kNode, .name = node.name, .scheme = fine});
      }
      candidates.push_back(
          {.scheme = trials_.scheme_with(**quantize::parse_scheme("int16x8"), std::move(cheap),
                                         fmt::format("int16x16, but 8-bit weights in {}", expensive))});
    }
    if (auto scheme = wide_but_products("int16x16")) candidates.push_back({.scheme = *std::move(scheme)});
  }

  // 16 bits everywhere but around products of two computed values, which some targets do not have in 16 bits: their
  // operands and results have 8, so that they stay on the NPU. None: there are no such products.
  std::optional<quantize::Scheme> wide_but_products(std::string_view spec) const {
    const ir::Graph& graph = model_.graph;
    const std::vector<ir::NodeId> producers = ir::producers(graph);
    const quantize::NodeScheme narrow = **quantize::parse_scheme("int8");
    std::vector<quantize::Override> overrides;
    const auto narrowed = [&](const ir::Node& node) {
      overrides.push_back({.of = quantize::Override::Of::kNode, .name = node.name, .scheme = narrow});
    };
    for (const ir::Node& node : graph.nodes) {
      const bool is_product = node.op.is_aten() && traits_of(node.op.aten()).family == AtenFamily::kProduct;
      if (!is_product || node.inputs.size() < 2) continue;
      const auto producer = [&](size_t i) { return producers[node.inputs[i].index()]; };
      if (!node.inputs[0].valid() || !node.inputs[1].valid() || !producer(0).valid() || !producer(1).valid()) continue;
      narrowed(graph[producer(0)]);
      narrowed(graph[producer(1)]);
      narrowed(node);
    }
    if (overrides.empty()) return std::nullopt;
    return trials_.scheme_with(**quantize::parse_scheme(spec), std::move(overrides),
                               fmt::format("{}, products of two values in int8", spec));
  }

  // The nodes where most error enters, in 16 bits.
  Result<quantize::Scheme> worst_layers_wide() {
    CARINA_TRY(const std::vector<std::string> names, trials_.worst_layers(*int8_));
    std::vector<quantize::Override> overrides;
    for (const std::string& name : names)
      overrides.push_back(
          {.of = quantize::Override::Of::kNode, .name = name, .scheme = **quantize::parse_scheme("int16x8")});
    return trials_.scheme_with(**quantize::parse_scheme("int8"), std::move(overrides),
                               fmt::format("{} layers in int16x8, the rest in int8", names.size()));
  }

  // All schemes that are considered: they do not depend on the budget, so that a larger one never gives a worse result.
  // Their cycles, which take a compilation each, are measured when they are asked for.
  Result<std::vector<Candidate>> measured_candidates(Candidate int8) {
    std::vector<Candidate> candidates{std::move(int8)};
    for (const quantize::SchemeAlternative& one : quantize::kSchemeAlternatives) {
      if (one.spec != "int8")
        candidates.push_back(
            {.scheme = trials_.scheme_with(**quantize::parse_scheme(one.spec), {}, std::string(one.spec))});
    }
    const size_t plain = candidates.size();
    CARINA_TRY(const std::vector<std::vector<bool>> found, divisions());
    for (const std::vector<bool>& parts : found)
      candidates.push_back({.scheme = scheme_of(parts, **quantize::parse_scheme("int8")), .parts = parts});
    add_wide_but_expensive(candidates);
    if (auto scheme = wide_but_products("int16x8")) candidates.push_back({.scheme = *std::move(scheme)});
    CARINA_TRY(quantize::Scheme worst, worst_layers_wide());
    candidates.push_back({.scheme = std::move(worst)});
    for (size_t i = 1; i < plain; ++i) CARINA_CHECKED(measure(candidates[i], i, candidates.size()));
    if (weights_limit(candidates)) add_fine_weights(candidates);
    if (rounding_helps(candidates)) {
      for (size_t i = plain; i < candidates.size(); ++i) round_for_inputs(candidates[i].scheme);
    }
    for (size_t i = plain; i < candidates.size(); ++i) CARINA_CHECKED(measure(candidates[i], i, candidates.size()));
    return candidates;
  }

  // The candidate of a plain scheme.
  static auto& plain_candidate(std::string_view spec, auto& candidates) {
    const std::string name = std::string(SchemeTrials::kNamePrefix) + std::string(spec);
    return *std::ranges::find(candidates, name, [](const Candidate& one) { return one.scheme.name; });
  }

  // Whether weights that are rounded for their inputs reduce the noise with 8 bits.
  [[nodiscard]] bool rounding_helps(const std::vector<Candidate>& candidates) const {
    return plain_candidate("int8+rounded-for-inputs", candidates).gives.noise < noise_of_8_bits_;
  }

  // Whether most noise of 16-bit activations is that of 8-bit weights.
  static bool weights_limit(const std::vector<Candidate>& candidates) {
    return plain_candidate("int16x16", candidates).gives.noise <
           0.5 * plain_candidate("int16x8", candidates).gives.noise;
  }

  // Except for weights of 16 bits, which lose nothing.
  static void round_for_inputs(quantize::Scheme& scheme) {
    const auto round = [](quantize::WeightScheme& weights) {
      if (weights.dtype != DType::kInt16) weights.rounding = quantize::Rounding::kForInputs;
    };
    round(scheme.general.weights);
    for (quantize::Override& override : scheme.overrides) {
      if (override.scheme) round(override.scheme->weights);
    }
    scheme.name += ", weights rounded for their inputs";
  }

  // Returns the candidate with the least noise within the budget. Cycles are measured from the best on, until one fits.
  Result<size_t> best_within(std::vector<Candidate>& candidates, int64_t max) {
    std::vector<size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return candidates[i].gives.noise; });
    for (const size_t i : order) {
      CARINA_CHECKED(measure_cycles(candidates[i]));
      if (candidates[i].gives.cycles <= max) return i;
    }
    return size_t{0};  // int8, which is within the budget
  }

  Result<void> measure_all_cycles(std::vector<Candidate>& candidates) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      log_.progress("cycles", i, candidates.size());
      CARINA_CHECKED(measure_cycles(candidates[i]));
    }
    return {};
  }

  // The candidate of least noise within the budget, or the fastest with the wanted SQNR.
  Result<size_t> picked(std::vector<Candidate>& candidates, int64_t max, const models::AutoGoal& goal) {
    CARINA_TRY(const size_t best, best_within(candidates, max));
    if (!goal.min_sqnr_db) return best;
    std::optional<size_t> fastest;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Measured& gives = candidates[i].gives;
      if (gives.cycles > max || gives.least_sqnr_db < *goal.min_sqnr_db) continue;
      if (!fastest || gives.cycles < candidates[*fastest].gives.cycles) fastest = i;
    }
    if (fastest) return *fastest;
    return fail({.where = "--min-sqnr",
                 .what = "no scheme that was tried has this SQNR within the budget",
                 .expected = fmt::format("at most {:.1f}", candidates[best].gives.least_sqnr_db),
                 .got = fmt::format("{:.1f}", *goal.min_sqnr_db),
                 .fault = Fault::kUsage});
  }

  // Candidates that no other beats in both cycles and noise, by ascending cycles.
  [[nodiscard]] std::vector<results::MeasuredScheme> front_of(const std::vector<Candidate>& candidates) const {
    std::vector<const Candidate*> front;
    for (const Candidate& one : candidates) front.push_back(&one);
    std::ranges::stable_sort(front, {},
                             [](const Candidate* one) { return std::pair(one->gives.cycles, one->gives.noise); });
    double least = INFINITY;
    std::erase_if(front, [&](const Candidate* one) {
      const bool is_beaten = one->gives.noise >= least;
      least = std::min(least, one->gives.noise);
      return is_beaten;
    });
    std::vector<results::MeasuredScheme> schemes;
    for (const Candidate* one : front)
      schemes.push_back({.scheme = one->scheme.name.substr(SchemeTrials::kNamePrefix.size()),
                         .wide = options_of(*one),
                         .cycles = one->gives.cycles,
                         .cpu_cycles = one->gives.cpu_cycles,
                         .delegates = static_cast<int64_t>(one->gives.delegates),
                         .sqnr_db = one->gives.least_sqnr_db});
    return schemes;
  }

  // The values with 16 bits, by the nodes of the model.
  std::string options_of(const Candidate& candidate) const {
    if (!candidate.narrow.empty()) return "all values but those that these nodes read: " + candidate.narrow;
    if (candidate.parts.empty()) return {};
    std::string text;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!candidate.parts[p]) continue;
      text += text.empty() ? "" : ", ";
      text += model_.graph.nodes[parts_[p].first].name + " to " + model_.graph.nodes[parts_[p].second - 1].name;
    }
    return text;
  }

  Result<void> write_front(const std::string& path, const std::vector<results::MeasuredScheme>& schemes) const {
    nlohmann::ordered_json front = nlohmann::ordered_json::array();
    for (const results::MeasuredScheme& one : schemes) {
      front.push_back({{"scheme", one.scheme},
                       {"wide", one.wide},
                       {"cycles", one.cycles},
                       {"cpu_cycles", one.cpu_cycles},
                       {"delegates", one.delegates},
                       {"sqnr_db", std::round(one.sqnr_db * 10) / 10}});
    }
    const nlohmann::ordered_json file{{"model", model_.name},
                                      {"target", backend_.target},
                                      {"samples", trials_.held_out_samples()},
                                      {"held_out", trials_.is_held_out()},
                                      {"front", std::move(front)}};
    return write_file(path, file.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }

  // If the result is poor and 16 bits everywhere, which the budget does not allow, are much better: what they cost.
  static std::string hint_of_larger_budget(const Measured& found, const Measured& wide, const Measured& int8) {
    constexpr double kFewDb = 30, kMuchDb = 6;
    if (found.least_sqnr_db >= kFewDb || wide.least_sqnr_db < found.least_sqnr_db + kMuchDb) return {};
    return fmt::format(
        "the budget is too small for 16 bits everywhere, which bring {:.0f} dB: --max-cycles {:.0f}% allows them",
        wide.least_sqnr_db - found.least_sqnr_db,
        std::ceil(100 * static_cast<double>(wide.cycles) / static_cast<double>(std::max<int64_t>(int8.cycles, 1))));
  }

  Result<void> log_candidates(std::vector<Candidate>& candidates, size_t best) {
    Candidate& wide = plain_candidate("int16x8", candidates);
    CARINA_CHECKED(measure_cycles(wide));
    const Measured& narrow = candidates.front().gives;
    const bool is_widened = candidates.front().scheme.widening == quantize::Widening::kWhereNeeded;
    const auto text = [&](const Measured& m) {
      return fmt::format("{} cycles ({:.0f} %{}), SQNR {:.1f} dB", m.cycles,
                         100 * static_cast<double>(m.cycles) / static_cast<double>(std::max<int64_t>(narrow.cycles, 1)),
                         m.cpu_cycles == 0 ? "" : fmt::format(", {} of them on the CPU", m.cpu_cycles),
                         m.least_sqnr_db);
    };
    log_.note(
        {.where = model_.name,
         .what = fmt::format("--quantize {}: {}. With {}: {}. With 16 bits everywhere: {}. Measured on {} samples{}",
                             candidates[best].scheme.name, text(candidates[best].gives),
                             is_widened ? "int8, which has 16 bits where they cost little" : "8 bits everywhere",
                             text(narrow), text(wide.gives), trials_.held_out_samples(),
                             trials_.is_held_out() ? " that were not calibrated with" : ""),
         .hint = hint_of_larger_budget(candidates[best].gives, wide.gives, narrow),
         .severity = Severity::kNote});
    return {};
  }

  const models::Model& model_;
  const backends::Backend& backend_;
  const Log& log_;
  SchemeTrials trials_;
  std::optional<ir::Graph> int8_;                 // the model with 8 bits everywhere
  std::vector<int64_t> cycles_of_nodes_;          // of that graph, by node of the model
  double noise_of_8_bits_ = 0;                    // of that graph
  std::vector<std::pair<size_t, size_t>> parts_;  // nodes from, to
};

}  // namespace

Result<MixedChoice> choose_mixed_scheme(const models::Model& model, const CompileOptions& options,
                                        const backends::Backend& backend, const models::AutoGoal& goal,
                                        const Log& log) {
  return MixedPrecision(model, options, backend, log).choose(goal);
}

}  // namespace carina::driver
