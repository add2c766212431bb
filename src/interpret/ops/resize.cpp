// RESIZE: nearest or bilinear, with scales as fractions.

#include <array>
#include <limits>
#include <vector>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

namespace {

using enum DType;

// One axis. Maps an output position to the numerator of an input position in units of 1 / scale_n.
struct Axis {
  int64_t in, out, scale_n, scale_d, offset;
};
struct Geometry {
  int64_t n, c;
  Axis y, x;
};

// The two input positions around an output position, and its distance from the first in units of 1 / scale_n.
struct Neighbors {
  int64_t i0, i1, rest;
};
Neighbors neighbors_of(const Axis& axis, int64_t out) {
  const int64_t at = out * axis.scale_d + axis.offset;
  const int64_t whole = at >= 0 ? at / axis.scale_n : -((-at + axis.scale_n - 1) / axis.scale_n);
  return {.i0 = std::clamp<int64_t>(whole, 0, axis.in - 1),
          .i1 = std::clamp<int64_t>(whole + 1, 0, axis.in - 1),
          .rest = at - whole * axis.scale_n};
}

template <typename Body>
void for_each_pixel(Workers& workers, const Geometry& g, const Body& body) {
  split(workers, g.n * g.y.out, 1 + 4096 / (g.x.out * g.c + 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Neighbors y = neighbors_of(g.y, row % g.y.out);
      const int64_t image = row / g.y.out * g.y.in;
      for (int64_t ox = 0; ox < g.x.out; ++ox) {
        const Neighbors x = neighbors_of(g.x, ox);
        const auto at = [&](int64_t iy, int64_t ix) { return ((image + iy) * g.x.in + ix) * g.c; };
        body((row * g.x.out + ox) * g.c, y, x, at);
      }
    }
  });
}

// Returns the nearer input position; in the middle, the second.
int64_t nearest(const Neighbors& neighbors, const Axis& axis) {
  return 2 * neighbors.rest >= axis.scale_n ? neighbors.i1 : neighbors.i0;
}

template <typename S>
Kernel nearest_kernel(const Geometry& g, int /*threads*/) {
  return {.run = [g](const Call& call) -> Result<void> {
    for_each_pixel(call.runtime.workers, g, [&](int64_t out, const Neighbors& y, const Neighbors& x, const auto& at) {
      std::copy_n(call.input<S>(0) + at(nearest(y, g.y), nearest(x, g.x)), g.c, call.output<S>(0) + out);
    });
    return {};
  }};
}

Kernel bilinear_i16(const Geometry& g, int /*threads*/) {
  return {.run = [g](const Call& call) -> Result<void> {
    const auto* in = call.input<int16_t>(0);
    for_each_pixel(call.runtime.workers, g, [&](int64_t out, const Neighbors& y, const Neighbors& x, const auto& at) {
      const int64_t w00 = (g.y.scale_n - y.rest) * (g.x.scale_n - x.rest);
      const int64_t w01 = (g.y.scale_n - y.rest) * x.rest;
      const int64_t w10 = y.rest * (g.x.scale_n - x.rest);
      const int64_t w11 = y.rest * x.rest;
      for (int64_t c = 0; c < g.c; ++c) {
        const int64_t sum = in[at(y.i0, x.i0) + c] * w00 + in[at(y.i0, x.i1) + c] * w01 + in[at(y.i1, x.i0) + c] * w10 +
                            in[at(y.i1, x.i1) + c] * w11;
        call.output<int64_t>(0)[out + c] = sum;
      }
    });
    return {};
  }};
}

// Bytes: a row of the result is a weighted sum of two rows of the input, each of which is a row of weighted sums of two
// columns. Neighboring rows of the result share such rows, so the last two are kept. All sums fit 32 bits.
class BilinearBytes {
 public:
  explicit BilinearBytes(const Geometry& g) : g_(g) {
    for (int64_t ox = 0; ox < g.x.out; ++ox) {
      const Neighbors x = neighbors_of(g.x, ox);
      columns_.push_back({.first = x.i0 * g.c,
                          .second = x.i1 * g.c,
                          .first_weight = static_cast<int32_t>(g.x.scale_n - x.rest),
                          .second_weight = static_cast<int32_t>(x.rest)});
    }
  }
  [[nodiscard]] size_t scratch_bytes() const { return 2 * static_cast<size_t>(row_length()) * sizeof(int32_t); }

  void run(const Call& call) const {
    constexpr int64_t kGrain = 16 * 1024;  // elements of the result that are worth another thread
    split_slots(call.runtime.workers, g_.n * g_.y.out, 1 + kGrain / (row_length() + 1),
                [&](int64_t slot, int64_t begin, int64_t end) {
                  Kept kept(call, slot, *this);
                  for (int64_t row = begin; row < end; ++row) run_row(row, kept, call.output<int32_t>(0));
                });
  }

 private:
  // Two rows of the input, interpolated along the columns.
  class Kept {
   public:
    Kept(const Call& call, int64_t slot, const BilinearBytes& of) : of_(of), in_(call.input<int8_t>(0)) {
      auto* memory = reinterpret_cast<int32_t*>(call.scratch + static_cast<size_t>(slot) * of.scratch_bytes());
      rows_ = {memory, memory + of.row_length()};
    }
    // Input row `row`. The row `other` is kept.
    const int32_t* row(int64_t row, int64_t other) {
      for (const size_t place : {0, 1}) {
        if (numbers_[place] == row) return rows_[place];
      }
      const size_t place = numbers_[0] == other ? 1 : 0;
      numbers_[place] = row;
      kernels::weighted_columns({.in = in_ + row * of_.g_.x.in * of_.g_.c,
                                 .columns = of_.columns_,
                                 .channels = of_.g_.c,
                                 .out = rows_[place]});
      return rows_[place];
    }

   private:
    const BilinearBytes& of_;
    const int8_t* in_;
    std::array<int32_t*, 2> rows_{};
    std::array<int64_t, 2> numbers_{-1, -1};
  };

  [[nodiscard]] int64_t row_length() const { return g_.x.out * g_.c; }

  void run_row(int64_t row, Kept& kept, int32_t* out) const {
    const Neighbors y = neighbors_of(g_.y, row % g_.y.out);
    const int64_t image = row / g_.y.out * g_.y.in, first = image + y.i0, second = image + y.i1;
    const int32_t* a = kept.row(first, second);
    kernels::weighted_sum({.a = a,
                           .b = kept.row(second, first),
                           .a_weight = static_cast<int32_t>(g_.y.scale_n - y.rest),
                           .b_weight = static_cast<int32_t>(y.rest),
                           .out = out + row * row_length(),
                           .count = row_length()});
  }

  Geometry g_;
  std::vector<kernels::WeightedColumns::Column> columns_;
};

Kernel bilinear_bytes(const Geometry& g, int threads) {
  BilinearBytes bytes(g);
  const size_t scratch = static_cast<size_t>(threads) * bytes.scratch_bytes();
  return {.run = [bytes = std::move(bytes)](const Call& call) -> Result<void> {
            bytes.run(call);
            return {};
          },
          .scratch_bytes = scratch};
}

template <typename Element>
Kernel bilinear_float(const Geometry& g, int /*threads*/) {
  using S = typename Element::Storage;
  return {.run = [g](const Call& call) -> Result<void> {
    const S* in = call.input<S>(0);
    for_each_pixel(call.runtime.workers, g, [&](int64_t out, const Neighbors& y, const Neighbors& x, const auto& at) {
      const float dy = static_cast<float>(y.rest) / static_cast<float>(g.y.scale_n);
      const float dx = static_cast<float>(x.rest) / static_cast<float>(g.x.scale_n);
      for (int64_t c = 0; c < g.c; ++c) {
        const auto value = [&](int64_t iy, int64_t ix) { return Element::load(in[at(iy, ix) + c]); };
        float sum = value(y.i0, x.i0) * (1 - dy) * (1 - dx);
        sum += value(y.i0, x.i1) * (1 - dy) * dx;
        sum += value(y.i1, x.i0) * dy * (1 - dx);
        sum += value(y.i1, x.i1) * dy * dx;
        call.output<S>(0)[out + c] = Element::store(sum);
      }
    });
    return {};
  }};
}

constexpr int64_t kNearest = 1;
constexpr int64_t kBilinear = 2;
struct Row {
  int64_t mode;
  DType in;
  DType out;
  Kernel (*make)(const Geometry&, int threads);
};
constexpr Row kRows[] = {
    {kNearest, kInt8, kInt8, &nearest_kernel<uint8_t>},  {kNearest, kInt16, kInt16, &nearest_kernel<uint16_t>},
    {kNearest, kFp32, kFp32, &nearest_kernel<uint32_t>}, {kNearest, kFp16, kFp16, &nearest_kernel<uint16_t>},
    {kNearest, kBf16, kBf16, &nearest_kernel<uint16_t>}, {kBilinear, kInt8, kInt32, &bilinear_bytes},
    {kBilinear, kInt16, kInt48, &bilinear_i16},          {kBilinear, kFp32, kFp32, &bilinear_float<F32>},
    {kBilinear, kFp16, kFp16, &bilinear_float<F16>},     {kBilinear, kBf16, kBf16, &bilinear_float<BF16>},
};

// Checks the specification's limits. They also ensure that the sums above do not overflow.
void check_axis(Checks& checks, const Axis& axis, int64_t border) {
  constexpr int64_t kMaxSize = 16384;
  constexpr int64_t kMaxScale = 1 << 11;
  checks
      .require(axis.in >= 1 && axis.in < kMaxSize && axis.out >= 1 && axis.out < kMaxSize,
               "sizes must be in [1, 16384)")
      .require(axis.scale_n > 0 && axis.scale_n <= kMaxScale && axis.scale_d > 0 && axis.scale_d < 16 * axis.scale_n,
               "scale must be a fraction n/d > 1/16 with n at most 2048")
      .require(axis.offset >= -axis.scale_n && axis.offset < 16 * axis.scale_n, "offset must be in [-n, 16n)")
      .require(border >= -16 * axis.scale_n && border < axis.scale_n, "border must be in [-16n, n)");
  if (!checks.good()) return;
  const int64_t span = (axis.in - 1) * axis.scale_n - axis.offset + border;
  checks.require(span >= 0 && span % axis.scale_d == 0 && span / axis.scale_d + 1 == axis.out,
                 "output size does not follow from input, scale, offset and border");
}

}  // namespace

Result<Kernel> prepare_RESIZE(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(4, 1);
  if (checks.good()) checks.rank(plan.in[0], 4, 4).rank(plan.out[0], 4, 4);
  if (!checks.good()) return fail(checks.done().error());
  CARINA_TRY(const std::vector<int64_t> scale, shape_constant(plan, plan.in[1], 4));
  CARINA_TRY(const std::vector<int64_t> offset, shape_constant(plan, plan.in[2], 2));
  CARINA_TRY(const std::vector<int64_t> border, shape_constant(plan, plan.in[3], 2));
  const Operand& in = plan.in[0];
  const Operand& out = plan.out[0];
  const Geometry g{
      .n = in.dim(0),
      .c = in.dim(3),
      .y = {.in = in.dim(1), .out = out.dim(1), .scale_n = scale[0], .scale_d = scale[1], .offset = offset[0]},
      .x = {.in = in.dim(2), .out = out.dim(2), .scale_n = scale[2], .scale_d = scale[3], .offset = offset[1]}};
  check_axis(checks, g.y, border[0]);
  check_axis(checks, g.x, border[1]);
  CARINA_CHECKED(checks.require(out.dim(0) == g.n && out.dim(3) == g.c, "batch or channels differ").done());
  const int64_t mode = plan.node.attributes.integer("mode");
  for (const Row& row : kRows) {
    if (row.mode == mode && row.in == in.dtype && row.out == out.dtype) return row.make(g, plan.threads);
  }
  return fail(plan.diagnostic("RESIZE does not have this mode and these types",
                              "nearest: the same type; bilinear: i8 -> i32, i16 -> i48, equal floats",
                              std::string(name_of(in.dtype)) + " -> " + std::string(name_of(out.dtype))));
}

}  // namespace carina::interpret
