// Lowers the MXFP operators of the Arm backend (to_mxfp): the input is quantized to blocks, then multiplied by the
// block-scaled weights.

#include <fmt/format.h>

#include <array>
#include <optional>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "lower/ops/window_internal.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

constexpr int64_t kBlock = 32;

// The element types: the name in the operator's argument, and the elements in a byte of PyTorch's tensor.
struct PayloadRow {
  std::string_view name;
  DType dtype;
  int64_t elements_per_byte;
};
constexpr auto kPayloads = std::to_array<PayloadRow>({
    {.name = "f4e2m1", .dtype = DType::kFp4E2M1, .elements_per_byte = 2},
    {.name = "fp6e2m3", .dtype = DType::kFp6E2M3, .elements_per_byte = 1},
    {.name = "fp6e3m2", .dtype = DType::kFp6E3M2, .elements_per_byte = 1},
    {.name = "f8e4m3", .dtype = DType::kFp8E4M3, .elements_per_byte = 1},
    {.name = "f8e5m2", .dtype = DType::kFp8E5M2, .elements_per_byte = 1},
});

// The element type of the weights. Without a name it follows from the tensor's type; bytes are pairs of fp4.
const PayloadRow* payload_of(const Node& node, DType stored) {
  const auto& name = node.attributes.get<std::string>("weight_payload_dtype");
  const DType dtype = stored == DType::kUInt8 ? DType::kFp4E2M1 : stored;
  const auto* row = name.empty() ? std::ranges::find(kPayloads, dtype, &PayloadRow::dtype)
                                 : std::ranges::find(kPayloads, name, &PayloadRow::name);
  return row == kPayloads.end() ? nullptr : row;
}

// The weights in TOSA's form: one element in each byte. PyTorch stores the first element of a pair in the low bits.
Tensor elements_of(const Tensor& stored, const PayloadRow& payload) {
  Shape shape = stored.shape;
  shape[shape.rank() - 1] *= payload.elements_per_byte;
  MutableTensor out(payload.dtype, shape);
  const auto bytes = stored.data.bytes();
  const auto elements = out.bytes();
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = payload.elements_per_byte == 1 ? bytes[i] : bytes[i / 2] >> (i % 2 * 4) & std::byte{0xF};
  return std::move(out).freeze();
}

struct BlockScaled {
  ValueId data;
  ValueId scale;
};

BlockScaled mxfp_weights_of(Lowering& in, const Node& node) {
  const ir::Value& weight = in.value(node.inputs[1]);
  const PayloadRow& payload = *payload_of(node, weight.dtype);
  return {.data = in.out.constant(weight.name + "." + std::string(name_of(payload.dtype)),
                                  elements_of(*weight.constant, payload)),
          .scale = in.operand(node.inputs[2])};
}

// Quantizes a value to blocks along its last axis.
BlockScaled to_blocks(Lowering& in, ValueId value, DType element) {
  const Shape shape = in.out.shape(value);
  Shape blocks = shape;
  blocks[blocks.rank() - 1] /= kBlock;
  const auto made =
      in.out.emit(TosaOp::CAST_TO_BLOCK_SCALED, {value}, {{"block_size", kBlock}},
                  std::array{ir::Emitter::Made{.dtype = element, .shape = shape, .suffix = "blocks"},
                             ir::Emitter::Made{.dtype = DType::kFp8UE8M0, .shape = blocks, .suffix = "scales"}});
  return {.data = made[0], .scale = made[1]};
}

bool has_bias(const Node& node) {
  return node.inputs.size() > 3 && node.inputs[3].valid();
}

// [...,C] with weights [1,W,C]: one product of [1,rows,C].
Result<ValueId> mxfp_linear(Lowering& in, const Node& node) {
  const BlockScaled weights = mxfp_weights_of(in, node);
  const Shape from = in.shape(node.inputs[0]), weight = in.out.shape(weights.data);
  const int64_t rows = from.elements() / weight[2];
  const ValueId matrix = in.out.reshape(in.operand(node.inputs[0]), Shape{1, rows, weight[2]});
  const BlockScaled input = to_blocks(in, matrix, in.out.dtype(weights.data));
  const ValueId product = in.out.emit(TosaOp::MATMUL_T_BLOCK_SCALED,
                                      {input.data, input.scale, weights.data, weights.scale}, {{"block_size", kBlock}},
                                      {.dtype = DType::kFp32, .shape = Shape{1, rows, weight[1]}, .suffix = "product"});
  const ValueId result = in.out.reshape(product, in.shape(node.outputs[0]));
  if (!has_bias(node)) return result;
  return in.out.binary(TosaOp::ADD, result, in.out.cast(in.operand(node.inputs[3]), DType::kFp32));
}

// [N,C,H,W] with weights [OC,KH,KW,C]
Result<ValueId> mxfp_conv2d(Lowering& in, const Node& node) {
  const BlockScaled weights = mxfp_weights_of(in, node);
  const Shape from = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]), weight = in.out.shape(weights.data);
  const auto &padding = node.attributes.integers("padding"), &dilation = node.attributes.integers("dilation");
  const WindowPlan plan = plan_windows({.kernel = {weight[1], weight[2]},
                                        .stride = node.attributes.integers("stride"),
                                        .dilation = dilation,
                                        .pad = {padding[0], padding[0], padding[1], padding[1]}},
                                       from, result);
  const ValueId image = trimmed(in.out, in.out.to_nhwc(in.operand(node.inputs[0])), plan);
  const BlockScaled input = to_blocks(in, image, in.out.dtype(weights.data));
  const ValueId bias =
      has_bias(node) ? in.out.cast(in.operand(node.inputs[3]), DType::kFp32) : in.out.splat(DType::kFp32, 0, 1);
  const ValueId sum =
      in.out.emit(TosaOp::CONV2D_BLOCK_SCALED,
                  {input.data, input.scale, weights.data, weights.scale, bias, in.out.shape_constant(plan.pad),
                   in.out.shape_constant(plan.stride), in.out.shape_constant(dilation)},
                  {{"block_size", kBlock}},
                  {.dtype = DType::kFp32, .shape = Shape{result[0], result[2], result[3], result[1]}, .suffix = "acc"});
  return in.out.to_nchw(sum);
}

constexpr LoweringRow kBlockScaledRows[] = {
    {.op = AtenOp::mxfp_linear_default, .integers = PlainIntegers::kNone, .legal = always, .lower = mxfp_linear},
    {.op = AtenOp::mxfp_conv2d_default, .integers = PlainIntegers::kNone, .legal = always, .lower = mxfp_conv2d},
};
static_assert(lowers_all_of(kBlockScaledRows, {AtenFamily::kBlockScaled}));

}  // namespace

// Also for targets with floats, for which no row's `legal` runs.
Rejected check_block_scaled(const Candidate& c) {
  if (traits_of(c.node.op.aten()).family != AtenFamily::kBlockScaled) return std::nullopt;
  if (!c.target.takes_block_scaled)
    return rejected("types.mxfp", fmt::format("{} does not compute with MXFP", c.target.name),
                    "use the target TOSA-1.1+FP+mxfp");
  const ir::Value &weight = c.input(1), &scale = c.input(2);
  if (!weight.constant || !scale.constant || scale.dtype != DType::kFp8UE8M0)
    return rejected("weights.mxfp", "weights and their scales must be constants, the scales fp8ue8m0", "use to_mxfp()");
  if (payload_of(c.node, weight.dtype) == nullptr)
    return rejected("weights.mxfp", fmt::format("{} has type {}", weight.name, name_of(weight.dtype)), "use to_mxfp()");
  if (c.node.attributes.integer("block_size") != kBlock)
    return rejected("weights.mxfp", "TOSA has blocks of 32 elements only", "use to_mxfp()");
  if (c.node.op.aten() == AtenOp::mxfp_conv2d_default && c.node.attributes.integer("groups") != 1)
    return rejected("groups.mxfp", "TOSA has no block-scaled convolution with groups", "use one convolution per group");
  return std::nullopt;
}

std::span<const LoweringRow> block_scaled_rows() {
  return kBlockScaledRows;
}

}  // namespace carina::lower
