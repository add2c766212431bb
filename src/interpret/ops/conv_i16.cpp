// Dense convolutions of int16 values with constant int8 weights.

#include <algorithm>
#include <cmath>

#include "interpret/elements_internal.h"
#include "interpret/ops/conv_internal.h"
#include "simd/kernels.h"

namespace carina::interpret {

namespace {

constexpr int64_t kTogether = 8;      // pixels
constexpr int64_t kGrainI16 = 16384;  // products that are worth a thread

struct DenseI16 {
  ConvGeometry g;
  int64_t k;
  std::vector<int16_t> panels;

  [[nodiscard]] int64_t row() const { return k + k % 2; }
  [[nodiscard]] int64_t channels() const { return simd::padded(g.oc); }
  // The sums of kTogether pixels, and their windows.
  [[nodiscard]] size_t sums_bytes() const { return static_cast<size_t>(kTogether * channels()) * sizeof(int64_t); }
  [[nodiscard]] size_t scratch_bytes() const {
    return sums_bytes() + static_cast<size_t>(kTogether * row()) * sizeof(int16_t);
  }

  // Copies the inputs of a pixel's window. Padding is 0.
  void gather(const int16_t* in, int64_t p, int16_t* to) const {
    const std::array<int64_t, 3> at{p / (g.out[1] * g.out[2]) % g.out[0], p / g.out[2] % g.out[1], p % g.out[2]};
    const int64_t n = p / (g.out[0] * g.out[1] * g.out[2]);
    const auto inside = [&](size_t axis, int64_t position) { return position >= 0 && position < g.in[axis]; };
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t d = tap_position(g, 0, at[0], kd);
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t h = tap_position(g, 1, at[1], kh);
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw, to += g.ic) {
          const int64_t w = tap_position(g, 2, at[2], kw);
          if (inside(0, d) && inside(1, h) && inside(2, w))
            std::copy_n(in + (((n * g.in[0] + d) * g.in[1] + h) * g.in[2] + w) * g.ic, g.ic, to);
          else
            std::fill_n(to, g.ic, int16_t{0});
        }
      }
    }
  }

  Result<void> run(const Call& call) const {
    const auto* in = call.input<int16_t>(0);
    const auto* bias = call.input<I48::Storage>(2);
    auto* out = call.output<I48::Storage>(0);
    split_slots(call.runtime.workers, g.pixels(), 1 + kGrainI16 / (k * g.oc + 1),
                [&](int64_t slot, int64_t begin, int64_t end) {
                  auto* const scratch =
                      call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kArenaAlignment);
                  auto* const sums = reinterpret_cast<int64_t*>(scratch);
                  auto* const x = reinterpret_cast<int16_t*>(scratch + sums_bytes());
                  for (int64_t p = begin; p < end; p += kTogether) {
                    const int64_t rows = std::min(kTogether, end - p);
                    for (int64_t r = 0; r < rows; ++r) {
                      gather(in, p + r, x + r * row());
                      if (row() != k) x[r * row() + k] = 0;
                    }
                    simd::multiply_i16({.a = x,
                                        .row_stride = row(),
                                        .rows = rows,
                                        .k = k,
                                        .panels = panels.data(),
                                        .panel_count = channels() / simd::kLanes,
                                        .c = sums,
                                        .c_stride = channels()});
                    for (int64_t r = 0; r < rows; ++r) {
                      for (int64_t c = 0; c < g.oc; ++c)
                        out[(p + r) * g.oc + c] =
                            I48::store(sums[r * channels() + c] + I48::load(bias[g.bias_count == 1 ? 0 : c]));
                    }
                  }
                });
    return {};
  }
};

}  // namespace

std::optional<Kernel> dense_i16(const TailPlan& fused, const ConvGeometry& g) {
  const NodePlan& plan = fused.node;
  const bool fits = fused.tail.empty() && plan.in[0].dtype == DType::kInt16 && plan.in[1].dtype == DType::kInt8 &&
                    plan.out[0].dtype == DType::kInt48 && g.multiplier == 0 && g.oc > 0 && g.ic > 0;
  if (!fits) return std::nullopt;
  for (size_t i = 1; i < 5; ++i) {
    if (plan.in[i].constant == nullptr) return std::nullopt;
  }
  const bool has_zero_points = scalar_at(plan.in[3].constant->data.data(), DType::kInt16) != 0 ||
                               scalar_at(plan.in[4].constant->data.data(), DType::kInt8) != 0;
  const int64_t k = g.taps() * g.ic;
  constexpr int64_t kMaxTerms = int64_t{1} << 22, kMaxBias = int64_t{1} << 46;  // together, sums fit 48 bits
  const auto bias = plan.in[2].constant->values<I48::Storage>();
  const bool is_bounded = k <= kMaxTerms && std::ranges::all_of(bias, [](auto value) {
                            return std::abs(static_cast<int64_t>(I48::load(value))) <= kMaxBias;
                          });
  if (has_zero_points || !is_bounded) return std::nullopt;
  DenseI16 conv{.g = g, .k = k, .panels = simd::pack_matrix_i16(plan.in[1].constant->values<int8_t>(), k, g.oc)};
  const size_t packed = conv.panels.size() * sizeof(int16_t);
  return conv_kernel(std::move(conv), plan.threads, packed);
}

}  // namespace carina::interpret
