// int8 convolutions and linear layers of ExecuTorch's Cortex-M backend. They give the same bits as the runtime's
// kernels.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "accelerate/int8_internal.h"
#include "accelerate/vector_internal.h"
#include "carina/buffer.h"
#include "simd/int8_kernels.h"

namespace carina::accelerate {

namespace {

constexpr int64_t kBlockRows = 96;   // rows of a matrix product whose sums stay in the first-level cache
constexpr int64_t kBlockPixels = 8;  // of a depthwise convolution
constexpr int64_t kGroup = simd::kMaxPanels * simd::kLanes;

bool is_int32_list(const EValue& value, int64_t count) {
  return is_constant(value) && value.tensor.type == PteScalarType::kInt && value.tensor.contiguous() &&
         static_cast<int64_t>(value.tensor.elements()) == count;
}

// The parameters that convert sums to bytes. Lists of channels are padded for vectors.
struct Output {
  std::vector<int32_t> column;
  std::vector<int32_t> multiplier;
  std::vector<int32_t> right_shift;
  int32_t zero_point = 0, low = 0, high = 0;

  explicit Output(int64_t channels)
      : column(static_cast<size_t>(simd::padded(channels))), multiplier(column.size()), right_shift(column.size()) {}

  // The same parameters for kernels that write bytes. No value if the processor has no such kernels.
  [[nodiscard]] std::optional<simd::Int8Epilogue> in_registers(int64_t channels) const {
    constexpr int32_t kMinZeroPoint = std::numeric_limits<int8_t>::min(),
                      kMaxZeroPoint = std::numeric_limits<int8_t>::max();
    const auto shifts = std::span(right_shift).first(static_cast<size_t>(channels));
    if (!simd::kernels_make_bytes() || zero_point < kMinZeroPoint || zero_point > kMaxZeroPoint ||
        !std::ranges::all_of(shifts, [](int32_t shift) { return shift > 0; }))
      return std::nullopt;
    simd::Int8Epilogue epilogue(channels);
    epilogue.rule = simd::ByteRule::kRequantize;
    epilogue.zero_point = zero_point;
    epilogue.low = static_cast<int8_t>(low);
    epilogue.high = static_cast<int8_t>(high);
    for (size_t c = 0; c < shifts.size(); ++c) {
      epilogue.column[c] = column[c];
      epilogue.multiplier[c] = multiplier[c];
      epilogue.shift[c] = shifts[c];
      epilogue.addend[c] = int32_t{1} << (shifts[c] - 1);
    }
    return epilogue;
  }

  // Writes the channels [first, first + channels) of rows, from the sums in `sums`.
  void write(const int32_t* sums, int64_t stride, int64_t rows, int64_t first, int64_t channels, int8_t* out,
             int64_t out_stride) const {
    requantize({.in = sums,
                .in_stride = stride,
                .rows = rows,
                .channels = channels,
                .column = column.data() + first,
                .multiplier = multiplier.data() + first,
                .right_shift = right_shift.data() + first,
                .zero_point = zero_point,
                .low = low,
                .high = high,
                .out = out + first,
                .out_stride = out_stride});
  }
};

struct Limits {
  int64_t zero_point, low, high;
};

bool set_limits(const Limits& limits, Output& output) {
  constexpr int64_t kMinInt8 = std::numeric_limits<int8_t>::min(), kMaxInt8 = std::numeric_limits<int8_t>::max();
  constexpr int64_t kFar = int64_t{1} << 16;
  if (limits.low < kMinInt8 || limits.high > kMaxInt8 || limits.low > limits.high || std::abs(limits.zero_point) > kFar)
    return false;
  output.zero_point = static_cast<int32_t>(limits.zero_point);
  output.low = static_cast<int32_t>(limits.low);
  output.high = static_cast<int32_t>(limits.high);
  return true;
}

bool set_scale(int64_t multiplier, int64_t shift, size_t channel, Output& output) {
  if (multiplier < 0 || multiplier > std::numeric_limits<int32_t>::max() || shift > 0 || shift < -31) return false;
  output.multiplier[channel] = static_cast<int32_t>(multiplier);
  output.right_shift[channel] = static_cast<int32_t>(-shift);
  return true;
}

// Sets the addend of a channel's sum of in * weight: the start value, and the input's offset times the weights. Returns
// false if a sum could overflow.
bool set_column(int64_t start, int64_t offset, int64_t weights, int64_t magnitudes, size_t channel, Output& output) {
  constexpr int64_t kMaxInput = 255;
  const int64_t max = std::abs(start) + kMaxInput * magnitudes + std::abs(offset) * magnitudes;
  if (max > kMaxSum) return false;
  output.column[channel] = static_cast<int32_t>(start + offset * weights);
  return true;
}

// The input's offset is minus its zero point, and padding has the value of the zero point.
bool is_offset(int64_t offset) {
  return offset >= -std::numeric_limits<int8_t>::max() && offset <= -int64_t{std::numeric_limits<int8_t>::min()};
}

// --- images, [N,H,W,C] in memory

struct Pixels {
  int64_t batches, height, width, channels;
};

std::optional<Pixels> pixels_of(const Tensor& tensor, bool channels_last_shape) {
  if (tensor.rank() != 4) return std::nullopt;
  const auto s = tensor.sizes();
  if (channels_last_shape) {
    if (!tensor.contiguous()) return std::nullopt;
    return Pixels{.batches = s[0], .height = s[1], .width = s[2], .channels = s[3]};
  }
  constexpr std::array<uint8_t, 4> kLast{0, 2, 3, 1};
  const bool last = std::ranges::equal(tensor.dim_order(), kLast);
  const bool same = tensor.contiguous() && (s[1] == 1 || (s[2] == 1 && s[3] == 1));
  if (!last && !same) return std::nullopt;
  return Pixels{.batches = s[0], .height = s[2], .width = s[3], .channels = s[1]};
}

struct Geometry {
  Pixels in, out;
  int64_t kernel_height, kernel_width;
  int64_t stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;

  [[nodiscard]] int64_t taps() const { return kernel_height * kernel_width; }
  [[nodiscard]] bool is_pointwise() const {
    return taps() == 1 && stride_y == 1 && stride_x == 1 && padding_y == 0 && padding_x == 0;
  }
  [[nodiscard]] int64_t out_pixels() const { return out.batches * out.height * out.width; }
};

int64_t entry_of(const EValue& list, size_t axis) {
  if (list.kind != EValue::Kind::kIntList || list.integers.empty() || list.integers.size() > 2) return -1;
  return list.integers[list.integers.size() == 1 ? 0 : axis];
}

int64_t convolved(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t reach = in + 2 * padding - dilation * (kernel - 1) - 1;
  return reach < 0 ? 0 : reach / stride + 1;
}

// The geometry of a call (input, weight [_, KH, KW, _], bias, stride, padding, ...). `dilation_at` is the index of the
// dilation.
std::optional<Geometry> geometry_of(Arguments arguments, size_t dilation_at, const Tensor& out, bool nhwc) {
  const auto in = pixels_of(arguments[0]->tensor, nhwc);
  const auto to = pixels_of(out, nhwc);
  if (!in || !to) return std::nullopt;
  const auto kernel = arguments[1]->tensor.sizes();
  const Geometry g{.in = *in,
                   .out = *to,
                   .kernel_height = kernel[1],
                   .kernel_width = kernel[2],
                   .stride_y = entry_of(*arguments[3], 0),
                   .stride_x = entry_of(*arguments[3], 1),
                   .padding_y = entry_of(*arguments[4], 0),
                   .padding_x = entry_of(*arguments[4], 1),
                   .dilation_y = entry_of(*arguments[dilation_at], 0),
                   .dilation_x = entry_of(*arguments[dilation_at], 1)};
  const bool sane = g.stride_y > 0 && g.stride_x > 0 && g.padding_y >= 0 && g.padding_x >= 0 && g.dilation_y > 0 &&
                    g.dilation_x > 0 && g.taps() > 0 && g.in.batches == g.out.batches && g.out_pixels() > 0;
  if (!sane || g.out.height != convolved(g.in.height, g.kernel_height, g.stride_y, g.padding_y, g.dilation_y) ||
      g.out.width != convolved(g.in.width, g.kernel_width, g.stride_x, g.padding_x, g.dilation_x))
    return std::nullopt;
  return g;
}

// The first input row and column of the window of an output pixel.
struct Corner {
  const int8_t* image;
  int64_t y, x;
};

class Corners {
 public:
  Corners(const Geometry& g, const int8_t* in, int64_t pixel) : g_(g), in_(in) {
    x_ = pixel % g.out.width;
    y_ = pixel / g.out.width % g.out.height;
    batch_ = pixel / g.out.width / g.out.height;
  }
  [[nodiscard]] Corner here() const {
    return {.image = in_ + batch_ * g_.in.height * g_.in.width * g_.in.channels,
            .y = y_ * g_.stride_y - g_.padding_y,
            .x = x_ * g_.stride_x - g_.padding_x};
  }
  void next() {
    if (++x_ < g_.out.width) return;
    x_ = 0;
    if (++y_ < g_.out.height) return;
    y_ = 0;
    ++batch_;
  }

 private:
  const Geometry& g_;
  const int8_t* in_;
  int64_t x_, y_, batch_;
};

// The pixel of the input that a tap reads; nullptr: padding.
inline const int8_t* source_of(const Geometry& g, const Corner& corner, int64_t ky, int64_t kx) {
  const int64_t y = corner.y + ky * g.dilation_y, x = corner.x + kx * g.dilation_x;
  if (y < 0 || y >= g.in.height || x < 0 || x >= g.in.width) return nullptr;
  return corner.image + (y * g.in.width + x) * g.in.channels;
}

// --- matrix products

// Rows of bytes times constant weights [N][K]. The rows are those of a matrix, or the taps of pixels.
class Int8Gemm final : public Step {
 public:
  Int8Gemm(const EValue* in, EValue* out, int64_t rows, int64_t depth, Output output, int64_t columns)
      : in_(in),
        out_(out),
        rows_(rows),
        depth_(depth),
        columns_(columns),
        output_(std::move(output)),
        bytes_(output_.in_registers(columns)) {}

  void pack(const int8_t* weights) {
    format_ = simd::matrix_format();
    const auto panels = static_cast<size_t>(simd::padded(columns_) / simd::kLanes);
    panels_ = MutableBuffer::allocate(panels * format_.panel_bytes(depth_));
    simd::pack_matrix(weights, 1, depth_, depth_, columns_, panels_.bytes().data());
  }
  // Gathers rows from pixels. Taps outside of the image are `padding`.
  void gather_from(const Geometry& geometry, int8_t padding) {
    geometry_ = geometry;
    padding_.assign(static_cast<size_t>(geometry.in.channels * geometry.kernel_width), padding);
  }

  void run(ThreadPool& pool) override {
    const int64_t each = (rows_ + pool.threads() - 1) / pool.threads();
    const int64_t step = std::clamp<int64_t>(each, 1, kBlockRows);
    pool.parallel_for(static_cast<size_t>((rows_ + step - 1) / step), [&](size_t part) {
      const int64_t first = static_cast<int64_t>(part) * step;
      run_rows(first, std::min(step, rows_ - first));
    });
  }

 private:
  void run_rows(int64_t first, int64_t rows) const {
    thread_local std::vector<std::byte> packed;
    thread_local std::vector<int32_t> sums, products;
    const size_t row_bytes = format_.row_bytes(depth_);
    const auto* in = in_->tensor.as<const int8_t>();
    const bool in_place = !geometry_ && row_bytes == static_cast<size_t>(depth_);
    const std::byte* a = reinterpret_cast<const std::byte*>(in) + first * depth_;
    if (!in_place) {
      packed.assign(row_bytes * static_cast<size_t>(rows), std::byte{0});
      pack_rows(in, first, rows, packed.data());
      a = packed.data();
    }
    sums.resize(static_cast<size_t>(rows));
    if (simd::matrix_needs_sums()) simd::row_sums(a, row_bytes, rows, depth_, sums.data());
    products.resize(static_cast<size_t>(rows * kGroup));
    auto* out = out_->tensor.as<int8_t>() + first * columns_;
    for (int64_t c = 0; c < columns_; c += kGroup) {
      const int64_t columns = std::min(kGroup, columns_ - c);
      simd::MatrixJob job{
          .a = a,
          .row_bytes = row_bytes,
          .rows = rows,
          .k = depth_,
          .panels = panels_bytes() + static_cast<size_t>(c / simd::kLanes) * format_.panel_bytes(depth_),
          .panel_count = simd::padded(columns) / simd::kLanes,
          .sums = sums.data(),
          .c = products.data(),
          .c_stride = kGroup};
      if (bytes_) {
        job.epilogue = &*bytes_;
        job.first_channel = c;
        job.channels = columns;
        job.out = out + c;
        job.out_stride = columns_;
        simd::multiply_to_bytes(job);
        continue;
      }
      simd::multiply(job);
      output_.write(products.data(), kGroup, rows, c, columns, out, columns_);
    }
  }

  [[nodiscard]] const std::byte* panels_bytes() const { return const_cast<MutableBuffer&>(panels_).bytes().data(); }

  void pack_rows(const int8_t* in, int64_t first, int64_t rows, std::byte* to) const {
    const size_t row_bytes = format_.row_bytes(depth_);
    if (!geometry_) {
      for (int64_t r = first; r < first + rows; ++r, to += row_bytes) simd::pack_row(in + r * depth_, depth_, to);
      return;
    }
    Corners corners(*geometry_, in, first);
    for (int64_t r = 0; r < rows; ++r, to += row_bytes, corners.next()) pack_window(corners.here(), to);
  }

  void pack_window(const Corner& corner, std::byte* to) const {
    const Geometry& g = *geometry_;
    const size_t line = static_cast<size_t>(g.kernel_width * g.in.channels) * format_.a_bytes;
    for (int64_t ky = 0; ky < g.kernel_height; ++ky, to += line) pack_line(corner, ky, to);
  }

  // Copies the taps of one kernel row, in one copy if they are contiguous.
  void pack_line(const Corner& corner, int64_t ky, std::byte* to) const {
    const Geometry& g = *geometry_;
    const int8_t* first = source_of(g, corner, ky, 0);
    const int8_t* last = source_of(g, corner, ky, g.kernel_width - 1);
    if (g.dilation_x == 1 && first != nullptr && last != nullptr)
      return simd::pack_row(first, g.kernel_width * g.in.channels, to);
    for (int64_t kx = 0; kx < g.kernel_width; ++kx, to += static_cast<size_t>(g.in.channels) * format_.a_bytes) {
      const int8_t* tap = source_of(g, corner, ky, kx);
      simd::pack_row(tap == nullptr ? padding_.data() : tap, g.in.channels, to);
    }
  }

  const EValue* in_;
  EValue* out_;
  int64_t rows_, depth_, columns_;
  Output output_;
  std::optional<simd::Int8Epilogue> bytes_;
  simd::MatrixFormat format_{};
  MutableBuffer panels_;
  std::optional<Geometry> geometry_;
  std::vector<int8_t> padding_;
};

// Weights [N][K] of channel n at weights[n * K].
bool set_columns(const int8_t* weights, int64_t columns, int64_t depth, const int32_t* start, int64_t offset,
                 Output& output) {
  for (int64_t n = 0; n < columns; ++n) {
    int64_t sum = 0, magnitudes = 0;
    for (int64_t k = 0; k < depth; ++k) {
      sum += weights[n * depth + k];
      magnitudes += std::abs(weights[n * depth + k]);
    }
    if (!set_column(start == nullptr ? 0 : start[n], offset, sum, magnitudes, static_cast<size_t>(n), output))
      return false;
  }
  return true;
}

struct ConvolutionCall {
  Arguments arguments;
  size_t first;  // index of the input's offset; output offset, multipliers, shifts, low, high, scratch and out follow

  [[nodiscard]] bool is_regular() const {
    if (arguments.size() < first + 8) return false;
    const EValue &weight = *arguments[1], &bias = *arguments[2];
    return is_int8(*arguments[0]) && is_int8(weight) && is_constant(weight) && weight.tensor.rank() == 4 &&
           weight.tensor.contiguous() && is_int8(out()) && !out().tensor.read_only &&
           (bias.is_none() || bias.is_tensor()) && is_offset(arguments[first]->to_int()) &&
           !overlap(arguments[0]->tensor, out().tensor);
  }
  [[nodiscard]] EValue& out() const { return *arguments[first + 7]; }
  [[nodiscard]] int64_t offset() const { return arguments[first]->to_int(); }
  [[nodiscard]] const int32_t* bias() const {
    return arguments[2]->is_none() ? nullptr : arguments[2]->tensor.as<const int32_t>();
  }
  // Reads zero point, bounds and scales. Returns false if the vector kernels do not support them.
  [[nodiscard]] bool set(int64_t channels, Output& output) const {
    const EValue &multipliers = *arguments[first + 2], &shifts = *arguments[first + 3];
    if (!is_int32_list(multipliers, channels) || !is_int32_list(shifts, channels)) return false;
    if (!arguments[2]->is_none() && !is_int32_list(*arguments[2], channels)) return false;
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      if (!set_scale(multipliers.tensor.as<const int32_t>()[c], shifts.tensor.as<const int32_t>()[c], c, output))
        return false;
    }
    return set_limits({.zero_point = arguments[first + 1]->to_int(),
                       .low = arguments[first + 4]->to_int(),
                       .high = arguments[first + 5]->to_int()},
                      output);
  }
};

// --- depthwise convolutions

class Int8Depthwise final : public Step {
 public:
  Int8Depthwise(const EValue* in, EValue* out, const Geometry& geometry, Output output, int8_t padding)
      : in_(in), out_(out), g_(geometry), output_(std::move(output)) {
    padding_.assign(static_cast<size_t>(simd::padded(g_.in.channels)), padding);
  }

  // Weights [taps][channels].
  void pack(const int8_t* weights) {
    const std::vector<int16_t> wide(weights, weights + g_.taps() * g_.in.channels);
    packed_.resize(static_cast<size_t>(simd::pairs(g_.taps()) * simd::padded(g_.in.channels)));
    simd::pack_depthwise(wide.data(), g_.taps(), g_.in.channels, packed_.data());
    const auto epilogue = output_.in_registers(g_.in.channels);
    if (epilogue && simd::DepthwiseBytes::takes(wide.data(), std::ssize(wide)))
      bytes_.emplace(simd::DepthwiseBytes::Window{.height = g_.kernel_height,
                                                  .width = g_.kernel_width,
                                                  .stride_x = g_.stride_x,
                                                  .dilation_x = g_.dilation_x},
                     g_.in.channels, wide.data(), *epilogue);
  }

  void run(ThreadPool& pool) override {
    const int64_t pixels = g_.out_pixels();
    const int64_t each = (pixels + pool.threads() - 1) / pool.threads();
    pool.parallel_for(static_cast<size_t>((pixels + each - 1) / each), [&](size_t part) {
      const int64_t first = static_cast<int64_t>(part) * each, end = std::min(first + each, pixels);
      if (bytes_ && bytes_->by_columns()) return run_rows(first, end);
      for (int64_t p = first; p < end; p += kBlockPixels) run_pixels(p, std::min(kBlockPixels, end - p));
    });
  }

 private:
  // Computes pixels [first, end), one output row at a time. Neighboring pixels share input columns.
  void run_rows(int64_t first, int64_t end) const {
    thread_local std::vector<const int8_t*> columns;
    while (first < end) {
      const int64_t pixels = std::min(end - first, g_.out.width - first % g_.out.width);
      columns.resize(static_cast<size_t>(bytes_->pointers(pixels)));
      const Corner corner = Corners(g_, in_->tensor.as<const int8_t>(), first).here();
      size_t next = 0;
      for (int64_t kx = 0; next < columns.size(); ++kx) {
        for (int64_t ky = 0; ky < g_.kernel_height; ++ky) {
          const int8_t* tap = source_of(g_, corner, ky, kx);
          columns[next++] = tap == nullptr ? padding_.data() : tap;
        }
      }
      bytes_->run(columns.data(), pixels, out_->tensor.as<int8_t>() + first * g_.in.channels);
      first += pixels;
    }
  }

  void run_pixels(int64_t first, int64_t pixels) const {
    thread_local std::vector<const int8_t*> taps;
    thread_local std::vector<int32_t> sums;
    const int64_t channels = g_.in.channels;
    const auto* in = in_->tensor.as<const int8_t>();
    taps.clear();
    Corners corners(g_, in, first);
    for (int64_t p = 0; p < pixels; ++p, corners.next()) {
      const Corner corner = corners.here();
      for (int64_t ky = 0; ky < g_.kernel_height; ++ky) {
        for (int64_t kx = 0; kx < g_.kernel_width; ++kx) {
          const int8_t* tap = source_of(g_, corner, ky, kx);
          taps.push_back(tap == nullptr ? padding_.data() : tap);
        }
      }
    }
    if (bytes_) return bytes_->run(taps.data(), pixels, out_->tensor.as<int8_t>() + first * channels);
    sums.resize(static_cast<size_t>(pixels * simd::padded(channels)));
    simd::depthwise_i8({.x = taps.data(),
                        .packed = packed_.data(),
                        .taps = g_.taps(),
                        .channels = channels,
                        .pixels = pixels,
                        .acc = sums.data()});
    output_.write(sums.data(), simd::padded(channels), pixels, 0, channels,
                  out_->tensor.as<int8_t>() + first * channels, channels);
  }

  const EValue* in_;
  EValue* out_;
  Geometry g_;
  Output output_;
  std::vector<int32_t> packed_;
  std::optional<simd::DepthwiseBytes> bytes_;
  std::vector<int8_t> padding_;
};

// (input, weight [O,KH,KW,I], bias or None, stride, padding, dilation, offsets ..., out)
std::unique_ptr<Step> make_conv(Arguments arguments, bool nhwc) {
  const ConvolutionCall call{.arguments = arguments, .first = 6};
  if (!call.is_regular()) return nullptr;
  const Tensor& weight = arguments[1]->tensor;
  const auto g = geometry_of(arguments, 5, call.out().tensor, nhwc);
  const int64_t channels = weight.sizes()[0],
                depth = static_cast<int64_t>(weight.elements()) / std::max<int64_t>(channels, 1);
  if (!g || g->in.channels != weight.sizes()[3] || g->out.channels != channels || depth == 0) return nullptr;
  Output output(channels);
  if (!call.set(channels, output) ||
      !set_columns(weight.as<const int8_t>(), channels, depth, call.bias(), call.offset(), output))
    return nullptr;
  auto step =
      std::make_unique<Int8Gemm>(arguments[0], &call.out(), g->out_pixels(), depth, std::move(output), channels);
  step->pack(weight.as<const int8_t>());
  if (!g->is_pointwise()) step->gather_from(*g, static_cast<int8_t>(-call.offset()));
  return step;
}

// (input, weight [1,KH,KW,O], bias or None, stride, padding, dilation, depth_multiplier, offsets ..., out)
std::unique_ptr<Step> make_depthwise(Arguments arguments, bool nhwc) {
  const ConvolutionCall call{.arguments = arguments, .first = 7};
  if (!call.is_regular()) return nullptr;
  const Tensor& weight = arguments[1]->tensor;
  const auto g = geometry_of(arguments, 5, call.out().tensor, nhwc);
  const int64_t channels = weight.sizes()[3];
  if (!g || weight.sizes()[0] != 1 || g->in.channels != channels || g->out.channels != channels) return nullptr;
  Output output(channels);
  if (!call.set(channels, output)) return nullptr;
  const auto* weights = weight.as<const int8_t>();
  for (int64_t c = 0; c < channels; ++c) {
    int64_t sum = 0, magnitudes = 0;
    for (int64_t t = 0; t < g->taps(); ++t) {
      sum += weights[t * channels + c];
      magnitudes += std::abs(weights[t * channels + c]);
    }
    const int64_t start = call.bias() == nullptr ? 0 : call.bias()[c];
    if (!set_column(start, call.offset(), sum, magnitudes, static_cast<size_t>(c), output)) return nullptr;
  }
  auto step = std::make_unique<Int8Depthwise>(arguments[0], &call.out(), *g, std::move(output),
                                              static_cast<int8_t>(-call.offset()));
  step->pack(weights);
  return step;
}

// (input [..., K], weights [N, K], bias or None, kernel_sum or None, input_offset, filter_offset, output_offset,
// multipliers, shifts, high, low, out)
std::unique_ptr<Step> make_linear(Arguments arguments) {
  if (arguments.size() < 12) return nullptr;
  const EValue &in = *arguments[0], &weights = *arguments[1], &sums = *arguments[3];
  const EValue& start = sums.is_none() ? *arguments[2] : sums;
  EValue& out = *arguments[11];
  const bool lists = arguments[7]->kind == EValue::Kind::kIntList && !arguments[7]->integers.empty() &&
                     arguments[8]->kind == EValue::Kind::kIntList && !arguments[8]->integers.empty();
  if (!is_int8(in) || !is_int8(weights) || !is_constant(weights) || !is_int8(out) || out.tensor.read_only || !lists ||
      !in.tensor.contiguous() || !weights.tensor.contiguous() || !out.tensor.contiguous() ||
      weights.tensor.rank() != 2 || in.tensor.rank() == 0 || overlap(in.tensor, out.tensor))
    return nullptr;
  const int64_t channels = weights.tensor.sizes()[0], depth = weights.tensor.sizes()[1];
  const int64_t offset = sums.is_none() ? arguments[4]->to_int() : 0;
  if (depth == 0 || channels == 0 || in.tensor.sizes().back() != depth || arguments[5]->to_int() != 0 ||
      !is_offset(offset) || (!start.is_none() && !is_int32_list(start, channels)))
    return nullptr;
  const int64_t rows = static_cast<int64_t>(in.tensor.elements()) / depth;
  if (rows == 0 || static_cast<int64_t>(out.tensor.elements()) != rows * channels) return nullptr;
  Output output(channels);
  for (size_t n = 0; n < static_cast<size_t>(channels); ++n) {
    if (!set_scale(arguments[7]->integers[0], arguments[8]->integers[0], n, output)) return nullptr;
  }
  const auto* values = weights.tensor.as<const int8_t>();
  const auto* from = start.is_none() ? nullptr : start.tensor.as<const int32_t>();
  const Limits limits{
      .zero_point = arguments[6]->to_int(), .low = arguments[10]->to_int(), .high = arguments[9]->to_int()};
  if (!set_limits(limits, output) || !set_columns(values, channels, depth, from, offset, output)) return nullptr;
  auto step = std::make_unique<Int8Gemm>(&in, &out, rows, depth, std::move(output), channels);
  step->pack(values);
  return step;
}

}  // namespace

std::unique_ptr<Step> make_int8_call(std::string_view name, Arguments arguments) {
  if (name == "cortex_m::quantized_conv2d.out") return make_conv(arguments, false);
  if (name == "cortex_m::quantized_conv2d_nhwc.out") return make_conv(arguments, true);
  if (name == "cortex_m::quantized_depthwise_conv2d.out") return make_depthwise(arguments, false);
  if (name == "cortex_m::quantized_depthwise_conv2d_nhwc.out") return make_depthwise(arguments, true);
  if (name == "cortex_m::quantized_linear.out") return make_linear(arguments);
  if (name == "cortex_m::quantized_add.out") return make_int8_add(arguments);
  if (name == "cortex_m::quantize_per_tensor.out" || name == "quantized_decomposed::quantize_per_tensor.out")
    return make_quantize(arguments);
  if (name == "cortex_m::dequantize_per_tensor.out") return make_dequantize(arguments, 6);
  if (name == "quantized_decomposed::dequantize_per_tensor.out") return make_dequantize(arguments, 7);
  return nullptr;
}

}  // namespace carina::accelerate
