#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/rows.h"
#include "simulate/kernels/store_internal.h"
#include "simulate/kernels/work.h"

// One output row at a time, 64-bit accumulators, no cleverness.
namespace carina::simulate {

namespace {

using Row = std::vector<int64_t>;  // [W][C] of the OFM

bool is_wide(const ElementType& type) {
  return type.bytes >= 4;
}
int32_t effective_zero_point(const FeatureMap& map) {
  return is_wide(map.type) ? 0 : map.zero_point;
}

// The IFM rows that one output row looks at, zero points subtracted.
class WindowRows {
 public:
  WindowRows(const Work& work, int32_t oy)
      : work_(work), kernel_(work.op->kernel), depth_(work.ifm.box().depth), width_(work.ifm.box().width) {
    rows_.resize(static_cast<size_t>(kernel_.height));
    for (int32_t ky = 0; ky < kernel_.height; ++ky) {
      const int64_t iy = int64_t{oy} * kernel_.stride_y - work.op->padding.top + int64_t{ky} * kernel_.dilation_y;
      if (iy < 0 || iy >= work.ifm_extent.height) continue;
      valid_rows_.push_back(ky);
      if (zero_inserted(iy)) continue;
      auto& row = rows_[static_cast<size_t>(ky)];
      row = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(int64_t{width_} * depth_));
      read_row(work.ifm, static_cast<int32_t>(upscaled(iy)), 0, width_, depth_, effective_zero_point(work.op->ifm),
               row.get(), depth_);
    }
  }

  // Calls body(ky, kx, channels) for each tap inside the IFM; channels is nullptr where upscaling put a zero.
  template <typename Body>
  void for_each_tap(int32_t ox, const Body& body) const {
    for (const int32_t ky : valid_rows_) {
      const int64_t* row = rows_[static_cast<size_t>(ky)].get();
      for (int32_t kx = 0; kx < kernel_.width; ++kx) {
        const int64_t ix = int64_t{ox} * kernel_.stride_x - work_.op->padding.left + int64_t{kx} * kernel_.dilation_x;
        if (ix < 0 || ix >= work_.ifm_extent.width) continue;
        const bool zero = row == nullptr || zero_inserted(ix);
        body(ky, kx, zero ? nullptr : row + upscaled(ix) * depth_);
      }
    }
  }

 private:
  [[nodiscard]] bool zero_inserted(int64_t i) const { return work_.op->upscale == Upscale::kZeros && i % 2 != 0; }
  [[nodiscard]] int64_t upscaled(int64_t i) const { return work_.op->upscale == Upscale::kNone ? i : i / 2; }

  const Work& work_;
  const Kernel& kernel_;
  int32_t depth_;
  int32_t width_;
  std::vector<std::unique_ptr<int64_t[]>> rows_;  // by ky; none where all is zero
  std::vector<int32_t> valid_rows_;
};

void convolve(const Work& work, int32_t oy, Row& acc) {
  const DecodedWeights& w = *work.weights;
  const WindowRows window(work, oy);
  const Extent& ofm = work.op->ofm_extent;
  for (int32_t ox = 0; ox < ofm.width; ++ox) {
    int64_t* out = acc.data() + int64_t{ox} * ofm.depth;
    window.for_each_tap(ox, [&](int32_t ky, int32_t kx, const int64_t* x) {
      if (x == nullptr) return;
      for (int32_t o = 0; o < ofm.depth; ++o) {
        if (work.op->kind == OperationKind::kDepthwise) {
          out[o] = add_wrapping(out[o], multiply_wrapping(x[o], w.at(o, ky, kx, 0)));
          continue;
        }
        for (int32_t i = 0; i < w.depth; ++i) {
          out[o] = add_wrapping(out[o], multiply_wrapping(x[i], w.at(o, ky, kx, i)));
        }
      }
    });
  }
}

int64_t start_value(PoolMode mode) {
  if (mode == PoolMode::kMax) return std::numeric_limits<int64_t>::min();
  if (mode == PoolMode::kMin) return std::numeric_limits<int64_t>::max();
  return 0;
}

void pool_tap(PoolMode mode, const int64_t* x, int32_t depth, int64_t* out) {
  for (int32_t c = 0; c < depth; ++c) {
    const int64_t value = x == nullptr ? 0 : x[c];
    if (mode == PoolMode::kMax) {
      out[c] = std::max(out[c], value);
    } else if (mode == PoolMode::kMin) {
      out[c] = std::min(out[c], value);
    } else {
      out[c] = add_wrapping(out[c], value);
    }
  }
}

// The position of the first maximum in the window, per channel.
void argmax(const Work& work, const WindowRows& window, int32_t ox, int64_t* out) {
  const int32_t depth = work.op->ofm_extent.depth;
  Row best(static_cast<size_t>(depth), std::numeric_limits<int64_t>::min());
  window.for_each_tap(ox, [&](int32_t ky, int32_t kx, const int64_t* x) {
    const int32_t position = work.op->pool == PoolMode::kArgmaxX ? kx : ky;
    for (int32_t c = 0; c < depth; ++c) {
      const int64_t value = x == nullptr ? 0 : x[c];
      if (value <= best[static_cast<size_t>(c)]) continue;
      best[static_cast<size_t>(c)] = value;
      out[c] = position;
    }
  });
}

void pool(const Work& work, int32_t oy, Row& acc, std::vector<int64_t>& counts) {
  const Operation& op = *work.op;
  if (op.pool == PoolMode::kNone) return;  // the accumulators' initial value is the result
  const WindowRows window(work, oy);
  const int32_t depth = op.ofm_extent.depth;
  for (int32_t ox = 0; ox < op.ofm_extent.width; ++ox) {
    int64_t* out = acc.data() + int64_t{ox} * depth;
    if (op.pool == PoolMode::kArgmaxX || op.pool == PoolMode::kArgmaxY) {
      argmax(work, window, ox, out);
      continue;
    }
    if (op.pool == PoolMode::kMax || op.pool == PoolMode::kMin) std::fill_n(out, depth, start_value(op.pool));
    int64_t count = 0;
    window.for_each_tap(ox, [&](int32_t, int32_t, const int64_t* x) {
      ++count;
      if (op.pool != PoolMode::kReduceSum) return pool_tap(op.pool, x, depth, out);
      if (x == nullptr) return;
      for (int32_t i = 0; i < op.ifm_depth; ++i) out[0] = add_wrapping(out[0], x[i]);
    });
    counts[static_cast<size_t>(ox)] = count;
    if (count == 0) std::fill_n(out, depth, 0);
  }
}

// One operand of an elementwise operation along an output row.
class OperandRow {
 public:
  OperandRow(const CheckedMap& map, const FeatureMap& registers, const Broadcast& broadcast, int64_t scalar, int32_t oy)
      : broadcast_(broadcast) {
    if (broadcast.scalar) {
      values_ = {scalar - int64_t{effective_zero_point(registers)}};
      return;
    }
    const int32_t depth = map.box().depth;
    depth_ = depth;
    values_.resize(static_cast<size_t>(int64_t{map.box().width} * depth));
    read_row(map, broadcast.h ? 0 : oy, 0, map.box().width, depth, effective_zero_point(registers), values_.data(),
             depth);
  }
  [[nodiscard]] int64_t at(int32_t x, int32_t c) const {
    if (broadcast_.scalar) return values_[0];
    return values_[static_cast<size_t>((broadcast_.w ? 0 : int64_t{x}) * depth_ + (broadcast_.c ? 0 : c))];
  }

 private:
  const Broadcast& broadcast_;
  Row values_;
  int64_t depth_ = 1;
};

void elementwise(const Work& work, int32_t oy, Row& acc) {
  const Operation& op = *work.op;
  const OperandRow first(work.ifm, op.ifm, op.ifm_broadcast, op.scalar, oy);
  // A unary operation's second operand is never read.
  const Broadcast none{.scalar = true};
  const OperandRow second(work.ifm2, op.ifm2, op.is_unary() ? none : op.ifm2_broadcast, op.scalar, oy);
  const bool swapped = op.swap_operands && !op.is_unary();  // the bit is sticky
  const ElementwiseFunction function(op);
  for (int32_t x = 0; x < op.ofm_extent.width; ++x) {
    for (int32_t c = 0; c < op.ofm_extent.depth; ++c) {
      const int64_t a = first.at(x, c);
      const int64_t b = second.at(x, c);
      acc[static_cast<size_t>(int64_t{x} * op.ofm_extent.depth + c)] = swapped ? function(b, a) : function(a, b);
    }
  }
}

void resize(const Work& work, int32_t oy, Row& acc) {
  const Operation& op = *work.op;
  const Extent box = work.ifm.box();
  const ResizePoint y = resize_point(oy, op.resize_y, box.height);
  const int64_t ny = op.resize_y.numerator;
  const int64_t nx = op.resize_x.numerator;
  Row low(static_cast<size_t>(int64_t{box.width} * box.depth));
  Row high(low.size());
  const bool upper = op.resize == ResizeMode::kNearest && 2 * y.fraction >= ny;
  read_row(work.ifm, static_cast<int32_t>(upper ? y.high : y.low), 0, box.width, box.depth,
           effective_zero_point(op.ifm), low.data(), box.depth);
  read_row(work.ifm, static_cast<int32_t>(y.high), 0, box.width, box.depth, effective_zero_point(op.ifm), high.data(),
           box.depth);
  for (int32_t ox = 0; ox < op.ofm_extent.width; ++ox) {
    const ResizePoint x = resize_point(ox, op.resize_x, box.width);
    for (int32_t c = 0; c < box.depth; ++c) {
      const auto at = [&](const Row& row, int64_t ix) { return row[static_cast<size_t>(ix * box.depth + c)]; };
      int64_t& out = acc[static_cast<size_t>(int64_t{ox} * box.depth + c)];
      if (op.resize == ResizeMode::kBilinear) {
        const auto mix = [](int64_t n, int64_t f, int64_t p, int64_t q) {
          return add_wrapping(multiply_wrapping(n - f, p), multiply_wrapping(f, q));
        };
        out = mix(ny, y.fraction, mix(nx, x.fraction, at(low, x.low), at(low, x.high)),
                  mix(nx, x.fraction, at(high, x.low), at(high, x.high)));
      } else {
        out = at(low, op.resize == ResizeMode::kNearest && 2 * x.fraction >= nx ? x.high : x.low);
      }
      out = multiply_wrapping(out, 1 << 16);
    }
  }
}

void note_overflow(const Work& work, const Row& acc) {
  const int64_t limit = int64_t{1} << (work.op->acc_bits - 1);
  if (std::ranges::any_of(acc, [limit](int64_t value) { return value < -limit || value >= limit; }))
    *work.overflow = true;
}

// What the accumulators hold before the operation adds to them.
void start(const Work& work, int32_t oy, Row& acc) {
  const Operation& op = *work.op;
  std::ranges::fill(acc, 0);
  if (op.acc_input == AccInput::kIfm2 && op.kind != OperationKind::kElementwise) {
    const Extent& box = work.ifm2.box();
    read_row(work.ifm2, oy, 0, box.width, box.depth, effective_zero_point(op.ifm2), acc.data(), box.depth);
  } else if (op.acc_input == AccInput::kKeep && work.kept != nullptr) {
    const size_t from = static_cast<size_t>(oy) * acc.size();
    for (size_t i = 0; i < acc.size() && from + i < work.kept->size(); ++i) acc[i] = (*work.kept)[from + i];
  }
}

}  // namespace

ResizePoint resize_point(int32_t o, const ResizeStep& step, int32_t size) {
  const int64_t position = int64_t{o} * step.denominator + step.offset;
  int64_t index = position / step.numerator;
  if (position % step.numerator < 0) --index;
  const int64_t last = size - 1;
  return {.low = std::clamp<int64_t>(index, 0, last),
          .high = std::clamp<int64_t>(index + 1, 0, last),
          .fraction = position - index * step.numerator};
}

void execute_scalar(const Work& work, Rows rows) {
  const Operation& op = *work.op;
  Row acc(static_cast<size_t>(int64_t{op.ofm_extent.width} * op.ofm_extent.depth));
  std::vector<int64_t> counts(static_cast<size_t>(op.ofm_extent.width), 1);
  for (int32_t oy = rows.begin; oy < rows.end; ++oy) {
    start(work, oy, acc);
    switch (op.kind) {
      case OperationKind::kConvolution:
      case OperationKind::kDepthwise:
        convolve(work, oy, acc);
        break;
      case OperationKind::kPool:
        pool(work, oy, acc, counts);
        break;
      case OperationKind::kElementwise:
        elementwise(work, oy, acc);
        break;
      case OperationKind::kResize:
        resize(work, oy, acc);
        break;
      case OperationKind::kDma:
        break;
    }
    if (work.overflow != nullptr && (op.is_convolution_like() || op.kind == OperationKind::kPool))
      note_overflow(work, acc);
    if (op.acc_output == AccOutput::kKeep) {
      if (work.kept != nullptr)
        std::ranges::copy(acc, work.kept->begin() + int64_t{oy} * static_cast<int64_t>(acc.size()));
      continue;
    }
    for (int32_t x = 0; x < op.ofm_extent.width; ++x) {
      for (int32_t c = 0; c < op.ofm_extent.depth; ++c) {
        int64_t& value = acc[static_cast<size_t>(int64_t{x} * op.ofm_extent.depth + c)];
        value = work.output->value(value, c, counts[static_cast<size_t>(x)]);
      }
    }
    store_row(work, oy, acc);
  }
}

}  // namespace carina::simulate
