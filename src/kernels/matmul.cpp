// MATMUL of int8 and fp32 with the vector kernels. B is packed in each run, because usually the graph computes it.

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/matmul.h"

namespace carina::kernels {

namespace {

constexpr int64_t kBlockRows = 66;
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds; they take about a microsecond

size_t area(int64_t bytes) {
  return round_up(static_cast<size_t>(bytes), kScratchAlignment);
}

struct MatmulI8 {
  MatmulSizes s;
  MatrixFormat format;
  bool in_place;  // rows of A are used without a copy
  IntegerEpilogue epilogue;
  GemmTiling tiling;  // for each of the n products

  [[nodiscard]] size_t panels_area() const {
    return area(static_cast<int64_t>(format.panel_bytes(s.c)) * (padded(s.w) / kLanes));
  }
  [[nodiscard]] size_t column_area() const { return area(padded(s.w) * 4); }
  [[nodiscard]] size_t rows_area() const {
    return in_place ? 0 : area(kBlockRows * static_cast<int64_t>(format.row_bytes(s.c)));
  }
  [[nodiscard]] size_t slot_area() const { return rows_area() + area(kBlockRows * 4 * (1 + kBlockColumns)); }
  [[nodiscard]] size_t scratch_bytes(int threads) const {
    return panels_area() + column_area() + static_cast<size_t>(threads) * slot_area();
  }

  struct Zeros {
    int32_t a;
    int32_t b;
  };

  // column[w] = -a_zp * sum(b) + c * a_zp * b_zp
  void columns(const int8_t* b, const Zeros& zp, int32_t* column) const {
    std::fill_n(column, padded(s.w), 0);
    for (int64_t c = 0; c < s.c; ++c) {
      for (int64_t w = 0; w < s.w; ++w) column[w] += b[c * s.w + w];
    }
    const int64_t both = s.c * zp.a * zp.b;
    for (int64_t w = 0; w < s.w; ++w) column[w] = static_cast<int32_t>(both - int64_t{zp.a} * column[w]);
  }

  void run_unit(const Execution& call, int64_t n, const GemmTiling::Unit& unit, const Zeros& zp, std::byte* own) const {
    const int64_t row = n * s.h + unit.row;
    const int64_t rows = unit.rows;
    const std::byte* panels = call.scratch;
    const auto* column = reinterpret_cast<const int32_t*>(call.scratch + panels_area());
    auto* sums = reinterpret_cast<int32_t*>(own + rows_area());
    int32_t* products = sums + kBlockRows;
    const size_t row_bytes = format.row_bytes(s.c);
    const auto* in = call.input<int8_t>(0) + row * s.c;
    const std::byte* a = in_place ? reinterpret_cast<const std::byte*>(in) : own;
    for (int64_t r = 0; r < rows && !in_place; ++r) {
      std::byte* to = own + static_cast<size_t>(r) * row_bytes;
      const size_t used = static_cast<size_t>(s.c) * format.a_bytes;
      pack_row(in + r * s.c, s.c, to);
      std::memset(to + used, 0, row_bytes - used);
    }
    if (matrix_needs_sums() || zp.b != 0) row_sums(a, row_bytes, rows, s.c, sums);
    std::byte* out = call.out + static_cast<size_t>(row * s.w) * element_bytes(epilogue.out_type);
    const int64_t last = unit.column + unit.columns;
    for (int64_t first = unit.column; first < last; first += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, last - first);
      const int64_t count = padded(channels) / kLanes;
      multiply({.a = a,
                .row_bytes = row_bytes,
                .rows = rows,
                .k = s.c,
                .panels = panels + static_cast<size_t>(first / kLanes) * format.panel_bytes(s.c),
                .panel_count = count,
                .sums = sums,
                .c = products,
                .c_stride = kBlockColumns});
      if (zp.b != 0) {
        take_row_terms({.acc = products,
                        .stride = kBlockColumns,
                        .rows = rows,
                        .channels = count * kLanes,
                        .factor = zp.b,
                        .row_sums = sums});
      }
      epilogue.run({.sums = products,
                    .stride = kBlockColumns,
                    .column = column,
                    .rows = rows,
                    .first = first,
                    .channels = channels},
                   out, s.w);
    }
  }

  void run(const Execution& call) const {
    const Zeros zp{.a = *call.input<int8_t>(2), .b = *call.input<int8_t>(3)};
    for (int64_t n = 0; n < s.n; ++n) {
      const auto* b = call.input<int8_t>(1) + n * s.c * s.w;
      pack_matrix(b, s.w, 1, s.c, s.w, call.scratch);
      columns(b, zp, reinterpret_cast<int32_t*>(call.scratch + panels_area()));
      split_slots(call.workers, tiling.units(), tiling.grain, [&](int64_t slot, int64_t begin, int64_t end) {
        std::byte* own = call.scratch + panels_area() + column_area() + static_cast<size_t>(slot) * slot_area();
        for (int64_t unit = begin; unit < end; ++unit) run_unit(call, n, tiling.unit(unit), zp, own);
      });
    }
  }
};

// Floats whose addition changes no bits, not even those of a zero.
constexpr auto kNothing = [] {
  std::array<float, kBlockColumns> zeros{};
  zeros.fill(-0.0F);
  return zeros;
}();

struct MatmulF32 {
  MatmulSizes s;
  GemmTiling tiling;  // for each of the n products

  [[nodiscard]] size_t panels_area() const { return area(padded(s.w) * s.c * 4); }
  [[nodiscard]] static size_t slot_area() { return area(kBlockRows * kBlockColumns * 4); }
  [[nodiscard]] size_t scratch_bytes(int threads) const {
    return panels_area() + static_cast<size_t>(threads) * slot_area();
  }

  void run_unit(const Execution& call, int64_t n, const GemmTiling::Unit& unit, float* products) const {
    const auto* panels = reinterpret_cast<const float*>(call.scratch);
    const int64_t row = n * s.h + unit.row;
    const int64_t rows = unit.rows;
    const int64_t last = unit.column + unit.columns;
    for (int64_t first = unit.column; first < last; first += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, last - first);
      const EpilogueF32 epilogue{.in = nullptr,
                                 .in_stride = 0,
                                 .out = call.output<float>() + row * s.w + first,
                                 .out_stride = s.w,
                                 .rows = rows,
                                 .channels = columns,
                                 .column = kNothing.data(),
                                 .low = -std::numeric_limits<float>::infinity(),
                                 .high = std::numeric_limits<float>::infinity()};
      multiply_f32({.a = call.input<float>(0) + row * s.c,
                    .row_stride = s.c,
                    .rows = rows,
                    .k = s.c,
                    .panels = panels + first * s.c,
                    .panel_count = padded(columns) / kLanes,
                    .c = products,
                    .c_stride = kBlockColumns,
                    .epilogue = &epilogue});
    }
  }

  void run(const Execution& call) const {
    for (int64_t n = 0; n < s.n; ++n) {
      pack_matrix_f32(call.input<float>(1) + n * s.c * s.w, s.w, 1, s.c, s.w, reinterpret_cast<float*>(call.scratch));
      split_slots(call.workers, tiling.units(), tiling.grain, [&](int64_t slot, int64_t begin, int64_t end) {
        auto* own = reinterpret_cast<float*>(call.scratch + panels_area() + static_cast<size_t>(slot) * slot_area());
        for (int64_t unit = begin; unit < end; ++unit) run_unit(call, n, tiling.unit(unit), own);
      });
    }
  }
};

template <typename Matmul>
Operator operator_of_all(Matmul matmul, int threads) {
  const size_t scratch = matmul.scratch_bytes(threads);
  return {.run = [matmul = std::move(matmul)](const Execution& call) { matmul.run(call); }, .scratch_bytes = scratch};
}

// Shapes are within a budget of memory, but sums of scratch areas must be within size_t by a wide margin.
bool has_usual_size(const MatmulSizes& s) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  return s.c > 0 && s.w > 0 && s.h > 0 && s.c <= kLargest / s.w && s.c <= kLargest / kBlockRows;
}

GemmTiling tiling_of(const MatmulSizes& s, int threads) {
  return tile_gemm({.rows = s.h, .k = s.c, .columns = s.w, .block_rows = kBlockRows}, kGrain, threads);
}

}  // namespace

std::optional<Operator> matmul_f32(const MatmulSizes& sizes, int threads) {
  if (!has_usual_size(sizes)) return std::nullopt;
  return operator_of_all(MatmulF32{.s = sizes, .tiling = tiling_of(sizes, threads)}, threads);
}

std::optional<Operator> matmul_i8(const MatmulSizes& sizes, const EpilogueOf& epilogue_of, int threads) {
  constexpr int64_t kLargestProduct = 255 * 255;
  if (!has_usual_size(sizes) || sizes.c > INT32_MAX / kLargestProduct) return std::nullopt;
  auto epilogue = epilogue_of(sizes.c * kLargestProduct);
  if (!epilogue) return std::nullopt;
  const MatrixFormat format = matrix_format();
  return operator_of_all(MatmulI8{.s = sizes,
                                  .format = format,
                                  .in_place = format.a_bytes == 1 && sizes.c % format.k_step == 0,
                                  .epilogue = *std::move(epilogue),
                                  .tiling = tiling_of(sizes, threads)},
                         threads);
}

}  // namespace carina::kernels
