#include "quantize/uneven_rows_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "normalize/divide_rows.h"
#include "quantize/similarity.h"

namespace carina::quantize {

namespace {

// A table of a function is interpolated between 256 numbers. Mean squares below 1/64 of the largest lie in the first
// four steps, in which the error of 1 / sqrt(x) is more than half a percent.
constexpr double kUneven = 64;
// Rows whose mean square is less than some eps come out near 0, whatever their factor is.
constexpr double kBlank = 4;
constexpr size_t kSamples = 32;

struct Extremes {
  double least = INFINITY;  // mean squares of the rows that are not blank
  double most = 0;

  void add(const Tensor& squares, double eps) {
    for (const float square : squares.values<float>()) {
      if (square > kBlank * eps) least = std::min(least, double{square});
      most = std::max(most, double{square});
    }
  }
  [[nodiscard]] bool is_uneven() const { return std::isfinite(most) && least * kUneven < most; }
};

// Samples that cannot be read are left out: calibration reads all samples later, and reports them.
std::vector<std::vector<Tensor>> some_of(const datasets::DataSet& samples) {
  std::vector<std::vector<Tensor>> chosen;
  for (const size_t number : samples.spread(kSamples)) {
    if (auto sample = samples.sample(number)) chosen.push_back(std::move(*sample));
  }
  return chosen;
}

}  // namespace

Result<void> even_out_rows(ir::Graph& aten, const datasets::DataSet& samples, int threads,
                           const ir::Evaluator* evaluator, const Log& log) {
  const std::vector<normalize::RowNorm> norms = normalize::row_norms(aten);
  if (norms.empty()) return {};
  ir::Graph probe = aten;
  probe.outputs.clear();
  probe.states.clear();
  for (const normalize::RowNorm& norm : norms) probe.outputs.push_back(norm.squares);
  std::vector<Extremes> found(norms.size());
  const auto run = run_samples(probe, some_of(samples), {.threads = threads, .evaluator = evaluator}, Log{},
                               [&](size_t, const std::vector<Tensor>& outputs) {
                                 for (size_t i = 0; i < norms.size(); ++i) found[i].add(outputs[i], norms[i].eps);
                                 return true;
                               });
  if (!run) return {};  // calibration runs the samples again, and reports what is wrong with them or with nodes
  std::vector<normalize::RowDivision> divisions;
  for (size_t i = 0; i < norms.size(); ++i) {
    if (!found[i].is_uneven()) continue;
    divisions.push_back({.norm = norms[i], .largest = std::sqrt(found[i].most)});
    log.note({.where = aten[norms[i].rsqrt].name,
              .what = fmt::format("some rows are {:.0f} times as large as others. Each is divided by its mean "
                                  "magnitude before its squares are quantized",
                                  std::sqrt(found[i].most / found[i].least)),
              .hint = "",
              .severity = Severity::kNote});
  }
  return divisions.empty() ? Result<void>{} : normalize::divide_rows(aten, divisions);
}

}  // namespace carina::quantize
