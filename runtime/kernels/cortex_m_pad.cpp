#include <cstring>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

constexpr size_t kAxes = 4;

// Returns whether the tensor's axes are [N, H, W, C] in the program, by the rule of ExecuTorch's is_channels_last().
bool is_channels_last(const Tensor& tensor) {
  if (tensor.rank() != kAxes) return false;
  const auto sizes = tensor.sizes();
  const auto order = tensor.dim_order();
  return sizes[1] == 1 || (sizes[2] == 1 && sizes[3] == 1) || (order[0] == 0 && order[1] == 2);
}

// The padding of a logical axis, from a list of four.
int64_t padding_of(std::span<const int64_t> paddings, const Tensor& in, size_t axis) {
  constexpr std::array<size_t, kAxes> kInverse{0, 3, 1, 2};
  return paddings[is_channels_last(in) ? kInverse[axis] : kAxes - in.rank() + axis];
}

}  // namespace

// (input, pre_pad, post_pad, pad_value, out); there are four paddings, in memory order
Error cortex_m_pad(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const auto before = call.integers(1), after = call.integers(2);
  const auto value = static_cast<int8_t>(call.integer(3));
  const Tensor& out = call.out(4);
  call.support(in.type == PteScalarType::kChar && out.type == in.type);
  call.require(in.rank() >= 1 && in.rank() <= kAxes && in.rank() == out.rank() && before.size() == kAxes &&
               after.size() == kAxes);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk;
  int64_t start = 0;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const int64_t first = padding_of(before, in, axis), last = padding_of(after, in, axis);
    call.require(first >= 0 && last >= 0 && first <= to.sizes[axis] && last <= to.sizes[axis] &&
                 from.sizes[axis] + first + last == to.sizes[axis]);
    start += first * to.strides[axis];
    walk.add_axis(from.sizes[axis], {from.strides[axis], to.strides[axis]});
  }
  CARINA_RT_TRY(call.error());
  std::memset(out.data, value, out.bytes());
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next())
    out.as<int8_t>()[start + walk.at[1]] = in.as<const int8_t>()[walk.at[0]];
  return Error::kOk;
}

}  // namespace carina::runtime
