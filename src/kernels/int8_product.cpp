#include "kernels/int8_product_internal.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/gemm_tiling_internal.h"

namespace carina::kernels {

namespace {

std::vector<ByteSums> column_sums(const WeightMatrix& m) {
  std::vector<ByteSums> sums(static_cast<size_t>(m.n));
  for (int64_t column = 0; column < m.n && m.stride_k == 1; ++column)
    sums[static_cast<size_t>(column)] = byte_sums(m.weights + column * m.stride_n, m.k);
  for (int64_t at = 0; at < m.k && m.stride_k != 1; ++at) {
    for (int64_t column = 0; column < m.n; ++column) {
      const int32_t w = m.weights[at * m.stride_k + column * m.stride_n];
      sums[static_cast<size_t>(column)].sum += w;
      sums[static_cast<size_t>(column)].magnitude += std::abs(w);
    }
  }
  return sums;
}

}  // namespace

WeightTerms weight_terms(const ConstantsI8& c, const WeightMatrix& matrix) {
  const std::vector<ByteSums> sums = column_sums(matrix);
  WeightTerms terms;
  terms.column.assign(static_cast<size_t>(padded(std::ssize(sums))), 0);
  const int64_t largest_input = std::max<int64_t>(127 - c.input_zp, c.input_zp + 128);
  for (size_t column = 0; column < sums.size(); ++column) {
    const int64_t bias = c.bias == nullptr ? 0 : c.bias[c.bias_count == 1 ? 0 : column];
    const int64_t magnitude = sums[column].magnitude + matrix.k * std::abs(c.weight_zp);
    terms.largest_sum = std::max(terms.largest_sum, magnitude * largest_input + std::abs(bias));
    const int64_t term = bias - c.input_zp * sums[column].sum + matrix.k * c.input_zp * c.weight_zp;
    terms.column[column] = static_cast<int32_t>(term);  // modulo 2^32, like the sums
  }
  return terms;
}

std::optional<IntegerEpilogue> epilogue_for(const EpilogueOf& epilogue, const WeightTerms& terms) {
  return terms.largest_sum > INT32_MAX ? std::nullopt : epilogue(terms.largest_sum);
}

std::optional<Int8Product> Int8Product::create(const EpilogueOf& epilogue_of, const ConstantsI8& constants,
                                               const WeightMatrix& matrix) {
  WeightTerms terms = weight_terms(constants, matrix);
  auto epilogue = epilogue_for(epilogue_of, terms);
  if (!epilogue) return std::nullopt;
  Int8Product product;
  product.k_ = matrix.k;
  product.format_ = matrix_format();
  product.needs_sums_ = matrix_needs_sums() || constants.weight_zp != 0;
  product.weight_zp_ = constants.weight_zp;
  MutableBuffer panels =
      MutableBuffer::allocate(product.format_.panel_bytes(matrix.k) * static_cast<size_t>(padded(matrix.n) / kLanes));
  pack_matrix(matrix.weights, matrix.stride_k, matrix.stride_n, matrix.k, matrix.n, panels.bytes().data());
  product.panels_ = std::move(panels).freeze();
  product.epilogue_ = *std::move(epilogue);
  product.bytes_ = product.epilogue_.in_registers(terms.column, matrix.n);
  product.column_ = std::move(terms.column);
  return product;
}

size_t Int8Product::out_bytes() const {
  return element_bytes(epilogue_.out_type);
}

size_t Int8Product::scratch_bytes(int64_t rows) {
  return static_cast<size_t>(rows) * sizeof(int32_t) * (1 + kBlockColumns);
}

void Int8Product::run(const Part& part) const {
  auto* sums = reinterpret_cast<int32_t*>(part.scratch);
  int32_t* products = sums + part.rows;
  if (needs_sums_) row_sums(part.a, row_bytes(), part.rows, k_, sums);
  for (int64_t first = part.first; first < part.first + part.columns; first += kBlockColumns) {
    const int64_t channels = std::min(kBlockColumns, part.first + part.columns - first);
    const int64_t count = padded(channels) / kLanes;
    MatrixJob job{.a = part.a,
                  .row_bytes = row_bytes(),
                  .rows = part.rows,
                  .k = k_,
                  .panels = panels_.data() + static_cast<size_t>(first / kLanes) * format_.panel_bytes(k_),
                  .panel_count = count,
                  .sums = sums,
                  .c = products,
                  .c_stride = kBlockColumns};
    if (bytes_) {
      job.epilogue = &*bytes_;
      job.first_channel = first;
      job.channels = channels;
      job.weight_zp = weight_zp_;
      job.out = reinterpret_cast<int8_t*>(part.out) + first;
      job.out_stride = part.out_stride;
      multiply_to_bytes(job);
      continue;
    }
    multiply(job);
    if (weight_zp_ != 0) {
      take_row_terms({.acc = products,
                      .stride = kBlockColumns,
                      .rows = part.rows,
                      .channels = count * kLanes,
                      .factor = weight_zp_,
                      .row_sums = sums});
    }
    epilogue_.run({.sums = products,
                   .stride = kBlockColumns,
                   .column = column_.data(),
                   .rows = part.rows,
                   .first = first,
                   .channels = channels},
                  part.out, part.out_stride);
  }
}

}  // namespace carina::kernels
