#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/fast_output_internal.h"
#include "simulate/kernels/fast_window_internal.h"
#include "simulate/kernels/store_internal.h"
#include "simulate/vectors/line_vector.h"

// Convolutions, depthwise convolutions and pools with the vector kernels. The inputs of a patch of the OFM are copied
// to a dense window first; a filter is then a list of contiguous runs in the window.
//   Example: a 3x3 kernel over 8 channels is three runs of 24 inputs: 6 quads of bytes, or 12 pairs of 16 bits, per
//   run.
namespace carina::simulate {

namespace {

constexpr int64_t kMax16 = std::numeric_limits<int16_t>::max();
constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();

constexpr int64_t kPair = 2;  // inputs of a step
constexpr int64_t kQuad = 4;

int64_t padded_depth(const Operation& op, int64_t together) {
  return (int64_t{op.ifm_depth} + together - 1) / together * together;
}

// The parts of a filter that are contiguous in the window, for `channels` per column, `together` of them a step.
template <typename T>
std::vector<TapRun> tap_runs(const Operation& op, const Window<T>& window, int64_t channels, int64_t together) {
  std::vector<TapRun> runs;
  size_t at = 0;
  const auto append = [&](int32_t ky, int32_t kx, int64_t elems) {
    const auto steps = static_cast<size_t>(elems / together);
    runs.push_back({.offset = window.tap_offset(ky, kx), .steps = steps, .weight_steps = at});
    at += steps;
  };
  for (int32_t ky = 0; ky < op.kernel.height; ++ky) {
    if (op.kernel.dilation_x == 1) {
      append(ky, 0, op.kernel.width * channels);
      continue;
    }
    for (int32_t kx = 0; kx < op.kernel.width; ++kx) append(ky, kx, channels);
  }
  return runs;
}

template <typename T>
std::vector<int64_t> tap_offsets(const Operation& op, const Window<T>& window) {
  std::vector<int64_t> taps;
  for (int32_t ky = 0; ky < op.kernel.height; ++ky) {
    for (int32_t kx = 0; kx < op.kernel.width; ++kx) taps.push_back(window.tap_offset(ky, kx));
  }
  return taps;
}

// Inputs of 8 bits as unsigned bytes.
struct RaisedInputs {
  uint8_t zero;               // what stands for zero
  LineVector<int32_t> start;  // of each channel's sum: all its weights times that, taken off

  // Nothing when zero is no such byte.
  static std::optional<RaisedInputs> of(const Work& work) {
    const FeatureMap& map = work.op->ifm;
    const int64_t zero = map.zero_point + (map.type.is_signed ? 128 : 0);
    if (map.type.bytes != 1 || zero < 0 || zero > 255) return std::nullopt;
    RaisedInputs raised{.zero = static_cast<uint8_t>(zero), .start = {}};
    raised.start.reserve(work.weights->packed.sums.size());
    for (const int32_t sum : work.weights->packed.sums)
      raised.start.push_back(static_cast<int32_t>(0U - static_cast<uint32_t>(zero) * static_cast<uint32_t>(sum)));
    return raised;
  }
};

// 32-bit accumulators of bytes.
class FastByteConvolution final : public FastOperation {
 public:
  FastByteConvolution(const Work& work, RaisedInputs inputs, FastOutput output)
      : work_(work), inputs_(std::move(inputs)), output_(std::move(output)) {}

  void execute(const Patch& patch) const override {
    const int64_t channels = padded_depth(*work_.op, kQuad);
    const Window<uint8_t> window(work_, patch, static_cast<size_t>(channels), inputs_.zero, inputs_.zero);
    const std::vector<TapRun> runs = tap_runs(*work_.op, window, channels, kQuad);
    const PackedWeights& packed = work_.weights->packed;
    int32_t* acc = thread_scratch().acc.get(window.pixels().size() * output_.channels()).data();
    convolve_bytes({.pixels = window.pixels(),
                    .runs = runs,
                    .weights = packed.quads.data(),
                    .steps = packed.steps_per_group,
                    .groups = output_.channels() / kChannelGroup,
                    .start = inputs_.start.data(),
                    .acc = acc});
    output_.write(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, static_cast<size_t>(padded_depth(*work_.op, kQuad)), output_.channels());
  }

 private:
  const Work& work_;
  RaisedInputs inputs_;
  FastOutput output_;
};

class FastByteDepthwise final : public FastOperation {
 public:
  FastByteDepthwise(const Work& work, RaisedInputs inputs, FastOutput output)
      : work_(work), inputs_(std::move(inputs)), output_(std::move(output)) {}

  void execute(const Patch& patch) const override {
    const Window<uint8_t> window(work_, patch, output_.channels(), inputs_.zero, inputs_.zero);
    const std::vector<int64_t> taps = tap_offsets(*work_.op, window);
    int32_t* acc = thread_scratch().acc.get(window.pixels().size() * output_.channels()).data();
    depthwise_bytes({.pixels = window.pixels(),
                     .taps = taps,
                     .weights = work_.weights->packed.taps.data(),
                     .channels = output_.channels(),
                     .start = inputs_.start.data(),
                     .acc = acc});
    output_.write(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, output_.channels(), output_.channels());
  }

 private:
  const Work& work_;
  RaisedInputs inputs_;
  FastOutput output_;
};

// 32-bit accumulators.
class FastConvolution final : public FastOperation {
 public:
  FastConvolution(const Work& work, FastOutput output) : work_(work), output_(std::move(output)) {}

  void execute(const Patch& patch) const override {
    const int64_t channels = padded_depth(*work_.op, kPair);
    const Window<int16_t> window(work_, patch, static_cast<size_t>(channels), 0, 0);
    const std::vector<TapRun> runs = tap_runs(*work_.op, window, channels, kPair);
    const PackedWeights& packed = work_.weights->packed;
    int32_t* acc = thread_scratch().acc.get(window.pixels().size() * output_.channels()).data();
    convolve({.pixels = window.pixels(),
              .runs = runs,
              .weights = packed.pairs.data(),
              .steps = packed.steps_per_group,
              .groups = output_.channels() / kChannelGroup,
              .acc = acc});
    output_.write(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, static_cast<size_t>(padded_depth(*work_.op, kPair)), output_.channels());
  }

 private:
  const Work& work_;
  FastOutput output_;
};

class FastDepthwise final : public FastOperation {
 public:
  FastDepthwise(const Work& work, FastOutput output) : work_(work), output_(std::move(output)) {}

  void execute(const Patch& patch) const override {
    const Window<int16_t> window(work_, patch, output_.channels(), 0, 0);
    const std::vector<int64_t> taps = tap_offsets(*work_.op, window);
    int32_t* acc = thread_scratch().acc.get(window.pixels().size() * output_.channels()).data();
    depthwise({.pixels = window.pixels(),
               .taps = taps,
               .weights = work_.weights->packed.taps.data(),
               .channels = output_.channels(),
               .acc = acc});
    output_.write(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, output_.channels(), output_.channels());
  }

 private:
  const Work& work_;
  FastOutput output_;
};

// 40- and 48-bit accumulators of 16-bit inputs: partial sums that fit 32 bits are added up in 64.
class FastWideConvolution final : public FastOperation {
 public:
  explicit FastWideConvolution(const Work& work) : work_(work), channels_(padded_channels(work.op->ofm_extent.depth)) {}

  void execute(const Patch& patch) const override {
    const int64_t depth = padded_depth(*work_.op, kPair);
    const Window<int16_t> window(work_, patch, static_cast<size_t>(depth), 0, 0);
    const size_t values = window.pixels().size() * channels_;
    const std::span<int64_t> sum = thread_scratch().wide.get(values);
    const std::span<int32_t> part = thread_scratch().part.get(values);
    std::ranges::fill(sum, 0);
    const PackedWeights& packed = work_.weights->packed;
    for (const TapRun& run : short_runs(tap_runs(*work_.op, window, depth, kPair))) {
      convolve({.pixels = window.pixels(),
                .runs = std::span(&run, 1),
                .weights = packed.pairs.data(),
                .steps = packed.steps_per_group,
                .groups = channels_ / kChannelGroup,
                .acc = part.data()});
      for (size_t i = 0; i < values; ++i) sum[i] += part[i];
    }
    write(sum, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, static_cast<size_t>(padded_depth(*work_.op, kPair)), 2 * channels_);
  }

 private:
  // A product is below 2^15 * 2^8, so 127 pairs of them fit 31 bits.
  static std::vector<TapRun> short_runs(const std::vector<TapRun>& runs) {
    constexpr size_t kMaxPairs = 127;
    std::vector<TapRun> parts;
    for (const TapRun& run : runs) {
      for (size_t at = 0; at < run.steps; at += kMaxPairs) {
        parts.push_back({.offset = run.offset + static_cast<int64_t>(2 * at),
                         .steps = std::min(kMaxPairs, run.steps - at),
                         .weight_steps = run.weight_steps + at});
      }
    }
    return parts;
  }

  void write(std::span<int64_t> sum, const Patch& patch) const {
    const int32_t depth = work_.op->ofm_extent.depth, width = patch.columns.count();
    const int es = work_.op->ofm.type.bytes;
    const std::span<std::byte> row =
        thread_scratch().scaled.get(static_cast<size_t>(width) * channels_ * static_cast<size_t>(es));
    const int64_t* acc = sum.data();
    for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y) {
      for (int32_t x = 0; x < width; ++x, acc += channels_) {
        std::byte* to = row.data() + static_cast<size_t>(x) * channels_ * static_cast<size_t>(es);
        for (int32_t c = 0; c < depth; ++c) {
          const int64_t value = work_.output->value(acc[c], c);
          std::memcpy(to + static_cast<ptrdiff_t>(c) * es, &value, static_cast<size_t>(es));
        }
      }
      store_row(work_, y, patch.columns, row.data(), static_cast<int64_t>(channels_) * es);
    }
  }

  const Work& work_;
  size_t channels_;
};

class FastPool final : public FastOperation {
 public:
  FastPool(const Work& work, FastOutput output) : work_(work), output_(std::move(output)) {
    fold_ = work.op->pool == PoolMode::kMax ? Fold::kMax : work.op->pool == PoolMode::kMin ? Fold::kMin : Fold::kSum;
  }

  void execute(const Patch& patch) const override {
    constexpr auto kLowest = std::numeric_limits<int16_t>::min();
    const int16_t fill = fold_ == Fold::kMax   ? kLowest
                         : fold_ == Fold::kMin ? std::numeric_limits<int16_t>::max()
                                               : int16_t{0};
    const Window<int16_t> window(work_, patch, output_.channels(), fill, 0);
    const std::vector<int64_t> taps = tap_offsets(*work_.op, window);
    int32_t* acc = thread_scratch().acc.get(window.pixels().size() * output_.channels()).data();
    pool({.pixels = window.pixels(), .taps = taps, .channels = output_.channels(), .fold = fold_, .acc = acc});
    if (work_.output->mode() == OutputStage::Mode::kDivide) divide(acc, patch);
    output_.write(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    return patch_for_cache(work_, output_.channels(), output_.channels());
  }

 private:
  // Taps of a window that are inside the IFM, along one axis.
  static int64_t valid(int32_t o, int32_t stride, int32_t pad, int32_t taps, int32_t dilation, int32_t extent) {
    int64_t count = 0;
    for (int32_t k = 0; k < taps; ++k) {
      const int64_t i = int64_t{o} * stride - pad + int64_t{k} * dilation;
      count += i >= 0 && i < extent ? 1 : 0;
    }
    return count;
  }

  void divide(int32_t* acc, const Patch& patch) const {
    const Operation& op = *work_.op;
    const Kernel& k = op.kernel;
    for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y) {
      const int64_t high = valid(y, k.stride_y, op.padding.top, k.height, k.dilation_y, work_.ifm_extent.height);
      for (int32_t x = patch.columns.begin; x < patch.columns.end; ++x, acc += output_.channels()) {
        const int64_t count =
            high * valid(x, k.stride_x, op.padding.left, k.width, k.dilation_x, work_.ifm_extent.width);
        for (size_t c = 0; c < output_.channels(); ++c)
          acc[c] = count == 0 ? 0 : static_cast<int32_t>(divide_half_away(acc[c], count));
      }
    }
  }

  const Work& work_;
  FastOutput output_;
  Fold fold_;
};

// Whether a window of padding only can occur: MAX of nothing has no value for the fast kernel.
bool may_be_empty(const Work& work) {
  const Operation& op = *work.op;
  return op.padding.top >= op.kernel.extent_h || op.padding.left >= op.kernel.extent_w ||
         op.padding.bottom >= op.kernel.extent_h || op.padding.right >= op.kernel.extent_w ||
         work.ifm_extent.height == 0 || work.ifm_extent.width == 0 || op.kernel.dilation_x != 1 ||
         op.kernel.dilation_y != 1;
}

std::unique_ptr<FastOperation> make_pool(const Work& work, int64_t magnitude) {
  const Operation& op = *work.op;
  const bool extreme = op.pool == PoolMode::kMax || op.pool == PoolMode::kMin;
  const bool sum = op.pool == PoolMode::kAverage || op.pool == PoolMode::kSum;
  if ((!extreme && !sum) || (extreme && may_be_empty(work)) || op.upscale == Upscale::kZeros) return nullptr;
  if (sum && op.kernel.taps() > 65536) return nullptr;
  auto output = FastOutput::make(work, sum ? magnitude * op.kernel.taps() : magnitude);
  return output ? std::make_unique<FastPool>(work, *std::move(output)) : nullptr;
}

}  // namespace

int64_t largest_magnitude(const FeatureMap& map) {
  const int64_t bits = 8 * map.type.bytes;
  const int64_t low = map.type.is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = (int64_t{1} << (map.type.is_signed ? bits - 1 : bits)) - 1;
  return std::max(std::abs(low - map.zero_point), std::abs(high - map.zero_point));
}

std::unique_ptr<FastOperation> make_fast_windowed(const Work& work) {
  const Operation& op = *work.op;
  if (op.ifm.type.bytes > 2 || op.ifm.storage == Storage::kChained || work.ifm_extent.height == 0 ||
      work.ifm_extent.width == 0)
    return nullptr;
  const int64_t magnitude = largest_magnitude(op.ifm);
  // -32768 itself fits, too; its products are what the bounds below are about.
  if (magnitude > kMax16 + 1 || (magnitude == kMax16 + 1 && !(op.ifm.type.is_signed && op.ifm.zero_point == 0)))
    return nullptr;
  if (op.kind == OperationKind::kPool) return make_pool(work, magnitude);
  if (!op.is_convolution_like() || work.weights == nullptr) return nullptr;
  const int64_t largest = work.weights->max_sum_abs * magnitude;
  const bool quads = !work.weights->packed.quads.empty();
  if (auto output = largest <= kMax32 ? FastOutput::make(work, largest) : std::nullopt) {
    if (auto raised = RaisedInputs::of(work)) {
      if (op.kind == OperationKind::kDepthwise)
        return std::make_unique<FastByteDepthwise>(work, *std::move(raised), *std::move(output));
      if (quads) return std::make_unique<FastByteConvolution>(work, *std::move(raised), *std::move(output));
    }
    if (quads) return nullptr;
    if (op.kind == OperationKind::kDepthwise) return std::make_unique<FastDepthwise>(work, *std::move(output));
    return std::make_unique<FastConvolution>(work, *std::move(output));
  }
  const bool plain = op.acc_input == AccInput::kReset && op.acc_output == AccOutput::kWrite &&
                     op.weight_source == WeightSource::kStream;
  if (op.kind == OperationKind::kConvolution && plain && !quads) return std::make_unique<FastWideConvolution>(work);
  return nullptr;
}

std::unique_ptr<FastOperation> FastOperation::make(const Work& work) {
  if (work.op->kind == OperationKind::kResize) return make_fast_resize(work);
  if (work.op->kind == OperationKind::kPool && work.op->pool == PoolMode::kReduceSum) return make_fast_reduce_sum(work);
  if (work.op->kind != OperationKind::kElementwise) return make_fast_windowed(work);
  auto narrow = make_fast_elementwise(work);
  return narrow ? std::move(narrow) : make_fast_rows(work);
}

}  // namespace carina::simulate
