// ADD, SUB and MUL of integers in quantized models: both operands and the result are rescaled. The intermediate i32
// values exist only in a small buffer.

#include <algorithm>

#include "interpret/checks_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"
#include "interpret/ops/rescale_internal.h"
#include "interpret/ops/sum_f32_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kChunk = 2048;

// The RESCALE of an operand, and the largest magnitude of its result.
struct Rescaled {
  kernels::Scales scales;
  DType type;
  int64_t bound;
};

std::optional<Rescaled> rescaled(const NodePlan& front) {
  const DType type = front.in[0].dtype;
  if (!check_rescale(front) || (type != kInt8 && type != kInt16) || front.in[3].constant == nullptr)
    return std::nullopt;
  const IntegerRange range = range_of(type);
  const int64_t zero_point = scalar_at(front.in[3].constant->data.data(), type);
  const int64_t largest = std::max(range.max - zero_point, zero_point - range.min - 1);
  auto scales = constant_scales(front, largest);
  if (!scales || scales->per_channel) return std::nullopt;
  const int64_t bound =
      (((largest + 1) << scales->before.front()) * scales->multiplier.front() >> (32 + scales->after.front())) + 2;
  return Rescaled{.scales = *std::move(scales), .type = type, .bound = bound};
}

// Returns the largest magnitude of the result. It exceeds i32 if the result might not fit.
int64_t bound_of(kernels::Combine op, int64_t a, int64_t b) {
  return op == kernels::Combine::kMul ? a * b : a + b;
}

struct RescaledBinary {
  kernels::Combine op;
  Rescaled a;
  Rescaled b;
  IntegerEpilogue epilogue;
  int64_t elements;

  static void scale_chunk(const Rescaled& operand, const std::byte* in, int64_t at, int64_t count, int32_t* out) {
    kernels::scale_rows({.scales = operand.scales,
                         .in_type = operand.type,
                         .out_type = kInt32,
                         .in = in + static_cast<size_t>(at) * element_bytes(operand.type),
                         .out = out,
                         .in_stride = count,
                         .out_stride = count,
                         .rows = 1,
                         .first = 0,
                         .channels = count});
  }

  Result<void> run(const Call& call) const {
    split_slots(call.runtime.workers, elements, 2048, [&](int64_t slot, int64_t begin, int64_t end) {
      auto* left = reinterpret_cast<int32_t*>(call.scratch) + slot * 2 * kChunk;
      int32_t* right = left + kChunk;
      for (int64_t at = begin; at < end; at += kChunk) {
        const int64_t count = std::min(kChunk, end - at);
        scale_chunk(a, call.in[0], at, count, left);
        scale_chunk(b, call.in[1], at, count, right);
        kernels::combine_i32(op, left, right, count);
        kernels::scale_rows({.scales = *epilogue.scales,
                             .in_type = kInt32,
                             .out_type = epilogue.out_type,
                             .in = left,
                             .out = call.out[0] + static_cast<size_t>(at) * element_bytes(epilogue.out_type),
                             .in_stride = count,
                             .out_stride = count,
                             .rows = 1,
                             .first = 0,
                             .channels = count});
      }
    });
    return {};
  }
};

std::optional<FrontKernel> fuse(const FrontPlan& fused, kernels::Combine op) {
  const NodePlan& plan = fused.rest.node;
  if (plan.out.size() != 1 || plan.out[0].dtype != kInt32) return std::nullopt;
  const Shape& shape = *plan.out[0].shape;
  if (!(*plan.in[0].shape == shape) || !(*plan.in[1].shape == shape) || plan.in[0].dtype != kInt32 ||
      plan.in[1].dtype != kInt32)
    return std::nullopt;
  if (op == kernels::Combine::kMul &&
      (plan.in[2].constant == nullptr || plan.in[2].dtype != kInt8 || plan.in[2].shape->elements() != 1 ||
       scalar_at(plan.in[2].constant->data.data(), kInt8) != 0)) {
    return std::nullopt;
  }
  auto a = rescaled(fused.front[0]);
  auto b = rescaled(fused.front[1]);
  if (!a || !b) return std::nullopt;
  const int64_t bound = bound_of(op, a->bound, b->bound);
  if (bound > INT32_MAX) return std::nullopt;
  auto epilogue = integer_epilogue(fused.rest, bound);
  if (!epilogue || !epilogue->scales || epilogue->scales->per_channel) return std::nullopt;
  RescaledBinary binary{
      .op = op, .a = *std::move(a), .b = *std::move(b), .epilogue = *std::move(epilogue), .elements = shape.elements()};
  return FrontKernel{{.run = [binary = std::move(binary)](const Call& call) { return binary.run(call); },
                      .scratch_bytes = static_cast<size_t>(plan.threads * 2 * kChunk) * sizeof(int32_t)}};
}

}  // namespace

std::optional<Kernel> fuse_tail_ADD(const TailPlan& plan) {
  return clamped_sum_f32(plan);
}
std::optional<FrontKernel> fuse_front_ADD(const FrontPlan& plan) {
  return fuse(plan, kernels::Combine::kAdd);
}
std::optional<FrontKernel> fuse_front_SUB(const FrontPlan& plan) {
  return fuse(plan, kernels::Combine::kSub);
}
std::optional<FrontKernel> fuse_front_MUL(const FrontPlan& plan) {
  return fuse(plan, kernels::Combine::kMul);
}

}  // namespace carina::interpret
