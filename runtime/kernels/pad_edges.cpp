#include <algorithm>
#include <limits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

// Padding with elements of the input. Element i of a padded axis is the input's element edge(i - before), where `edge`
// maps any index to one inside.
namespace carina::runtime {

namespace {

using Edge = int64_t (*)(int64_t index, int64_t size);

int64_t reflected(int64_t index, int64_t size) {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}

int64_t replicated(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index, 0, size - 1);
}

struct Padding {
  int64_t before = 0, after = 0;
};

// The list has the padding before and after the last axis, then of the previous axis, and so on.
Padding padding_of(std::span<const int64_t> pad, size_t rank, size_t axis) {
  const size_t entry = 2 * (rank - 1 - axis);
  return entry < pad.size() ? Padding{.before = pad[entry], .after = pad[entry + 1]} : Padding{};
}

bool fits(const Padding& pad, int64_t in, int64_t out, bool reflects) {
  constexpr int64_t kMaxPad = std::numeric_limits<int32_t>::max();
  if (pad.before < 0 || pad.after < 0 || pad.before > kMaxPad || pad.after > kMaxPad) return false;
  if (reflects && (pad.before >= std::max<int64_t>(in, 1) || pad.after >= std::max<int64_t>(in, 1))) return false;
  return out == in + pad.before + pad.after && (in > 0 || out == 0);
}

void fit_to_padding(Call& call, const Tensor& in, std::span<const int64_t> pad, const Tensor& out) {
  if (!out.resizable) return;
  Extents sizes = layout_of(in).sizes;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const Padding more = padding_of(pad, in.rank(), axis);
    call.require(!__builtin_add_overflow(sizes[axis], more.before, &sizes[axis]) &&
                 !__builtin_add_overflow(sizes[axis], more.after, &sizes[axis]));
  }
  call.fit(out, {sizes.data(), in.rank()});
}

// (input, padding [2 * axes], out), with `axes` spatial axes after one or two other axes
Error pad_edges(Arguments arguments, size_t axes, Edge edge, bool reflects) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> pad = call.integers(1);
  const Tensor& out = call.out(2);
  call.require(in.type == out.type && in.rank() == out.rank() && pad.size() == 2 * axes &&
               (in.rank() == axes + 1 || in.rank() == axes + 2));
  CARINA_RT_TRY(call.error());
  fit_to_padding(call, in, pad, out);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<1> walk;
  for (size_t axis = 0; axis < to.rank; ++axis) {
    call.require(
        fits(padding_of(pad, to.rank, axis), from.sizes[axis], to.sizes[axis], reflects && axis + axes >= to.rank));
    walk.add_axis(to.sizes[axis], {to.strides[axis]});
  }
  CARINA_RT_TRY(call.error());
  const size_t bytes = element_bytes(in.type);
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    int64_t source = 0;
    for (size_t axis = 0; axis < to.rank; ++axis)
      source += from.strides[axis] * edge(walk.index[axis] - padding_of(pad, to.rank, axis).before, from.sizes[axis]);
    const std::byte* element = in.as<const std::byte>() + static_cast<size_t>(source) * bytes;
    std::copy_n(element, bytes, out.as<std::byte>() + static_cast<size_t>(walk.at[0]) * bytes);
  }
  return Error::kOk;
}

}  // namespace

Error reflection_pad1d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 1, reflected, true);
}
Error reflection_pad2d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 2, reflected, true);
}
Error reflection_pad3d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 3, reflected, true);
}
Error replication_pad1d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 1, replicated, false);
}
Error replication_pad2d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 2, replicated, false);
}
Error replication_pad3d(Arguments arguments, Arena& /*scratch*/) {
  return pad_edges(arguments, 3, replicated, false);
}

}  // namespace carina::runtime
