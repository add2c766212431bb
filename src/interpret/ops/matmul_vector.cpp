// MATMUL of int8 and fp32 on the vector kernels. B is packed in each run: it is computed by the graph as a rule.

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/checks_internal.h"
#include "interpret/ops/integer_finish_internal.h"
#include "interpret/ops/matmul_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kBlockRows = 48;
constexpr int64_t kBlockColumns = simd::kMaxPanels * simd::kLanes;

size_t area(int64_t bytes) {
  return round_up(static_cast<size_t>(bytes), kArenaAlignment);
}

struct MatmulI8 {
  MatmulSizes s;
  simd::MatrixFormat format;
  bool in_place;  // rows of A as they stand
  IntegerFinish finish;

  [[nodiscard]] size_t panels_area() const {
    return area(static_cast<int64_t>(format.panel_bytes(s.c)) * (simd::padded(s.w) / simd::kLanes));
  }
  [[nodiscard]] size_t column_area() const { return area(simd::padded(s.w) * 4); }
  [[nodiscard]] size_t rows_area() const {
    return in_place ? 0 : area(kBlockRows * static_cast<int64_t>(format.row_bytes(s.c)));
  }
  [[nodiscard]] size_t piece_area() const { return rows_area() + area(kBlockRows * 4 * (1 + kBlockColumns)); }
  [[nodiscard]] size_t scratch_bytes(int threads) const {
    return panels_area() + column_area() + static_cast<size_t>(max_pieces(threads)) * piece_area();
  }

  struct Zeros {
    int32_t a;
    int32_t b;
  };

  // column[w] = -a_zp * sum(b) + c * a_zp * b_zp
  void columns(const int8_t* b, const Zeros& zp, int32_t* column) const {
    std::fill_n(column, simd::padded(s.w), 0);
    for (int64_t c = 0; c < s.c; ++c) {
      for (int64_t w = 0; w < s.w; ++w) column[w] += b[c * s.w + w];
    }
    const int64_t both = s.c * zp.a * zp.b;
    for (int64_t w = 0; w < s.w; ++w) column[w] = static_cast<int32_t>(both - int64_t{zp.a} * column[w]);
  }

  void run_block(const Call& call, int64_t row, int64_t rows, const Zeros& zp, std::byte* piece) const {
    const std::byte* panels = call.scratch;
    const auto* column = reinterpret_cast<const int32_t*>(call.scratch + panels_area());
    auto* sums = reinterpret_cast<int32_t*>(piece + rows_area());
    int32_t* products = sums + kBlockRows;
    const size_t row_bytes = format.row_bytes(s.c);
    const auto* in = call.input<int8_t>(0) + row * s.c;
    const std::byte* a = in_place ? reinterpret_cast<const std::byte*>(in) : piece;
    for (int64_t r = 0; r < rows && !in_place; ++r) {
      std::byte* to = piece + static_cast<size_t>(r) * row_bytes;
      const size_t used = static_cast<size_t>(s.c) * format.a_bytes;
      simd::pack_row(in + r * s.c, s.c, to);
      std::memset(to + used, 0, row_bytes - used);
    }
    if (simd::matrix_needs_sums() || zp.b != 0) simd::row_sums(a, row_bytes, rows, s.c, sums);
    std::byte* out = call.out[0] + static_cast<size_t>(row * s.w) * element_bytes(finish.out_type);
    for (int64_t first = 0; first < s.w; first += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, s.w - first);
      const int64_t count = simd::padded(channels) / simd::kLanes;
      simd::multiply({.a = a,
                      .row_bytes = row_bytes,
                      .rows = rows,
                      .k = s.c,
                      .panels = panels + static_cast<size_t>(first / simd::kLanes) * format.panel_bytes(s.c),
                      .panel_count = count,
                      .sums = sums,
                      .c = products,
                      .c_stride = kBlockColumns});
      if (zp.b != 0) {
        simd::take_row_terms({.acc = products,
                              .stride = kBlockColumns,
                              .rows = rows,
                              .channels = count * simd::kLanes,
                              .factor = zp.b,
                              .row_sums = sums});
      }
      finish.run({.sums = products,
                  .stride = kBlockColumns,
                  .column = column,
                  .rows = rows,
                  .first = first,
                  .channels = channels},
                 out, s.w);
    }
  }

  Result<void> run(const Call& call) const {
    const Zeros zp{.a = static_cast<int32_t>(scalar_at(call.in[2], kInt8)),
                   .b = static_cast<int32_t>(scalar_at(call.in[3], kInt8))};
    for (int64_t n = 0; n < s.n; ++n) {
      const auto* b = call.input<int8_t>(1) + n * s.c * s.w;
      simd::pack_matrix(b, s.w, 1, s.c, s.w, call.scratch);
      columns(b, zp, reinterpret_cast<int32_t*>(call.scratch + panels_area()));
      split_pieces(call.runtime.pool, ceil_div(s.h, kBlockRows), 1, [&](int64_t piece, int64_t begin, int64_t end) {
        std::byte* own = call.scratch + panels_area() + column_area() + static_cast<size_t>(piece) * piece_area();
        for (int64_t row = begin * kBlockRows; row < std::min(s.h, end * kBlockRows); row += kBlockRows) {
          run_block(call, n * s.h + row, std::min(kBlockRows, s.h - row), zp, own);
        }
      });
    }
    return {};
  }
};

struct MatmulF32 {
  MatmulSizes s;

  [[nodiscard]] size_t panels_area() const { return area(simd::padded(s.w) * s.c * 4); }
  [[nodiscard]] static size_t piece_area() { return area(kBlockRows * kBlockColumns * 4); }
  [[nodiscard]] size_t scratch_bytes(int threads) const {
    return panels_area() + static_cast<size_t>(max_pieces(threads)) * piece_area();
  }

  void run_block(const Call& call, int64_t row, int64_t rows, float* products) const {
    const auto* panels = reinterpret_cast<const float*>(call.scratch);
    for (int64_t first = 0; first < s.w; first += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, s.w - first);
      simd::multiply_f32({.a = call.input<float>(0) + row * s.c,
                          .row_stride = s.c,
                          .rows = rows,
                          .k = s.c,
                          .panels = panels + first * s.c,
                          .panel_count = simd::padded(columns) / simd::kLanes,
                          .c = products,
                          .c_stride = kBlockColumns});
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(products + r * kBlockColumns, columns, call.output<float>(0) + (row + r) * s.w + first);
    }
  }

  Result<void> run(const Call& call) const {
    for (int64_t n = 0; n < s.n; ++n) {
      simd::pack_matrix_f32(call.input<float>(1) + n * s.c * s.w, s.w, 1, s.c, s.w,
                            reinterpret_cast<float*>(call.scratch));
      split_pieces(call.runtime.pool, ceil_div(s.h, kBlockRows), 1, [&](int64_t piece, int64_t begin, int64_t end) {
        auto* own = reinterpret_cast<float*>(call.scratch + panels_area() + static_cast<size_t>(piece) * piece_area());
        for (int64_t row = begin * kBlockRows; row < std::min(s.h, end * kBlockRows); row += kBlockRows) {
          run_block(call, n * s.h + row, std::min(kBlockRows, s.h - row), own);
        }
      });
    }
    return {};
  }
};

template <typename Matmul>
Kernel kernel_of(Matmul matmul, int threads) {
  const size_t scratch = matmul.scratch_bytes(threads);
  return {.run = [matmul = std::move(matmul)](const Call& call) { return matmul.run(call); }, .scratch_bytes = scratch};
}

}  // namespace

std::optional<Kernel> vector_matmul(const NodePlan& plan, const MatmulSizes& s) {
  // Shapes are within the budget, but sums of scratch areas must be within size_t by a wide margin.
  constexpr int64_t kLargest = int64_t{1} << 40;
  if (s.c == 0 || s.w == 0 || s.h == 0 || s.c > kLargest / s.w || s.c > kLargest / kBlockRows) return std::nullopt;
  if (plan.in[0].dtype == kFp32 && plan.tail.empty()) return kernel_of(MatmulF32{.s = s}, plan.threads);
  constexpr int64_t kLargestProduct = 255 * 255;
  if (plan.in[0].dtype != kInt8 || s.c > INT32_MAX / kLargestProduct) return std::nullopt;
  auto finish = integer_finish(plan, s.c * kLargestProduct);
  if (!finish) return std::nullopt;
  const simd::MatrixFormat format = simd::matrix_format();
  return kernel_of(MatmulI8{.s = s,
                            .format = format,
                            .in_place = format.a_bytes == 1 && s.c % format.k_step == 0,
                            .finish = *std::move(finish)},
                   plan.threads);
}

}  // namespace carina::interpret
