#include "quantize/steep_functions_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "normalize/split_functions.h"
#include "quantize/headroom_internal.h"
#include "quantize/ptq.h"
#include "quantize/similarity.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;
using normalize::Extent;

constexpr size_t kTableSamples = 16, kMaxOperands = 512;  // of each sample
constexpr double kFewDb = 35, kPlentyDb = 40, kWorthDb = 1;
constexpr int kMaxParts = 5;
constexpr std::array kParts{1.0 / 128, 1.0 / 64, 1.0 / 32, 1.0 / 16};  // of the range

// A function of positive numbers: it rises ever less, or falls ever less.
struct Function {
  std::function<double(double)> of;
  bool rises = true;
};

std::optional<Function> function_of(const Node& node) {
  if (!node.op.is_aten()) return std::nullopt;
  switch (node.op.aten()) {
    case AtenOp::sqrt_default:
      return Function{.of = [](double x) { return std::sqrt(x); }};
    case AtenOp::log_default:
      return Function{.of = [](double x) { return std::log(x); }};
    case AtenOp::log2_default:
      return Function{.of = [](double x) { return std::log2(x); }};
    case AtenOp::log10_default:
      return Function{.of = [](double x) { return std::log10(x); }};
    case AtenOp::log1p_default:
      return Function{.of = [](double x) { return std::log1p(x); }};
    case AtenOp::rsqrt_default:
      return Function{.of = [](double x) { return 1 / std::sqrt(x); }, .rises = false};
    case AtenOp::reciprocal_default:
      return Function{.of = [](double x) { return 1 / x; }, .rises = false};
    case AtenOp::pow_Tensor_Scalar: {
      const double exponent = node.attributes.number("exponent");
      if (exponent == 0 || exponent >= 1) return std::nullopt;
      return Function{.of = [exponent](double x) { return std::pow(x, exponent); }, .rises = exponent > 0};
    }
    default:
      return std::nullopt;
  }
}

// What an NPU makes of a function of 16-bit integers, for operands from 0 to `largest`: a table whose entries are 128
// integers apart, with straight lines between them.
class Table {
 public:
  // `limit`: the results' integers end there. Operands have headroom, unless it would be harmful.
  Table(const Function& function, double largest, double limit)
      : function_(function), step_(kHeadroom * largest / 32767), limit_(limit) {}

  [[nodiscard]] double operator()(double x) const {
    constexpr double kApart = 128;
    const double position = std::round(x / step_) / kApart, entry = std::floor(position);
    const double below = at(entry * kApart), above = at((entry + 1) * kApart);
    return below + (above - below) * (position - entry);
  }

 private:
  [[nodiscard]] double at(double integer) const { return std::clamp(function_.of(integer * step_), -limit_, limit_); }

  const Function& function_;
  double step_;
  double limit_;
};

// A function with operands of the samples.
struct Sampled {
  Sampled(const Function& function, const std::vector<float>& operands)
      : function(function), operands(operands), largest(std::ranges::max(operands)) {
    for (const float x : operands) {
      if (const double y = function.of(x); std::isfinite(y)) limit = std::max(limit, kHeadroom * std::abs(y));
    }
  }

  const Function& function;
  const std::vector<float>& operands;
  double largest;    // operand
  double limit = 0;  // of results
};

// The decibels that tables for so many parts of the range leave of what the results differ by.
double sqnr_db(const Sampled& sampled, int parts, double part) {
  const Function& function = sampled.function;
  std::vector<Table> tables;
  for (int k = 0; k < parts; ++k) tables.emplace_back(function, sampled.largest * std::pow(part, k), sampled.limit);
  double sum = 0, squares = 0, noise = 0;
  for (const float x : sampled.operands) {
    const double wanted = function.of(x);
    if (!std::isfinite(wanted)) continue;
    double found = function.rises ? -INFINITY : INFINITY, end = sampled.largest;
    for (const Table& table : tables) {
      const double y = table(std::min<double>(x, end));
      found = function.rises ? std::max(found, y) : std::min(found, y);
      end *= part;
    }
    sum += wanted;
    squares += wanted * wanted;
    noise += (found - wanted) * (found - wanted);
  }
  const double signal = squares - sum * sum / static_cast<double>(sampled.operands.size());
  constexpr double kExact = 300;
  return noise == 0 || signal <= 0 ? kExact : 10 * std::log10(signal / noise);
}

struct Choice {
  int parts = 1;
  double part = kParts.front();
  double db = 0;
};

// As few parts as bring enough, or nearly as much as the most parts do.
// `one_db`: what one part leaves.
Choice parts_for(const Sampled& sampled, double one_db) {
  const auto best_of = [&](int parts) {
    Choice best{.parts = parts, .part = 0, .db = -INFINITY};
    for (const double part : kParts) {
      const double db = sqnr_db(sampled, parts, part);
      if (db > best.db) best = {.parts = parts, .part = part, .db = db};
    }
    return best;
  };
  const double wanted = std::min(kPlentyDb, best_of(kMaxParts).db - kWorthDb);
  Choice choice{.parts = 1, .db = one_db};
  while (choice.db < wanted) choice = best_of(choice.parts + 1);
  return choice;
}

struct Candidate {
  ir::NodeId node;
  Function function;
  std::vector<float> operands = {};  // of the samples

  // The same number of each sample, at equal distances.
  void add(const Tensor& elements) {
    const auto values = elements.values<float>();
    const size_t apart = std::max<size_t>(values.size() / kMaxOperands, 1);
    for (size_t i = 0; i < values.size(); i += apart) {
      if (std::isfinite(values[i])) operands.push_back(values[i]);
    }
  }
};

std::vector<Candidate> candidates(const ir::Graph& aten) {
  const std::vector<ir::NodeId> producers = ir::producers(aten);
  std::vector<Candidate> found;
  for (size_t n = 0; n < aten.nodes.size(); ++n) {
    const Node& node = aten.nodes[n];
    std::optional<Function> function = function_of(node);
    if (function && producers[node.inputs[0].index()].valid() && aten[node.inputs[0]].dtype == DType::kFp32 &&
        !aten[node.outputs[0]].quantization)
      found.push_back({.node = ir::NodeId(n), .function = *std::move(function)});
  }
  return found;
}

void widen(Extent& extent, const Tensor& elements) {
  for (const float x : elements.values<float>()) {
    if (!std::isfinite(x)) continue;
    extent.min = std::min<double>(extent.min, x);
    extent.max = std::max<double>(extent.max, x);
  }
}

}  // namespace

bool may_split_functions(const ir::Graph& aten) {
  return !candidates(aten).empty();
}

SteepFunctions steep_functions(const ir::Graph& aten, const datasets::DataSet& samples, int threads,
                               const ir::Evaluator* evaluator) {
  std::vector<Candidate> functions = candidates(aten);
  SteepFunctions steep;
  for (const Candidate& candidate : functions) {
    for (const ValueId id : normalize::values_behind(aten, candidate.node)) steep.extents.try_emplace(id);
  }
  if (functions.empty()) return steep;
  ir::Graph probe = aten;
  probe.outputs.clear();
  probe.states.clear();
  for (const auto& [id, extent] : steep.extents) probe.outputs.push_back(id);
  std::vector<std::vector<Tensor>> chosen;
  for (const size_t number : samples.spread(kTableSamples)) {
    if (auto sample = samples.sample(number)) chosen.push_back(std::move(*sample));
  }
  const auto run = run_samples(probe, chosen, {.threads = threads, .evaluator = evaluator}, Log{},
                               [&](size_t, const std::vector<Tensor>& outputs) {
                                 std::map<ValueId, const Tensor*> by_value;
                                 for (size_t i = 0; i < outputs.size(); ++i) {
                                   widen(steep.extents[probe.outputs[i]], outputs[i]);
                                   by_value[probe.outputs[i]] = &outputs[i];
                                 }
                                 for (Candidate& candidate : functions)
                                   candidate.add(*by_value[aten[candidate.node].inputs[0]]);
                                 return true;
                               });
  if (!run) return {};
  for (const Candidate& candidate : functions) {
    const Extent& operand = steep.extents[aten[candidate.node].inputs[0]];
    if (candidate.operands.empty() || operand.min < 0 || operand.max <= 0) continue;
    const Sampled sampled(candidate.function, candidate.operands);
    const double one_db = sqnr_db(sampled, 1, 1);
    if (one_db >= kFewDb) continue;
    const Choice choice = parts_for(sampled, one_db);
    if (choice.parts == 1) continue;
    steep.found.push_back({.function = {.node = candidate.node,
                                        .parts = choice.parts,
                                        .part = choice.part,
                                        .rises = candidate.function.rises},
                           .one_db = one_db});
  }
  return steep;
}

Result<void> split_steep_functions(ir::Graph& aten, const SteepFunctions& functions, const Log& log) {
  std::vector<normalize::SplitFunction> split;
  for (const SteepFunctions::Found& found : functions.found) {
    split.push_back(found.function);
    const int finer = found.function.parts - 1;
    log.note(
        {.where = aten[found.function.node].name,
         .what = fmt::format("the sizes of its operands are far apart: one table of 16 bits would leave {:.0f} dB. "
                             "Small operands have {} finer table{}",
                             found.one_db, finer, finer == 1 ? "" : "s"),
         .hint = "",
         .severity = Severity::kNote});
  }
  return split.empty() ? Result<void>{} : normalize::split_functions(aten, split, functions.extents);
}

}  // namespace carina::quantize
