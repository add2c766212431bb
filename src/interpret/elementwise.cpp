#include "interpret/elementwise_internal.h"

#include <fmt/format.h>

namespace carina::interpret {

std::vector<int64_t> detail::broadcast_strides(const Shape& shape, const Shape& out) {
  std::vector<int64_t> strides(out.rank(), 0);
  int64_t stride = 1;
  for (size_t axis = out.rank(); axis-- > 0;) {
    strides[axis] = shape[axis] == 1 ? 0 : stride;
    stride *= shape[axis];
  }
  return strides;
}

Result<void> check_elementwise(const NodePlan& plan, size_t operands, size_t extra_operands) {
  Checks checks(plan);
  checks.operands(operands + extra_operands, 1);
  if (!checks.good()) return checks.done();
  Shape shape = *plan.in[0].shape;
  for (size_t i = 1; i < operands; ++i) {
    const auto wider = broadcast(shape, *plan.in[i].shape);
    if (!wider) {
      return fail(plan.diagnostic("operands do not broadcast", "equal ranks, sizes equal or 1",
                                  fmt::format("{} and {}", to_string(shape), to_string(*plan.in[i].shape))));
    }
    shape = *wider;
  }
  return checks.shape(plan.out[0], shape).done();
}

Result<Kernel> prepare_elementwise(const NodePlan& plan, size_t operands, std::span<const TypeRow> rows) {
  CARINA_CHECKED(check_elementwise(plan, operands));
  return choose(plan, rows);
}

}  // namespace carina::interpret
