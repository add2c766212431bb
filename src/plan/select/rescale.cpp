#include <algorithm>
#include <bit>
#include <optional>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"

// RESCALE, CLAMP and TABLE that no preceding operation absorbed.
namespace carina::plan {

Epilogue epilogue_of(const Rescale& r, ir::ValueId value) {
  Epilogue epilogue = store_only(value, r.out);
  epilogue.zero_point = r.output_zp;
  epilogue.factors = r.factors;
  epilogue.rounding = r.rounding;
  epilogue.per_channel = r.per_channel;
  epilogue.scaled = true;
  return epilogue;
}

std::optional<FoundRescale> rescale_after(const Selection& s, ir::ValueId value) {
  const ir::NodeId next = s.sole_user(value);
  if (!next.valid() || s.graph()[next].op != ir::Op(TosaOp::RESCALE)) return std::nullopt;
  auto rescale = s.rescale_of(s.graph()[next]);
  if (!rescale || rescale->input_zp != 0) return std::nullopt;
  return FoundRescale{.node = next, .rescale = *std::move(rescale)};
}

namespace {

// The narrow elements of `wide`, if it is these shifted to the left, with the scaling of a RESCALE of it that rounds
// twice. So an addition scales the narrow elements itself.
//   Example: RESCALE(RESCALE(x) by 2^15) by m / 2^33 is x scaled by m / 2^18, first rounded at bit 16 of the product.
std::optional<Operand> scaled_twice(const Operand& wide, const Rescale& r) {
  const auto factor = whole_factor(wide.scaling);
  if (wide.type.bits > 16 || r.in.bits != 32 || r.out.bits != 32 || r.per_channel || r.rounding != Rounding::kDouble ||
      !factor || !std::has_single_bit(*factor))
    return std::nullopt;
  Operand out = wide;
  const int left = std::countr_zero(*factor);
  const Scaling own = r.scaling();
  constexpr int kLargestFirstShift = 30;
  if (left == 0 || left > kLargestFirstShift || own.shift <= 31) return std::nullopt;
  out.scaling = {{.multiplier = own.multiplier, .shift = own.shift - left}, Rounding::kDouble, left};
  return out;
}

Operand as_type(Operand operand, ElementType type) {
  operand.type = type;
  return operand;
}

// Whether the RESCALE only makes signed bytes of an input's unsigned ones.
bool changes_sign_of_input(const Selection& s, const Rescale& r) {
  const auto& inputs = s.graph().inputs;
  return r.in == ElementType{8, false} && r.out == kSigned8 && simplified(r.scaling()).is_unit() && !r.per_channel &&
         std::ranges::find(inputs, s.input(0)) != inputs.end() && s.options().uses(Optimization::kUnsignedBorders);
}

}  // namespace

Result<void> select_rescale(Selection& s) {
  CARINA_TRY(const Rescale r, s.rescale_of(s.node()));
  const bool scales_wide = s.family().abilities.wide_elements;
  if (r.in.bits > 32 && !scales_wide)
    return s.reject("RESCALE of int48 is only supported behind the operation that makes it");
  const Operand cheap = s.cheapest(s.input(0));
  if (r.out.bits == 32 && r.output_zp != 0) return s.reject("a zero point of 32-bit results is not supported");
  // A RESCALE from narrow to 32 bits is only described, so that readers can use the narrow elements.
  if (r.in.bits <= 16 && r.out.bits == 32 && !r.per_channel) {
    Operand narrow = as_type(cheap, r.in);
    narrow.zero_point = r.input_zp;
    narrow.scaling = r.scaling();
    s.define(s.output(), narrow);
    return {};
  }
  if (const auto narrow = scaled_twice(cheap, r); narrow && r.input_zp == 0) {
    s.define(s.output(), *narrow);
    return {};
  }
  // What follows an input's change to signed bytes reads the input itself (network/unsigned_borders.h).
  const Epilogue own = epilogue_of(r, s.output());
  const Epilogue epilogue = changes_sign_of_input(s, r) ? own : s.follow(own, {});
  const View out = s.open_like(epilogue.value, cheap.view);
  const bool widened_only = r.in.bits == 32 && cheap.type.bits <= 16 && simplified(cheap.scaling).is_unit();
  if (widened_only && epilogue.type.bits <= 16) {
    emit_requantize(s, out, cheap, epilogue);
  } else if (scales_wide || (r.in.bits <= 16 && epilogue.type.bits <= 16)) {
    Operand from = as_type(s.plain(s.input(0)), r.in);
    from.zero_point = r.input_zp;
    emit_requantize(s, out, from, epilogue);
  } else if (r.in.bits == 32) {
    emit_scale_32(s, out, s.plain(s.input(0)).view, epilogue);
  } else {
    Operand from = as_type(s.plain(s.input(0)), r.in);
    from.zero_point = r.input_zp;
    const View wide = s.new_tensor("widened", out.shape(), kSigned32);
    emit_widen(s, wide, from);
    emit_scale_32(s, out, wide, epilogue);
  }
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

Result<void> select_clamp(Selection& s) {
  const Operand a = s.plain(s.input(0));
  if (a.type.bits > 16)
    return s.reject("the type is not supported", "int8 or int16", std::string(name_of(s.value(s.input(0)).dtype)));
  Epilogue start = store_only(s.output(), a.type);
  start.activation.min = s.node().attributes.integer("min_val");
  start.activation.max = s.node().attributes.integer("max_val");
  const Epilogue epilogue = s.follow(start, {});
  const View out = s.open_like(epilogue.value, a.view);
  emit_requantize(s, out, a, epilogue);
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
