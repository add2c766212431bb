#include "accelerate/targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "accelerate/packed_gemm.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>

#include "accelerate/packed_gemm_internal.h"
#include "accelerate/tail_inl.h"

HWY_BEFORE_NAMESPACE();
namespace carina::accelerate::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const float* panel_of(const PackedGemm& job, int64_t row) {
  const int64_t all = job.first + row;
  return job.a->panels.get() + all / kPanelRows * kPanelRows * job.a->depth + all % kPanelRows;
}

// Targets without a vector FMA call the C library's fma(), which is slow there but exact everywhere.
#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kWide = HWY_LANES(float);
constexpr bool kManyRegisters = kWide != 8;  // 32 registers; AVX2 has 16
constexpr int kOfPanel = static_cast<int>(kPanelRows) / kWide;

struct At {
  int64_t row, column;
};

// --- columns in lanes

// With kPart, the last vector has `rest` columns. Rows after the last row are computed and not stored.
template <int kRows, int kVectors, bool kPart>
void wide_tile(const PackedGemm& job, const At& at, int64_t rest) {
  const D d;
  const float* a = panel_of(job, at.row);
  const float* b = job.b + at.column;
  // Prefetches what later tiles read: the weights below, and a vector of the next columns for each row of tiles. The
  // hardware does not prefetch these addresses, because they are not adjacent to those of this tile.
  const int64_t below = job.a->depth * kPanelRows, beside = (kVectors + at.row / kRows % kVectors) * kWide;
  V sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < job.a->depth; ++k, a += kPanelRows, b += job.b_step) {
    __builtin_prefetch(a + below, 0, 2);
    __builtin_prefetch(b + beside, 0, 3);
    V values[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v + 1 < kVectors; ++v) values[v] = hn::LoadU(d, b + v * kWide);
    values[kVectors - 1] = load_lanes<kPart>(d, b + (kVectors - 1) * kWide, rest);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, values[v], sums[r][v]);
    }
  }
  const Epilogue& epilogue = job.epilogue;
  const V low = hn::Set(d, epilogue.low), high = hn::Set(d, epilogue.high);
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = at.row + r;
    if (row >= job.rows) return;
    const V scale = hn::Set(d, epilogue.scale == nullptr ? 1.0F : epilogue.scale[row]);
    const V shift = hn::Set(d, epilogue.shift == nullptr ? 0.0F : epilogue.shift[row]);
    float* out = job.out + row * job.out_row_step + at.column;
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      V value = hn::MulAdd(sums[r][v], scale, shift);
      if (epilogue.column != nullptr) value = hn::Add(value, hn::Set(d, epilogue.column[row]));
      value = clamped(value, low, high);
      v + 1 == kVectors ? store_lanes<kPart>(value, d, out + v * kWide, rest) : hn::StoreU(value, d, out + v * kWide);
    }
  }
}

constexpr int kWideRows = kManyRegisters ? 8 : 4, kFewRows = 4, kWideVectors = 3;

template <int kVectors, bool kPart>
void wide_column(const PackedGemm& job, int64_t column, int64_t rest) {
  int64_t row = 0;
  for (; row + kFewRows < job.rows; row += kWideRows)
    wide_tile<kWideRows, kVectors, kPart>(job, {.row = row, .column = column}, rest);
  if (row < job.rows) wide_tile<kFewRows, kVectors, kPart>(job, {.row = row, .column = column}, rest);
}

// Computes columns [0, end) in vectors; the last one may be partial. The part of b that a tile reads stays in the cache
// for all rows.
void wide_columns(const PackedGemm& job, int64_t end) {
  constexpr int64_t kTile = kWideVectors * kWide;
  int64_t column = 0;
  for (; column + kTile <= end; column += kTile) wide_column<kWideVectors, false>(job, column, kWide);
  const int64_t vectors = (end - column + kWide - 1) / kWide, rest = end - column - (vectors - 1) * kWide;
  if (vectors == 3) wide_column<3, true>(job, column, rest);
  if (vectors == 2) wide_column<2, true>(job, column, rest);
  if (vectors == 1) wide_column<1, true>(job, column, rest);
}

// --- rows in lanes

// Stores the rows of `count` lanes, from `row` on, of one column.
HWY_INLINE void epilogue_rows(const PackedGemm& job, V sum, const At& at, int64_t count) {
  const D d;
  const Epilogue& epilogue = job.epilogue;
  const auto factors = [&](const float* list, float otherwise) HWY_ATTR {
    return list == nullptr ? hn::Set(d, otherwise) : load_first(d, list + at.row, count);
  };
  V value = hn::MulAdd(sum, factors(epilogue.scale, 1.0F), factors(epilogue.shift, 0.0F));
  if (epilogue.column != nullptr) value = hn::Add(value, factors(epilogue.column, 0.0F));
  value = clamped(value, hn::Set(d, epilogue.low), hn::Set(d, epilogue.high));
  float* out = job.out + at.row * job.out_row_step + at.column * job.out_column_step;
  if (job.out_row_step == 1) return count == kWide ? hn::StoreU(value, d, out) : store_first(value, d, out, count);
  float lanes[kWide];
  hn::StoreU(value, d, lanes);
  for (int64_t i = 0; i < count; ++i) out[i * job.out_row_step] = lanes[i];
}

template <int kColumns, int kPanels>
void tall_tile(const PackedGemm& job, const At& at) {
  constexpr int kVectors = kPanels * kOfPanel;
  const D d;
  const int64_t depth = job.a->depth;
  const float* a = panel_of(job, at.row);
  const float* b = job.b + at.column * job.b_column_step;
  V sums[kColumns][kVectors];
  HWY_UNROLL(8)
  for (int c = 0; c < kColumns; ++c) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sums[c][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k, a += kPanelRows, b += job.b_step) {
    V values[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      values[v] = hn::Load(d, a + v / kOfPanel * depth * kPanelRows + v % kOfPanel * kWide);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      const V x = hn::Set(d, b[c * job.b_column_step]);
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sums[c][v] = hn::MulAdd(values[v], x, sums[c][v]);
    }
  }
  HWY_UNROLL(8)
  for (int c = 0; c < kColumns; ++c) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t row = at.row + v * kWide;
      if (row < job.rows)
        epilogue_rows(job, sums[c][v], {.row = row, .column = at.column + c}, std::min<int64_t>(job.rows - row, kWide));
    }
  }
}

// Enough sums to hide the latency of an addition, within the number of registers.
constexpr int kTallColumns = kWide == 16 ? 8 : 6, kFewColumns = 4, kTallPanels = kWide == 16 ? 3 : 1;
constexpr int kLongPanels = 8 / kOfPanel;

// Computes kPanels panels from `row` on, for the columns [begin, end), in tiles of kTallColumns and kFewColumns
// columns.
template <int kPanels>
void tall_panels(const PackedGemm& job, int64_t row, int64_t begin, int64_t end) {
  int64_t column = begin;
  for (; column + kTallColumns <= end; column += kTallColumns)
    tall_tile<kTallColumns, kPanels>(job, {.row = row, .column = column});
  for (; column < end; column += kFewColumns) tall_tile<kFewColumns, kPanels>(job, {.row = row, .column = column});
}

void tall_columns(const PackedGemm& job, int64_t begin, int64_t end) {
  const int64_t all = end - begin, together = all / kTallColumns * kTallColumns;
  const int64_t alone = begin + together + (all - together) / kFewColumns * kFewColumns;
  const auto holds = [&](int64_t row, int64_t panels) { return row + (panels - 1) * kPanelRows < job.rows; };
  int64_t row = 0;
  for (; holds(row, kTallPanels); row += kTallPanels * kPanelRows) tall_panels<kTallPanels>(job, row, begin, alone);
  for (; holds(row, 1); row += kPanelRows) tall_panels<1>(job, row, begin, alone);
  for (int64_t column = alone; column < end; ++column) {
    row = 0;
    for (; holds(row, kLongPanels); row += kLongPanels * kPanelRows)
      tall_tile<1, kLongPanels>(job, {.row = row, .column = column});
    for (; holds(row, 1); row += kPanelRows) tall_tile<1, 1>(job, {.row = row, .column = column});
  }
}

void multiply_packed_here(const PackedGemm& job) {
  if (job.b_column_step != 1 || job.out_column_step != 1) return tall_columns(job, 0, job.columns);
  // A partial vector costs as much as a full one. With rows in lanes, the cost is proportional to the number of
  // columns.
  const int64_t rest = job.columns % kWide;
  const bool few = rest <= kWide / 2 && job.first % kPanelRows == 0;
  const int64_t wide = few ? job.columns - rest : job.columns;
  wide_columns(job, wide);
  tall_columns(job, wide, job.columns);
}

#else

void multiply_packed_here(const PackedGemm& job) {
  const Epilogue& epilogue = job.epilogue;
  for (int64_t m = 0; m < job.rows; ++m) {
    const float* a = panel_of(job, m);
    for (int64_t n = 0; n < job.columns; ++n) {
      const float* b = job.b + n * job.b_column_step;
      float sum = 0;
      for (int64_t k = 0; k < job.a->depth; ++k) sum = std::fma(a[k * kPanelRows], b[k * job.b_step], sum);
      float value = std::fma(sum, epilogue.scale == nullptr ? 1.0F : epilogue.scale[m],
                             epilogue.shift == nullptr ? 0.0F : epilogue.shift[m]);
      if (epilogue.column != nullptr) value += epilogue.column[m];
      job.out[m * job.out_row_step + n * job.out_column_step] = clamped(value, epilogue.low, epilogue.high);
    }
  }
}

#endif

}  // namespace
}  // namespace carina::accelerate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::accelerate {

HWY_EXPORT(multiply_packed_here);

PackedMatrix pack(const Unpacked& matrix) {
  const int64_t panels = (matrix.rows + kPanelRows - 1) / kPanelRows;
  PackedMatrix packed{.rows = matrix.rows,
                      .depth = matrix.depth,
                      .panels = hwy::AllocateAligned<float>(static_cast<size_t>(panels * kPanelRows * matrix.depth))};
  float* to = packed.panels.get();
  for (int64_t row = 0; row < panels * kPanelRows; row += kPanelRows) {
    for (int64_t k = 0; k < matrix.depth; ++k) {
      const float* from = matrix.from + row * matrix.row_step + k * matrix.depth_step;
      for (int64_t r = 0; r < kPanelRows; ++r) *to++ = row + r < matrix.rows ? from[r * matrix.row_step] : 0.0F;
    }
  }
  return packed;
}

void multiply(const PackedGemm& job) {
  HWY_DYNAMIC_DISPATCH(multiply_packed_here)(job);
}

}  // namespace carina::accelerate
#endif
