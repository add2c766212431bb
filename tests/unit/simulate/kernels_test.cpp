// Compares the SIMD kernels of every instruction set of this machine with the scalar ones, on random operations.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/work.h"
#include "simulate/vectors/kernels.h"

namespace carina::simulate {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

FeatureMap packed_map(Random& random, const Extent& e, ElementType type) {
  FeatureMap map{.type = type};
  map.format = random.chance(0.5) ? Format::kNhcwb16 : Format::kNhwc;
  map.width0 = map.height0 = map.height1 = 1 << 16;
  const int64_t es = type.bytes;
  if (map.format == Format::kNhcwb16) {
    map.stride_x = 16 * es;
    map.stride_c = map.stride_x * e.width;
    map.stride_y = map.stride_c * ((e.depth + 15) / 16);
  } else {
    map.stride_x = es * (e.depth + random.in(0, 3));
    map.stride_c = es;
    map.stride_y = map.stride_x * e.width;
  }
  map.zero_point =
      type.bytes == 1 ? static_cast<int32_t>(random.in(type.is_signed ? -128 : 0, type.is_signed ? 127 : 255)) : 0;
  return map;
}

size_t bytes_of(const FeatureMap& map, const Extent& e) {
  return static_cast<size_t>(map.stride_y * e.height) + 64;
}

ElementType random_type(Random& random) {
  return {.bytes = static_cast<uint8_t>(random.chance(0.75) ? 1 : 2), .is_signed = random.chance(0.8)};
}

// An operation that owns its operands.
struct Example {
  Operation op;
  Work work;
  DecodedWeights weights;
  std::unique_ptr<OutputStage> stage;
  std::vector<std::byte> ifm;
  std::vector<std::byte> ifm2;
  std::vector<std::byte> ofm;
  std::vector<std::byte> table;

  explicit Example(uint64_t seed) {
    Random random(seed);
    op.kind = static_cast<OperationKind>(random.in(0, 4));
    op.u85 = random.chance(0.5);
    op.ofm_extent = {.height = static_cast<int32_t>(random.in(1, 6)),
                     .width = static_cast<int32_t>(random.in(1, 9)),
                     .depth = static_cast<int32_t>(random.in(1, random.chance(0.3) ? 150 : 50))};
    op.ifm_depth = static_cast<int32_t>(random.in(1, 70));
    choose_kernel(random);
    choose_output(random);
    if (op.kind == OperationKind::kElementwise) choose_elementwise(random);
    if (op.kind == OperationKind::kResize) choose_resize(random);
    choose_maps(random);
    fill_maps(random);
  }

  void choose_kernel(Random& random) {
    op.pool = static_cast<PoolMode>(random.chance(0.5) ? 0 : random.in(1, 5));
    if (!op.u85 && op.pool != PoolMode::kMax && op.pool != PoolMode::kReduceSum) op.pool = PoolMode::kAverage;
    if (op.pool == PoolMode::kNone) op.pool = PoolMode::kSum;
    Kernel& k = op.kernel;
    if (random.chance(0.6))
      k = {.height = static_cast<int32_t>(random.in(1, 4)), .width = static_cast<int32_t>(random.in(1, 4))};
    k.stride_y = static_cast<int32_t>(random.in(1, 3));
    k.stride_x = static_cast<int32_t>(random.in(1, 3));
    if (op.kind != OperationKind::kPool && random.chance(0.3)) k.dilation_x = k.dilation_y = 2;
    k.extent_h = (k.height - 1) * k.dilation_y + 1;
    k.extent_w = (k.width - 1) * k.dilation_x + 1;
    op.padding = {.top = static_cast<int32_t>(random.in(0, k.extent_h - 1)),
                  .left = static_cast<int32_t>(random.in(0, k.extent_w - 1)),
                  .right = static_cast<int32_t>(random.in(0, k.extent_w - 1)),
                  .bottom = static_cast<int32_t>(random.in(0, k.extent_h - 1))};
    if (op.kind != OperationKind::kPool && random.chance(0.2))
      op.upscale = random.chance(0.5) ? Upscale::kNearest : Upscale::kZeros;
  }

  void choose_output(Random& random) {
    op.per_channel = op.is_convolution_like() && random.chance(0.7);
    op.output = {.multiplier = static_cast<uint32_t>(random.in(1 << 29, (int64_t{1} << 31) - 1)),
                 .shift = static_cast<uint8_t>(random.in(30, 42)),
                 .mode = static_cast<RoundMode>(random.in(0, op.u85 ? 5 : 1)),
                 .double_round = static_cast<uint8_t>(op.u85 ? random.in(0, 20) : 0)};
    if (random.chance(0.1)) op.output = {.mode = op.output.mode};
    op.activation.clamp = random.chance(0.9);
  }

  void choose_elementwise(Random& random) {
    using enum ElementwiseMode;
    constexpr ElementwiseMode kModes[] = {kMul,   kAdd,   kSub,   kMin,   kMax, kMul, kAdd, kSub,   kMin,
                                          kCmpEq, kCmpNe, kCmpGe, kCmpGt, kAnd, kOr,  kXor, kAndNot};
    op.elementwise = kModes[random.in(0, std::ssize(kModes) - 1)];
    op.operand_scaling = op.u85 ? OperandScaling::kBothFull : static_cast<OperandScaling>(random.in(0, 2));
    op.first = {.multiplier = static_cast<uint32_t>(random.in(1, 1 << 20)),
                .shift = static_cast<uint8_t>(random.in(0, 12))};
    op.second = {.multiplier = static_cast<uint32_t>(random.in(1, 1 << 10))};
    op.ifm2_broadcast = {
        .h = random.chance(0.3), .w = random.chance(0.3), .c = random.chance(0.3), .scalar = random.chance(0.2)};
    op.swap_operands = !op.u85 && random.chance(0.3);
    op.scalar = random.in(-100, 100);
  }

  void choose_resize(Random& random) {
    op.resize = static_cast<ResizeMode>(random.in(0, 2));
    for (ResizeStep* step : {&op.resize_x, &op.resize_y}) {
      *step = {.numerator = static_cast<int32_t>(random.in(1, 9)),
               .denominator = static_cast<int32_t>(random.in(1, 9)),
               .offset = static_cast<int32_t>(random.in(-9, 9))};
    }
    op.output.multiplier >>= random.in(0, 30);
  }

  void choose_maps(Random& random) {
    ElementType type = random_type(random);
    if ((op.kind == OperationKind::kElementwise || op.kind == OperationKind::kResize) && random.chance(0.3)) {
      type.bytes = 4;
      op.output = {.multiplier = 1, .shift = static_cast<uint8_t>(random.in(0, 30)), .mode = op.output.mode};
    }
    work.ifm_extent = window_extent(op);
    const Extent box = ifm_box(op);
    op.ifm = packed_map(random, box, type);
    op.ifm2 = packed_map(random, ifm2_box(op), type);
    op.ofm = packed_map(random, op.ofm_extent,
                        {.bytes = static_cast<uint8_t>(1 << random.in(0, 2)), .is_signed = random.chance(0.7)});
    op.acc_bits = type.bytes == 2 ? 40 : 32;
    ifm.resize(bytes_of(op.ifm, box));
    ifm2.resize(bytes_of(op.ifm2, ifm2_box(op)));
    ofm.resize(bytes_of(op.ofm, op.ofm_extent));
    Activation& a = op.activation;
    a.lut_input = a.lut_output = op.ofm.type;
    const int64_t bits = 8 * op.ofm.type.bytes;
    a.min = op.ofm.type.is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    a.max = (int64_t{1} << (op.ofm.type.is_signed ? bits - 1 : bits)) - 1;
    if (bits == 32) a.clamp = false;
    if (a.clamp && random.chance(0.3)) a.max = a.min + (a.max - a.min) / 3;
    if (bits <= 8 && random.chance(0.2)) {
      a.lut = Lut::kTable;
      table.resize(256);
    } else if (bits >= 16 && op.ofm.type.is_signed && random.chance(0.2)) {
      a.lut = Lut::kTable;
      a.lut_input = {.bytes = 2, .is_signed = true};
      table.resize(2048);
    }
  }

  // Each weight is at the index where scalar code reads it.
  void expect_weights(std::span<const int16_t> values) const {
    size_t next = 0;
    for (int32_t o = 0; o < weights.channels; ++o) {
      for (int32_t ky = 0; ky < weights.height; ++ky) {
        for (int32_t kx = 0; kx < weights.width; ++kx) {
          for (int32_t i = 0; i < weights.depth; ++i) ASSERT_EQ(weights.at(o, ky, kx, i), values[next++]);
        }
      }
    }
  }

  void fill_maps(Random& random) {
    for (auto* bytes : {&ifm, &ifm2, &table}) {
      for (std::byte& value : *bytes) value = static_cast<std::byte>(random.in(0, 255));
    }
    work.op = &op;
    ScaleTable scales;
    if (op.is_convolution_like()) {
      const bool conv = op.kind == OperationKind::kConvolution;
      weights = {.channels = op.ofm_extent.depth,
                 .height = op.kernel.height,
                 .width = op.kernel.width,
                 .depth = conv ? op.ifm_depth : 1};
      std::vector<int16_t> values(
          static_cast<size_t>(weights.channels * weights.height * weights.width * weights.depth));
      const bool bytes = random.chance(0.5);
      for (int16_t& w : values) w = static_cast<int16_t>(random.in(bytes ? -128 : -255, bytes ? 127 : 255));
      pack_weights(weights, op, values);
      expect_weights(values);
      work.weights = &weights;
      for (int32_t c = 0; c < op.ofm_extent.depth; ++c) {
        scales.bias.push_back(random.in(-200000, 200000));
        scales.multiplier.push_back(static_cast<uint32_t>(random.in(0, (int64_t{1} << 31) - 1) >> random.in(0, 8)));
        scales.shift.push_back(static_cast<uint8_t>(random.in(24, 44)));
      }
    }
    stage = std::make_unique<OutputStage>(op, std::move(scales), table);
    work.output = stage.get();
    const auto put = [](const FeatureMap& map, const Extent& box, std::span<std::byte> bytes) {
      auto checked = CheckedMap::create(map, box, bytes, "map");
      EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
      return checked ? *checked : CheckedMap{};
    };
    work.ifm = put(op.ifm, ifm_box(op), ifm);
    if (op.kind == OperationKind::kElementwise && !op.ifm2_broadcast.scalar)
      work.ifm2 = put(op.ifm2, ifm2_box(op), ifm2);
    work.ofm = put(op.ofm, op.ofm_extent, ofm);
  }
};

// Compares fast and scalar execution of each example. Returns how many examples have a fast version.
size_t compare_all(uint64_t first, uint64_t count) {
  size_t fast_ones = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Example example(seed);
    const Rows all{.begin = 0, .end = example.op.ofm_extent.height};
    const std::unique_ptr<FastOperation> fast = FastOperation::make(example.work);
    if (fast == nullptr) continue;
    ++fast_ones;
    execute_scalar(example.work, all);
    const std::vector<std::byte> expected = example.ofm;
    std::ranges::fill(example.ofm, std::byte{});
    // Four areas, as threads divide the work.
    const int32_t width = example.op.ofm_extent.width, middle = all.end / 2, cut = width / 3;
    for (const Rows rows : {Rows{.begin = 0, .end = middle}, Rows{.begin = middle, .end = all.end}}) {
      for (const Columns columns : {Columns{.begin = 0, .end = cut}, Columns{.begin = cut, .end = width}}) {
        if (rows.count() > 0 && columns.count() > 0) fast->execute({.rows = rows, .columns = columns});
      }
    }
    EXPECT_EQ(example.ofm, expected) << "seed " << seed << " on " << kernel_target();
    if (testing::Test::HasFailure()) break;
  }
  return fast_ones;
}

TEST(Kernels, wide_rows_are_split_by_columns) {
  const auto cut = [](const Extent& ofm, int64_t positions) {
    const PatchSize size = patch_of(ofm, positions);
    return std::pair(size.rows, size.columns);
  };
  EXPECT_EQ(cut({.height = 1, .width = 50176, .depth = 3}, 4096), std::pair(1, 4092));
  EXPECT_EQ(cut({.height = 224, .width = 112, .depth = 16}, 4096), std::pair(36, 112));
  EXPECT_EQ(cut({.height = 7, .width = 7, .depth = 1280}, 51), std::pair(7, 7));
  EXPECT_EQ(cut({.height = 7, .width = 7, .depth = 1280}, 0), std::pair(1, 7));
  EXPECT_EQ(cut({.height = 2, .width = 500, .depth = 65536}, -3), std::pair(1, 96));
}

// Overlap is compared with the sets of all bytes.
TEST(CheckedMap, maps_beside_each_other_do_not_overlap) {
  Random random(3);
  std::vector<std::byte> memory(1 << 14);
  size_t apart = 0, overlapping = 0;
  for (int i = 0; i < 3000; ++i) {
    const Extent whole{.height = static_cast<int32_t>(random.in(1, 4)),
                       .width = static_cast<int32_t>(random.in(1, 5)),
                       .depth = static_cast<int32_t>(random.in(2, 70))};
    FeatureMap map = packed_map(random, whole, random_type(random));
    const bool bricks = map.format == Format::kNhcwb16;
    if (!bricks && i % 3 == 0) {  // columns of rows
      map.stride_y = map.stride_x;
      map.stride_x = map.stride_y * whole.height;
    }
    const auto part = [&] {
      const auto first = static_cast<int32_t>(random.in(0, whole.depth - 1)) / (bricks ? 16 : 1);
      const Extent box{.height = static_cast<int32_t>(random.in(1, whole.height)),
                       .width = static_cast<int32_t>(random.in(1, whole.width)),
                       .depth = static_cast<int32_t>(random.in(1, whole.depth - first * (bricks ? 16 : 1)))};
      FeatureMap at = map;
      at.base[0] = static_cast<uint64_t>(first * (bricks ? map.stride_c : map.type.bytes));
      return std::pair(*CheckedMap::create(at, box, memory, "map"), box);
    };
    const auto bytes = [&](const std::pair<CheckedMap, Extent>& what) {
      std::set<const std::byte*> set;
      for (int32_t y = 0; y < what.second.height; ++y) {
        const RowPart row = what.first.row(y)[0];
        for (int32_t x = 0; x < what.second.width; ++x) {
          for (int32_t c = 0; c < what.second.depth; ++c) {
            const int64_t channel =
                bricks ? c / 16 * what.first.brick_stride() + c % 16 * map.type.bytes : int64_t{c} * map.type.bytes;
            for (int b = 0; b < map.type.bytes; ++b) set.insert(row.data + x * what.first.pixel_stride() + channel + b);
          }
        }
      }
      return set;
    };
    const auto a = part(), b = part();
    const auto of_a = bytes(a), of_b = bytes(b);
    const bool shared = std::ranges::any_of(of_a, [&](const std::byte* byte) { return of_b.contains(byte); });
    const bool found = overlap(a.first, b.first);
    EXPECT_TRUE(found || !shared) << i;
    EXPECT_EQ(found, overlap(b.first, a.first)) << i;
    (found ? overlapping : apart) += shared ? 0 : 1;
  }
  EXPECT_GT(apart, 4 * overlapping);
}

// Sanitizers make each case ten times longer.
#ifdef CARINA_SANITIZED
constexpr size_t kCasesOfTarget = 200;
#else
constexpr size_t kCasesOfTarget = 1500;
#endif

TEST(Kernels, all_targets_equal_scalar_bits) {
  const int64_t targets = hwy::SupportedTargets();
  for (int64_t rest = targets; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest);  // this instruction set and all lower ones
    hwy::GetChosenTarget().Update(rest);
    SCOPED_TRACE(kernel_target());
    EXPECT_GT(compare_all(0, kCasesOfTarget), kCasesOfTarget * 2 / 3);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace carina::simulate
