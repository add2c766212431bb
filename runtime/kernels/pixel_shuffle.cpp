// Converts pixels to channels and back: each square of r x r pixels of [..., C, H r, W r] is r r channels of [..., C r
// r, H, W].
#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

enum class Makes { kPixels, kChannels };

// (input, r, out)
Error shuffled(Arguments arguments, Makes makes) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const int64_t r = call.integer(1);
  const Tensor& out = call.out(2);
  call.require(in.rank() >= 3 && in.rank() == out.rank() && in.rank() + 2 <= kMaxRank && r >= 1 && r < (1 << 15) &&
               in.type == out.type);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const size_t c = from.rank - 3, y = c + 1, x = c + 2;
  Extents sizes = from.sizes;
  if (makes == Makes::kPixels) {
    sizes[c] /= r * r;
    sizes[y] *= r;
    sizes[x] *= r;
    call.require(sizes[c] * r * r == from.sizes[c]);
  } else {
    sizes[c] *= r * r;
    sizes[y] /= r;
    sizes[x] /= r;
    call.require(sizes[y] * r == from.sizes[y] && sizes[x] * r == from.sizes[x]);
  }
  call.fit(out, std::span(sizes.data(), from.rank));
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out);
  const Layout& pixels = makes == Makes::kPixels ? to : from;
  const Layout& channels = makes == Makes::kPixels ? from : to;
  Walk<2> walk;
  const auto add = [&](int64_t size, int64_t pixel_step, int64_t channel_step) {
    if (makes == Makes::kPixels)
      walk.add_axis(size, {channel_step, pixel_step});
    else
      walk.add_axis(size, {pixel_step, channel_step});
  };
  for (size_t i = 0; i < c; ++i) add(from.sizes[i], pixels.strides[i], channels.strides[i]);
  add(pixels.sizes[c], pixels.strides[c], channels.strides[c] * r * r);
  add(r, pixels.strides[y], channels.strides[c] * r);
  add(r, pixels.strides[x], channels.strides[c]);
  add(channels.sizes[y], pixels.strides[y] * r, channels.strides[y]);
  add(channels.sizes[x], pixels.strides[x] * r, channels.strides[x]);
  copy_elements(in, out, walk);
  return Error::kOk;
}

}  // namespace

Error pixel_shuffle(Arguments arguments, Arena& /*scratch*/) {
  return shuffled(arguments, Makes::kPixels);
}
Error pixel_unshuffle(Arguments arguments, Arena& /*scratch*/) {
  return shuffled(arguments, Makes::kChannels);
}

}  // namespace carina::runtime
