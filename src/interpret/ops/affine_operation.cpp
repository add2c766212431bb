// Rescaled sums, differences and products of bytes in one loop, without values of 32 bits in memory: if the second
// operand is one value for a row, or a constant for each column, then the result is an affine function of the first.
//   Example: ((x - 3) * 2^19 - b) * m >> 50, rounded, is (x * m + ((2^49 - b * m) >> 19) - 3 * m) >> 31.
// The square of a byte is computed in floats if that gives the results of all 256 bytes.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "interpret/elementwise_blocks_internal.h"
#include "interpret/ops/rescaled_operand_internal.h"
#include "kernels/affine.h"

namespace carina::interpret {

namespace {

using enum DType;
using kernels::Affine, kernels::AffineColumns, kernels::CombineIntegers, kernels::LinearScale;

constexpr int64_t kAffineBlock = 8192;
constexpr int64_t kFewestColumns = 64;  // of rows with factors of their own

// The affine function of a byte for one value of the other operand.
struct AffineOf {
  CombineIntegers op;
  int32_t zero_point, left_shift;  // of the byte: (x - zero_point) << left_shift
  LinearScale result;

  [[nodiscard]] std::optional<Affine> operator()(int64_t other) const {
    const int64_t factor = op == CombineIntegers::kMul ? other : op == CombineIntegers::kSubFrom ? -1 : 1;
    const int64_t term = op == CombineIntegers::kMul ? 0 : op == CombineIntegers::kSub ? -other : other;
    const int64_t of_zero = -factor * zero_point * (int64_t{1} << left_shift);
    return kernels::scaled(result, {.factor = factor, .left_shift = left_shift, .addend = term + of_zero});
  }
};

struct Parts {
  AffineOf function;
  RescaledOperand other;
  size_t first;  // the operand of bytes
  Blocks<2> blocks;
  int8_t low, high;

  [[nodiscard]] const int8_t* in(const Call& call, const Blocks<2>::Block& block) const {
    return call.input<int8_t>(first) + blocks.offset(first, block.row, block.column);
  }
  [[nodiscard]] int8_t* out(const Call& call, const Blocks<2>::Block& block) const {
    return call.output<int8_t>(0) + block.row * blocks.walk.inner + block.column;
  }
};

// One value of the other operand for a row.
struct ByRows {
  Parts parts;

  [[nodiscard]] size_t slot_bytes() const {
    return static_cast<size_t>(parts.blocks.block_rows) * (sizeof(int32_t) + sizeof(Affine));
  }

  void run_block(const Call& call, const Blocks<2>::Block& block, std::byte* scratch) const {
    auto* factors = reinterpret_cast<Affine*>(scratch);
    auto* values = reinterpret_cast<int32_t*>(factors + parts.blocks.block_rows);
    const size_t second = 1 - parts.first;
    const std::byte* data =
        call.in[second] +
        static_cast<size_t>(parts.blocks.offset(second, block.row, block.column)) * element_bytes(parts.other.type);
    const int64_t stride = parts.blocks.walk.outer.empty() ? 0 : parts.blocks.stride(second, 1);
    const int64_t different = stride == 0 ? 1 : block.rows;
    stride == 1 ? parts.other.run(data, different, values) : parts.other.run(data, stride, different, 1, values);
    std::transform(values, values + different, factors, [&](int32_t value) { return *parts.function(value); });
    kernels::affine_rows({.in = parts.in(call, block),
                          .in_stride = parts.blocks.stride(parts.first, block.columns),
                          .out = parts.out(call, block),
                          .rows = block.rows,
                          .columns = block.columns,
                          .factors = factors,
                          .is_one = different == 1,
                          .low = parts.low,
                          .high = parts.high});
  }

  Result<void> run(const Call& call) const {
    split_slots(call.runtime.workers, parts.blocks.count(), 1, [&](int64_t slot, int64_t begin, int64_t end) {
      std::byte* scratch = call.scratch + static_cast<size_t>(slot) * slot_bytes();
      for (int64_t index = begin; index < end; ++index) run_block(call, parts.blocks.at(index), scratch);
    });
    return {};
  }
};

// A constant for each column.
struct ByColumns {
  Parts parts;
  AffineColumns columns;

  Result<void> run(const Call& call) const {
    split(call.runtime.workers, parts.blocks.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const auto block = parts.blocks.at(index);
        columns.run({.in = parts.in(call, block),
                     .in_stride = parts.blocks.stride(parts.first, block.columns),
                     .out = parts.out(call, block),
                     .rows = block.rows,
                     .low = parts.low,
                     .high = parts.high});
      }
    });
    return {};
  }
};

std::optional<AffineColumns> columns_of(const AffineOf& function, const RescaledOperand& other, const Tensor& constant,
                                        int64_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  other.run(constant.data.data(), count, values.data());
  std::vector<Affine> factors;
  for (const int32_t value : values) {
    const auto factor = function(value);
    if (!factor) return std::nullopt;
    factors.push_back(*factor);
  }
  return AffineColumns(factors);
}

}  // namespace

std::optional<Kernel> affine_operation(const RescaledOperation& operation) {
  const RescaledOperand& bytes = operation.operands[operation.first];
  const size_t second = 1 - operation.first;
  const RescaledOperand& other = operation.operands[second];
  const Walk<2>& walk = operation.walk;
  const auto scale = kernels::linear_scale(*operation.epilogue.scales, 0);
  if (operation.op == CombineIntegers::kSquare || bytes.type != kInt8 || !bytes.is_shift() ||
      operation.epilogue.out_type != kInt8 || walk.inner == 0 || walk.inner_stride[operation.first] != 1 || !scale)
    return std::nullopt;
  Parts parts{.function = {.op = operation.op,
                           .zero_point = bytes.scales.input_zp,
                           .left_shift = *bytes.scales.left_shift,
                           .result = *scale},
              .other = other,
              .first = operation.first,
              .blocks = Blocks<2>(walk, std::max(kAffineBlock, walk.inner_stride[second] == 0 ? 0 : walk.inner)),
              .low = static_cast<int8_t>(operation.epilogue.scales->low),
              .high = static_cast<int8_t>(operation.epilogue.scales->high)};
  if (walk.inner_stride[second] == 0) {
    // Factors are linear in the other operand, so those between two that are possible are possible.
    if (!parts.function(-other.bound) || !parts.function(other.bound)) return std::nullopt;
    if (walk.inner < kFewestColumns && walk.rows > 1) return std::nullopt;
    ByRows rows{std::move(parts)};
    const size_t scratch_bytes = static_cast<size_t>(operation.threads) * rows.slot_bytes();
    return Kernel{.run = [rows = std::move(rows)](const Call& call) { return rows.run(call); },
                  .scratch_bytes = scratch_bytes};
  }
  const bool same_rows = std::ranges::all_of(walk.outer_stride[second], [](int64_t stride) { return stride == 0; });
  if (!same_rows || operation.constants[second] == nullptr || walk.inner > kAffineBlock) return std::nullopt;
  auto columns = columns_of(parts.function, other, *operation.constants[second], walk.inner);
  if (!columns) return std::nullopt;
  ByColumns by_columns{.parts = std::move(parts), .columns = *std::move(columns)};
  return Kernel{.run = [by_columns = std::move(by_columns)](const Call& call) { return by_columns.run(call); }};
}

namespace {

// Finds a factor that gives the rescaled squares of all bytes as SquareBytes computes them.
std::optional<float> factor_of_squares(const LinearScale& scale, int32_t zero_point, int left_shift,
                                       const IntegerRange& range) {
  const int64_t largest = std::max(zero_point + 128, 127 - zero_point);
  const auto product = checked_mul((largest * largest) << (2 * left_shift), scale.multiplier);
  if (!product || !checked_add(*product, scale.addend) || (*product >> scale.shift) >= kernels::SquareBytes::kLargest)
    return std::nullopt;
  const auto factor = static_cast<float>(std::ldexp(scale.multiplier, 2 * left_shift - scale.shift));
  const int64_t zero = scale.addend >> scale.shift;
  // A value between two results is rounded up; floats are rounded to the even one.
  for (const float candidate : {factor, std::nextafter(factor, std::numeric_limits<float>::infinity())}) {
    const auto is_exact = [&](int64_t x) {
      const int64_t square = x * x;
      const int64_t exact = (((square << (2 * left_shift)) * scale.multiplier) + scale.addend) >> scale.shift;
      const float result = std::nearbyint(static_cast<float>(static_cast<int32_t>(square)) * candidate);
      return std::clamp(exact, range.min, range.max) ==
             std::clamp(static_cast<int64_t>(result) + zero, range.min, range.max);
    };
    bool exact = true;
    for (int64_t x = -128; x < 128 && exact; ++x) exact = is_exact(x - zero_point);
    if (exact) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Kernel> square_of_bytes(const RescaledOperation& operation) {
  const RescaledOperand& bytes = operation.operands[operation.first];
  const Walk<2>& walk = operation.walk;
  const DType out_type = operation.epilogue.out_type;
  const kernels::Scales& scales = *operation.epilogue.scales;
  const auto scale = kernels::linear_scale(scales, 0);
  if (operation.op != CombineIntegers::kSquare || bytes.type != kInt8 || !bytes.is_shift() || !scale ||
      (out_type != kInt8 && out_type != kInt16) || walk.rows != 1)
    return std::nullopt;
  const IntegerRange range = range_of(out_type);
  if (scales.low != range.min || scales.high != range.max) return std::nullopt;
  const int32_t zero_point = bytes.scales.input_zp;
  const auto factor = factor_of_squares(*scale, zero_point, *bytes.scales.left_shift, range);
  if (!factor) return std::nullopt;
  return Kernel{.run = [factor = *factor, zero_point, zero = static_cast<int32_t>(scale->addend >> scale->shift),
                        out_type, count = walk.inner](const Call& call) -> Result<void> {
    split(call.runtime.workers, count, kAffineBlock, [&](int64_t begin, int64_t end) {
      kernels::square_bytes({.in = call.input<int8_t>(0) + begin,
                             .zero_point = zero_point,
                             .factor = factor,
                             .addend = zero,
                             .out = call.out[0] + static_cast<size_t>(begin) * element_bytes(out_type),
                             .to_bytes = out_type == kInt8,
                             .count = end - begin});
    });
    return {};
  }};
}

std::optional<Kernel> combination_of_bytes(const RescaledOperation& operation) {
  const size_t first = operation.first, second = 1 - first;
  const RescaledOperand &a = operation.operands[first], &b = operation.operands[second];
  const kernels::Scales& scales = *operation.epilogue.scales;
  const Walk<2>& walk = operation.walk;
  const auto is_plain = [](const RescaledOperand& o) { return o.type == kInt8 && o.scales.left_shift == 0; };
  if (operation.op == CombineIntegers::kSquare || !is_plain(a) || !is_plain(b) ||
      operation.epilogue.out_type != kInt8 || !scales.in_floats || walk.rows != 1 ||
      walk.inner_stride != std::array<int64_t, 2>{1, 1})
    return std::nullopt;
  const kernels::Scales::InFloats form = *scales.in_floats;
  if (form.factor * static_cast<float>(scales.bound + 1) + std::abs(form.addend) >= kernels::CombineBytes::kLargest)
    return std::nullopt;
  return Kernel{.run = [op = operation.op, form, first, second, a_zero_point = a.scales.input_zp,
                        b_zero_point = b.scales.input_zp, count = walk.inner](const Call& call) -> Result<void> {
    split(call.runtime.workers, count, kAffineBlock, [&](int64_t begin, int64_t end) {
      kernels::combine_bytes({.op = op,
                              .a = call.input<int8_t>(first) + begin,
                              .b = call.input<int8_t>(second) + begin,
                              .a_zero_point = a_zero_point,
                              .b_zero_point = b_zero_point,
                              .factor = form.factor,
                              .addend = form.addend,
                              .out = call.output<int8_t>(0) + begin,
                              .count = end - begin});
    });
    return {};
  }};
}

}  // namespace carina::interpret
