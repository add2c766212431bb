// What:   tensors that are made from nothing become constants.
// Before: %z = aten.zeros.default(size=[1,32], dtype=fp32)
// After:  %z, a constant of 32 zeros
// Needs:  static sizes.
// Gives:  no zeros, ones, full, arange or scalar_tensor of float, int64, int32 or bool.
// Legal:  their values depend on attributes only. Quantization parameters of the value stay with it.

#include <cmath>

#include "base/checked_math.h"
#include "facts/aten_traits.h"
#include "lower/prepare/passes_internal.h"
#include "lower/prepare/rewriter_internal.h"

namespace carina::lower {
namespace {

using ir::Node;

// A model that makes more than this from nothing is left as it is.
constexpr int64_t kMostElements = int64_t{1} << 26;

struct Ramp {
  double start;
  double step;
};

template <typename T>
void fill(MutableTensor& tensor, const Ramp& ramp) {
  int64_t i = 0;
  for (T& element : tensor.values<T>()) element = static_cast<T>(ramp.start + ramp.step * static_cast<double>(i++));
}

Result<bool> become_constant(Rewriter& in, const Node& node, const Ramp& ramp) {
  ir::Value& value = in.graph()[node.outputs[0]];
  const auto elements = checked_product(value.shape.dims());
  if (!elements || *elements < 0 || *elements > kMostElements) return false;
  const bool known = value.dtype == DType::kFp32 || value.dtype == DType::kInt64 || value.dtype == DType::kInt32 ||
                     value.dtype == DType::kBool;
  if (!known) return false;
  MutableTensor tensor(value.dtype, value.shape);
  if (value.dtype == DType::kFp32) fill<float>(tensor, ramp);
  if (value.dtype == DType::kInt64) fill<int64_t>(tensor, ramp);
  if (value.dtype == DType::kInt32) fill<int32_t>(tensor, ramp);
  if (value.dtype == DType::kBool) fill<uint8_t>(tensor, ramp);
  value.constant = std::move(tensor).freeze();
  return true;
}

Result<bool> zeros(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = 0, .step = 0});
}
Result<bool> ones(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = 1, .step = 0});
}
template <const char* kName>
Result<bool> filled(Rewriter& in, const Node& node) {
  return become_constant(in, node, {.start = node.attributes.number(kName), .step = 0});
}
constexpr char kFillValue[] = "fill_value", kScalar[] = "s";

Result<bool> ramp(Rewriter& in, const Node& node) {
  const auto number = [&](std::string_view name, double otherwise) {
    return node.attributes.find(name) == nullptr ? otherwise : node.attributes.number(name);
  };
  return become_constant(in, node, {.start = number("start", 0), .step = number("step", 1)});
}

constexpr RewriteRow kFoldSourcesRows[] = {
    {AtenOp::zeros_default, zeros},
    {AtenOp::zeros_like_default, zeros},
    {AtenOp::ones_default, ones},
    {AtenOp::ones_like_default, ones},
    {AtenOp::full_default, filled<kFillValue>},
    {AtenOp::full_like_default, filled<kFillValue>},
    {AtenOp::scalar_tensor_default, filled<kScalar>},
    {AtenOp::arange_default, ramp},
    {AtenOp::arange_start, ramp},
    {AtenOp::arange_start_step, ramp},
};
static_assert(rewrites_what_becomes(kFoldSourcesRows));

}  // namespace

std::span<const RewriteRow> source_rows() {
  return kFoldSourcesRows;
}

Result<void> fold_sources(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kFoldSourcesRows).run();
}

}  // namespace carina::lower
