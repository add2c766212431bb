#include "quantize/steep_roots_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "normalize/split_roots.h"
#include "quantize/similarity.h"

namespace carina::quantize {

namespace {

constexpr size_t kRootSamples = 16;
constexpr double kStepsOfTable = 256, kFewRootDb = 30;

// The operands of a root, counted by their power of two: how many there are of each size is enough to know what a table
// of any range would lose.
struct Operands {
  static constexpr int kMinPower = -60, kMaxPower = 60;

  std::array<int64_t, kMaxPower - kMinPower + 1> counts{};
  double largest = 0;
  double sum = 0;  // of the squares of the roots

  void add(const Tensor& operands) {
    for (const float x : operands.values<float>()) {
      if (!(x > 0) || !std::isfinite(x)) continue;
      largest = std::max(largest, double{x});
      sum += x;
      ++counts[static_cast<size_t>(std::clamp(std::ilogb(x), kMinPower, kMaxPower) - kMinPower)];
    }
  }

  // The SQNR of roots that are interpolated linearly in the first step, and exact elsewhere.
  [[nodiscard]] double sqnr_db() const {
    const double step = largest / kStepsOfTable;
    double noise = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const double x = 1.5 * std::ldexp(1, static_cast<int>(i) + kMinPower);
      if (x >= step) break;
      const double error = std::sqrt(x) - x / std::sqrt(step);
      noise += static_cast<double>(counts[i]) * error * error;
    }
    constexpr double kExact = 300;
    return noise == 0 ? kExact : 10 * std::log10(sum / noise);
  }
};

}  // namespace

Result<void> split_steep_roots(ir::Graph& aten, const datasets::DataSet& samples, int threads,
                               const ir::Evaluator* evaluator, const Log& log) {
  const std::vector<ir::NodeId> producers = ir::producers(aten);
  std::vector<ir::NodeId> roots;
  for (size_t n = 0; n < aten.nodes.size(); ++n) {
    const ir::Node& node = aten.nodes[n];
    if (node.op == ir::Op(AtenOp::sqrt_default) && producers[node.inputs[0].index()].valid() &&
        aten[node.inputs[0]].dtype == DType::kFp32 && !aten[node.outputs[0]].quantization)
      roots.emplace_back(n);
  }
  if (roots.empty()) return {};
  ir::Graph probe = aten;
  probe.outputs.clear();
  probe.states.clear();
  for (const ir::NodeId root : roots) probe.outputs.push_back(aten[root].inputs[0]);
  std::vector<std::vector<Tensor>> chosen;
  for (const size_t number : samples.spread(kRootSamples)) {
    if (auto sample = samples.sample(number)) chosen.push_back(std::move(*sample));
  }
  std::vector<Operands> found(roots.size());
  const auto run = run_samples(probe, chosen, {.threads = threads, .evaluator = evaluator}, Log{},
                               [&](size_t, const std::vector<Tensor>& outputs) {
                                 for (size_t i = 0; i < roots.size(); ++i) found[i].add(outputs[i]);
                                 return true;
                               });
  if (!run) return {};  // calibration runs the samples again, and reports what is wrong with them or with nodes
  std::map<ir::NodeId, double> largest;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (found[i].largest == 0 || found[i].sqnr_db() >= kFewRootDb) continue;
    largest[roots[i]] = found[i].largest;
    log.note({.where = aten[roots[i]].name,
              .what = fmt::format("most operands of the square root are small: one table of 16 bits would leave {:.0f} "
                                  "dB. Small ones have a finer table",
                                  found[i].sqnr_db()),
              .hint = "",
              .severity = Severity::kNote});
  }
  return largest.empty() ? Result<void>{} : normalize::split_roots(aten, largest);
}

}  // namespace carina::quantize
