#include "frontend/tflite/borders.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace carina::tflite {

namespace {

constexpr int32_t kQuantize = 114, kDequantize = 6;  // operators.def

bool is_quantized_integer(const Tensor& tensor) {
  const bool is_known = tensor.dtype == DType::kInt8 || tensor.dtype == DType::kUInt8 || tensor.dtype == DType::kInt16;
  return is_known && tensor.quantization.scales.size() == 1 && tensor.quantization.scales.front() > 0;
}

Border border_of(const Tensor& declared, const Tensor& inner) {
  Border border{.declared = declared.dtype,
                .stored = inner.dtype == DType::kUInt8 ? DType::kInt8 : inner.dtype,
                .quantized = inner.dtype};
  if (declared.dtype == DType::kFp32 && is_quantized_integer(inner)) {
    border.scale = inner.quantization.scales.front();
    border.zero_point = inner.quantization.zero_points.front();
  }
  return border;
}

class Cutter {
 public:
  explicit Cutter(Subgraph& graph) : graph_(graph), is_cut_(graph.operators.size()) {}

  Borders cut() {
    Borders out;
    for (int32_t& input : graph_.inputs) {
      const int32_t inner = inside_of_input(input);
      out.inputs.push_back(border_of(tensor(input), tensor(inner)));
      input = inner;
    }
    for (int32_t& output : graph_.outputs) {
      const int32_t inner = inside_of_output(output);
      out.outputs.push_back(border_of(tensor(output), tensor(inner)));
      output = inner;
    }
    std::vector<Operator> rest;
    for (size_t i = 0; i < is_cut_.size(); ++i) {
      if (!is_cut_[i]) rest.push_back(std::move(graph_.operators[i]));
    }
    graph_.operators = std::move(rest);
    return out;
  }

 private:
  const Tensor& tensor(int32_t index) const { return graph_.tensors[static_cast<size_t>(index)]; }

  std::vector<size_t> readers(int32_t index) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
      if (!is_cut_[i] && std::ranges::count(graph_.operators[i].inputs, index) != 0) out.push_back(i);
    }
    return out;
  }

  int32_t inside_of_input(int32_t index) {
    if (tensor(index).dtype != DType::kFp32 || std::ranges::count(graph_.outputs, index) != 0) return index;
    const std::vector<size_t> all = readers(index);
    if (all.size() != 1) return index;
    const Operator& op = graph_.operators[all.front()];
    if (op.code != kQuantize || op.inputs.size() != 1 || op.outputs.size() != 1) return index;
    if (!is_quantized_integer(tensor(op.outputs[0])) || tensor(op.outputs[0]).shape != tensor(index).shape)
      return index;
    is_cut_[all.front()] = true;
    return op.outputs[0];
  }

  int32_t inside_of_output(int32_t index) {
    if (tensor(index).dtype != DType::kFp32) return index;
    for (size_t i = 0; i < graph_.operators.size(); ++i) {
      const Operator& op = graph_.operators[i];
      if (op.outputs.size() != 1 || op.outputs[0] != index) continue;
      if (op.code != kDequantize || op.inputs.size() != 1 || op.inputs[0] == kAbsent) return index;
      if (!is_quantized_integer(tensor(op.inputs[0])) || tensor(op.inputs[0]).shape != tensor(index).shape)
        return index;
      is_cut_[i] = readers(index).empty();
      return op.inputs[0];
    }
    return index;
  }

  Subgraph& graph_;
  std::vector<bool> is_cut_;
};

template <typename T>
carina::Tensor quantized(const carina::Tensor& floats, const Border& border) {
  MutableTensor out(border.stored, floats.shape);
  const IntegerRange range = range_of(border.quantized);
  const std::span<const float> from = floats.values<float>();
  const std::span<T> to = out.values<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    const float steps = std::round(from[i] / border.scale);
    const double whole = std::isnan(steps) ? 0 : static_cast<double>(steps) + static_cast<double>(border.zero_point);
    const auto clamped = std::clamp(whole, static_cast<double>(range.min), static_cast<double>(range.max));
    to[i] = static_cast<T>(static_cast<int32_t>(clamped));
  }
  return std::move(out).freeze();
}

template <typename T>
carina::Tensor dequantized(const carina::Tensor& integers, const Border& border) {
  MutableTensor out(DType::kFp32, integers.shape);
  const auto* from = reinterpret_cast<const T*>(integers.data.data());
  const std::span<float> to = out.values<float>();
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = border.scale * static_cast<float>(static_cast<int64_t>(from[i]) - border.zero_point);
  return std::move(out).freeze();
}

// The shape of a tensor of `dtype` with these bits: pairs of int32 are elements of int64.
Shape shape_with_same_bits(const carina::Tensor& tensor, DType dtype) {
  if (dtype != DType::kInt64 || tensor.dtype != DType::kInt32) return tensor.shape;
  return Shape(tensor.shape.dims().first(tensor.shape.rank() - 1));
}

carina::Tensor same_bits(const carina::Tensor& tensor, DType dtype) {
  return {.dtype = dtype, .shape = shape_with_same_bits(tensor, dtype), .data = tensor.data};
}

}  // namespace

Borders cut_float_borders(Model& model) {
  return Cutter(model.subgraphs.front()).cut();
}

carina::Tensor to_stored(const carina::Tensor& declared, const Border& border) {
  if (border.declared != DType::kFp32 || border.stored == DType::kFp32) return same_bits(declared, border.stored);
  if (border.stored == DType::kInt16) return quantized<int16_t>(declared, border);
  return quantized<int8_t>(declared, border);  // uint8: the low bits of the integer
}

carina::Tensor to_declared(const carina::Tensor& stored, const Border& border) {
  if (border.declared != DType::kFp32 || border.stored == DType::kFp32) return same_bits(stored, border.declared);
  if (border.quantized == DType::kUInt8) return dequantized<uint8_t>(stored, border);
  if (border.quantized == DType::kInt16) return dequantized<int16_t>(stored, border);
  return dequantized<int8_t>(stored, border);
}

}  // namespace carina::tflite
