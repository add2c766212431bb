// Checks depthwise convolutions bit by bit on every processor: each output is one chain of fused multiply-adds. Also
// checks that they read and write only their tensors.
#include "accelerate/vector_internal.h"
#include "every_target.h"

namespace carina::accelerate {

namespace {

using testing::expect_bits, testing::Guarded, testing::Limits, testing::on_every_target;

struct Window {
  int64_t kernel, stride, padding, dilation;
};

Plane plane_of(int64_t height, int64_t width, const Window& w) {
  const auto out = [&](int64_t size) {
    return (size + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
  };
  return {.height = height,
          .width = width,
          .out_height = out(height),
          .out_width = out(width),
          .kernel_height = w.kernel,
          .kernel_width = w.kernel,
          .stride_y = w.stride,
          .stride_x = w.stride,
          .padding_y = w.padding,
          .padding_x = w.padding,
          .dilation_y = w.dilation,
          .dilation_x = w.dilation};
}

// Each input channel gives three outputs. The kernel computes channels 1 and 2 of the first input and all three of the
// second.
constexpr int64_t kOfOneInput = 3, kSkipped = 1, kChannels = 5;

struct Chains {
  Plane plane;
  Guarded in, weights, scale, shift;
  Chains(const Plane& p, std::mt19937& random)
      : plane(p),
        in(2 * p.in_elems(), random),
        weights(kChannels * p.taps(), random),
        scale(kChannels, random),
        shift(kChannels, random) {}

  [[nodiscard]] float at(int64_t channel, int64_t y, int64_t x) {
    const Plane& p = plane;
    const float* from = in.data() + (kSkipped + channel) / kOfOneInput * p.in_elems();
    float sum = 0;
    for (int64_t t = 0; t < p.taps(); ++t) {
      const int64_t row = y * p.stride_y - p.padding_y + t / p.kernel_width * p.dilation_y;
      const int64_t column = x * p.stride_x - p.padding_x + t % p.kernel_width * p.dilation_x;
      const bool inside = row >= 0 && row < p.height && column >= 0 && column < p.width;
      sum = std::fma(inside ? from[row * p.width + column] : 0.0F, weights.data()[channel * p.taps() + t], sum);
    }
    return Limits{}.of(std::fma(sum, scale.data()[channel], shift.data()[channel]));
  }
};

void expect_chains(Chains& one) {
  const Plane& p = one.plane;
  std::vector<float> wanted;
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t i = 0; i < p.out_elems(); ++i) wanted.push_back(one.at(c, i / p.out_width, i % p.out_width));
  }
  on_every_target([&] {
    Guarded out(kChannels * p.out_elems());
    std::vector<float> scratch(static_cast<size_t>(plane_elems(p)));
    depthwise({.plane = p,
               .channels = kChannels,
               .of_one_input = kOfOneInput,
               .skipped = kSkipped,
               .in = one.in.data(),
               .weights = one.weights.data(),
               .out = out.data(),
               .scratch = scratch.data(),
               .scale = one.scale.data(),
               .shift = one.shift.data(),
               .low = Limits{}.low,
               .high = Limits{}.high});
    expect_bits(wanted, out.numbers());
    out.expect_margins();
  });
}

TEST(Depthwise, all_window_shapes_match_reference) {
  constexpr Window kWindows[] = {
      {.kernel = 3, .stride = 1, .padding = 1, .dilation = 1}, {.kernel = 3, .stride = 2, .padding = 1, .dilation = 1},
      {.kernel = 3, .stride = 1, .padding = 0, .dilation = 1}, {.kernel = 3, .stride = 2, .padding = 0, .dilation = 1},
      {.kernel = 3, .stride = 2, .padding = 3, .dilation = 1}, {.kernel = 3, .stride = 1, .padding = 2, .dilation = 2},
      {.kernel = 3, .stride = 3, .padding = 1, .dilation = 1}, {.kernel = 5, .stride = 1, .padding = 2, .dilation = 1},
      {.kernel = 5, .stride = 2, .padding = 2, .dilation = 1}};
  constexpr struct {
    int64_t height, width;
  } kSizes[] = {{1, 1}, {2, 3}, {7, 7}, {5, 14}, {14, 16}, {9, 17}, {6, 28}, {13, 33}, {20, 65}};
  std::mt19937 random(2);
  for (const Window& w : kWindows) {
    for (const auto& [height, width] : kSizes) {
      if (std::min(height, width) + 2 * w.padding < w.dilation * (w.kernel - 1) + 1) continue;
      SCOPED_TRACE(std::to_string(w.kernel) + " taps, step " + std::to_string(w.stride) + ", padding " +
                   std::to_string(w.padding) + ", " + std::to_string(height) + " x " + std::to_string(width));
      Chains one(plane_of(height, width, w), random);
      expect_chains(one);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace

}  // namespace carina::accelerate
