#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/index_values_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

// scatter: out[.., indices[.., i, ..], ..] = source[.., i, ..] along one axis, with a value or with additions.
namespace carina::runtime {

namespace {

struct Scatter {
  size_t axis = 0;
  const Tensor* positions = nullptr;
  Walk<3> walk;  // over the indices, the source and the output
};

// Plans a walk over the index tensor. All indices are checked before anything is written.
Error plan_scatter(Call& call, const Tensor& in, const Tensor& positions, const Tensor* source, const Tensor& out,
                   int64_t dim, Scatter& scatter) {
  call.fit_like(out, in);
  call.require(in.type == out.type && positions.rank() == in.rank() &&
               (in.rank() == 0 || axis_of(dim, in.rank(), scatter.axis)) &&
               (source == nullptr || (source->rank() == in.rank() && source->type == in.type)));
  call.support(holds_indices(positions));
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out), index = layout_of(positions),
               from = layout_of(source == nullptr ? positions : *source);
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    call.require(index.sizes[axis] <= from.sizes[axis] &&
                 (axis == scatter.axis || index.sizes[axis] <= to.sizes[axis]));
    scatter.walk.add_axis(index.sizes[axis],
                          {index.strides[axis], from.strides[axis], axis == scatter.axis ? 0 : to.strides[axis]});
  }
  CARINA_RT_TRY(call.error());
  const int64_t size = in.rank() == 0 ? 1 : to.sizes[scatter.axis];
  for (size_t i = 0; i < positions.elements(); ++i) {
    int64_t checked = 0;
    if (!index_in_axis(positions, static_cast<int64_t>(i), size, checked)) return Error::kInvalidArgument;
  }
  scatter.positions = &positions;
  return Error::kOk;
}

// Calls function(offset in the source, offset in the output) for each position.
template <typename Function>
void for_positions(const Tensor& out, Scatter& scatter, const Function& function) {
  const Layout to = layout_of(out);
  const int64_t count = scatter.walk.count();
  for (int64_t i = 0; i < count; ++i, scatter.walk.next()) {
    int64_t index = 0;
    static_cast<void>(
        index_in_axis(*scatter.positions, scatter.walk.at[0], to.rank == 0 ? 1 : to.sizes[scatter.axis], index));
    function(scatter.walk.at[1], scatter.walk.at[2] + (to.rank == 0 ? 0 : index * to.strides[scatter.axis]));
  }
}

Error copy_all(const Tensor& in, const Tensor& out) {
  return map_unary(in, out, [](auto a) { return a; });
}

}  // namespace

// (input, dim, indices, source, out): out[.., indices[.., i, ..], ..] = source[.., i, ..]; of equal indices the last
// one is effective
Error scatter(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &positions = call.tensor(2), &source = call.tensor(3), &out = call.out(4);
  const int64_t dim = call.integer(1);
  CARINA_RT_TRY(call.error());
  Scatter scatter;
  CARINA_RT_TRY(plan_scatter(call, in, positions, &source, out, dim, scatter));
  CARINA_RT_TRY(copy_all(in, out));
  for_positions(out, scatter, [&](int64_t from, int64_t to) {
    Walk<2> one;
    one.at = {from, to};
    copy_elements(source, out, one);
  });
  return Error::kOk;
}

// (input, dim, indices, value, out)
Error scatter_value(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &positions = call.tensor(2), &out = call.out(4);
  const int64_t dim = call.integer(1);
  static_cast<void>(call.number(3));
  CARINA_RT_TRY(call.error());
  Scatter scatter;
  CARINA_RT_TRY(plan_scatter(call, in, positions, nullptr, out, dim, scatter));
  CARINA_RT_TRY(copy_all(in, out));
  in_domain(
      [&](auto domain) {
        const auto write = domain.writer(out);
        const auto value = scalar_in<typename decltype(domain)::Value>(*arguments[3]);
        for_positions(out, scatter, [&](int64_t /*from*/, int64_t to) { write(to, value); });
      },
      out);
  return Error::kOk;
}

// (input, dim, indices, source, out): adds in the order of the indices
Error scatter_add(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &positions = call.tensor(2), &source = call.tensor(3), &out = call.out(4);
  const int64_t dim = call.integer(1);
  CARINA_RT_TRY(call.error());
  Scatter scatter;
  CARINA_RT_TRY(plan_scatter(call, in, positions, &source, out, dim, scatter));
  CARINA_RT_TRY(copy_all(in, out));
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(source), sum = domain.reader(out);
        const auto write = domain.writer(out);
        for_positions(out, scatter, [&](int64_t from, int64_t to) { write(to, plus(sum(to), read(from))); });
      },
      source, out);
  return Error::kOk;
}

}  // namespace carina::runtime
