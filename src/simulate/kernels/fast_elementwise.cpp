#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/fast_output_internal.h"
#include "simulate/kernels/lanes_internal.h"
#include "simulate/kernels/rows.h"
#include "simulate/kernels/scratch_internal.h"
#include "simulate/kernels/store_internal.h"

namespace carina::simulate {

namespace {

// The contribution of an 8-bit operand by its bits, with zero point and operand scale.
using OperandTable = std::array<int32_t, 256>;

// An operand's processing before the operation: a table, as it has 256 values. Without a scale, it only subtracts the
// zero point.
struct Operand {
  OperandTable table{};
  int64_t largest = 0;
  bool is_plain = true;
};

void widen(std::span<const int16_t> in, std::span<int32_t> out) {
  in_lanes(out.size(), [&](size_t i, auto lanes) {
    std::array<int32_t, lanes> values;
    for (size_t lane = 0; lane < lanes; ++lane) values[lane] = in[i + lane];
    std::ranges::copy(values, out.begin() + static_cast<ptrdiff_t>(i));
  });
}

// 8-bit ADD, SUB, MUL, MIN and MAX. The elements of a row follow each other, whatever their channels: all have one
// scale.
class FastElementwise8 final : public FastOperation {
 public:
  FastElementwise8(const Work& work, FastOutput output, const Operand& first, const Operand& second)
      : work_(work), output_(std::move(output)), first_(first), second_(second) {}

  void execute(const Patch& patch) const override {
    const Operation& op = *work_.op;
    const size_t row = static_cast<size_t>(patch.columns.count()) * static_cast<size_t>(op.ofm_extent.depth);
    Scratch& scratch = thread_scratch();
    const std::span<int32_t> acc = scratch.acc.get(FastOutput::padded(static_cast<size_t>(patch.rows.count()) * row));
    const std::span<int32_t> a = scratch.first.get(row);
    const std::span<int32_t> b = scratch.second.get(row);
    std::span<int32_t> out = acc;
    for (int32_t y = patch.rows.begin; y < patch.rows.end; ++y, out = out.subspan(row)) {
      load(work_.ifm, op.ifm, op.ifm_broadcast, first_, y, patch.columns, a);
      load(work_.ifm2, op.ifm2, op.ifm2_broadcast, second_, y, patch.columns, b);
      combine(a.data(), b.data(), out.first(row));
    }
    output_.write_dense(work_, acc, patch);
  }
  [[nodiscard]] PatchSize patch_size() const override {
    constexpr int64_t kAccElems = 64 * 1024;
    return patch_of(work_.op->ofm_extent, kAccElems / std::max(1, work_.op->ofm_extent.depth));
  }

 private:
  void load(const CheckedMap& map, const FeatureMap& registers, const Broadcast& broadcast, const Operand& operand,
            int32_t y, Columns columns, std::span<int32_t> out) const {
    if (broadcast.scalar) {
      std::ranges::fill(out, operand.table[0]);  // its table holds one value
      return;
    }
    const Columns read = broadcast.w ? Columns{.begin = 0, .end = 1} : columns;
    const int32_t depth = map.box().depth;
    const std::span<int16_t> raw = thread_scratch().shorts.row.get(static_cast<size_t>(int64_t{read.count()} * depth));
    read_row(map, broadcast.h ? 0 : y, read.begin, read.end, depth, operand.is_plain ? registers.zero_point : 0,
             raw.data(), depth);
    const size_t each = static_cast<size_t>(work_.op->ofm_extent.depth);
    if (!broadcast.w && !broadcast.c) return process(operand, raw, out);
    if (broadcast.c) {
      const size_t step = broadcast.w ? 0 : static_cast<size_t>(depth);
      for (size_t x = 0; x * each < out.size(); ++x)
        std::ranges::fill(out.subspan(x * each, each), processed(operand, raw[x * step]));
      return;
    }
    const std::span<int32_t> pixel = out.first(each);
    process(operand, raw, pixel);
    for (size_t x = 1; x * each < out.size(); ++x) std::ranges::copy(pixel, out.subspan(x * each).begin());
  }
  static int32_t processed(const Operand& operand, int16_t raw) {
    return operand.is_plain ? raw : operand.table[static_cast<uint8_t>(raw)];
  }
  static void process(const Operand& operand, std::span<const int16_t> raw, std::span<int32_t> out) {
    if (operand.is_plain) return widen(raw, out);
    for (size_t i = 0; i < out.size(); ++i) out[i] = operand.table[static_cast<uint8_t>(raw[i])];
  }

  void combine(const int32_t* a, const int32_t* b, std::span<int32_t> out) const {
    if (work_.op->swap_operands) std::swap(a, b);
    switch (work_.op->elementwise) {
      case ElementwiseMode::kAdd:
        return apply(a, b, out, [](int32_t p, int32_t q) { return p + q; });
      case ElementwiseMode::kSub:
        return apply(a, b, out, [](int32_t p, int32_t q) { return p - q; });
      case ElementwiseMode::kMul:
        return apply(a, b, out, [](int32_t p, int32_t q) { return p * q; });
      case ElementwiseMode::kMin:
        return apply(a, b, out, [](int32_t p, int32_t q) { return std::min(p, q); });
      default:
        return apply(a, b, out, [](int32_t p, int32_t q) { return std::max(p, q); });
    }
  }
  template <typename F>
  static void apply(const int32_t* a, const int32_t* b, std::span<int32_t> out, const F& f) {
    in_lanes(out.size(), [&](size_t i, auto lanes) {
      std::array<int32_t, lanes> results;
      for (size_t lane = 0; lane < lanes; ++lane) results[lane] = f(a[i + lane], b[i + lane]);
      std::ranges::copy(results, out.begin() + static_cast<ptrdiff_t>(i));
    });
  }

  const Work& work_;
  FastOutput output_;
  Operand first_;
  Operand second_;
};

// The table of one operand. Returns nothing if a value does not fit.
template <typename Scale>
std::optional<Operand> make_operand(const FeatureMap& map, const Broadcast& broadcast, int64_t scalar,
                                    const Scale& scale) {
  Operand operand;
  for (int i = 0; i < 256; ++i) {
    const int64_t raw = broadcast.scalar ? scalar : map.type.is_signed ? int64_t{static_cast<int8_t>(i)} : int64_t{i};
    const int64_t value = scale(raw - map.zero_point);
    if (std::abs(value) > std::numeric_limits<int32_t>::max()) return std::nullopt;
    operand.table[static_cast<size_t>(i)] = static_cast<int32_t>(value);
    operand.largest = std::max(operand.largest, std::abs(value));
    operand.is_plain = operand.is_plain && value == raw - map.zero_point;
  }
  return operand;
}

}  // namespace

std::unique_ptr<FastOperation> make_fast_elementwise(const Work& work) {
  const Operation& op = *work.op;
  using enum ElementwiseMode;
  const ElementwiseMode mode = op.elementwise;
  if (mode != kAdd && mode != kSub && mode != kMul && mode != kMin && mode != kMax) return nullptr;
  // A scalar of U85 may be wider than its neighbor; chained operands keep the type of their buffer.
  const auto plain = [](const FeatureMap& map, const Broadcast& b) {
    return map.type.bytes == 1 && (b.scalar || map.storage == Storage::kTile2x2 || map.storage == Storage::kTile3x1);
  };
  if (!plain(op.ifm, op.ifm_broadcast) || !plain(op.ifm2, op.ifm2_broadcast)) return nullptr;
  const ElementwiseFunction function(op);
  const bool scaled = mode == kAdd || mode == kSub || (op.u85 && mode != kMul);
  // With swapped operands the function's first argument is IFM2.
  const auto as_first = [&](int64_t v) { return scaled ? function.scale_first(v) : v; };
  const auto as_second = [&](int64_t v) { return scaled ? function.scale_second(v) : v; };
  const auto ifm = op.swap_operands ? make_operand(op.ifm, op.ifm_broadcast, op.scalar, as_second)
                                    : make_operand(op.ifm, op.ifm_broadcast, op.scalar, as_first);
  const auto ifm2 = op.swap_operands ? make_operand(op.ifm2, op.ifm2_broadcast, op.scalar, as_first)
                                     : make_operand(op.ifm2, op.ifm2_broadcast, op.scalar, as_second);
  if (!ifm || !ifm2) return nullptr;
  const int64_t largest = mode == kMul                   ? ifm->largest * ifm2->largest
                          : mode == kAdd || mode == kSub ? ifm->largest + ifm2->largest
                                                         : std::max(ifm->largest, ifm2->largest);
  if (largest > std::numeric_limits<int32_t>::max()) return nullptr;
  auto output = FastOutput::make(work, largest);
  return output ? std::make_unique<FastElementwise8>(work, *std::move(output), *ifm, *ifm2) : nullptr;
}

}  // namespace carina::simulate
