// FFT2D and RFFT2D: the discrete Fourier transform of [N,H,W] along both axes, computed in double. The inverse
// transform is not divided by H * W.

#include <cmath>
#include <numbers>
#include <vector>

#include "interpret/checks_internal.h"

namespace carina::interpret {

namespace {

struct Complex {
  double re;
  double im;
};

// Returns e^(sign * 2 pi i k / n) for k in [0, n), derived from the first eighth of the circle. Library functions are
// not used, because their bits vary.
std::vector<Complex> roots_of_unity(int64_t n, double sign) {
  std::vector<Complex> roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    const int64_t eighths = 8 * k / n;  // the eighth of the circle
    const int64_t folded = (eighths % 2 == 0 ? 8 * k - eighths * n : (eighths + 1) * n - 8 * k);
    const double angle = static_cast<double>(folded) / static_cast<double>(n) * (std::numbers::pi / 4);
    double sine = 0;
    double cosine = 0;
    double term = 1;
    for (int i = 0; i < 24; ++i) {  // angle <= pi/4: 24 terms are beyond double's precision
      (i % 2 == 0 ? cosine : sine) += (i / 2 % 2 == 0 ? term : -term);
      term = term * angle / (i + 1);
    }
    const bool swapped = eighths % 4 == 1 || eighths % 4 == 2;
    const double x = swapped ? sine : cosine;
    const double y = swapped ? cosine : sine;
    roots[static_cast<size_t>(k)] = {.re = eighths >= 2 && eighths < 6 ? -x : x, .im = sign * (eighths >= 4 ? -y : y)};
  }
  return roots;
}

// Transforms n elements in place, `stride` apart. Powers of two use the FFT, other sizes the definition.
struct Transform {
  explicit Transform(int64_t size, double sign) : n(size), roots(roots_of_unity(size, sign)) {}
  int64_t n;
  std::vector<Complex> roots;

  [[nodiscard]] int64_t scratch() const { return n; }
  void run(Complex* data, int64_t stride, Complex* scratch) const {
    for (int64_t i = 0; i < n; ++i) scratch[i] = data[i * stride];
    if ((n & (n - 1)) == 0) {
      halve(scratch);
      for (int64_t i = 0; i < n; ++i) data[i * stride] = scratch[i];
      return;
    }
    for (int64_t k = 0; k < n; ++k) {
      Complex sum{.re = 0, .im = 0};
      for (int64_t i = 0, at = 0; i < n; ++i, at = (at + k) % n) {
        const Complex w = roots[static_cast<size_t>(at)];
        sum.re += scratch[i].re * w.re - scratch[i].im * w.im;
        sum.im += scratch[i].re * w.im + scratch[i].im * w.re;
      }
      data[k * stride] = sum;
    }
  }

  void halve(Complex* x) const {
    for (int64_t i = 1, j = 0; i < n; ++i) {  // bit-reversal permutation
      int64_t bit = n >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(x[i], x[j]);
    }
    for (int64_t length = 2; length <= n; length *= 2) {
      for (int64_t begin = 0; begin < n; begin += length) {
        for (int64_t k = 0; k < length / 2; ++k) {
          const Complex w = roots[static_cast<size_t>(k * (n / length))];
          Complex& a = x[begin + k];
          Complex& b = x[begin + k + length / 2];
          const Complex t{.re = b.re * w.re - b.im * w.im, .im = b.re * w.im + b.im * w.re};
          b = {.re = a.re - t.re, .im = a.im - t.im};
          a = {.re = a.re + t.re, .im = a.im + t.im};
        }
      }
    }
  }
};

struct Plan {
  int64_t n, h, w, out_w;
  bool real_input;
  Transform rows;
  Transform columns;
};

void run_image(const Plan& plan, const Call& call, int64_t image) {
  auto* data = reinterpret_cast<Complex*>(call.scratch);
  Complex* spare = data + plan.h * plan.w;
  const int64_t in_at = image * plan.h * plan.w;
  for (int64_t i = 0; i < plan.h * plan.w; ++i) {
    data[i] = {.re = call.input<float>(0)[in_at + i], .im = plan.real_input ? 0.0 : call.input<float>(1)[in_at + i]};
  }
  for (int64_t y = 0; y < plan.h; ++y) plan.rows.run(data + y * plan.w, 1, spare);
  for (int64_t x = 0; x < plan.out_w; ++x) plan.columns.run(data + x, plan.w, spare);
  for (int64_t y = 0; y < plan.h; ++y) {
    for (int64_t x = 0; x < plan.out_w; ++x) {
      const int64_t at = (image * plan.h + y) * plan.out_w + x;
      call.output<float>(0)[at] = static_cast<float>(data[y * plan.w + x].re);
      call.output<float>(1)[at] = static_cast<float>(data[y * plan.w + x].im);
    }
  }
}

Result<Kernel> prepare(const NodePlan& plan, size_t inputs) {
  Checks checks(plan);
  checks.operands(inputs, 2);
  if (checks.good()) checks.rank(plan.in[0], 3, 3);
  if (!checks.good()) return fail(checks.done().error());
  const Operand& in = plan.in[0];
  const bool real_input = inputs == 1;
  const Shape out{in.dim(0), in.dim(1), real_input ? in.dim(2) / 2 + 1 : in.dim(2)};
  const auto power_of_two = [](int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  checks.require(power_of_two(in.dim(1)) && power_of_two(in.dim(2)), "H and W must be powers of two",
                 to_string(*in.shape));
  for (const Operand& operand : plan.in) checks.same_type(operand, DType::kFp32).shape(operand, *in.shape);
  for (const Operand& operand : plan.out) checks.same_type(operand, DType::kFp32).shape(operand, out);
  CARINA_CHECKED(checks.done());
  const bool inverse = !real_input && plan.node.attributes.get<bool>("inverse");
  const double sign = inverse ? 1 : -1;
  Plan transform{.n = in.dim(0),
                 .h = in.dim(1),
                 .w = in.dim(2),
                 .out_w = out[2],
                 .real_input = real_input,
                 .rows = Transform(in.dim(2), sign),
                 .columns = Transform(in.dim(1), sign)};
  const size_t scratch = static_cast<size_t>(in.dim(1) * in.dim(2) + std::max(in.dim(1), in.dim(2))) * sizeof(Complex);
  return Kernel{.run = [transform = std::move(transform)](const Call& call) -> Result<void> {
                  for (int64_t image = 0; image < transform.n; ++image) run_image(transform, call, image);
                  return {};
                },
                .scratch_bytes = scratch};
}

}  // namespace

Result<Kernel> prepare_FFT2D(const NodePlan& plan) {
  return prepare(plan, 2);
}
Result<Kernel> prepare_RFFT2D(const NodePlan& plan) {
  return prepare(plan, 1);
}

}  // namespace carina::interpret
