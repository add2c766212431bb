// Transposed convolutions of floats: the products of all weights of a few output channels with the input, as one matrix
// product, which are then added to the outputs that they belong to.
//   Example: weights [64,32,4,4] and an image of 32x32: for 8 output channels, 8 * 16 rows of products, each of as many
//   columns as the rows of the image that are handled together have. The row of tap (ky, kx) is added to every
//   stride-th output of every stride-th row, from (ky, kx) - padding on.
// Cost: as many multiplications as the operator has, and one addition each. Frameworks call it col2im.
#include <algorithm>
#include <vector>

#include "accelerate/convolution_internal.h"

namespace carina::accelerate {
namespace {

constexpr int64_t kChannels = 8;          // computed together: rows of a product are then a multiple of half a panel
constexpr int64_t kProducts = 48 * 1024;  // floats that stay in the second-level cache

// Outputs of one axis that a tap reaches: output `first` + i * stride for inputs [begin, end).
struct Reached {
  int64_t begin, end, first;
};
Reached reached(int64_t inputs, int64_t outputs, int64_t stride, int64_t offset) {
  const int64_t begin = offset >= 0 ? 0 : std::min((-offset + stride - 1) / stride, inputs);
  const int64_t room = outputs - offset;
  const int64_t end = room <= 0 ? begin : std::clamp((room + stride - 1) / stride, begin, inputs);
  return {.begin = begin, .end = end, .first = begin * stride + offset};
}

void add_row(const float* from, int64_t count, int64_t step, float* to) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  } else if (step == 2) {  // the compiler vectorizes a loop with a constant step
    for (int64_t i = 0; i < count; ++i) to[i * 2] += from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * step] += from[i];
  }
}

class TransposedConvolution final : public Step {
 public:
  TransposedConvolution(const Geometry& geometry, Arguments arguments, const Tail& tail)
      : g_(geometry), in_(arguments[0]), bias_(arguments[2]), out_(tail.out), bounds_(tail.bounds) {
    const int64_t taps = g_.plane.taps(), rows = g_.group_out() * taps;
    const auto* weights = arguments[1]->tensor.as<const float>();
    for (int64_t group = 0; group < g_.groups; ++group)
      packed_.push_back(pack({.from = weights + group * g_.group_in() * rows,
                              .rows = rows,
                              .depth = g_.group_in(),
                              .row_step = 1,
                              .depth_step = rows}));
    leave_packed(arguments[1]->tensor);
  }

  void run(ThreadPool& pool) override {
    const auto* in = in_->tensor.as<const float>();
    float* out = out_->tensor.as<float>();
    if (overlap(in_->tensor, out_->tensor)) {
      own_.resize(static_cast<size_t>(in_->tensor.elements()));
      std::copy_n(in, own_.size(), own_.data());
      in = own_.data();
    }
    const int64_t blocks = (g_.group_out() + kChannels - 1) / kChannels;
    pool.parallel_for(static_cast<size_t>(g_.batch * g_.groups * blocks), [&](size_t unit) {
      const int64_t block = static_cast<int64_t>(unit) % blocks,
                    group = static_cast<int64_t>(unit) / blocks % g_.groups,
                    n = static_cast<int64_t>(unit) / blocks / g_.groups;
      run_channels(in + (n * g_.channels + group * g_.group_in()) * g_.plane.in_elems(), group, block * kChannels,
                   out + n * g_.out_channels * g_.plane.out_elems());
    });
  }

 private:
  // Output channels [first, first + kChannels) of a group, of one image.
  void run_channels(const float* in, int64_t group, int64_t first, float* image) const {
    const Plane& p = g_.plane;
    const int64_t count = std::min(kChannels, g_.group_out() - first), channel = group * g_.group_out() + first;
    float* out = image + channel * p.out_elems();
    for (int64_t c = 0; c < count; ++c)
      std::fill_n(out + c * p.out_elems(), p.out_elems(),
                  bias_->is_none() ? 0 : bias_->tensor.as<const float>()[channel + c]);
    const int64_t products = count * p.taps();
    const int64_t lines = std::clamp<int64_t>(kProducts / (products * p.width), 1, p.height);
    thread_local std::vector<float> sums;
    sums.resize(static_cast<size_t>(products * lines * p.width));
    for (int64_t y = 0; y < p.height; y += lines) {
      const int64_t some = std::min(lines, p.height - y);
      multiply(PackedGemm{.a = &packed_[static_cast<size_t>(group)],
                          .first = first * p.taps(),
                          .rows = products,
                          .b = in + y * p.width,
                          .b_step = p.in_elems(),
                          .b_column_step = 1,
                          .columns = some * p.width,
                          .out = sums.data(),
                          .out_row_step = some * p.width,
                          .out_column_step = 1,
                          .epilogue = {.low = Bounds{}.low, .high = Bounds{}.high}});
      add(sums.data(), count, y, some, out);
    }
    const Bounds all;
    if (bounds_.low == all.low && bounds_.high == all.high) return;
    for (int64_t i = 0; i < count * p.out_elems(); ++i) {  // a NaN stays
      out[i] = out[i] < bounds_.low ? bounds_.low : out[i];
      out[i] = out[i] > bounds_.high ? bounds_.high : out[i];
    }
  }

  // Adds the products of the image's lines [y, y + lines) to the outputs.
  void add(const float* products, int64_t count, int64_t y, int64_t lines, float* out) const {
    const Plane& p = g_.plane;
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t ky = 0; ky < p.kernel_height; ++ky) {
        for (int64_t kx = 0; kx < p.kernel_width; ++kx, products += lines * p.width) {
          const Reached x = reached(p.width, p.out_width, p.stride_x, kx * p.dilation_x - p.padding_x);
          for (int64_t line = 0; line < lines; ++line) {
            const int64_t to = (y + line) * p.stride_y + ky * p.dilation_y - p.padding_y;
            if (to < 0 || to >= p.out_height) continue;
            add_row(products + line * p.width + x.begin, x.end - x.begin, p.stride_x,
                    out + c * p.out_elems() + to * p.out_width + x.first);
          }
        }
      }
    }
  }

  Geometry g_;
  EValue* in_;
  EValue* bias_;
  EValue* out_;
  Bounds bounds_;
  std::vector<PackedMatrix> packed_;  // the weights of each group
  std::vector<float> own_;            // used if the output would overwrite the input
};

bool is_transposed_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                        int64_t to_size) {
  constexpr int64_t kMaxSize = 1 << 20;
  for (const int64_t value : {size, kernel, stride, dilation, to_size}) {
    if (value < 1 || value >= kMaxSize) return false;
  }
  const int64_t least = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1;
  return padding >= 0 && padding < kMaxSize && to_size >= least && to_size < least + std::max(stride, dilation);
}

bool read_transposed_geometry(Arguments arguments, const EValue& out, Geometry& g) {
  const std::optional<Plane> plane = plane_of(arguments, out);
  if (!plane) return false;
  const auto in = arguments[0]->tensor.sizes(), weight = arguments[1]->tensor.sizes(), to = out.tensor.sizes();
  g = {.batch = in[0], .channels = in[1], .out_channels = to[1], .groups = arguments[8]->to_int(), .plane = *plane};
  const Plane& p = g.plane;
  return g.groups >= 1 && g.channels >= 1 && g.out_channels >= 1 && g.channels % g.groups == 0 &&
         g.out_channels % g.groups == 0 && weight[0] == g.channels && weight[1] == g.group_out() && to[0] == in[0] &&
         is_transposed_size(p.height, p.kernel_height, p.stride_y, p.padding_y, p.dilation_y, p.out_height) &&
         is_transposed_size(p.width, p.kernel_width, p.stride_x, p.padding_x, p.dilation_x, p.out_width);
}

}  // namespace

std::unique_ptr<Step> make_transposed_convolution(Arguments arguments, const Tail& tail) {
  if (arguments.size() < 10 || tail.out == nullptr || !tail.batch_norm.empty()) return nullptr;
  for (const size_t list : {3, 4, 5}) {
    if (arguments[list]->kind != EValue::Kind::kIntList) return nullptr;
  }
  const EValue &in = *arguments[0], &weight = *arguments[1], &bias = *arguments[2];
  Geometry geometry{};
  if (!is_plain(in) || !is_plain(weight) || !is_constant(weight) || !is_plain(*tail.out) ||
      tail.out->tensor.read_only || !read_transposed_geometry(arguments, *tail.out, geometry))
    return nullptr;
  const bool bias_fits = bias.is_none() || (is_plain(bias) && is_constant(bias) &&
                                            static_cast<int64_t>(bias.tensor.elements()) == geometry.out_channels);
  return bias_fits ? std::make_unique<TransposedConvolution>(geometry, arguments, tail) : nullptr;
}

}  // namespace carina::accelerate
