#include "interpret/ops/op_table_internal.h"

#include <algorithm>
#include <array>

namespace carina::interpret {

// One function per operator, named after it, in the file of its family; a missing one does not link.
#define CARINA_TOSA_OP(name, number) Result<Kernel> prepare_##name(const NodePlan& plan);
#include "facts/tosa_ops.def"
#undef CARINA_TOSA_OP

namespace {

constexpr auto kRows = std::to_array<OpRow>({
#define CARINA_TOSA_OP(name, number) {.op = TosaOp::name, .prepare = &prepare_##name},
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
