#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/lanes_internal.h"
#include "simulate/kernels/lut.h"
#include "simulate/kernels/rows.h"
#include "simulate/kernels/scratch_internal.h"
#include "simulate/kernels/store_internal.h"

// Rows of 64-bit values in plain loops: elementwise operations that the 8-bit kernels do not take, RESIZE, and sums of
// channels. Nothing is decided per element.
namespace carina::simulate {

namespace {

constexpr int64_t kLargestProduct = int64_t{1} << 62;  // leaves room for the rounding term
constexpr int kLargestShift = 62;

using RowSpan = std::span<int64_t>;

// R() on a row whose values times the multiplier are at most 2^62.
class RowScaling {
 public:
  // Nothing when a value of this magnitude might not fit.
  static std::optional<RowScaling> make(const Scaling& s, int64_t largest) {
    if (s.shift > kLargestShift || Wide{largest} * s.multiplier > kLargestProduct) return std::nullopt;
    RowScaling r;
    r.multiplier_ = s.multiplier;
    r.shift_ = s.shift;
    if (s.shift != 0) {
      r.positive_ = rounding_term<int64_t>(1, s);
      r.negative_ = rounding_term<int64_t>(-1, s);
    }
    return r;
  }
  [[nodiscard]] bool is_unit() const { return multiplier_ == 1 && shift_ == 0; }
  [[nodiscard]] int64_t bound(int64_t largest) const {
    return shift_ == 0 ? largest * multiplier_ : ((largest * multiplier_) >> shift_) + 2;
  }
  [[nodiscard]] int64_t of(int64_t value) const {
    const int64_t product = value * multiplier_;
    return (product + (product < 0 ? negative_ : positive_)) >> shift_;
  }
  void apply(RowSpan row) const {
    if (is_unit()) return;
    for (int64_t& value : row) value = of(value);
  }

 private:
  int64_t multiplier_ = 1;
  int64_t positive_ = 0;
  int64_t negative_ = 0;
  int shift_ = 0;
};

// The output stage with one scale for all channels.
class RowOutput {
 public:
  static std::optional<RowOutput> make(const Work& work, int64_t largest) {
    const Activation& a = work.output->activation();
    if (work.op->acc_output != AccOutput::kWrite || work.output->mode() == OutputStage::Mode::kPerChannel ||
        work.output->adds_bias() || a.lut == Lut::kTanh || a.lut == Lut::kSigmoid)
      return std::nullopt;
    const auto scaling = RowScaling::make(work.output->scaling(0), largest);
    return scaling ? std::optional(RowOutput(work, *scaling)) : std::nullopt;
  }

  void write(const Work& work, int32_t oy, Columns columns, std::span<const int64_t> row) const {
    switch (work.op->ofm.type.bytes) {
      case 1:
        return write_as<int8_t>(work, oy, columns, row);
      case 2:
        return write_as<int16_t>(work, oy, columns, row);
      case 4:
        return write_as<int32_t>(work, oy, columns, row);
      default:
        return write_as<int64_t>(work, oy, columns, row);
    }
  }

 private:
  RowOutput(const Work&, const RowScaling& scaling) : scaling_(scaling) {}

  // All steps of an element follow each other: a row of 64-bit values is read once.
  template <typename T>
  void write_as(const Work& work, int32_t oy, Columns columns, std::span<const int64_t> row) const {
    const Activation& a = work.output->activation();
    const std::span<std::byte> narrow = thread_scratch().scaled.get(row.size() * sizeof(T));
    const int64_t zero_point = work.output->zero_point();
    const int64_t low = a.clamp ? a.min : std::numeric_limits<int64_t>::min();
    const int64_t high = a.clamp ? std::max(a.min, a.max) : std::numeric_limits<int64_t>::max();
    const auto each = [&](const auto& result) {
      in_lanes(row.size(), [&](size_t i, auto lanes) {
        std::array<T, lanes> results;
        for (size_t lane = 0; lane < lanes; ++lane) results[lane] = static_cast<T>(result(row[i + lane]));
        std::memcpy(narrow.data() + i * sizeof(T), results.data(), sizeof(results));
      });
    };
    const auto scaled = [&, scaling = scaling_](int64_t value) {
      return std::clamp(scaling.of(value) + zero_point, low, high);
    };
    if (a.lut == Lut::kTable) {
      each([&](int64_t value) { return look_up(work.output->lut(), a.lut_input, a.lut_output, scaled(value)); });
    } else if (scaling_.is_unit()) {
      each([&](int64_t value) { return std::clamp(value + zero_point, low, high); });
    } else {
      each(scaled);
    }
    store_row(work, oy, columns, narrow.data(), int64_t{work.op->ofm_extent.depth} * static_cast<int64_t>(sizeof(T)));
  }

  RowScaling scaling_;
};

PatchSize patch_in_cache(const Work& work) {
  constexpr int64_t kElems = 32 * 1024;
  return patch_of(work.op->ofm_extent, kElems / std::max(1, work.op->ofm_extent.depth));
}

int32_t effective_zero_point(const FeatureMap& map) {
  return map.type.bytes >= 4 ? 0 : map.zero_point;
}

// Of an element after its zero point is subtracted.
int64_t largest_value(const ElementType& type, int64_t zero_point) {
  const int bits = 8 * type.bytes - (type.is_signed ? 1 : 0);
  return (int64_t{1} << bits) + std::abs(zero_point);
}

// ---- Elementwise ----

struct RowOperand {
  const CheckedMap* map = nullptr;
  Broadcast broadcast{};
  int32_t zero_point = 0;
  int64_t scalar = 0;
  int64_t largest = 0;
  RowScaling scaling;

  // Columns of row `oy`, broadcast and scaled.
  void load(int32_t depth, int32_t oy, Columns columns, RowSpan out) const {
    if (broadcast.scalar) {
      std::ranges::fill(out, scalar - zero_point);
    } else {
      load_map(depth, oy, columns, out);
    }
    scaling.apply(out);
  }

 private:
  void load_map(int32_t depth_out, int32_t oy, Columns columns, RowSpan out) const {
    const Columns read = broadcast.w ? Columns{.begin = 0, .end = 1} : columns;
    const int32_t depth = map->box().depth;
    const int32_t y = broadcast.h ? 0 : oy;
    if (!broadcast.w && !broadcast.c)
      return read_row(*map, y, read.begin, read.end, depth, zero_point, out.data(), depth);
    const RowSpan part = thread_scratch().wide_part.get(static_cast<size_t>(read.count()) * static_cast<size_t>(depth));
    read_row(*map, y, read.begin, read.end, depth, zero_point, part.data(), depth);
    size_t i = 0;
    for (int32_t x = 0; x < columns.count(); ++x) {
      const int64_t* from = part.data() + (broadcast.w ? 0 : int64_t{x} * depth);
      for (int32_t c = 0; c < depth_out; ++c) out[i++] = from[broadcast.c ? 0 : c];
    }
  }
};

class FastElementwise final : public FastOperation {
 public:
  FastElementwise(const Work& work, RowOutput output, const RowOperand& first, const RowOperand& second)
      : work_(work), output_(std::move(output)), first_(first), second_(second) {}

  void execute(const Patch& patch) const override {
    const int32_t depth = work_.op->ofm_extent.depth;
    const size_t count = static_cast<size_t>(patch.columns.count()) * static_cast<size_t>(depth);
    const RowSpan a = thread_scratch().wide.get(count);
    const RowSpan b = thread_scratch().wide_second.get(count);
    for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y) {
      first_.load(depth, y, patch.columns, a);
      second_.load(depth, y, patch.columns, b);
      if (work_.op->swap_operands) {
        combine(b, a, a);
      } else {
        combine(a, b, a);
      }
      output_.write(work_, y, patch.columns, a);
    }
  }
  [[nodiscard]] PatchSize patch_size() const override { return patch_in_cache(work_); }

 private:
  void combine(std::span<const int64_t> a, std::span<const int64_t> b, RowSpan out) const {
    const auto each = [&](const auto& f) {
      in_lanes(out.size(), [&](size_t i, auto lanes) {
        std::array<int64_t, lanes> results;
        for (size_t lane = 0; lane < lanes; ++lane) results[lane] = f(a[i + lane], b[i + lane]);
        std::ranges::copy(results, out.begin() + static_cast<ptrdiff_t>(i));
      });
    };
    switch (work_.op->elementwise) {
      case ElementwiseMode::kAdd:
        return each([](int64_t p, int64_t q) { return p + q; });
      case ElementwiseMode::kSub:
        return each([](int64_t p, int64_t q) { return p - q; });
      case ElementwiseMode::kMul:
        return each([](int64_t p, int64_t q) { return p * q; });
      case ElementwiseMode::kMin:
        return each([](int64_t p, int64_t q) { return std::min(p, q); });
      case ElementwiseMode::kCmpEq:
        return each([](int64_t p, int64_t q) { return -int64_t{p == q}; });
      case ElementwiseMode::kCmpNe:
        return each([](int64_t p, int64_t q) { return -int64_t{p != q}; });
      case ElementwiseMode::kCmpGe:
        return each([](int64_t p, int64_t q) { return -int64_t{p >= q}; });
      case ElementwiseMode::kCmpGt:
        return each([](int64_t p, int64_t q) { return -int64_t{p > q}; });
      case ElementwiseMode::kAnd:
        return each([](int64_t p, int64_t q) { return p & q; });
      case ElementwiseMode::kOr:
        return each([](int64_t p, int64_t q) { return p | q; });
      case ElementwiseMode::kXor:
        return each([](int64_t p, int64_t q) { return p ^ q; });
      case ElementwiseMode::kAndNot:
        return each([](int64_t p, int64_t q) { return p & ~q; });
      default:
        return each([](int64_t p, int64_t q) { return std::max(p, q); });
    }
  }

  const Work& work_;
  RowOutput output_;
  RowOperand first_;
  RowOperand second_;
};

// An operand with the scale that stands at its side, or nothing when its values might not fit.
std::optional<RowOperand> make_operand(const CheckedMap& map, const FeatureMap& registers, const Broadcast& broadcast,
                                       int64_t scalar, const Scaling& scaling) {
  if (registers.type.bytes > 4 || (!broadcast.scalar && map.type().bytes > 4)) return std::nullopt;
  RowOperand operand{.map = &map,
                     .broadcast = broadcast,
                     .zero_point = effective_zero_point(registers),
                     .scalar = scalar,
                     .largest = 0,
                     .scaling = {}};
  operand.largest =
      broadcast.scalar ? std::abs(scalar - operand.zero_point) : largest_value(map.type(), operand.zero_point);
  const auto row_scaling = RowScaling::make(scaling, operand.largest);
  if (!row_scaling) return std::nullopt;
  operand.scaling = *row_scaling;
  operand.largest = row_scaling->bound(operand.largest);
  return operand;
}

bool is_arithmetic(ElementwiseMode mode) {
  using enum ElementwiseMode;
  return mode == kAdd || mode == kSub || mode == kMul || mode == kMin || mode == kMax;
}

// Comparisons and operations on bits of two operands. They have no scales.
bool is_logical(ElementwiseMode mode) {
  using enum ElementwiseMode;
  return mode == kCmpEq || mode == kCmpNe || mode == kCmpGe || mode == kCmpGt || mode == kAnd || mode == kOr ||
         mode == kXor || mode == kAndNot;
}

// The scales that U55's ADD and SUB apply; the other operand's shift has no rounding. Source: docs/facts/ethosu.md 4.4.
struct OperandScales {
  Scaling first;
  Scaling second;
};
OperandScales operand_scales(const Operation& op) {
  using enum ElementwiseMode;
  const ElementwiseMode mode = op.elementwise;
  if (is_logical(mode)) return {};
  if (op.u85) return mode == kMul ? OperandScales{} : OperandScales{.first = op.first, .second = op.second};
  const bool wide = op.ifm.type.bytes >= 4 || op.ifm2_bytes() >= 4;
  if ((mode != kAdd && mode != kSub) || wide) return {};
  const Scaling fixed{.multiplier = op.ifm.type.bytes == 1 ? 1u << 19 : 1u << 14};
  switch (op.operand_scaling) {
    case OperandScaling::kBothFull:
      return {.first = op.first, .second = op.second};
    case OperandScaling::kBoth16:
      return {.first = {.multiplier = op.first.multiplier & 0xFFFF}, .second = {.multiplier = op.second.multiplier}};
    case OperandScaling::kFirst32:
      return {.first = op.first, .second = fixed};
    case OperandScaling::kSecond32:
      return {.first = fixed, .second = op.first};
  }
  return {};
}

}  // namespace

std::unique_ptr<FastOperation> make_fast_rows(const Work& work) {
  const Operation& op = *work.op;
  const ElementwiseMode mode = op.elementwise;
  if (!is_arithmetic(mode) && !is_logical(mode)) return nullptr;
  const OperandScales scales = operand_scales(op);
  // With swapped operands the function's first argument is IFM2.
  const auto ifm =
      make_operand(work.ifm, op.ifm, op.ifm_broadcast, op.scalar, op.swap_operands ? scales.second : scales.first);
  const auto ifm2 =
      make_operand(work.ifm2, op.ifm2, op.ifm2_broadcast, op.scalar, op.swap_operands ? scales.first : scales.second);
  if (!ifm || !ifm2) return nullptr;
  // Operations on bits may set all bits below the highest one of both.
  const Wide largest = mode == ElementwiseMode::kMul ? Wide{ifm->largest} * ifm2->largest
                       : is_logical(mode)            ? 2 * Wide{std::max(ifm->largest, ifm2->largest)} + 1
                                                     : Wide{ifm->largest} + ifm2->largest;
  if (largest > kLargestProduct) return nullptr;
  auto output = RowOutput::make(work, static_cast<int64_t>(largest));
  return output ? std::make_unique<FastElementwise>(work, *std::move(output), *ifm, *ifm2) : nullptr;
}

// ---- Resize ----

namespace {

class FastResize final : public FastOperation {
 public:
  FastResize(const Work& work, RowOutput output) : work_(work), output_(std::move(output)) {
    const Operation& op = *work.op;
    for (int32_t x = 0; x < op.ofm_extent.width; ++x)
      columns_.push_back(resize_point(x, op.resize_x, work.ifm.box().width));
  }

  void execute(const Patch& patch) const override {
    const Operation& op = *work_.op;
    const Extent box = work_.ifm.box();
    const auto points = std::span(columns_).subspan(static_cast<size_t>(patch.columns.begin),
                                                    static_cast<size_t>(patch.columns.count()));
    const auto row_values = static_cast<size_t>(box.width) * static_cast<size_t>(box.depth);
    const RowSpan low = thread_scratch().wide_part.get(row_values);
    const RowSpan high = thread_scratch().wide_second.get(row_values);
    const RowSpan out = thread_scratch().wide.get(points.size() * static_cast<size_t>(box.depth));
    for (int32_t oy = patch.rows.begin; oy < patch.rows.end; ++oy) {
      const ResizePoint y = resize_point(oy, op.resize_y, box.height);
      if (op.resize == ResizeMode::kBilinear) {
        load(y.low, low);
        load(y.high, high);
        mix_rows(y, low, high);
        mix_columns(points, low, out);
      } else {
        load(takes_upper(y, op.resize_y) ? y.high : y.low, low);
        pick_columns(points, low, out);
      }
      output_.write(work_, oy, patch.columns, out);
    }
  }
  // Whole rows: each patch would sum the input's rows anew.
  [[nodiscard]] PatchSize patch_size() const override {
    return {.rows = patch_in_cache(work_).rows, .columns = work_.op->ofm_extent.width};
  }

 private:
  void load(int64_t y, RowSpan row) const {
    const Extent box = work_.ifm.box();
    read_row(work_.ifm, static_cast<int32_t>(y), 0, box.width, box.depth, effective_zero_point(work_.op->ifm),
             row.data(), box.depth);
  }
  [[nodiscard]] bool takes_upper(const ResizePoint& p, const ResizeStep& step) const {
    return work_.op->resize == ResizeMode::kNearest && 2 * p.fraction >= step.numerator;
  }
  // The sum over rows comes first: it is shared by the columns.
  void mix_rows(const ResizePoint& y, RowSpan low, std::span<const int64_t> high) const {
    const int64_t lower = (work_.op->resize_y.numerator - y.fraction) << 16;
    const int64_t upper = y.fraction << 16;
    for (size_t i = 0; i < low.size(); ++i) low[i] = lower * low[i] + upper * high[i];
  }
  void mix_columns(std::span<const ResizePoint> points, std::span<const int64_t> row, RowSpan out) const {
    const auto depth = static_cast<size_t>(work_.ifm.box().depth);
    int64_t* to = out.data();
    for (const ResizePoint& x : points) {
      const int64_t* left = row.data() + static_cast<size_t>(x.low) * depth;
      const int64_t* right = row.data() + static_cast<size_t>(x.high) * depth;
      const int64_t rest = work_.op->resize_x.numerator - x.fraction;
      for (size_t c = 0; c < depth; ++c) *to++ = rest * left[c] + x.fraction * right[c];
    }
  }
  void pick_columns(std::span<const ResizePoint> points, std::span<const int64_t> row, RowSpan out) const {
    const auto depth = static_cast<size_t>(work_.ifm.box().depth);
    int64_t* to = out.data();
    for (const ResizePoint& x : points) {
      const int64_t* from =
          row.data() + static_cast<size_t>(takes_upper(x, work_.op->resize_x) ? x.high : x.low) * depth;
      for (size_t c = 0; c < depth; ++c) *to++ = from[c] * (int64_t{1} << 16);
    }
  }

  const Work& work_;
  RowOutput output_;
  std::vector<ResizePoint> columns_;
};

}  // namespace

std::unique_ptr<FastOperation> make_fast_resize(const Work& work) {
  const Operation& op = *work.op;
  if (op.ifm.type.bytes > 4 || work.ifm.type().bytes > 4 || work.ifm.box().depth == 0) return nullptr;
  const int64_t value = largest_value(work.ifm.type(), effective_zero_point(op.ifm));
  const Wide largest = Wide{value} * op.resize_x.numerator * op.resize_y.numerator << 16;
  if (largest > kLargestProduct) return nullptr;
  auto output = RowOutput::make(work, static_cast<int64_t>(largest));
  return output ? std::make_unique<FastResize>(work, *std::move(output)) : nullptr;
}

// ---- REDUCE_SUM ----

namespace {

// The sum of each position's channels. Elements of all widths fit 32 bits after the zero point is subtracted: only
// those of up to 16 bits have one. Products of sums of 32 bits and a scale may not fit a row's; they are scaled one by
// one.
class FastReduceSum final : public FastOperation {
 public:
  FastReduceSum(const Work& work, std::optional<RowOutput> output) : work_(work), output_(std::move(output)) {}

  void execute(const Patch& patch) const override {
    const int32_t depth = work_.ifm.box().depth;
    const auto width = static_cast<size_t>(patch.columns.count()), each = static_cast<size_t>(depth);
    const std::span<int32_t> row = thread_scratch().first.get(width * each);
    const RowSpan sums = thread_scratch().wide.get(width);
    for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y) {
      read_row(work_.ifm, y, patch.columns.begin, patch.columns.end, depth, effective_zero_point(work_.op->ifm),
               row.data(), depth);
      for (size_t x = 0; x < width; ++x) {
        int64_t sum = 0;
        for (const int32_t value : row.subspan(x * each, each)) sum += value;
        sums[x] = sum;
      }
      output_ ? output_->write(work_, y, patch.columns, sums) : write(y, patch.columns, sums);
    }
  }
  [[nodiscard]] PatchSize patch_size() const override {
    constexpr int64_t kElems = 32 * 1024;
    return patch_of(work_.op->ofm_extent, kElems / std::max(1, work_.ifm.box().depth));
  }

 private:
  void write(int32_t y, Columns columns, RowSpan sums) const {
    const int bytes = work_.op->ofm.type.bytes;
    const auto each = static_cast<size_t>(bytes);
    const std::span<std::byte> narrow = thread_scratch().scaled.get(sums.size() * each);
    for (size_t i = 0; i < sums.size(); ++i)
      store_element(narrow.data() + i * each, work_.output->value(sums[i], 0), bytes);
    store_row(work_, y, columns, narrow.data(), bytes);
  }

  const Work& work_;
  std::optional<RowOutput> output_;
};

}  // namespace

std::unique_ptr<FastOperation> make_fast_reduce_sum(const Work& work) {
  const Operation& op = *work.op;
  const Padding& padding = op.padding;
  const bool is_padded = padding.top != 0 || padding.left != 0 || padding.bottom != 0 || padding.right != 0;
  const bool is_plain = op.kernel.taps() == 1 && op.kernel.stride_x == 1 && op.kernel.stride_y == 1 && !is_padded &&
                        op.upscale == Upscale::kNone && op.acc_input == AccInput::kReset &&
                        op.acc_output == AccOutput::kWrite && op.ofm_extent.depth == 1;
  const ElementType& type = work.ifm.type();
  if (!is_plain || work.ifm.box().depth != op.ifm_depth || type.bytes > 4 || (type.bytes == 4 && !type.is_signed))
    return nullptr;
  const Wide largest = Wide{largest_value(type, effective_zero_point(op.ifm))} * op.ifm_depth;
  const bool fits = largest <= kLargestProduct;
  return std::make_unique<FastReduceSum>(work,
                                         fits ? RowOutput::make(work, static_cast<int64_t>(largest)) : std::nullopt);
}

}  // namespace carina::simulate
