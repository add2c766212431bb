#include "interpret/ops/op_table_internal.h"

#include <algorithm>
#include <array>

namespace carina::interpret {

// One function per operator, in the file of its family. A missing function is a link error.
#define CARINA_TOSA_OP(name, number) Result<Kernel> prepare_##name(const NodePlan& plan);
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP

// The operators that can fuse following nodes into their kernel.
#define CARINA_FUSED_OPS(X) X(CONV2D) X(CONV3D) X(DEPTHWISE_CONV2D) X(MATMUL) X(ADD) X(SUB) X(MUL)
#define CARINA_DECLARE(name) std::optional<Kernel> fuse_##name(const NodePlan& plan);
CARINA_FUSED_OPS(CARINA_DECLARE)
#undef CARINA_DECLARE

namespace {

constexpr PrepareFused fused_of(TosaOp op) {
#define CARINA_ROW(name) \
  if (op == TosaOp::name) return &fuse_##name;
  CARINA_FUSED_OPS(CARINA_ROW)
#undef CARINA_ROW
  return nullptr;
}

constexpr auto kRows = std::to_array<OpRow>({
#define CARINA_TOSA_OP(name, number) {.op = TosaOp::name, .prepare = &prepare_##name, .fuse = fused_of(TosaOp::name)},
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
