#include "interpret/ops/int8_product_internal.h"

#include <algorithm>
#include <cstdlib>

#include "interpret/checks_internal.h"
#include "interpret/ops/gemm_tiling_internal.h"

namespace carina::interpret {

using enum DType;

std::optional<Int8Constants> int8_constants(const NodePlan& plan) {
  const bool types = plan.in[0].dtype == kInt8 && (plan.in[1].dtype == kInt8 || plan.in[1].dtype == kInt4) &&
                     plan.out[0].dtype == kInt32;
  if (!types) return std::nullopt;
  for (size_t i = 1; i < 5; ++i) {
    if (plan.in[i].constant == nullptr) return std::nullopt;
  }
  return Int8Constants{.weights = plan.in[1].constant->values<int8_t>().data(),
                       .bias = plan.in[2].constant->values<int32_t>().data(),
                       .bias_count = plan.in[2].dim(0),
                       .input_zp = static_cast<int32_t>(scalar_at(plan.in[3].constant->data.data(), kInt8)),
                       .weight_zp = static_cast<int32_t>(scalar_at(plan.in[4].constant->data.data(), kInt8))};
}

namespace {

std::vector<simd::ByteSums> column_sums(const WeightMatrix& m) {
  std::vector<simd::ByteSums> sums(static_cast<size_t>(m.n));
  for (int64_t column = 0; column < m.n && m.stride_k == 1; ++column)
    sums[static_cast<size_t>(column)] = simd::byte_sums(m.weights + column * m.stride_n, m.k);
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

WeightTerms weight_terms(const Int8Constants& c, const WeightMatrix& matrix) {
  const std::vector<simd::ByteSums> sums = column_sums(matrix);
  WeightTerms terms;
  terms.column.assign(static_cast<size_t>(simd::padded(std::ssize(sums))), 0);
  const int64_t largest_input = std::max<int64_t>(127 - c.input_zp, c.input_zp + 128);
  for (size_t column = 0; column < sums.size(); ++column) {
    const int64_t bias = c.bias[c.bias_count == 1 ? 0 : column];
    const int64_t magnitude = sums[column].magnitude + matrix.k * std::abs(c.weight_zp);
    terms.largest_sum = std::max(terms.largest_sum, magnitude * largest_input + std::abs(bias));
    const int64_t term = bias - c.input_zp * sums[column].sum + matrix.k * c.input_zp * c.weight_zp;
    terms.column[column] = static_cast<int32_t>(term);  // modulo 2^32, like the sums
  }
  return terms;
}

std::optional<IntegerEpilogue> epilogue_of(const TailPlan& plan, const WeightTerms& terms) {
  return terms.largest_sum > INT32_MAX ? std::nullopt : integer_epilogue(plan, terms.largest_sum);
}

std::optional<Int8Product> Int8Product::create(const TailPlan& plan, const Int8Constants& constants,
                                               const WeightMatrix& matrix) {
  WeightTerms terms = weight_terms(constants, matrix);
  auto epilogue = epilogue_of(plan, terms);
  if (!epilogue) return std::nullopt;
  Int8Product product;
  product.k_ = matrix.k;
  product.format_ = simd::matrix_format();
  product.needs_sums_ = simd::matrix_needs_sums() || constants.weight_zp != 0;
  product.weight_zp_ = constants.weight_zp;
  MutableBuffer panels = MutableBuffer::allocate(product.format_.panel_bytes(matrix.k) *
                                                 static_cast<size_t>(simd::padded(matrix.n) / simd::kLanes));
  simd::pack_matrix(matrix.weights, matrix.stride_k, matrix.stride_n, matrix.k, matrix.n, panels.bytes().data());
  product.panels_ = std::move(panels).freeze();
  product.epilogue_ = *std::move(epilogue);
  product.bytes_ = product.epilogue_.in_registers(terms.column);
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
  if (needs_sums_) simd::row_sums(part.a, row_bytes(), part.rows, k_, sums);
  for (int64_t first = part.first; first < part.first + part.columns; first += kBlockColumns) {
    const int64_t channels = std::min(kBlockColumns, part.first + part.columns - first);
    const int64_t count = simd::padded(channels) / simd::kLanes;
    simd::MatrixJob job{.a = part.a,
                        .row_bytes = row_bytes(),
                        .rows = part.rows,
                        .k = k_,
                        .panels = panels_.data() + static_cast<size_t>(first / simd::kLanes) * format_.panel_bytes(k_),
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
      simd::multiply_to_bytes(job);
      continue;
    }
    simd::multiply(job);
    if (weight_zp_ != 0) {
      simd::take_row_terms({.acc = products,
                            .stride = kBlockColumns,
                            .rows = part.rows,
                            .channels = count * simd::kLanes,
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

}  // namespace carina::interpret
