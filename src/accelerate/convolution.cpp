#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "accelerate/convolution_internal.h"
#include "tensor/finite.h"

namespace carina::accelerate {

namespace {

// The division of `columns` columns into parts of `step` columns, which are whole tiles.
struct Cut {
  int64_t columns, step;
  Cut(int64_t all, int64_t min, int threads) : columns(all) {
    const int64_t each = (all + threads - 1) / threads;
    step = threads == 1 ? all : std::max((each + kTileColumns - 1) / kTileColumns * kTileColumns, min);
    step = std::max<int64_t>(step, 1);
  }
  [[nodiscard]] int64_t parts() const { return (columns + step - 1) / step; }
  [[nodiscard]] int64_t begin(int64_t part) const { return part * step; }
  [[nodiscard]] int64_t count(int64_t part) const { return std::min(step, columns - part * step); }
};

}  // namespace

Convolution::Convolution(const Geometry& geometry, Arguments arguments, const Tail& tail)
    : g_(geometry), in_(arguments[0]), weight_(arguments[1]), out_(tail.out), bounds_(tail.bounds) {
  set_factors(arguments[2], tail.batch_norm);
  if (!g_.is_depthwise()) pack_weights();
  if (overlap(in_->tensor, out_->tensor)) own_.resize(out_->tensor.elements());
}

void Convolution::run(ThreadPool& pool) {
  auto* out = own_.empty() ? out_->tensor.as<float>() : own_.data();
  for (int64_t n = 0; n < g_.batch; ++n) {
    const float* in = in_->tensor.as<const float>() + n * g_.channels * g_.plane.in_elems();
    float* to = out + n * g_.out_channels * g_.plane.out_elems();
    if (g_.is_depthwise()) {
      run_depthwise(pool, in, to);
    } else {
      run_gemms(pool, in, to);
    }
  }
  if (!own_.empty()) std::memcpy(out_->tensor.data, own_.data(), own_.size() * sizeof(float));
}

// The scale and shift of the sums per channel, from the bias and the batch norm. Each is applied separately, without a
// change of its factors.
void Convolution::set_factors(const EValue* bias, Arguments norm) {
  const auto channels = static_cast<size_t>(g_.out_channels);
  scale_.assign(channels, 1.0F);
  shift_.assign(channels, 0.0F);
  const auto entry = [](const EValue* value, size_t c, double otherwise) {
    return value->is_none() ? otherwise : static_cast<double>(value->tensor.as<const float>()[c]);
  };
  for (size_t c = 0; c < channels; ++c) {
    double scale = 1, shift = entry(bias, c, 0);
    if (!norm.empty()) {
      scale = entry(norm[1], c, 1) / std::sqrt(entry(norm[4], c, 1) + norm[6]->to_double());
      shift = (shift - entry(norm[3], c, 0)) * scale + entry(norm[2], c, 0);
    }
    scale_[c] = static_cast<float>(scale);
    shift_[c] = static_cast<float>(shift);
  }
}

void Convolution::pack_weights() {
  const int64_t depth = g_.group_in() * g_.plane.taps();
  for (int64_t group = 0; group < g_.groups; ++group)
    packed_.push_back(pack({.from = weight_->tensor.as<const float>() + group * g_.group_out() * depth,
                            .rows = g_.group_out(),
                            .depth = depth,
                            .row_step = depth,
                            .depth_step = 1}));
  leave_packed(weight_->tensor);
}

Epilogue Convolution::epilogue(int64_t first) const {
  return {.scale = scale_.data() + first,
          .shift = shift_.data() + first,
          .column = nullptr,
          .low = bounds_.low,
          .high = bounds_.high};
}

void Convolution::run_planes(const float* in, int64_t first, int64_t count, float* out) const {
  thread_local std::vector<float> scratch;
  scratch.assign(static_cast<size_t>(plane_elems(g_.plane)), 0.0F);
  depthwise({.plane = g_.plane,
             .channels = count,
             .of_one_input = g_.group_out(),
             .skipped = first % g_.group_out(),
             .in = in,
             .weights = weight_->tensor.as<const float>() + first * g_.plane.taps(),
             .out = out,
             .scratch = scratch.data(),
             .scale = scale_.data() + first,
             .shift = shift_.data() + first,
             .low = bounds_.low,
             .high = bounds_.high});
}

void Convolution::run_rows(const float* in, int64_t first, int64_t count, float* out) const {
  multiply(PackedGemm{.a = &packed_[0],
                      .first = first,
                      .rows = count,
                      .b = in,
                      .b_step = g_.plane.in_elems(),
                      .b_column_step = 1,
                      .columns = g_.plane.out_elems(),
                      .out = out,
                      .out_row_step = g_.plane.out_elems(),
                      .out_column_step = 1,
                      .epilogue = epilogue(first)});
}

void Convolution::run_depthwise(ThreadPool& pool, const float* in, float* out) const {
  const int64_t each = (g_.out_channels + pool.threads() - 1) / pool.threads();
  pool.parallel_for(static_cast<size_t>((g_.out_channels + each - 1) / each), [&](size_t part) {
    const int64_t first = static_cast<int64_t>(part) * each;
    run_planes(in + first / g_.group_out() * g_.plane.in_elems(), first, std::min(each, g_.out_channels - first),
               out + first * g_.plane.out_elems());
  });
}

void Convolution::run_gemms(ThreadPool& pool, const float* in, float* out) const {
  const int64_t depth = g_.group_in() * g_.plane.taps();
  // Gathered columns stay in the second-level cache.
  constexpr int64_t kGatheredFloats = 32 * 1024;
  const int64_t fit = std::max(kGatheredFloats / depth / kTileColumns * kTileColumns, kTileColumns);
  Cut cut(g_.plane.out_elems(), kTileColumns, pool.threads());
  // A few more columns are not worth another pass over the weights.
  if (!g_.is_pointwise() && cut.step > fit + kTileColumns / 2) cut.step = fit;
  const int64_t parts = cut.parts();
  pool.parallel_for(static_cast<size_t>(g_.groups * parts), [&](size_t unit) {
    const int64_t group = static_cast<int64_t>(unit) / parts, part = static_cast<int64_t>(unit) % parts;
    const int64_t begin = cut.begin(part), count = cut.count(part);
    const float* b = in + group * g_.group_in() * g_.plane.in_elems() + begin;
    int64_t b_stride = g_.plane.in_elems();
    if (!g_.is_pointwise()) {
      thread_local std::vector<float> gathered;
      gathered.resize(static_cast<size_t>(depth * count));
      gather(in + group * g_.group_in() * g_.plane.in_elems(), begin, count, gathered.data());
      b = gathered.data();
      b_stride = count;
    }
    const int64_t first = group * g_.group_out();
    multiply(PackedGemm{.a = &packed_[static_cast<size_t>(group)],
                        .first = 0,
                        .rows = g_.group_out(),
                        .b = b,
                        .b_step = b_stride,
                        .b_column_step = 1,
                        .columns = count,
                        .out = out + first * g_.plane.out_elems() + begin,
                        .out_row_step = g_.plane.out_elems(),
                        .out_column_step = 1,
                        .epilogue = epilogue(first)});
  });
}

// Collects, for each input channel and tap, the input elements of the outputs [begin, begin + count).
void Convolution::gather(const float* in, int64_t begin, int64_t count, float* to) const {
  const Plane& p = g_.plane;
  const Outputs outputs{.y = begin / p.out_width, .x = begin % p.out_width, .count = count};
  for (int64_t c = 0; c < g_.group_in(); ++c) {
    for (int64_t ky = 0; ky < p.kernel_height; ++ky) {
      for (int64_t kx = 0; kx < p.kernel_width; ++kx, to += count)
        gather_tap(in + c * g_.plane.in_elems(), ky * p.dilation_y - p.padding_y, kx * p.dilation_x - p.padding_x,
                   outputs, to);
    }
  }
}

void Convolution::gather_tap(const float* in, int64_t down, int64_t right, const Outputs& outputs, float* to) const {
  const Plane& p = g_.plane;
  int64_t x = outputs.x, row = outputs.y * p.stride_y + down;
  for (int64_t left = outputs.count; left > 0; x = 0, row += p.stride_y) {
    const int64_t run = std::min(p.out_width - x, left);
    gather_run(row < 0 || row >= p.height ? nullptr : in + row * p.width, x * p.stride_x + right, run, to);
    left -= run;
    to += run;
  }
}

// Copies every stride-th column of a row from `column` on, with zeros outside of the row. nullptr: the row is outside
// of the image.
void Convolution::gather_run(const float* row, int64_t column, int64_t run, float* to) const {
  const int64_t step = g_.plane.stride_x, width = g_.plane.width;
  const auto steps = [step](int64_t columns) {  // faster than a division, which takes as long as a short row
    if (columns <= 0) return int64_t{0};
    return step == 1 ? columns : step == 2 ? (columns + 1) / 2 : (columns + step - 1) / step;
  };
  const int64_t before = std::min(steps(-column), run);
  const int64_t end = row == nullptr ? before : std::clamp(steps(width - column), before, run);
  if (before > 0) std::fill_n(to, before, 0.0F);
  if (step == 1) {
    if (end > before) std::copy_n(row + column + before, end - before, to + before);
  } else if (step == 2) {  // the compiler vectorizes a loop with a constant step
    for (int64_t i = before; i < end; ++i) to[i] = row[column + i * 2];
  } else {
    for (int64_t i = before; i < end; ++i) to[i] = row[column + i * step];
  }
  if (end < run) std::fill_n(to + end, run - end, 0.0F);
}

namespace {

int64_t entry_of(const EValue& list, size_t axis, size_t axes) {
  const size_t at = list.integers.size() == 1 ? 0 : axis;
  return list.integers.size() == 1 || list.integers.size() == axes ? list.integers[at] : -1;
}

}  // namespace

std::optional<Plane> plane_of(Arguments arguments, const EValue& out) {
  const auto in = arguments[0]->tensor.sizes(), weight = arguments[1]->tensor.sizes(), to = out.tensor.sizes();
  if (in.size() != weight.size() || in.size() != to.size() || (in.size() != 3 && in.size() != 4)) return std::nullopt;
  const size_t axes = in.size() - 2;
  const bool flat = axes == 1;
  const auto window = [&](size_t argument, size_t axis) { return entry_of(*arguments[argument], axis, axes); };
  return Plane{.height = flat ? 1 : in[2],
               .width = in[axes + 1],
               .out_height = flat ? 1 : to[2],
               .out_width = to[axes + 1],
               .kernel_height = flat ? 1 : weight[2],
               .kernel_width = weight[axes + 1],
               .stride_y = flat ? 1 : window(3, 0),
               .stride_x = window(3, axes - 1),
               .padding_y = flat ? 0 : window(4, 0),
               .padding_x = window(4, axes - 1),
               .dilation_y = flat ? 1 : window(5, 0),
               .dilation_x = window(5, axes - 1)};
}

namespace {

bool read_geometry(Arguments arguments, const EValue& out, Geometry& g) {
  const std::optional<Plane> plane = plane_of(arguments, out);
  if (!plane) return false;
  const auto in = arguments[0]->tensor.sizes(), weight = arguments[1]->tensor.sizes(), to = out.tensor.sizes();
  g.batch = in[0];
  g.channels = in[1];
  g.out_channels = weight[0];
  g.groups = arguments[8]->to_int();
  g.plane = *plane;
  const Plane& p = g.plane;
  const auto fits = [](int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                       int64_t to_size) {
    constexpr int64_t kMaxSize = 1 << 20;
    return kernel >= 1 && kernel < kMaxSize && stride >= 1 && stride < kMaxSize && padding >= 0 && padding < kMaxSize &&
           dilation >= 1 && dilation < kMaxSize && to_size >= 1 &&
           to_size == (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  };
  return g.groups >= 1 && g.channels >= 1 && g.channels % g.groups == 0 && g.out_channels % g.groups == 0 &&
         g.out_channels >= 1 && weight[1] == g.channels / g.groups && to[0] == in[0] && to[1] == weight[0] &&
         fits(p.height, p.kernel_height, p.stride_y, p.padding_y, p.dilation_y, p.out_height) &&
         fits(p.width, p.kernel_width, p.stride_x, p.padding_x, p.dilation_x, p.out_width);
}

bool is_finite(const Tensor& tensor) {
  return are_finite({tensor.as<const float>(), static_cast<size_t>(tensor.elements())});
}

}  // namespace

// (input, weight, bias or None, stride, padding, dilation, transposed, output_padding, groups, out). Weights are
// constant and finite: padding is multiplied as zeros here.
std::optional<Geometry> geometry_of(Arguments arguments, const Tail& tail) {
  using Kind = EValue::Kind;
  if (arguments.size() < 10 || tail.out == nullptr || arguments[6]->to_int() != 0) return std::nullopt;
  for (const size_t list : {3, 4, 5}) {
    if (arguments[list]->kind != Kind::kIntList) return std::nullopt;
  }
  const EValue &in = *arguments[0], &weight = *arguments[1], &bias = *arguments[2];
  Geometry geometry{};
  if (!is_plain(in) || !is_plain(weight) || !is_constant(weight) || !is_plain(*tail.out) || tail.out->tensor.read_only)
    return std::nullopt;
  if (!read_geometry(arguments, *tail.out, geometry) || !is_finite(weight.tensor)) return std::nullopt;
  const bool bias_fits = bias.is_none() || (is_plain(bias) && is_constant(bias) &&
                                            static_cast<int64_t>(bias.tensor.elements()) == geometry.out_channels);
  if (!bias_fits) return std::nullopt;
  return geometry;
}

std::unique_ptr<Step> make_convolution(Arguments arguments, const Tail& tail) {
  if (arguments.size() > 6 && arguments[6]->to_int() != 0) return make_transposed_convolution(arguments, tail);
  const auto geometry = geometry_of(arguments, tail);
  return geometry ? std::make_unique<Convolution>(*geometry, arguments, tail) : nullptr;
}

}  // namespace carina::accelerate
