// RESIZE for NPUs with SHRAM: where each result takes its value from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "carina/result.h"
#include "plan/select/selection.h"

namespace carina::plan {

// One axis of a RESIZE. Result o is at position (o * d + offset) / n of the input.
struct AxisScale {
  int64_t n = 1;
  int64_t d = 1;
  int64_t offset = 0;
  int64_t inputs = 1;
  int64_t outputs = 1;
};

// Where result `o` of an axis takes its value from: (1 - fraction/n) * in[low] + fraction/n * in[high].
struct Source {
  int64_t low = 0;
  int64_t high = 0;
  int64_t fraction = 0;
};
Source source_of(const AxisScale& a, int64_t o);
// The element that a nearest neighbor is.
int64_t nearest_of(const AxisScale& a, int64_t o);

// The RESCALE of the current node's sums, if it divides them by `unit` and rounds to the nearest integer of the type,
// halves away from zero: all sums are compared. One to int32 that changes nothing may come before it.
struct RoundedSums {
  std::vector<ir::NodeId> nodes;
  Epilogue epilogue;
};
std::optional<RoundedSums> rounded_sums(const Selection& s, ElementType type, int64_t unit);

// Emits a RESIZE of `src` by the NPU's doubling of an IFM, to `dst` or to the current node's output, if it is one to 2,
// 4, 8 ... times the size in both axes. Returns false and emits nothing if it is not.
Result<bool> emit_doubled_nearest(Selection& s, const View& dst, const Operand& src, const AxisScale& y,
                                  const AxisScale& x);
Result<bool> select_doubled_bilinear(Selection& s, const Operand& src, const AxisScale& y, const AxisScale& x);

}  // namespace carina::plan
