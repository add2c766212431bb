// ExecuTorch's kernels for quantized tensors: addition, embeddings of 2, 4 or 8 bits, products with int8 weights.
#include <algorithm>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/index_values_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/quantize_internal.h"

namespace carina::runtime {

namespace {

struct Quantization {
  float scale;
  int64_t zero_point, low, high;
};

Quantization quantization_of(Call& call, size_t first) {
  return {static_cast<float>(call.number(first)), call.integer(first + 1), call.integer(first + 2),
          call.integer(first + 3)};
}

}  // namespace

// (a, scale, zero_point, quant_min, quant_max, b, the same four, out: the same four, out)
Error quantized_add(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &a = call.tensor(0), &b = call.tensor(5), &out = call.out(14);
  const Quantization of_a = quantization_of(call, 1), of_b = quantization_of(call, 6),
                     of_out = quantization_of(call, 10);
  call.fit_like(out, a);
  call.require(same_sizes(a, b) && of_out.low <= of_out.high);
  call.support(a.type == b.type && a.type == out.type && !is_floating(a.type));
  CARINA_RT_TRY(call.error());
  const float inverse = 1.0F / of_out.scale;
  return map_binary(a, b, out, [&](auto x, auto y) {
    const float sum = value_of_code(static_cast<int64_t>(x), of_a.scale, of_a.zero_point) +
                      value_of_code(static_cast<int64_t>(y), of_b.scale, of_b.zero_point);
    return static_cast<decltype(x)>(code_of(sum, inverse, of_out.zero_point, of_out.low, of_out.high));
  });
}

namespace {

// A weight of 8, 4 or 2 bits. Of two 4-bit weights in a byte, the one with the even column is in the high half. Of four
// 2-bit weights, the first is in the low bits. Both kinds are unsigned with an offset of half their range.
int64_t weight_at(const Tensor& weight, int64_t bits, int64_t at) {
  if (bits == 8) return integer_at(weight, at);
  const int64_t per_byte = 8 / bits, within = at % per_byte;
  const int64_t byte = weight.as<const uint8_t>()[at / per_byte];
  const int64_t shift = bits == 4 ? 4 * (1 - within) : 2 * within;
  return (byte >> shift & ((1 << bits) - 1)) - (1 << (bits - 1));
}

// (weight [rows, columns packed], scales [rows] or [rows, groups], zero_points or None, quant_min, quant_max, indices,
// out at `out_index` [..., columns])
Error quantized_embedding(Arguments arguments, int64_t bits, size_t out_index) {
  Call call(arguments);
  const Tensor &weight = call.tensor(0), &scales = call.tensor(1);
  const Tensor* zero_points = call.optional_tensor(2);
  const Tensor &indices = call.tensor(5), &out = call.out(out_index);
  call.require(weight.rank() == 2 && (scales.rank() == 1 || scales.rank() == 2) && out.rank() == indices.rank() + 1 &&
               out.rank() <= kMaxRank);
  call.support((bits == 8 ? weight.type == PteScalarType::kChar || weight.type == PteScalarType::kByte
                          : weight.type == PteScalarType::kByte) &&
               holds_indices(indices) && is_floating(scales.type) && is_floating(out.type) && weight.contiguous() &&
               scales.contiguous() && indices.contiguous() && out.contiguous());
  call.require(zero_points == nullptr || (same_sizes(*zero_points, scales) && zero_points->contiguous()));
  CARINA_RT_TRY(call.error());
  const int64_t rows = weight.sizes()[0], columns = weight.sizes()[1] * (8 / bits);
  const int64_t groups = scales.rank() == 2 ? scales.sizes()[1] : 1;
  Extents sizes = layout_of(indices).sizes;
  sizes[indices.rank()] = columns;
  call.fit(out, std::span(sizes.data(), indices.rank() + 1));
  call.require(scales.sizes()[0] == rows && groups > 0 && columns % groups == 0);
  CARINA_RT_TRY(call.error());
  const auto write = Numbers::writer(out);
  for (int64_t i = 0; i < static_cast<int64_t>(indices.elements()); ++i) {
    const int64_t row = integer_at(indices, i);
    if (row < 0 || row >= rows) return Error::kInvalidArgument;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t group = row * groups + column / (columns / groups);
      const auto zero = zero_points == nullptr ? 0.0F : static_cast<float>(Numbers::reader(*zero_points)(group));
      const auto code = static_cast<float>(weight_at(weight, bits, row * columns + column));
      write(i * columns + column,
            static_cast<double>((code - zero) * static_cast<float>(Numbers::reader(scales)(group))));
    }
  }
  return Error::kOk;
}

}  // namespace

Error embedding_byte(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 8, 6);
}
Error embedding_4bit(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 4, 6);
}
Error embedding_2bit(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 2, 6);
}
// The variant with a dtype before the output.
Error embedding_byte_to(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 8, 7);
}
Error embedding_4bit_to(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 4, 7);
}
Error embedding_2bit_to(Arguments arguments, Arena& /*scratch*/) {
  return quantized_embedding(arguments, 2, 7);
}

namespace {

bool is_matrix(const Tensor& tensor) {
  return tensor.rank() == 2 && tensor.contiguous();
}

}  // namespace

// (input [M, K], weight [K, N] int8, scales [K], zero_points: None, out [M, N])
Error mixed_mm(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &weight = call.tensor(1), &scales = call.tensor(2), &out = call.out(4);
  call.support(call.is_none(3) && weight.type == PteScalarType::kChar && is_floating(in.type) &&
               in.type == scales.type && in.type == out.type);
  call.require(is_matrix(in) && is_matrix(weight) && out.rank() == 2 && scales.rank() == 1);
  CARINA_RT_TRY(call.error());
  const int64_t rows = in.sizes()[0], depth = in.sizes()[1], columns = weight.sizes()[1];
  call.fit(out, {rows, columns});
  call.require(weight.sizes()[0] == depth && scales.sizes()[0] == depth && out.contiguous());
  CARINA_RT_TRY(call.error());
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto read = domain.reader(in), scale = domain.reader(scales);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < rows * columns; ++i) {
          Value sum{0};
          for (int64_t k = 0; k < depth; ++k)
            sum = plus(
                sum, times(read(i / columns * depth + k),
                           times(static_cast<Value>(weight.as<const int8_t>()[k * columns + i % columns]), scale(k))));
          write(i, sum);
        }
      },
      in, scales, out);
  return Error::kOk;
}

// (input [M, K], weight [N, K] int8, scales [N] or [N, groups], zero_points: None, dtype or None, out [M, N])
Error mixed_linear(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &weight = call.tensor(1), &scales = call.tensor(2), &out = call.out(5);
  call.support(call.is_none(3) && weight.type == PteScalarType::kChar && is_floating(in.type) &&
               in.type == scales.type && is_floating(out.type));
  call.require(is_matrix(in) && is_matrix(weight) && out.rank() == 2 && (scales.rank() == 1 || is_matrix(scales)));
  CARINA_RT_TRY(call.error());
  const int64_t rows = in.sizes()[0], depth = in.sizes()[1], columns = weight.sizes()[0];
  const int64_t groups = scales.rank() == 2 ? scales.sizes()[1] : 1;
  call.fit(out, {rows, columns});
  call.require(weight.sizes()[1] == depth && scales.sizes()[0] == columns && groups > 0 && out.contiguous());
  CARINA_RT_TRY(call.error());
  const int64_t each = std::max<int64_t>((depth + groups - 1) / groups, 1);
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto read = domain.reader(in), scale = domain.reader(scales);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < rows * columns; ++i) {
          const int64_t row = i / columns, column = i % columns;
          Value sum{0};
          for (int64_t begin = 0; begin < depth; begin += each) {
            Value part{0};
            for (int64_t k = begin; k < std::min(begin + each, depth); ++k)
              part = plus(part, times(read(row * depth + k),
                                      static_cast<Value>(weight.as<const int8_t>()[column * depth + k])));
            sum = plus(sum, times(part, scale(column * groups + begin / each)));
          }
          write(i, sum);
        }
      },
      in, scales, out);
  return Error::kOk;
}

}  // namespace carina::runtime
