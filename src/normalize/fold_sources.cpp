// What:   tensors that operators without inputs create become constants.
// Before: %z = aten.zeros.default(size=[1,32], dtype=fp32)
// After:  %z, a constant of 32 zeros
// Needs:  static sizes.
// Gives:  no zeros, ones, full, arange, linspace, logspace, eye, scalar_tensor, window or indices of a triangle with
//         known sizes.
// Legal:  their values depend only on attributes. The quantization parameters of the value stay.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/checked_math.h"
#include "facts/aten_traits.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"
#include "tensor/float_formats.h"

namespace carina::normalize {
namespace {

using ir::Node;

// A model with larger generated tensors keeps the nodes that generate them.
constexpr int64_t kMaxElements = int64_t{1} << 26;
// So does a model whose generated tensors take more bytes together.
constexpr int64_t kMaxBytes = int64_t{1} << 30;

// The sizes must be known, and the tensor must not be too large.
bool becomes_constant(const ir::Value& value) {
  const auto elements = checked_product(value.shape.dims());
  return elements && *elements >= 0 && *elements <= kMaxElements;
}

template <typename T, typename Number, typename Convert>
Tensor made_of(const ir::Value& value, const Number& number, const Convert& convert) {
  MutableTensor tensor(value.dtype, value.shape);
  int64_t i = 0;
  for (T& element : tensor.values<T>()) element = convert(number(i++));
  return std::move(tensor).freeze();
}

template <typename T>
T truncated(double number) {
  return static_cast<T>(static_cast<int64_t>(number));
}

// The value becomes a constant. Its element i is number(i), which is a double, converted to the type of the value.
template <typename Number>
Result<bool> replace_with_constant(Rewriter& in, const Node& node, const Number& number) {
  ir::Value& value = in.graph()[node.outputs[0]];
  if (!becomes_constant(value)) return false;
  switch (value.dtype) {
    case DType::kFp64:
      value.constant = made_of<double>(value, number, [](double v) { return v; });
      break;
    case DType::kFp32:
      value.constant = made_of<float>(value, number, [](double v) { return static_cast<float>(v); });
      break;
    case DType::kFp16:
      value.constant = made_of<uint16_t>(value, number, [](double v) { return fp32_to_fp16(static_cast<float>(v)); });
      break;
    case DType::kBf16:
      value.constant = made_of<uint16_t>(value, number, [](double v) { return fp32_to_bf16(static_cast<float>(v)); });
      break;
    case DType::kFp8E4M3:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return fp32_to_fp8e4m3(static_cast<float>(v)); });
      break;
    case DType::kFp8E5M2:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return fp32_to_fp8e5m2(static_cast<float>(v)); });
      break;
    case DType::kInt64:
      value.constant = made_of<int64_t>(value, number, truncated<int64_t>);
      break;
    case DType::kInt32:
    case DType::kUInt32:
      value.constant = made_of<int32_t>(value, number, truncated<int32_t>);
      break;
    case DType::kInt16:
    case DType::kUInt16:
      value.constant = made_of<int16_t>(value, number, truncated<int16_t>);
      break;
    case DType::kInt8:
    case DType::kUInt8:
      value.constant = made_of<int8_t>(value, number, truncated<int8_t>);
      break;
    case DType::kBool:
      value.constant = made_of<uint8_t>(value, number, [](double v) { return uint8_t{v != 0}; });
      break;
    default:
      return false;
  }
  return true;
}

// A number rounded to the type that PyTorch's kernel computes with: that of the elements, or double for integers.
double rounded(DType dtype, double number) {
  const auto single = static_cast<float>(number);
  switch (dtype) {
    case DType::kFp32:
      return single;
    case DType::kFp16:
      return fp16_to_fp32(fp32_to_fp16(single));
    case DType::kBf16:
      return bf16_to_fp32(fp32_to_bf16(single));
    default:
      return number;
  }
}

// Element i of a line from start to end. The first half counts from the start and the second half from the end, as in
// PyTorch's kernel.
auto line_of(Rewriter& in, const Node& node) {
  const ir::Value& value = in.graph()[node.outputs[0]];
  const auto round = [dtype = value.dtype](double number) { return rounded(dtype, number); };
  const double start = round(node.attributes.number("start")), end = round(node.attributes.number("end"));
  const int64_t count = value.shape.elements();
  const double step = count > 1 ? round(round(end - start) / round(static_cast<double>(count - 1))) : 0;
  return [=](int64_t i) {
    const bool from_start = i < count / 2 || count == 1;
    const double part = round(step * round(static_cast<double>(from_start ? i : count - 1 - i)));
    return round(from_start ? start + part : end - part);
  };
}

Result<bool> linspace(Rewriter& in, const Node& node) {
  return replace_with_constant(in, node, line_of(in, node));
}

Result<bool> logspace(Rewriter& in, const Node& node) {
  const double base = node.attributes.find("base") == nullptr ? 10 : node.attributes.number("base");
  return replace_with_constant(in, node,
                               [base, line = line_of(in, node)](int64_t i) { return std::pow(base, line(i)); });
}

// A window for the Fourier transform. The shape is a function of the place in it, from 0 to 1. A periodic window is one
// that is longer by an element, without its last one.
template <typename Curve>
Result<bool> window(Rewriter& in, const Node& node, const Curve& curve) {
  const bool is_periodic = node.attributes.find("periodic") == nullptr || node.attributes.get<bool>("periodic");
  const int64_t length = in.shape(node.outputs[0]).elements();
  const auto last = static_cast<double>(is_periodic ? length : length - 1);
  return replace_with_constant(in, node,
                               [=](int64_t i) { return length == 1 ? 1.0 : curve(static_cast<double>(i) / last); });
}

double number_or(const Node& node, std::string_view name, double otherwise) {
  return node.attributes.find(name) == nullptr ? otherwise : node.attributes.number(name);
}

double cosine(double turns) {
  return std::cos(2 * std::numbers::pi * turns);
}

Result<bool> hann(Rewriter& in, const Node& node) {
  return window(in, node, [](double at) { return 0.5 - 0.5 * cosine(at); });
}

Result<bool> hamming(Rewriter& in, const Node& node) {
  const double alpha = number_or(node, "alpha", 0.54), beta = number_or(node, "beta", 0.46);
  return window(in, node, [=](double at) { return alpha - beta * cosine(at); });
}

Result<bool> blackman(Rewriter& in, const Node& node) {
  return window(in, node, [](double at) { return 0.42 - 0.5 * cosine(at) + 0.08 * cosine(2 * at); });
}

Result<bool> bartlett(Rewriter& in, const Node& node) {
  return window(in, node, [](double at) { return 1 - std::abs(2 * at - 1); });
}

// The modified Bessel function of the first kind and order 0, by its power series: all terms are positive.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return sum;
}

Result<bool> kaiser(Rewriter& in, const Node& node) {
  const double beta = number_or(node, "beta", 12);
  if (!(std::abs(beta) < 700)) return false;  // the series would exceed the range of doubles
  return window(in, node, [beta, all = bessel_i0(beta)](double at) {
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - (2 * at - 1) * (2 * at - 1)))) / all;
  });
}

// The rows, then the columns, of the elements of a matrix on one side of a diagonal.
template <bool kLower>
Result<bool> triangle_places(Rewriter& in, const Node& node) {
  const int64_t rows = node.attributes.integer("row"), columns = node.attributes.integer("col");
  const int64_t offset = node.attributes.find("offset") == nullptr ? 0 : node.attributes.integer("offset");
  const Shape shape = in.shape(node.outputs[0]);
  if (shape.rank() != 2 || shape[0] != 2 || !becomes_constant(in.graph()[node.outputs[0]])) return false;
  std::array<std::vector<double>, 2> places;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = kLower ? 0 : std::clamp<int64_t>(row + offset, 0, columns);
    const int64_t end = kLower ? std::clamp<int64_t>(row + offset + 1, 0, columns) : columns;
    if (static_cast<int64_t>(places[0].size()) + end - first > shape[1]) return false;
    for (int64_t column = first; column < end; ++column) {
      places[0].push_back(static_cast<double>(row));
      places[1].push_back(static_cast<double>(column));
    }
  }
  const int64_t count = shape[1];
  if (static_cast<int64_t>(places[0].size()) != count) return false;
  return replace_with_constant(
      in, node, [&](int64_t i) { return places[static_cast<size_t>(i / count)][static_cast<size_t>(i % count)]; });
}

// Ones on the diagonal of a zero matrix.
Result<bool> eye(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.outputs[0]);
  if (shape.rank() != 2) return false;
  return replace_with_constant(in, node,
                               [columns = shape[1]](int64_t i) { return i / columns == i % columns ? 1.0 : 0.0; });
}

Result<bool> zeros(Rewriter& in, const Node& node) {
  return replace_with_constant(in, node, [](int64_t) { return 0.0; });
}
Result<bool> ones(Rewriter& in, const Node& node) {
  return replace_with_constant(in, node, [](int64_t) { return 1.0; });
}
template <const char* kName>
Result<bool> filled(Rewriter& in, const Node& node) {
  return replace_with_constant(in, node, [value = node.attributes.number(kName)](int64_t) { return value; });
}
constexpr char kFillValue[] = "fill_value", kScalar[] = "s", kValue[] = "value";

Result<bool> ramp(Rewriter& in, const Node& node) {
  return replace_with_constant(in, node,
                               [start = number_or(node, "start", 0), step = number_or(node, "step", 1)](int64_t i) {
                                 return start + step * static_cast<double>(i);
                               });
}

constexpr RewriteRow kFoldSourcesRows[] = {
    {AtenOp::zeros_default, zeros},
    {AtenOp::zeros_like_default, zeros},
    {AtenOp::ones_default, ones},
    {AtenOp::ones_like_default, ones},
    {AtenOp::full_default, filled<kFillValue>},
    {AtenOp::full_like_default, filled<kFillValue>},
    {AtenOp::scalar_tensor_default, filled<kScalar>},
    {AtenOp::fill_Scalar, filled<kValue>},
    {AtenOp::zero_default, zeros},
    {AtenOp::arange_default, ramp},
    {AtenOp::arange_start, ramp},
    {AtenOp::arange_start_step, ramp},
    {AtenOp::new_zeros_default, zeros},
    {AtenOp::new_ones_default, ones},
    {AtenOp::new_full_default, filled<kFillValue>},
    {AtenOp::linspace_default, linspace},
    {AtenOp::eye_default, eye},
    {AtenOp::eye_m, eye},
    {AtenOp::hann_window_default, hann},
    {AtenOp::hann_window_periodic, hann},
    {AtenOp::hamming_window_default, hamming},
    {AtenOp::hamming_window_periodic, hamming},
    {AtenOp::hamming_window_periodic_alpha, hamming},
    {AtenOp::hamming_window_periodic_alpha_beta, hamming},
    {AtenOp::blackman_window_default, blackman},
    {AtenOp::blackman_window_periodic, blackman},
    {AtenOp::bartlett_window_default, bartlett},
    {AtenOp::bartlett_window_periodic, bartlett},
    {AtenOp::kaiser_window_default, kaiser},
    {AtenOp::kaiser_window_periodic, kaiser},
    {AtenOp::kaiser_window_beta, kaiser},
    {AtenOp::logspace_default, logspace},
    {AtenOp::tril_indices_default, triangle_places<true>},
    {AtenOp::triu_indices_default, triangle_places<false>},
};
static_assert(rewrites_what_becomes(kFoldSourcesRows));

}  // namespace

std::span<const RewriteRow> source_rows() {
  return kFoldSourcesRows;
}

Result<void> fold_sources(ir::Graph& graph, const Log&) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    if (!node.op.is_aten() ||
        std::ranges::find(kFoldSourcesRows, node.op.aten(), &RewriteRow::op) == std::ranges::end(kFoldSourcesRows))
      continue;
    const ir::Value& value = graph[node.outputs[0]];
    if (becomes_constant(value)) bytes += static_cast<int64_t>(tensor_bytes(value.dtype, value.shape));
    if (bytes > kMaxBytes) return {};
  }
  return Rewriter(graph, kFoldSourcesRows).run();
}

}  // namespace carina::normalize
