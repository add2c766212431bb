#include <algorithm>
#include <bit>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/resize_internal.h"

// RESIZE to 2, 4 or 8 times the size by the NPU's doubling of an IFM (Step::upscale), which repeats each row and each
// column. Nearest neighbors are doubled as often as it takes. A bilinear result is the average over a window of k rows
// and columns of the input k times the size:
//   Example, k = 2, one axis: a b c is doubled to a a b b c c, and windows of 2 are a, (a + b)/2, b, (b + c)/2, c, c.
// The last windows reach beyond the input. The NPU divides by the number of elements inside, which all are the last one
// there. It rounds halves away from zero; the RESCALE after the RESIZE must do the same (rounded_sums.cpp).
// Source: tflite_graph_optimiser.py of ethos-u-vela.
namespace carina::plan {
namespace {

// Whether each result is the element at o / k.
bool repeats(const AxisScale& a, int64_t k) {
  for (int64_t o = 0; o < a.outputs; ++o) {
    if (nearest_of(a, o) != o / k) return false;
  }
  return true;
}

// Whether the results are windows of k elements of the input k times the size.
bool averages(const AxisScale& a, int64_t k) {
  for (int64_t o = 0; o < a.outputs; ++o) {
    const Source source = source_of(a, o);
    const bool is_single = source.low == source.high || o % k == 0;
    if (source.low != o / k || (!is_single && source.fraction * k != o % k * a.n)) return false;
    if (is_single && source.low != source.high && source.fraction != 0) return false;
  }
  return true;
}

// How often the size is doubled in both axes, if it is.
std::optional<int> doublings(const AxisScale& y, const AxisScale& x, bool (*holds)(const AxisScale&, int64_t)) {
  for (int times = 1; (int64_t{1} << times) <= std::max(y.outputs, x.outputs); ++times) {
    const int64_t k = int64_t{1} << times;
    const auto is_whole = [&](const AxisScale& a) {
      return a.outputs <= k * a.inputs && a.outputs > k * (a.inputs - 1);
    };
    if (is_whole(y) && is_whole(x)) return holds(y, k) && holds(x, k) ? std::optional(times) : std::nullopt;
  }
  return std::nullopt;
}

Result<void> emit_doubled(Selection& s, const View& dst, const Operand& src) {
  return emit_window(s, {.kind = StepKind::kPool, .ifm = src, .ofm = dst, .upscale = 2}, store_only({}, src.type));
}

// The operand after this many doublings.
Result<Operand> doubled(Selection& s, Operand operand, int times) {
  for (int i = 0; i < times; ++i) {
    const Shape shape = operand.view.shape();
    const View twice = s.new_tensor("doubled", {shape[0], 2 * shape[1], 2 * shape[2], shape[3]}, operand.type);
    CARINA_CHECKED(emit_doubled(s, twice, operand));
    operand.view = twice;
  }
  return operand;
}

}  // namespace

Result<bool> emit_doubled_nearest(Selection& s, const View& dst, const Operand& src, const AxisScale& y,
                                  const AxisScale& x) {
  const auto times = doublings(y, x, repeats);
  const bool is_whole = times && y.outputs == y.inputs << *times && x.outputs == x.inputs << *times;
  if (!is_whole || src.type.bits > 16) return false;
  CARINA_TRY(const Operand last, doubled(s, src, *times - 1));
  CARINA_CHECKED(emit_doubled(s, dst, last));
  return true;
}

Result<bool> select_doubled_bilinear(Selection& s, const Operand& src, const AxisScale& y, const AxisScale& x) {
  const auto times = doublings(y, x, averages);
  if (!times || int64_t{1} << *times > npu::kMaxPaddedAveragePoolSize) return false;
  const auto rounded = rounded_sums(s, src.type, y.n * x.n);
  if (!rounded) return false;
  for (const ir::NodeId node : rounded->nodes) s.absorb(node);
  const int64_t k = int64_t{1} << *times;
  CARINA_TRY(const Operand last, doubled(s, src, *times - 1));
  const auto beyond = [&](const AxisScale& a) { return a.outputs + k - 1 - k * a.inputs; };
  const Padding padding{.bottom = beyond(y), .right = beyond(x)};
  Epilogue epilogue = s.follow(rounded->epilogue, {});
  // Without padding the NPU does not count, but multiplies.
  epilogue.factors = {padding == Padding{} ? reciprocal_scale(static_cast<uint32_t>(k * k)) : ScaleFactor()};
  const View out = s.open(epilogue.value, s.shape(s.output()));
  CARINA_CHECKED(emit_window(s,
                             {.kind = StepKind::kPool,
                              .ifm = last,
                              .ofm = out,
                              .kernel = {.height = k, .width = k},
                              .padding = padding,
                              .upscale = 2},
                             epilogue));
  s.close(epilogue.value, out, epilogue.type);
  return true;
}

}  // namespace carina::plan
