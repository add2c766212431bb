// ADD, SUB and MUL of integers in quantized models: both operands and the result are rescaled, and operands may
// broadcast. The intermediate i32 values exist only in small buffers.
//   Example: i8[256,384] - i8[256,1] of a layer norm: a block of 5 rows needs 5 rescaled values of the second operand.
//   A RESCALE of the first by a power of 2 is computed in the registers of the subtraction.

#include <algorithm>

#include "interpret/checks_internal.h"
#include "interpret/elementwise_blocks_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"
#include "interpret/ops/rescale_internal.h"
#include "interpret/ops/rescaled_operand_internal.h"
#include "interpret/ops/sum_f32_internal.h"

namespace carina::interpret {

void RescaledOperand::run(const std::byte* in, int64_t count, int32_t* out) const {
  kernels::scale_rows({.scales = scales,
                       .in_type = type,
                       .out_type = DType::kInt32,
                       .in = in,
                       .out = out,
                       .in_stride = count,
                       .out_stride = count,
                       .rows = 1,
                       .first = 0,
                       .channels = count});
}

void RescaledOperand::run(const std::byte* in, int64_t stride, int64_t rows, int64_t columns, int32_t* out) const {
  for (int64_t r = 0; r < rows; ++r)
    run(in + static_cast<size_t>(r * stride) * element_bytes(type), columns, out + r * columns);
}

namespace {

using enum DType;
using kernels::CombineIntegers;

constexpr int64_t kBlock = 2048;

std::optional<RescaledOperand> rescaled(const NodePlan& front, bool is_shared) {
  const DType type = front.in[0].dtype;
  if (!check_rescale(front) || (type != kInt8 && type != kInt16) || front.in[3].constant == nullptr)
    return std::nullopt;
  const IntegerRange range = range_of(type);
  const int64_t zero_point = scalar_at(front.in[3].constant->data.data(), type);
  const int64_t largest = std::max(range.max - zero_point, zero_point - range.min - 1);
  auto scales = constant_scales(front, largest);
  // Computing a shift again costs less than reading its result.
  if (!scales || scales->per_channel || (is_shared && !scales->left_shift)) return std::nullopt;
  const int64_t bound =
      (((largest + 1) << scales->before.front()) * scales->multiplier.front() >> (32 + scales->after.front())) + 2;
  return RescaledOperand{.scales = *std::move(scales), .type = type, .bound = bound};
}

// The operation on the operands in their order, or on the second and the first.
CombineIntegers turned(CombineIntegers op) {
  return op == CombineIntegers::kSub ? CombineIntegers::kSubFrom : op;
}

// Returns the largest magnitude of the result. It exceeds i32 if the result might not fit.
int64_t bound_of(CombineIntegers op, int64_t a, int64_t b) {
  return op == CombineIntegers::kMul ? a * b : a + b;
}

struct RescaledBinary {
  CombineIntegers op;  // of `first` and `second`
  std::array<RescaledOperand, 2> operands;
  size_t first;  // the operand that has an element for each column
  Blocks<2> blocks;
  IntegerEpilogue epilogue;

  [[nodiscard]] const std::byte* at(const Call& call, size_t n, int64_t row, int64_t column) const {
    return call.in[n] + static_cast<size_t>(blocks.offset(n, row, column)) * element_bytes(operands[n].type);
  }

  // The rows of the first operand, rescaled to `own` unless the operation does that.
  [[nodiscard]] kernels::NarrowRows first_rows(const Call& call, const Blocks<2>::Block& block, int32_t* own) const {
    const RescaledOperand& operand = operands[first];
    const std::byte* data = at(call, first, block.row, block.column);
    const int64_t stride = blocks.stride(first, block.columns);
    if (operand.is_shift())
      return {.data = data,
              .type = operand.type,
              .stride = stride,
              .zero_point = operand.scales.input_zp,
              .left_shift = *operand.scales.left_shift};
    operand.run(data, stride, block.rows, block.columns, own);
    return {.data = own, .type = kInt32, .stride = block.columns};
  }

  // The rows of the second operand, rescaled to `own`.
  [[nodiscard]] kernels::RowsI32 second_rows(const Call& call, const Blocks<2>::Block& block, int32_t* own) const {
    if (op == CombineIntegers::kSquare) return {.data = own, .stride = 0, .repeats = true};
    const RescaledOperand& operand = operands[1 - first];
    const std::byte* data = at(call, 1 - first, block.row, block.column);
    const bool repeats = blocks.walk.inner_stride[1 - first] == 0;
    const int64_t columns = repeats ? 1 : block.columns, stride = blocks.stride(1 - first, block.columns);
    if (stride != 0 && stride != columns) {
      operand.run(data, stride, block.rows, columns, own);
      return {.data = own, .stride = columns, .repeats = repeats};
    }
    operand.run(data, stride == 0 ? columns : block.rows * columns, own);
    return {.data = own, .stride = stride, .repeats = repeats};
  }

  void run_block(const Call& call, const Blocks<2>::Block& block, int32_t* left, int32_t* right) const {
    kernels::combine_i32({.op = op,
                          .a = first_rows(call, block, left),
                          .b = second_rows(call, block, right),
                          .out = left,
                          .rows = block.rows,
                          .columns = block.columns});
    const int64_t count = block.rows * block.columns;
    const int64_t out = block.row * blocks.walk.inner + block.column;
    kernels::scale_rows({.scales = *epilogue.scales,
                         .in_type = kInt32,
                         .out_type = epilogue.out_type,
                         .in = left,
                         .out = call.out[0] + static_cast<size_t>(out) * element_bytes(epilogue.out_type),
                         .in_stride = count,
                         .out_stride = count,
                         .rows = 1,
                         .first = 0,
                         .channels = count});
  }

  Result<void> run(const Call& call) const {
    split_slots(call.runtime.workers, blocks.count(), 1, [&](int64_t slot, int64_t begin, int64_t end) {
      auto* left = reinterpret_cast<int32_t*>(call.scratch) + slot * 2 * kBlock;
      for (int64_t index = begin; index < end; ++index) run_block(call, blocks.at(index), left, left + kBlock);
    });
    return {};
  }
};

bool can_combine(const NodePlan& plan, CombineIntegers op) {
  if (plan.out.size() != 1 || plan.out[0].dtype != kInt32 || plan.in[0].dtype != kInt32 || plan.in[1].dtype != kInt32)
    return false;
  const auto shape = broadcast(*plan.in[0].shape, *plan.in[1].shape);
  if (!shape || !(*shape == *plan.out[0].shape)) return false;
  return op != CombineIntegers::kMul ||
         (plan.in[2].constant != nullptr && plan.in[2].dtype == kInt8 && plan.in[2].shape->elements() == 1 &&
          scalar_at(plan.in[2].constant->data.data(), kInt8) == 0);
}

std::optional<FrontKernel> fuse(const FrontPlan& fused, CombineIntegers op) {
  const NodePlan& plan = fused.rest.node;
  if (!can_combine(plan, op)) return std::nullopt;
  auto a = rescaled(fused.front[0].node, fused.front[0].is_shared);
  auto b = rescaled(fused.front[1].node, fused.front[1].is_shared);
  if (!a || !b) return std::nullopt;
  const int64_t bound = bound_of(op, a->bound, b->bound);
  if (bound > INT32_MAX) return std::nullopt;
  auto epilogue = integer_epilogue(fused.rest, bound);
  if (!epilogue || !epilogue->scales || epilogue->scales->per_channel) return std::nullopt;
  const auto walk = plan_walk<2>(*plan.out[0].shape, {plan.in[0].shape, plan.in[1].shape});
  const bool second_is_first = walk.inner_stride[0] == 0 || (walk.inner_stride[1] != 0 && !a->is_shift());
  const bool is_square = op == CombineIntegers::kMul && plan.node.inputs[0] == plan.node.inputs[1];
  RescaledOperation operation{.op = is_square         ? CombineIntegers::kSquare
                                    : second_is_first ? turned(op)
                                                      : op,
                              .operands = {*std::move(a), *std::move(b)},
                              .first = second_is_first ? size_t{1} : size_t{0},
                              .constants = {fused.front[0].node.in[0].constant, fused.front[1].node.in[0].constant},
                              .walk = walk,
                              .epilogue = *std::move(epilogue),
                              .threads = plan.threads};
  if (auto kernel = affine_operation(operation)) return FrontKernel{*std::move(kernel)};
  if (auto kernel = square_of_bytes(operation)) return FrontKernel{*std::move(kernel)};
  if (auto kernel = combination_of_bytes(operation)) return FrontKernel{*std::move(kernel)};
  RescaledBinary binary{.op = operation.op,
                        .operands = std::move(operation.operands),
                        .first = operation.first,
                        .blocks = Blocks<2>(walk, kBlock),
                        .epilogue = std::move(operation.epilogue)};
  return FrontKernel{{.run = [binary = std::move(binary)](const Call& call) { return binary.run(call); },
                      .scratch_bytes = static_cast<size_t>(plan.threads * 2 * kBlock) * sizeof(int32_t)}};
}

}  // namespace

std::optional<Kernel> fuse_tail_ADD(const TailPlan& plan) {
  return clamped_sum_f32(plan);
}
std::optional<FrontKernel> fuse_front_ADD(const FrontPlan& plan) {
  return fuse(plan, CombineIntegers::kAdd);
}
std::optional<FrontKernel> fuse_front_SUB(const FrontPlan& plan) {
  return fuse(plan, CombineIntegers::kSub);
}
std::optional<FrontKernel> fuse_front_MUL(const FrontPlan& plan) {
  return fuse(plan, CombineIntegers::kMul);
}

}  // namespace carina::interpret
