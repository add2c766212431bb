#include "lower/lowering_internal.h"

#include <algorithm>
#include <cmath>

#include "base/memory/prefault.h"
#include "base/memory/prefetch.h"
#include "base/parallel/parallel.h"
#include "tensor/elements.h"

namespace carina::lower {

using ir::ValueId;

namespace {

Tensor as_int32(const Tensor& tensor) {
  return integer_tensor(DType::kInt32, tensor.shape, integers_of(tensor));
}

Tensor as_fp32(const Tensor& tensor) {
  MutableTensor narrow(DType::kFp32, tensor.shape);
  std::ranges::transform(tensor.values<double>(), narrow.values<float>().begin(),
                         [](double v) { return static_cast<float>(v); });
  return std::move(narrow).freeze();
}

Tensor plain_constant(const Tensor& tensor) {
  if (tensor.dtype == DType::kInt64) return as_int32(tensor);
  if (tensor.dtype == DType::kFp64) return as_fp32(tensor);
  return tensor;
}

}  // namespace

int64_t quantized(float value, double scale, int64_t zero_point, int64_t qmin, int64_t qmax) {
  const float inverse = static_cast<float>(1.0 / scale);
  const float steps = std::nearbyint(value * inverse);
  if (std::isnan(steps)) return std::clamp(zero_point, qmin, qmax);
  const double shifted = static_cast<double>(steps) + static_cast<double>(zero_point);
  return static_cast<int64_t>(std::clamp(shifted, static_cast<double>(qmin), static_cast<double>(qmax)));
}

namespace {

constexpr size_t kPartElements = size_t{1} << 17;  // work per thread; less is not worth a thread

// Like quantized(), for elements with one scale, in a form that compilers vectorize. It clamps first, which is exact
// because the limits are integers. Then adding and subtracting 1.5 * 2^23 rounds to nearest even.
template <typename T>
void quantize_run(std::span<const float> floats, T* to, const Quantization& q, size_t channel) {
  constexpr float kRounding = 12582912.0F;
  const float inverse = static_cast<float>(1.0 / q.scales[channel]);
  const auto zero_point = static_cast<int32_t>(q.zero_points[channel]);
  const auto min = static_cast<float>(q.qmin - zero_point), max = static_cast<float>(q.qmax - zero_point);
  const auto round = [&](float real) {
    const float steps = real * inverse;
    const float number = steps == steps ? steps : 0.0F;
    const float raised = number > min ? number : min;
    const float limited = raised < max ? raised : max;
    return static_cast<T>(static_cast<int32_t>((limited + kRounding) - kRounding) + zero_point);
  };
  constexpr size_t kLine = kLineBytes / sizeof(float);
  const size_t whole = floats.size() - floats.size() % kLine;
  for (size_t i = 0; i < whole; i += kLine) {
    prefetch_ahead(floats.data() + i);
    for (size_t lane = 0; lane < kLine; ++lane) to[i + lane] = round(floats[i + lane]);
  }
  for (size_t i = whole; i < floats.size(); ++i) to[i] = round(floats[i]);
}

template <typename T>
Tensor quantized_narrow(const ir::Value& value) {
  const Quantization& q = *value.quantization;
  const auto floats = value.constant->values<float>();
  MutableTensor integers(q.dtype, value.shape);
  const ChannelOf channel(value.shape, q);
  const size_t run = channel.run(floats.size());
  const size_t runs = (floats.size() + run - 1) / run;
  parallel_for_chunks(runs, std::max<size_t>(1, kPartElements / run), [&](size_t begin, size_t end) {
    prefault(integers.values<T>().subspan(begin * run, std::min(end * run, floats.size()) - begin * run));
    for (size_t i = begin * run; i < std::min(end * run, floats.size()); i += run) {
      const size_t count = std::min(run, floats.size() - i);
      quantize_run(floats.subspan(i, count), integers.values<T>().data() + i, q, channel(i));
    }
  });
  return std::move(integers).freeze();
}

}  // namespace

Tensor quantized_constant(const ir::Value& value) {
  const Quantization& q = *value.quantization;
  if (value.constant->dtype != DType::kFp32) return *value.constant;
  if (q.dtype == DType::kInt8 || q.dtype == DType::kInt4) return quantized_narrow<int8_t>(value);
  if (q.dtype == DType::kInt16) return quantized_narrow<int16_t>(value);
  const auto floats = value.constant->values<float>();
  const ChannelOf channel(value.shape, q);
  std::vector<int64_t> integers(floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    const size_t c = channel(i);
    integers[i] = quantized(floats[i], q.scales[c], q.zero_points[c], q.qmin, q.qmax);
  }
  return integer_tensor(q.dtype, value.shape, integers);
}

std::vector<double> dequantized_values(const ir::Value& value) {
  const Tensor& tensor = *value.constant;
  if (tensor.dtype == DType::kFp32) {
    const auto floats = tensor.values<float>();
    return {floats.begin(), floats.end()};
  }
  const std::vector<int64_t> integers = integers_of(tensor);
  std::vector<double> floats(integers.begin(), integers.end());
  if (!value.quantization) return floats;
  const Quantization& q = *value.quantization;
  const ChannelOf channel(value.shape, q);
  for (size_t i = 0; i < floats.size(); ++i) {
    const size_t c = channel(i);
    floats[i] = (floats[i] - static_cast<double>(q.zero_points[c])) * q.scales[c];
  }
  return floats;
}

namespace {
bool is_unsigned(const Quantization& q) {
  return q.dtype == DType::kUInt8;
}
}  // namespace

const Quantization& Lowering::quantization(ValueId id) const {
  CARINA_CHECK(aten[id].quantization.has_value(), "{} is not quantized", aten[id].name);
  return *aten[id].quantization;
}

ValueId Lowering::operand(ValueId id) {
  ValueId& known = lowered_[id.index()];
  if (known.valid()) return known;
  const ir::Value& constant = aten[id];
  CARINA_CHECK(constant.constant.has_value(), "{} is used before it is lowered", constant.name);
  known = out.constant(constant.name,
                       constant.quantization ? quantized_constant(constant) : plain_constant(*constant.constant));
  return known;
}

void Lowering::bind(ValueId id, ValueId tosa) {
  lowered_[id.index()] = tosa;
  // A TOSA value that has an ATen name already keeps it. This ATen value then has the same elements.
  if (!out.graph()[tosa].constant && named_.insert(tosa).second) out.graph().rename(tosa, aten[id].name);
}

ValueId Lowering::requantize(ValueId input, const Quantization& from, const Quantization& to) {
  const bool same = from.dtype == to.dtype && from.scales == to.scales && from.zero_points == to.zero_points;
  if (same) return input;
  return within_range(out.rescale(input, {.scales = {from.scale() / to.scale()},
                                          .input_zp = from.zero_point(),
                                          .output_zp = to.zero_point(),
                                          .to = is_unsigned(to) ? DType::kInt8 : to.dtype,
                                          .from_unsigned = is_unsigned(from),
                                          .to_unsigned = is_unsigned(to)}),
                      to);
}

ValueId Lowering::within_range(ValueId input, const Quantization& q) {
  const IntegerRange whole = range_of(q.dtype);
  if ((q.qmin <= whole.min && q.qmax >= whole.max) || is_unsigned(q)) return input;
  return out.clamp(input, q.qmin, q.qmax);
}

}  // namespace carina::lower
