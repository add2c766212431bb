#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "facts/aten_ops.h"

namespace carina {

// The family of an operator. For an operator that is lowered, it is the file of its lowering (src/lower/ops).
enum class AtenFamily : uint8_t {
  kConvolution,
  kProduct,
  kNormalization,
  kLimit,     // relu, clamp
  kFunction,  // of one element
  kArithmetic,
  kDivision,  // rounded divisions and remainders
  kLogic,
  kPool,
  kResample,
  kReduction,
  kMovement,
  kIndexing,
  kConversion,
  kSource,
  kComposite,
  kBlockScaled,  // MXFP
  kQuantization,
  kDelegate,
};

// Whether the result is a view of the first operand, and how a write through the view reaches that operand.
enum class AtenAlias : uint8_t { kFresh, kSame, kReshape, kPermute, kTranspose, kScatter };

// The quantization parameters of a quantized result.
enum class AtenQuantization : uint8_t {
  kOwn,
  kFirst,       // those of the first operand
  kAll,         // all operands and results share their parameters
  kBranches,    // as kAll, if the only constant among the operands is 0; another constant would widen the range
  kOperands,    // the operands share their parameters, except constants, which the lowering quantizes; the result is
                // not quantized
  kActivation,  // as kFirst; it fuses with its producer and keeps order: q(f(x)) = f(q(x))
};

// The origin of the result's elements.
enum class AtenData : uint8_t {
  kComputed,
  kPermuted,  // each is an element of the first operand
  kGathered,  // each is an element of an operand, or a constant of the node; clone may requantize
};

// Whether the lowering quantizes a float constant by itself.
enum class FloatConstants : uint8_t { kTaken, kNotTaken };

// How an operator becomes TOSA.
struct AtenLowering {
  enum class Kind : uint8_t {
    kDirect,   // by a row in src/lower/ops; `text`: notes for users
    kBecomes,  // src/normalize replaces it by other operators; `text` names them
    kNone,     // it stays on the CPU; `text` gives the reason, if there is one besides a missing lowering
  } kind;
  std::string_view text;
};

// The CPU form of an ATen node: an out-variant kernel of ExecuTorch's runtime and its arguments in order, separated by
// blanks. %n is the n-th tensor operand (None if absent). %* is all operands as a TensorList. =literal is a constant
// (None, true, false, a number, [a,b]). Anything else is the node's attribute of that name. The output tensors follow
// automatically. `hidden_outputs` are further outputs of the kernel that the node does not have, one pte element type
// each. Names and schemas are those of ExecuTorch 1.5's portable, optimized and quantized kernel libraries.
struct AtenKernel {
  std::string_view name = {};      // "aten::convolution"; empty: there is none
  std::string_view overload = {};  // "out"
  std::string_view arguments = {};
  std::string_view hidden_outputs = {};
};

// The properties of an operator in addition to its schema (aten_ops.def). All libraries read them here.
struct AtenTraits {
  AtenOp op;
  AtenFamily family;
  AtenAlias alias = AtenAlias::kFresh;
  AtenQuantization quantization = AtenQuantization::kOwn;
  AtenData data = AtenData::kComputed;
  FloatConstants float_constants = FloatConstants::kNotTaken;
  AtenLowering lowering;
  std::string_view cpu_form = {};  // for an operator without a CPU kernel: the operators that replace it on the CPU
  AtenKernel kernel = {};
};

namespace detail {
constexpr AtenLowering direct(std::string_view remark = {}) {
  return {.kind = AtenLowering::Kind::kDirect, .text = remark};
}
constexpr AtenLowering becomes(std::string_view operators) {
  return {.kind = AtenLowering::Kind::kBecomes, .text = operators};
}
constexpr AtenLowering none(std::string_view reason) {
  return {.kind = AtenLowering::Kind::kNone, .text = reason};
}

constexpr auto aten_traits() {
  using enum AtenFamily;
  using enum AtenAlias;
  using enum AtenQuantization;
  using enum AtenData;
  using enum FloatConstants;
  return std::to_array<AtenTraits>({
#define CARINA_ATEN_OP(space, name, overload, schema, ...) \
  {.op = AtenOp::CARINA_ENUMERATOR_##space(name, overload), .family = CARINA_ATEN_FAMILY, __VA_ARGS__},
#include "facts/aten_ops.def"
#undef CARINA_ATEN_OP
  });
}
}  // namespace detail

// By operator.
inline constexpr auto kAtenTraits = detail::aten_traits();

namespace detail {
constexpr bool data_movement_shares() {
  for (const AtenTraits& row : kAtenTraits) {
    if (row.data == AtenData::kPermuted && row.quantization != AtenQuantization::kFirst) return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::data_movement_shares(), "what only moves the first operand's elements has its parameters");

constexpr const AtenTraits& traits_of(AtenOp op) {
  return kAtenTraits[static_cast<size_t>(op)];
}

constexpr bool is_lowered(AtenOp op) {
  return traits_of(op).lowering.kind == AtenLowering::Kind::kDirect;
}
constexpr const AtenKernel& kernel_of(AtenOp op) {
  return traits_of(op).kernel;
}
constexpr bool has_kernel(AtenOp op) {
  return !kernel_of(op).name.empty();
}
constexpr bool is_data_movement(AtenOp op) {
  return traits_of(op).data != AtenData::kComputed;
}
// Returns whether the operator keeps order, as quantization does. The two may then be exchanged.
constexpr bool keeps_order(AtenOp op) {
  return traits_of(op).data == AtenData::kPermuted || traits_of(op).quantization == AtenQuantization::kActivation;
}
constexpr bool takes_float_constants(AtenOp op) {
  return traits_of(op).float_constants == FloatConstants::kTaken;
}

// Returns whether `rows` (each with a member `op`) cover every operator of these families that is lowered directly,
// each once.
template <typename Rows>
constexpr bool lowers_all_of(const Rows& rows, std::initializer_list<AtenFamily> families) {
  size_t expected = 0;
  for (const AtenTraits& traits : kAtenTraits) {
    if (!is_lowered(traits.op) || std::ranges::find(families, traits.family) == families.end()) continue;
    ++expected;
    if (std::ranges::count(rows, traits.op, [](const auto& row) { return row.op; }) != 1) return false;
  }
  return expected == std::size(rows);
}

// Returns whether `rows` rewrite only operators with the status kBecomes, or lowered operators into a simpler form.
template <typename Rows>
constexpr bool rewrites_what_becomes(const Rows& rows) {
  return std::ranges::none_of(
      rows, [](const auto& row) { return traits_of(row.op).lowering.kind == AtenLowering::Kind::kNone; });
}

}  // namespace carina
