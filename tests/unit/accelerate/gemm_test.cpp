// Checks GemmStep bit by bit on every processor: each output is one chain of fused multiply-adds. Also checks that
// GemmStep reads and writes only its tensors.
#include "accelerate/packed_gemm_internal.h"
#include "every_target.h"

namespace carina::accelerate {

namespace {

using testing::expect_bits, testing::Guarded, testing::Limits, testing::on_every_target;

struct Size {
  int64_t rows, depth, columns;
};

struct Case {
  Size size;
  Guarded a, b, scale, shift, addend;

  Case(const Size& s, std::mt19937& random)
      : size(s),
        a(s.rows * s.depth, random),
        b(s.depth * s.columns, random),
        scale(s.rows, random),
        shift(s.rows, random),
        addend(std::max(s.rows, s.columns), random) {}

  // The output at row m and column n; b is transposed if `turned`.
  [[nodiscard]] float at(int64_t m, int64_t n, bool turned) {
    float sum = 0;
    for (int64_t k = 0; k < size.depth; ++k)
      sum = std::fma(a.data()[m * size.depth + k], b.data()[turned ? n * size.depth + k : k * size.columns + n], sum);
    return sum;
  }
};

constexpr int64_t kRows[] = {1, 3, 8, 13, 16, 20, 31, 129};
constexpr int64_t kColumns[] = {1, 2, 4, 5, 7, 8, 9, 12, 16, 17, 25, 48, 49, 52, 63, 97};

template <typename Function>
void for_all_sizes(const Function& function) {
  std::mt19937 random(1);
  for (const int64_t rows : kRows) {
    for (const int64_t columns : kColumns) {
      const Size size{.rows = rows, .depth = 1 + static_cast<int64_t>(random() % 20), .columns = columns};
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(size.depth) + " x " + std::to_string(columns));
      Case one(size, random);
      function(one);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

PackedMatrix packed(Case& one) {
  return pack({.from = one.a.data(),
               .rows = one.size.rows,
               .depth = one.size.depth,
               .row_step = one.size.depth,
               .depth_step = 1});
}

TEST(PackedGemm, adjacent_columns_match_reference) {
  for_all_sizes([](Case& one) {
    const auto& [rows, depth, columns] = one.size;
    const PackedMatrix a = packed(one);
    const Limits limits;
    // Computes all rows, and the rows from the middle of a panel on, as a convolution does for a part of its channels.
    for (const int64_t first : {int64_t{0}, kPanelRows / 2}) {
      if (first >= rows) continue;
      std::vector<float> wanted;
      for (int64_t m = first; m < rows; ++m) {
        for (int64_t n = 0; n < columns; ++n)
          wanted.push_back(limits.of(std::fma(one.at(m, n, false), one.scale.data()[m], one.shift.data()[m])));
      }
      on_every_target([&] {
        Guarded out((rows - first) * columns);
        multiply(PackedGemm{.a = &a,
                            .first = first,
                            .rows = rows - first,
                            .b = one.b.data(),
                            .b_step = columns,
                            .b_column_step = 1,
                            .columns = columns,
                            .out = out.data(),
                            .out_row_step = columns,
                            .out_column_step = 1,
                            .epilogue = {.scale = one.scale.data() + first,
                                         .shift = one.shift.data() + first,
                                         .column = nullptr,
                                         .low = limits.low,
                                         .high = limits.high}});
        expect_bits(wanted, out.numbers());
        out.expect_margins();
      });
    }
  });
}

TEST(PackedGemm, adjacent_rows_match_reference) {
  for_all_sizes([](Case& one) {
    const auto& [rows, depth, columns] = one.size;
    const PackedMatrix a = packed(one);
    const Limits limits;
    std::vector<float> wanted;
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t m = 0; m < rows; ++m) wanted.push_back(limits.of(one.at(m, n, true) + one.addend.data()[m]));
    }
    on_every_target([&] {
      Guarded out(rows * columns);
      multiply(PackedGemm{.a = &a,
                          .first = 0,
                          .rows = rows,
                          .b = one.b.data(),
                          .b_step = 1,
                          .b_column_step = depth,
                          .columns = columns,
                          .out = out.data(),
                          .out_row_step = 1,
                          .out_column_step = rows,
                          .epilogue = {.scale = nullptr,
                                       .shift = nullptr,
                                       .column = one.addend.data(),
                                       .low = limits.low,
                                       .high = limits.high}});
      expect_bits(wanted, out.numbers());
      out.expect_margins();
    });
  });
}

TEST(Gemm, two_row_major_matrices_match_reference) {
  for_all_sizes([](Case& one) {
    const auto& [rows, depth, columns] = one.size;
    const Limits limits;
    std::vector<float> wanted;
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t n = 0; n < columns; ++n) wanted.push_back(limits.of(one.at(m, n, false) + one.addend.data()[n]));
    }
    on_every_target([&] {
      Guarded out(rows * columns);
      multiply(Gemm{.a = one.a.data(),
                    .a_stride = depth,
                    .rows = rows,
                    .depth = depth,
                    .b = one.b.data(),
                    .b_stride = columns,
                    .columns = columns,
                    .out = out.data(),
                    .out_stride = columns,
                    .epilogue = {.scale = nullptr,
                                 .shift = nullptr,
                                 .column = one.addend.data(),
                                 .low = limits.low,
                                 .high = limits.high}});
      expect_bits(wanted, out.numbers());
      out.expect_margins();
    });
  });
}

}  // namespace

}  // namespace carina::accelerate
