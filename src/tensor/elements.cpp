#include "tensor/elements.h"

#include <algorithm>

#include "tensor/float_formats.h"

namespace carina {

namespace {

template <typename Out, typename In>
std::vector<Out> converted(const Tensor& tensor) {
  const auto values = tensor.values<In>().first(static_cast<size_t>(tensor.elements()));
  std::vector<Out> out(values.size());
  std::ranges::transform(values, out.begin(), [](In value) { return static_cast<Out>(value); });
  return out;
}

template <typename Out>
std::optional<std::vector<Out>> whole_numbers(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return converted<Out, uint8_t>(tensor);
    case DType::kInt4:
    case DType::kInt8:
      return converted<Out, int8_t>(tensor);
    case DType::kInt16:
      return converted<Out, int16_t>(tensor);
    case DType::kUInt16:
      return converted<Out, uint16_t>(tensor);
    case DType::kInt32:
      return converted<Out, int32_t>(tensor);
    case DType::kUInt32:
      return converted<Out, uint32_t>(tensor);
    case DType::kInt48:
    case DType::kInt64:
    case DType::kShape:
      return converted<Out, int64_t>(tensor);
    case DType::kUnknown:
    case DType::kFp16:
    case DType::kBf16:
    case DType::kFp32:
    case DType::kFp64:
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kFp6E2M3:
    case DType::kFp6E3M2:
    case DType::kFp4E2M1:
    case DType::kFp8UE8M0:
      return std::nullopt;
  }
  CARINA_UNREACHABLE("dtype", tensor.dtype);
}

template <typename T>
Tensor narrowed(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  MutableTensor tensor(dtype, shape);
  std::ranges::transform(values, tensor.values<T>().begin(), [](int64_t v) { return static_cast<T>(v); });
  return std::move(tensor).freeze();
}

}  // namespace

std::optional<std::vector<int64_t>> integers_if_any(const Tensor& tensor) {
  return whole_numbers<int64_t>(tensor);
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
  auto integers = whole_numbers<int64_t>(tensor);
  CARINA_CHECK(integers.has_value(), "{} read as integers", name_of(tensor.dtype));
  return *std::move(integers);
}

std::optional<std::vector<double>> numbers_of(const Tensor& tensor) {
  if (tensor.dtype == DType::kFp32) return converted<double, float>(tensor);
  if (tensor.dtype == DType::kFp64) return converted<double, double>(tensor);
  return is_integer(tensor.dtype) ? whole_numbers<double>(tensor) : std::nullopt;
}

ChannelOf::ChannelOf(const Shape& shape, size_t axis) : count_(static_cast<size_t>(shape[axis])) {
  for (size_t i = axis + 1; i < shape.rank(); ++i) inner_ *= static_cast<size_t>(shape[i]);
}

ChannelOf::ChannelOf(const Shape& shape, const Quantization& quantization) {
  if (quantization.per_channel()) *this = ChannelOf(shape, static_cast<size_t>(quantization.axis));
  count_ = quantization.scales.size();
}

Tensor dequantized(const Tensor& tensor, const Quantization& quantization) {
  const ChannelOf channel(tensor.shape, quantization);
  const std::vector<int64_t> integers = integers_of(tensor);
  MutableTensor floats(DType::kFp32, tensor.shape);
  const auto out = floats.values<float>();
  for (size_t i = 0; i < integers.size(); ++i) {
    const size_t c = channel(i);
    out[i] = static_cast<float>(integers[i] - quantization.zero_points[c]) * static_cast<float>(quantization.scales[c]);
  }
  return std::move(floats).freeze();
}

Tensor integer_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  switch (element_bytes(dtype)) {
    case 1:
      return narrowed<int8_t>(dtype, shape, values);
    case 2:
      return narrowed<int16_t>(dtype, shape, values);
    case 4:
      return narrowed<int32_t>(dtype, shape, values);
    default:
      return narrowed<int64_t>(dtype, shape, values);
  }
}

Tensor float_tensor(DType dtype, const Shape& shape, float value) {
  const auto count = static_cast<size_t>(shape.elements());
  switch (dtype) {
    case DType::kFp16:
      return Tensor::of<uint16_t>(dtype, shape, std::vector(count, fp32_to_fp16(value)));
    case DType::kBf16:
      return Tensor::of<uint16_t>(dtype, shape, std::vector(count, fp32_to_bf16(value)));
    case DType::kFp8E4M3:
      return Tensor::of<uint8_t>(dtype, shape, std::vector(count, fp32_to_fp8e4m3(value)));
    case DType::kFp8E5M2:
      return Tensor::of<uint8_t>(dtype, shape, std::vector(count, fp32_to_fp8e5m2(value)));
    default:
      return Tensor::of<float>(dtype, shape, std::vector(count, value));
  }
}

}  // namespace carina
