// Checks the operators of floats bit by bit on every processor: each output is one chain of fused multiply-adds in the
// order of taps and channels. Also checks that they read and write only their tensors.
#include "every_target.h"
#include "kernels/convolution.h"
#include "kernels/depthwise_pair.h"
#include "kernels/matmul.h"

namespace carina::kernels {

namespace {

using testing::expect_bits, testing::Guarded, testing::Limits, testing::on_every_target;

Tensor tensor_of(Guarded& values) {
  MutableTensor tensor(DType::kFp32, Shape{std::ssize(values.numbers())});
  std::ranges::copy(values.numbers(), tensor.values<float>().begin());
  return std::move(tensor).freeze();
}

// A convolution with random weights.
struct Conv {
  ConvGeometry g;
  Guarded weights, bias;

  Conv(const ConvGeometry& geometry, std::mt19937& random)
      : g(geometry), weights(g.oc * g.taps() * (g.multiplier == 0 ? g.ic : 1), random), bias(g.oc, random) {
    g.bias_count = g.oc;
  }

  [[nodiscard]] ConvF32 operand(int threads) {
    return {.geometry = g,
            .weights = tensor_of(weights),
            .bias = bias.numbers(),
            .bounds = {.low = Limits{}.low, .high = Limits{}.high},
            .threads = threads};
  }
  [[nodiscard]] int64_t inputs() const { return g.batch * g.in[0] * g.in[1] * g.in[2] * g.ic; }
  [[nodiscard]] int64_t outputs() const { return g.pixels() * g.oc; }

  [[nodiscard]] float at(const float* in, int64_t n, const std::array<int64_t, 3>& out, int64_t channel) {
    float sum = 0;
    for (int64_t t = 0; t < g.taps(); ++t) {
      const std::array<int64_t, 3> tap{t / (g.kernel[1] * g.kernel[2]), t / g.kernel[2] % g.kernel[1], t % g.kernel[2]};
      int64_t pixel = n;
      bool inside = true;
      for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t position = tap_position(g, axis, out[axis], tap[axis]);
        inside = inside && position >= 0 && position < g.in[axis];
        pixel = pixel * g.in[axis] + position;
      }
      if (!inside) continue;
      if (g.multiplier != 0) {
        sum = std::fma(in[pixel * g.ic + channel / g.multiplier], weights.data()[t * g.oc + channel], sum);
        continue;
      }
      for (int64_t c = 0; c < g.ic; ++c)
        sum = std::fma(in[pixel * g.ic + c], weights.data()[(channel * g.taps() + t) * g.ic + c], sum);
    }
    return Limits{}.of(sum + bias.data()[channel]);
  }

  [[nodiscard]] std::vector<float> expected(const float* in) {
    std::vector<float> all;
    for (int64_t p = 0; p < g.pixels(); ++p) {
      const std::array<int64_t, 3> out{p / (g.out[1] * g.out[2]) % g.out[0], p / g.out[2] % g.out[1], p % g.out[2]};
      for (int64_t c = 0; c < g.oc; ++c) all.push_back(at(in, p / (g.out[0] * g.out[1] * g.out[2]), out, c));
    }
    return all;
  }
};

// Runs an operator on every processor, with one thread and with three.
template <typename Make>
void expect_values(const Make& make, std::vector<std::span<float>> in, const std::vector<float>& wanted) {
  std::vector<const std::byte*> operands;
  for (const std::span<float> operand : in) operands.push_back(reinterpret_cast<const std::byte*>(operand.data()));
  for (const int threads : {1, 3}) {
    on_every_target([&] {
      const std::optional<Operator> op = make(threads);
      ASSERT_TRUE(op.has_value());
      Workers workers(threads);
      MutableBuffer scratch = MutableBuffer::allocate(op->scratch_bytes);
      Guarded out(std::ssize(wanted));
      op->run({.in = operands,
               .out = reinterpret_cast<std::byte*>(out.data()),
               .scratch = scratch.bytes().data(),
               .workers = workers});
      expect_bits(wanted, out.numbers());
      out.expect_margins();
    });
  }
}

struct Window {
  int64_t kernel, stride, padding, dilation;
};
constexpr Window kWindows[] = {
    {.kernel = 1, .stride = 1, .padding = 0, .dilation = 1}, {.kernel = 1, .stride = 2, .padding = 0, .dilation = 1},
    {.kernel = 3, .stride = 1, .padding = 1, .dilation = 1}, {.kernel = 3, .stride = 2, .padding = 1, .dilation = 1},
    {.kernel = 3, .stride = 2, .padding = 3, .dilation = 1}, {.kernel = 3, .stride = 1, .padding = 2, .dilation = 2},
    {.kernel = 2, .stride = 3, .padding = 0, .dilation = 1}, {.kernel = 5, .stride = 2, .padding = 2, .dilation = 1}};

ConvGeometry geometry_of(int64_t height, int64_t width, const Window& w) {
  const auto out = [&](int64_t size) {
    return (size + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
  };
  return {.batch = 2,
          .in = {1, height, width},
          .out = {1, out(height), out(width)},
          .kernel = {1, w.kernel, w.kernel},
          .stride = {1, w.stride, w.stride},
          .dilation = {1, w.dilation, w.dilation},
          .pad = {0, w.padding, w.padding}};
}

// Calls function(geometry) for images of several sizes and all windows that fit.
template <typename Function>
void for_all_windows(const Function& function) {
  constexpr std::array<std::array<int64_t, 2>, 5> kSizes{{{1, 1}, {7, 7}, {5, 14}, {9, 17}, {3, 65}}};
  for (const auto& [height, width] : kSizes) {
    for (const Window& w : kWindows) {
      if (std::min(height, width) + 2 * w.padding < w.dilation * (w.kernel - 1) + 1) continue;
      SCOPED_TRACE(std::to_string(w.kernel) + " taps, step " + std::to_string(w.stride) + ", padding " +
                   std::to_string(w.padding) + ", " + std::to_string(height) + " x " + std::to_string(width));
      function(geometry_of(height, width, w));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FloatOperators, dense_convolutions_are_chains) {
  std::mt19937 random(1);
  for_all_windows([&](ConvGeometry g) {
    g.ic = 1 + static_cast<int64_t>(random() % 20);
    g.oc = 1 + static_cast<int64_t>(random() % 70);
    Conv conv(g, random);
    Guarded in(conv.inputs(), random);
    expect_values([&](int threads) { return dense_f32(conv.operand(threads)); }, {in.numbers()},
                  conv.expected(in.data()));
  });
}

TEST(FloatOperators, depthwise_convolutions_are_chains) {
  std::mt19937 random(2);
  for_all_windows([&](ConvGeometry g) {
    g.multiplier = 1 + static_cast<int64_t>(random() % 3);
    g.ic = 1 + static_cast<int64_t>(random() % 80);
    g.oc = g.ic * g.multiplier;
    Conv conv(g, random);
    Guarded in(conv.inputs(), random);
    expect_values([&](int threads) { return depthwise_f32(conv.operand(threads)); }, {in.numbers()},
                  conv.expected(in.data()));
  });
}

TEST(FloatOperators, depthwise_pairs_are_the_two_convolutions) {
  std::mt19937 random(3);
  for_all_windows([&](ConvGeometry wide) {
    wide.ic = wide.oc = 1 + static_cast<int64_t>(random() % 80);
    wide.multiplier = 1;
    const ConvGeometry narrow{.batch = wide.batch,
                              .in = wide.in,
                              .out = wide.in,
                              .ic = 1 + static_cast<int64_t>(random() % 20),
                              .oc = wide.ic};
    Conv first(narrow, random), second(wide, random);
    Guarded in(first.inputs(), random);
    std::vector<float> between = first.expected(in.data());
    expect_values(
        [&](int threads) {
          return depthwise_pair_f32({.pointwise = first.operand(threads), .depthwise = second.operand(threads)});
        },
        {in.numbers()}, second.expected(between.data()));
  });
}

TEST(FloatOperators, matrix_products_are_chains) {
  std::mt19937 random(4);
  for (const int64_t rows : {1, 3, 8, 13, 129}) {
    for (const int64_t columns : {1, 5, 16, 49, 97}) {
      const MatmulSizes s{.n = 2, .h = rows, .c = 1 + static_cast<int64_t>(random() % 20), .w = columns};
      Guarded a(s.n * s.h * s.c, random), b(s.n * s.c * s.w, random);
      std::vector<float> wanted;
      for (int64_t row = 0; row < s.n * s.h; ++row) {
        for (int64_t w = 0; w < s.w; ++w) {
          float sum = 0;
          for (int64_t c = 0; c < s.c; ++c)
            sum = std::fma(a.data()[row * s.c + c], b.data()[(row / s.h * s.c + c) * s.w + w], sum);
          wanted.push_back(sum);
        }
      }
      expect_values([&](int threads) { return matmul_f32(s, threads); }, {a.numbers(), b.numbers()}, wanted);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace

}  // namespace carina::kernels
