#include "interpret/ops/integer_epilogue_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "interpret/checks_internal.h"
#include "interpret/ops/rescale_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

bool has_vectors(DType dtype) {
  return dtype == kInt8 || dtype == kInt16 || dtype == kInt32;
}

}  // namespace

std::optional<kernels::Scales> constant_scales(const NodePlan& rescale, int64_t bound) {
  const ir::Attributes& attributes = rescale.node.attributes;
  const bool constants =
      std::ranges::all_of(std::span(rescale.in).subspan(1), [](const Operand& o) { return o.constant != nullptr; });
  const bool is_unsigned = attributes.get<bool>("input_unsigned") || attributes.get<bool>("output_unsigned");
  const DType in = rescale.in[0].dtype;
  const DType out = rescale.out[0].dtype;
  if (!constants || is_unsigned || !attributes.get<bool>("scale32") || !has_vectors(in) || !has_vectors(out) ||
      rescale.in[1].shape->elements() == 0)  // no channels
    return std::nullopt;
  constexpr int64_t kDoubleRound = 3;
  const Shape& shape = *rescale.in[0].shape;
  auto scales = kernels::make_scales(
      {.multiplier = rescale.in[1].constant->values<int32_t>(),
       .shift = rescale.in[2].constant->values<int8_t>(),
       .rounding = attributes.integer("rounding_mode") == kDoubleRound ? Rounding::kDouble : Rounding::kSingle,
       .bound = bound,
       .channels = shape.rank() == 0 ? 1 : shape[shape.rank() - 1]});
  if (!scales) return std::nullopt;
  const int64_t input_zp = scalar_at(rescale.in[3].constant->data.data(), in);
  const int64_t output_zp = scalar_at(rescale.in[4].constant->data.data(), out);
  // With 32 bits, a zero point could cause overflow. The specification allows none there.
  if ((in == kInt32 && input_zp != 0) || (out == kInt32 && output_zp != 0)) return std::nullopt;
  const IntegerRange range = range_of(out);
  // Scaled values are at most 2^30 by RESCALE's REQUIRE on its input, so adding a zero point of 16 bits cannot
  // overflow.
  scales->input_zp = static_cast<int32_t>(input_zp);
  scales->output_zp = static_cast<int32_t>(output_zp);
  scales->low = static_cast<int32_t>(range.min);
  scales->high = static_cast<int32_t>(range.max);
  if (in == kInt32 && out == kInt8) kernels::find_float_form(*scales);
  kernels::settle(*scales, out);
  return scales;
}

std::optional<IntegerEpilogue> integer_epilogue(const TailPlan& plan, int64_t bound) {
  IntegerEpilogue epilogue;
  for (const NodePlan& node : plan.tail) {
    const ir::Attributes& attributes = node.node.attributes;
    if (node.node.op == ir::Op(TosaOp::RESCALE) && !epilogue.scales) {
      if (!check_rescale(node)) return std::nullopt;
      epilogue.scales = constant_scales(node, bound);
      if (!epilogue.scales) return std::nullopt;
    } else if (node.node.op == ir::Op(TosaOp::CLAMP) && epilogue.scales && has_vectors(node.out[0].dtype) &&
               node.in[0].dtype == node.out[0].dtype) {
      const auto low = static_cast<int32_t>(attributes.number("min_val"));
      const auto high = static_cast<int32_t>(attributes.number("max_val"));
      if (!(*node.in[0].shape == *node.out[0].shape)) return std::nullopt;
      epilogue.scales->low = std::min(std::max(epilogue.scales->low, low), high);
      epilogue.scales->high = std::min(std::max(epilogue.scales->high, low), high);
      epilogue.scales->in_floats.reset();
      kernels::settle(*epilogue.scales, node.out[0].dtype);
    } else {
      return std::nullopt;
    }
    epilogue.out_type = node.out[0].dtype;
  }
  return epilogue;
}

}  // namespace carina::interpret
