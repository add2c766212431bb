#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "plan/network/boxes.h"
#include "plan/select/emit_internal.h"

// Steps of elementwise operations. Most NPUs repeat only the second operand, so operands are exchanged or one is
// copied.
//   Example: [1,1,1,8] - [1,4,4,8] becomes "second - first" with the operands exchanged.
namespace carina::plan {
namespace {

Scaling global_scaling(const Epilogue& epilogue) {
  return simplified(epilogue.scaling());
}

bool is_commutative(npu::ElementwiseMode mode) {
  using enum npu::ElementwiseMode;
  return mode == ADD || mode == MUL || mode == MIN || mode == MAX;
}

// How often an operand's elements are read again because dst has more axes.
int64_t repeats(const View& view, const View& dst) {
  int64_t product = 1;
  for (size_t i = 0; i < dst.rank(); ++i) {
    if (view.axes[i].size != dst.axes[i].size) product *= dst.axes[i].size;
  }
  return product;
}

OperandScaling exchanged(OperandScaling operands) {
  using Precise = OperandScaling::Precise;
  std::swap(operands.first, operands.second);
  if (operands.precise != Precise::kBothAlike)
    operands.precise = operands.precise == Precise::kFirst ? Precise::kSecond : Precise::kFirst;
  return operands;
}

// Operands in the order that the NPU needs. If only the second one may repeat and both do, one is copied.
struct Arranged {
  Operand first;
  Operand second;
  OperandScaling operands;
  bool swapped = false;
};
Arranged arranged(Selection& s, const View& dst, const Elementwise& what) {
  Arranged result{.first = what.a, .second = what.b, .operands = what.operands};
  if (repeats(result.first.view, dst) == 1 || s.family().abilities.symmetric_operands) return result;
  const bool both = repeats(result.second.view, dst) > 1;
  // Operand scales depend on the order of a subtraction, so the order is kept.
  const bool keep_order = !is_commutative(what.mode) && what.operands != OperandScaling{};
  if (keep_order || (both && repeats(result.first.view, dst) <= repeats(result.second.view, dst))) {
    result.first = repeated(s, result.first, dst.shape());
    return result;
  }
  if (both) result.second = repeated(s, result.second, dst.shape());
  std::swap(result.first, result.second);
  if (is_commutative(what.mode)) {
    result.operands = exchanged(result.operands);
  } else {
    result.swapped = true;
  }
  return result;
}

Step base_step(const Elementwise& what, const Epilogue& epilogue) {
  Scaling scaling = global_scaling(epilogue);
  // The rounding of an elementwise shift, which has no other scaling.
  if (what.mode == npu::ElementwiseMode::SHR) scaling.rounding = epilogue.rounding;
  return {.kind = StepKind::kElementwise,
          .elementwise = what.mode,
          .scaling = scaling,
          .operands = what.operands,
          .activation = epilogue.activation,
          .name = {}};
}

void emit_with_scalar(Selection& s, const View& dst, const Elementwise& what, const Epilogue& epilogue) {
  const std::array views{dst, what.a.view};
  for (const Box& box : boxes_of(views, kNoBroadcast)) {
    Step op = base_step(what, epilogue);
    op.ofm = feature_map(box, 0, dst.tensor, epilogue.type, epilogue.zero_point);
    op.ifm = feature_map(box, 1, what.a.view.tensor, what.a.type, what.a.zero_point);
    if (what.scalar) {
      op.second = SecondOperand::kScalar;
      op.scalar = *what.scalar;
      op.ifm2.type = what.b.type;
      op.ifm2.zero_point = what.b.zero_point;
      op.swapped = what.scalar_first;
    }
    s.push(std::move(op));
  }
}

// The stored value of a constant with one element, if it fits the register.
std::optional<int64_t> scalar_of(Selection& s, const Operand& operand) {
  const ElementType& type = operand.type;
  if (operand.view.elements() != 1 || type.bits > s.family().abilities.scalar_bits || !is_constant(s, operand))
    return std::nullopt;
  const std::span<const std::byte> bytes = s.network().material.constants[operand.view.tensor.index()].bytes();
  const auto element_bytes = static_cast<size_t>(type.bytes());
  uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + static_cast<size_t>(operand.view.offset) * element_bytes, element_bytes);
  if (!type.is_signed) return bits;
  switch (type.bytes()) {
    case 1:
      return static_cast<int8_t>(bits);
    case 2:
      return static_cast<int16_t>(bits);
    default:
      return static_cast<int32_t>(bits);
  }
}

// The operation with a constant of one element as its scalar, which the NPU need not read from memory.
Elementwise with_its_scalar(Selection& s, const View& dst, const Elementwise& what) {
  Elementwise result = what;
  if (repeats(what.a.view, dst) == 1) {
    result.scalar = scalar_of(s, what.b);
    if (result.scalar) return result;
  }
  const bool is_symmetric = s.family().abilities.symmetric_operands;
  const bool exchangeable = is_commutative(what.mode) || what.operands == OperandScaling{} || is_symmetric;
  if (!exchangeable || repeats(what.b.view, dst) > 1) return result;
  result.scalar = scalar_of(s, what.a);
  if (!result.scalar) return result;
  std::swap(result.a, result.b);
  result.scalar_first = !is_commutative(what.mode);
  // The scales are in the order of the operation, which remains if the scalar is its first operand.
  if (!result.scalar_first) result.operands = exchanged(what.operands);
  return result;
}

}  // namespace

void emit_elementwise(Selection& s, const View& dst, const Elementwise& given, const Epilogue& epilogue) {
  if (!given.has_b || given.scalar) return emit_with_scalar(s, dst, given, epilogue);
  CARINA_CHECK(given.a.type == given.b.type, "operands of one type");
  const Elementwise what = with_its_scalar(s, dst, given);
  if (what.scalar) return emit_with_scalar(s, dst, what, epilogue);
  const Arranged order = arranged(s, dst, what);
  const std::array views{dst, broadcasted(order.first.view, dst.shape()), broadcasted(order.second.view, dst.shape())};
  for (const Box& box : boxes_of(views, s.family().abilities.symmetric_operands ? 1 : 2)) {
    Step op = base_step(what, epilogue);
    op.ofm = feature_map(box, 0, dst.tensor, epilogue.type, epilogue.zero_point);
    op.ifm = feature_map(box, 1, order.first.view.tensor, order.first.type, order.first.zero_point);
    op.ifm2 = feature_map(box, 2, order.second.view.tensor, order.second.type, order.second.zero_point);
    op.second = SecondOperand::kFeatureMap;
    op.first_broadcast = box.operands[1].broadcast;
    op.broadcast = box.operands[2].broadcast;
    op.operands = order.operands;
    op.swapped = order.swapped;
    s.push(std::move(op));
  }
}

Operand emit_temporary(Selection& s, std::string name, const Elementwise& what, const Epilogue& store) {
  Shape shape = what.a.view.shape();
  if (what.has_b && !what.scalar) {
    for (size_t i = 0; i < shape.rank(); ++i) shape[i] = std::max(shape[i], what.b.view.axes[i].size);
  }
  const View out = s.new_tensor(std::move(name), shape, store.type);
  emit_elementwise(s, out, what, store);
  return {.view = out, .type = store.type};
}

Elementwise times_scalar(const Operand& x, int64_t factor) {
  CARINA_CHECK(x.type.bits <= 16, "scalars have at most 16 bits");
  return {
      .mode = npu::ElementwiseMode::MUL, .a = x, .b = {.view = {}, .type = x.type}, .scalar = factor, .operands = {}};
}

namespace {

// The scaled operand alone, with nothing added to it, if the NPU can scale an operand so.
std::optional<Elementwise> scaled_alone(Selection& s, const Operand& narrow) {
  // Families that scale one operand precisely fix the other's factor. The other operand is 0 here, so its factor has no
  // effect.
  constexpr int kLargestFixedLog2 = 20;
  for (int log2 = 0; log2 <= kLargestFixedLog2; ++log2) {
    const Scaling fixed{{.multiplier = uint32_t{1} << log2}};
    if (const auto operands = s.family().operand_scaling(simplified(narrow.scaling), fixed, narrow.type)) {
      return Elementwise{.mode = npu::ElementwiseMode::ADD,
                         .a = narrow,
                         .b = {.view = {}, .type = narrow.type},
                         .scalar = 0,
                         .operands = *operands};
    }
  }
  return std::nullopt;
}

}  // namespace

void emit_widen(Selection& s, const View& dst, const Operand& narrow) {
  Epilogue store = store_only({}, kSigned32);
  const Scaling scaling = simplified(narrow.scaling);
  const auto scale_so = [&] {
    store.factors = {scaling};
    store.rounding = scaling.rounding;
  };
  if (s.family().abilities.wide_elements && scaling.first_shift == 0) {
    scale_so();
    return emit_requantize(s, dst, narrow, store);
  }
  if (scaling.is_unit()) return emit_elementwise(s, dst, times_scalar(narrow, 1), store);
  if (const auto alone = scaled_alone(s, narrow)) return emit_elementwise(s, dst, *alone, store);
  if (scaling.first_shift != 0) {  // both steps on their own
    Operand shifted = narrow;
    shifted.scaling = {{.multiplier = uint32_t{1} << scaling.first_shift}};
    const View wide = s.new_tensor("shifted", dst.shape(), kSigned32);
    emit_widen(s, wide, shifted);
    store.factors = {{.multiplier = scaling.multiplier, .shift = scaling.shift + scaling.first_shift}};
    store.rounding = scaling.rounding;
    return emit_scale_32(s, dst, wide, store);
  }
  const Operand wide = emit_temporary(s, "widened", times_scalar(narrow, 1), store);
  scale_so();
  emit_scale_32(s, dst, wide.view, store);
}

namespace {

Operand constant_multipliers(Selection& s, std::span<const int32_t> values, size_t rank) {
  std::vector<int64_t> dims(rank, 1);
  if (rank > 0) dims.back() = static_cast<int64_t>(values.size());
  const Shape shape{std::span<const int64_t>(dims)};
  const TensorId tensor = s.new_constant("multipliers", std::as_bytes(values), shape, 4);
  return {.view = dense_view(tensor, shape), .type = kSigned32};
}

// OFM_SCALE only shifts 32-bit products, so the multiplier is an operand.
void multiply_and_shift(Selection& s, const View& dst, const View& src, std::span<const int32_t> multipliers, int shift,
                        Epilogue epilogue) {
  epilogue.factors = {{.multiplier = 1, .shift = shift}};
  const Operand a{.view = src, .type = kSigned32};
  emit_elementwise(s, dst,
                   {.mode = npu::ElementwiseMode::MUL,
                    .a = a,
                    .b = constant_multipliers(s, multipliers, dst.rank()),
                    .operands = {}},
                   epilogue);
}

}  // namespace

void emit_scale_32(Selection& s, const View& dst, const View& src, const Epilogue& epilogue) {
  if (s.family().abilities.wide_elements) return emit_requantize(s, dst, {.view = src, .type = kSigned32}, epilogue);
  if (!epilogue.per_channel) {
    const Scaling scaling = simplified(epilogue.scaling());
    const std::array multiplier{static_cast<int32_t>(scaling.multiplier)};
    Epilogue simple = epilogue;
    simple.rounding = scaling.rounding;
    return multiply_and_shift(s, dst, src, multiplier, scaling.shift, simple);
  }
  // One operation has one shift, so adjacent channels with the same shift are computed together.
  const size_t axis = dst.rank() - 1;
  const auto channels = static_cast<size_t>(dst.axes[axis].size);
  for (size_t start = 0; start < channels;) {
    const int shift = epilogue.factors[start].shift;
    std::vector<int32_t> multipliers;
    size_t end = start;
    for (; end < channels && epilogue.factors[end].shift == shift; ++end)
      multipliers.push_back(static_cast<int32_t>(epilogue.factors[end].multiplier));
    const auto size = static_cast<int64_t>(end - start);
    multiply_and_shift(s, sliced_axis(dst, axis, static_cast<int64_t>(start), size),
                       sliced_axis(src, axis, static_cast<int64_t>(start), size), multipliers, shift, epilogue);
    start = end;
  }
}

void emit_requantize(Selection& s, const View& dst, const Operand& src, const Epilogue& epilogue) {
  // Channels with scales of their own are the channels of the operation, so they are contiguous.
  if (epilogue.per_channel && dst.axes.back().size > 1 && dst.axes.back().stride != 1) {
    const View dense = s.new_tensor("dense", dst.shape(), epilogue.type);
    emit_requantize(s, dense, src, epilogue);
    return emit_copy(s, dst, dense, epilogue.type);
  }
  const Operand from = epilogue.per_channel ? with_dense_channels(s, src) : src;
  const std::array views{dst, from.view};
  const WeightsId table = epilogue.per_channel ? scale_table(s, epilogue, dst.axes.back().size) : WeightsId();
  const auto acc = from.type.bits > 32 || epilogue.type.bits > 32 ? AccWidth::kWide : AccWidth::kNarrow;
  if (table.valid()) s.network().material.weights[table.index()].acc = acc;
  for (const Box& box :
       boxes_of(views, kNoBroadcast, epilogue.per_channel ? ChannelAxis::kInnermost : ChannelAxis::kAny)) {
    s.push({.kind = StepKind::kPool,
            .pool = from.type.bits >= 32 ? npu::PoolingMode::NONE : npu::PoolingMode::AVERAGE,
            .ofm = feature_map(box, 0, dst.tensor, epilogue.type, epilogue.zero_point),
            .ifm = feature_map(box, 1, from.view.tensor, from.type, from.zero_point),
            .weights = table,
            .per_channel = epilogue.per_channel,
            .scaling = epilogue.per_channel ? epilogue.scaling() : simplified(epilogue.scaling()),
            .activation = epilogue.activation,
            .acc = acc,
            .name = {}});
  }
}

}  // namespace carina::plan
