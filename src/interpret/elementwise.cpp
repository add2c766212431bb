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

template <size_t N>
ElementwiseRows<N>::ElementwiseRows(const NodePlan& plan, const ElementwiseType& type)
    : type_(type), shape_(*plan.out[0].shape) {
  std::array<const Shape*, N> shapes;
  for (size_t n = 0; n < N; ++n) shapes[n] = plan.in[n].shape;
  walk_ = plan_walk<N>(shape_, shapes);
}

template <size_t N>
Result<void> ElementwiseRows<N>::run(const Call& call, const void* function) const {
  FirstBad first_bad;
  const auto row = [&](int64_t out_at, const std::array<int64_t, N>& at, int64_t length) {
    std::array<const std::byte*, N> in;
    for (size_t n = 0; n < N; ++n) in[n] = call.in[n] + at[n] * static_cast<int64_t>(type_.in_bytes[n]);
    std::byte* const out = call.out[0] + out_at * static_cast<int64_t>(type_.out_bytes);
    const int64_t bad = type_.row(function, out, in.data(), walk_.inner_stride.data(), length);
    if (bad >= 0) first_bad.report(out_at + bad);
  };
  for_each_row(call.runtime.workers, walk_, row);
  if (first_bad.any()) return fail_at(call, shape_, first_bad.element(), std::string(type_.require));
  return {};
}

template <size_t N>
Kernel elementwise_kernel(const NodePlan& plan, const ElementwiseType& type, const void* function) {
  auto rows = std::make_shared<const ElementwiseRows<N>>(plan, type);
  return {.run = [rows = std::move(rows), function](const Call& call) { return rows->run(call, function); }};
}

template class ElementwiseRows<1>;
template class ElementwiseRows<2>;
template class ElementwiseRows<3>;
template Kernel elementwise_kernel<1>(const NodePlan&, const ElementwiseType&, const void*);
template Kernel elementwise_kernel<2>(const NodePlan&, const ElementwiseType&, const void*);
template Kernel elementwise_kernel<3>(const NodePlan&, const ElementwiseType&, const void*);

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
