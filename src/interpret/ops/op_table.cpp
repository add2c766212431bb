#include "interpret/ops/op_table_internal.h"

#include <algorithm>
#include <array>

namespace carina::interpret {

// One function per operator, in the file of its family. A missing function is a link error.
#define CARINA_TOSA_OP(name, number) Result<Kernel> prepare_##name(const NodePlan& plan);
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP

// The operators whose kernels can fuse following nodes, and those whose kernels can fuse the RESCALE of their operands.
#define CARINA_TAIL_OPS(X) X(CONV2D) X(CONV3D) X(DEPTHWISE_CONV2D) X(TRANSPOSE_CONV2D) X(MATMUL) X(ADD)
// Of the latter, also how many operands.
#define CARINA_FRONT_OPS(X) X(ADD, 2) X(SUB, 2) X(MUL, 2) X(REDUCE_SUM, 1)
#define CARINA_DECLARE(name) std::optional<Kernel> fuse_tail_##name(const TailPlan& plan);
CARINA_TAIL_OPS(CARINA_DECLARE)
#undef CARINA_DECLARE
#define CARINA_DECLARE(name, size) std::optional<FrontKernel> fuse_front_##name(const FrontPlan& plan);
CARINA_FRONT_OPS(CARINA_DECLARE)
#undef CARINA_DECLARE

namespace {

constexpr FuseTail fuse_tail_of(TosaOp op) {
#define CARINA_ROW(name) \
  if (op == TosaOp::name) return &fuse_tail_##name;
  CARINA_TAIL_OPS(CARINA_ROW)
#undef CARINA_ROW
  return nullptr;
}

constexpr FuseFront fuse_front_of(TosaOp op) {
#define CARINA_ROW(name, size) \
  if (op == TosaOp::name) return &fuse_front_##name;
  CARINA_FRONT_OPS(CARINA_ROW)
#undef CARINA_ROW
  return nullptr;
}

constexpr size_t front_size_of(TosaOp op) {
#define CARINA_ROW(name, size) \
  if (op == TosaOp::name) return size;
  CARINA_FRONT_OPS(CARINA_ROW)
#undef CARINA_ROW
  return 0;
}

constexpr auto kRows = std::to_array<OpRow>({
#define CARINA_TOSA_OP(name, number)          \
  {.op = TosaOp::name,                        \
   .prepare = &prepare_##name,                \
   .fuse_tail = fuse_tail_of(TosaOp::name),   \
   .fuse_front = fuse_front_of(TosaOp::name), \
   .front_size = front_size_of(TosaOp::name)},
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP
});
static_assert(kRows.size() == kTosaOpCount);

}  // namespace

const OpRow* kernel_row_of(TosaOp op) {
  const auto row = std::ranges::find(kRows, op, &OpRow::op);
  return row == kRows.end() ? nullptr : &*row;
}

}  // namespace carina::interpret
