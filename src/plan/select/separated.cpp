#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"

// Pools as two pools: the second one pools what the first has made of single rows or columns.
//   Example: the mean of 42x42 pixels, each tap of which takes cycles of its own
//     [1,42,42,16] int8 -> 42 sums of rows [1,42,1,16] int16 -> the mean of these [1,1,1,16] int8
//   reads 42 taps for 42 results, which fill the multipliers, and 42 for one, instead of 1,764 for one.
// A maximum of k x k elements reads 2 k taps instead of k^2. A window over a whole image may divide its pixels in
// another way: 196 rows are 14 of 14.
//
// Maxima and minima are exact in either order, and so is padding, which they ignore. Sums are exact where those of the
// first pool fit int16. They are stored times two, because an average pool without a scale would divide; the scale of
// the second pool is half as large, which changes no rounding:
//   (2 sum * m + 2^s) >> (s + 1) = (sum * m + 2^(s - 1)) >> s
// The map in between takes memory. Where it is not small, the gain has to be clear.
namespace carina::plan {
namespace {

constexpr int64_t kFewTaps = 9;     // windows of fewer taps gain nothing
constexpr double kGain = 1.1;       // of cycles, where the map in between is small
constexpr double kClearGain = 1.4;  // elsewhere
constexpr int64_t kStored = 2;      // the factor of the sums in between

// The window, divided: `first` has the taps of one axis, `second` those of the other.
struct Pair {
  Window first;
  Window second;
  Epilogue between;
  Epilogue last;
};

bool is_sum(const Window& pool) {
  return pool.pool == npu::PoolingMode::AVERAGE;
}

// The scale of a pool of sums that are stored times kStored. Nothing, if it needs two roundings or none is left.
std::optional<ScaleFactor> halved(const Epilogue& epilogue) {
  constexpr int kMaxShift = 61;
  const Scaling scaling = simplified(epilogue.scaling());
  if (epilogue.per_channel || scaling.rounding != Rounding::kSingle || scaling.shift > kMaxShift) return std::nullopt;
  Scaling half = scaling;
  half.shift += 1;
  if (scaling.is_unit() || simplified(half).is_unit()) return std::nullopt;
  return ScaleFactor{.multiplier = half.multiplier, .shift = half.shift};
}

// The most taps whose sum, times kStored, fits int16.
int64_t most_summed(const Operand& x) {
  const int64_t largest = std::max(x.type.max() - x.zero_point, x.zero_point - x.type.min());
  return kSigned16.max() / (kStored * std::max<int64_t>(largest, 1));
}

// Both epilogues, if the first pool may have `taps`.
bool divide_epilogue(Pair& pair, const Window& pool, const Epilogue& epilogue, int64_t taps) {
  pair.last = epilogue;
  if (!is_sum(pool)) {
    pair.between = store_only({}, pool.ifm.type);
    return true;
  }
  const auto half = halved(epilogue);
  if (!half || epilogue.type.bits > 16 || pool.ifm.type.bits > 8 || taps > most_summed(pool.ifm)) return false;
  pair.between = store_only({}, kSigned16);
  pair.between.factors = {ScaleFactor{.multiplier = kStored}};
  pair.between.scaled = true;
  pair.last.factors = {*half};
  return true;
}

void lay_between(Pair& pair, const Window& pool) {
  pair.second.ifm.type = pair.between.type;
  pair.second.ifm.zero_point = is_sum(pool) ? 0 : pool.ifm.zero_point;
}

// The window with the taps of columns (axis 1 of [N,H,W,C]) first, or of rows (axis 2).
std::optional<Pair> divided(const Window& pool, const Epilogue& epilogue, size_t axis) {
  const Kernel& k = pool.kernel;
  const Padding& p = pool.padding;
  Window down = pool, along = pool;
  down.kernel = {.height = k.height, .stride_y = k.stride_y};
  down.padding = {.top = p.top, .bottom = p.bottom};
  along.kernel = {.width = k.width, .stride_x = k.stride_x};
  along.padding = {.left = p.left, .right = p.right};
  Pair pair{.first = axis == 1 ? down : along, .second = axis == 1 ? along : down, .between = {}, .last = {}};
  if (!divide_epilogue(pair, pool, epilogue, pair.first.kernel.taps())) return std::nullopt;
  Shape between = pool.ofm.shape();
  const auto other = static_cast<int64_t>(3 - axis);
  between[other] = pool.ifm.view.shape()[other];
  pair.first.ofm = pair.second.ifm.view = dense_view({}, between);
  lay_between(pair, pool);
  return pair;
}

// The pixels of a window over a whole image, or over whole rows, which become images, with so many rows.
std::optional<Window> with_rows(const Window& pool, int64_t rows) {
  const Shape in = pool.ifm.view.shape();
  const Kernel& k = pool.kernel;
  const bool is_image = k == Kernel{.height = in[1], .width = in[2]}, is_row = k == Kernel{.width = in[2]};
  if ((!is_image && !is_row) || pool.padding != Padding{} || k.taps() % rows != 0) return std::nullopt;
  const int64_t images = is_image ? in[0] : in[0] * in[1];
  const auto view = reshaped(pool.ifm.view, {images, rows, k.taps() / rows, in[3]});
  const auto out = reshaped(pool.ofm, {images, 1, 1, in[3]});
  if (!view || !out) return std::nullopt;
  Window window = pool;
  window.ifm.view = *view;
  window.ofm = *out;
  window.kernel = {.height = rows, .width = k.taps() / rows};
  return window;
}

// Windows side by side: those of all rows are columns of one image, and those of all columns then of another, whose
// channels are a row of results. Their strides are those of views only.
//   Example: 4x4 of [1,32,32,16] -> columns of [1,4,256,16] -> [32,8,16] = [1,4,8,128] -> [8,8,16].
std::optional<Pair> side_by_side(const Window& pool, const Epilogue& epilogue) {
  const Kernel& k = pool.kernel;
  const Shape in = pool.ifm.view.shape(), out = pool.ofm.shape();
  const int64_t rows = out[1] * k.height, columns = out[2] * k.width, depth = out[2] * out[3];
  if (k != Kernel{k.height, k.width, k.height, k.width} || pool.padding != Padding{} || in[0] != 1 ||
      std::max(rows * out[2], depth) > npu::kMaxAxis)
    return std::nullopt;
  const View read = sliced_axis(sliced_axis(pool.ifm.view, 1, 0, rows), 2, 0, columns);
  const auto groups = reshaped(read, {1, rows * out[2], k.width, in[3]});
  const auto results = reshaped(pool.ofm, {1, 1, out[1], depth});
  if (!groups || !results) return std::nullopt;
  Pair pair{.first = pool, .second = pool, .between = {}, .last = {}};
  if (!divide_epilogue(pair, pool, epilogue, k.width)) return std::nullopt;
  const std::array<int64_t, 4> exchanged{0, 2, 1, 3};
  pair.first.ifm.view = permuted(*groups, exchanged);
  pair.first.ofm = dense_view({}, {1, 1, rows * out[2], in[3]});
  pair.first.kernel = {.height = k.width};
  pair.second.ifm.view = permuted(dense_view({}, {1, out[1], k.height, depth}), exchanged);
  pair.second.ofm = *results;
  pair.second.kernel = {.height = k.height};
  lay_between(pair, pool);
  return pair;
}

// A window over whole rows, divided into parts of rows and these.
//   Example: [1,3,196,8] -> [1,42,14,8] -> [1,42,1,8] = [1,3,14,8] -> [1,3,1,8].
std::optional<Pair> by_parts_of_rows(const Window& pool, const Epilogue& epilogue, int64_t part) {
  const Shape in = pool.ifm.view.shape();
  const int64_t taps = pool.kernel.width, parts = taps / part, rows = in[1] * parts;
  if (pool.kernel != Kernel{.width = in[2]} || pool.padding != Padding{} || rows > npu::kMaxAxis) return std::nullopt;
  auto view = reshaped(pool.ifm.view, {in[0], rows, part, in[3]});
  if (!view) return std::nullopt;
  Pair pair{.first = pool, .second = pool, .between = {}, .last = {}};
  if (!divide_epilogue(pair, pool, epilogue, part)) return std::nullopt;
  pair.first.ifm.view = *std::move(view);
  pair.first.ofm = dense_view({}, {in[0], rows, 1, in[3]});
  pair.first.kernel = {.width = part};
  pair.second.ifm.view = dense_view({}, {in[0], in[1], parts, in[3]});
  pair.second.kernel = {.width = parts};
  lay_between(pair, pool);
  return pair;
}

// The divisor of `number` that is nearest below its square root.
int64_t middle_divisor(int64_t number) {
  int64_t best = 1;
  for (int64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) best = i;
  }
  return best;
}

// The least ratio of cycles for which two pools are taken.
double least_gain(const Pair& pair) {
  constexpr int64_t kSmall = 4;  // times smaller than the IFM
  const Operand &in = pair.first.ifm, &between = pair.second.ifm;
  const bool is_small = kSmall * between.view.elements() * between.type.bytes() <= in.view.elements() * in.type.bytes();
  return is_small ? kGain : kClearGain;
}

std::optional<Pair> best_pair(const Selection& s, const Window& pool, const Epilogue& epilogue) {
  std::optional<Pair> best;
  double least = cycles_of(s, pool, epilogue);
  const auto consider = [&](std::optional<Pair> pair) {
    if (!pair) return;
    const double cycles =
        least_gain(*pair) * (cycles_of(s, pair->first, pair->between) + cycles_of(s, pair->second, pair->last));
    if (cycles >= least) return;
    least = cycles;
    best = std::move(pair);
  };
  const auto consider_both_orders = [&](const Window& window) {
    if (window.kernel.height == 1 || window.kernel.width == 1) return;
    for (const size_t axis : {size_t{1}, size_t{2}}) consider(divided(window, epilogue, axis));
  };
  consider(side_by_side(pool, epilogue));
  if (std::max(pool.kernel.stride_y, pool.kernel.stride_x) > npu::kMaxStride) return best;
  consider_both_orders(pool);
  const int64_t rows = middle_divisor(pool.kernel.taps());
  if (rows == 1) return best;
  for (const int64_t part : {rows, pool.kernel.taps() / rows}) {
    if (const auto window = with_rows(pool, part); window && window->kernel != pool.kernel)
      consider_both_orders(*window);
    consider(by_parts_of_rows(pool, epilogue, part));
  }
  return best;
}

bool is_candidate(const Selection& s, const Window& pool) {
  return pool.kernel.taps() >= kFewTaps && (!is_sum(pool) || pool.padding == Padding{}) && may_separate_pools(s);
}

}  // namespace

// The map in between takes memory, which counts more for kSize.
bool may_separate_pools(const Selection& s) {
  return s.options().optimize != Optimize::kSize && s.options().uses(Optimization::kSeparatedPools);
}

Result<void> emit_pool(Selection& s, const Window& pool, const Epilogue& epilogue) {
  auto pair = is_candidate(s, pool) ? best_pair(s, pool, epilogue) : std::nullopt;
  if (!pair) return emit_window(s, pool, epilogue);
  const View between = s.new_tensor(is_sum(pool) ? "sums" : "largest", pair->first.ofm.shape(), pair->between.type);
  pair->first.ofm.tensor = pair->second.ifm.view.tensor = between.tensor;
  CARINA_CHECKED(emit_window(s, pair->first, pair->between));
  return emit_window(s, pair->second, pair->last);
}

}  // namespace carina::plan
