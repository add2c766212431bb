#include <algorithm>

#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"
#include "lower/prepare/pieces_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Beyond this many slices the chain costs more than it is worth.
constexpr int64_t kMostSlices = 256;

// [O,C,D,H,W] -> [O,D*C,H,W], at compile time: the taps of the depth become channels.
ValueId flat_weight(Rewriter& in, ValueId id) {
  const Tensor weight = *in[id].constant;
  const Shape& s = weight.shape;
  const int64_t plane = s[3] * s[4];
  MutableTensor flat(DType::kFp32, Shape{s[0], s[2] * s[1], s[3], s[4]});
  const auto from = weight.values<float>();
  auto to = flat.values<float>();
  for (int64_t o = 0; o < s[0]; ++o) {
    for (int64_t c = 0; c < s[1]; ++c) {
      for (int64_t d = 0; d < s[2]; ++d) {
        const auto source =
            from.subspan(static_cast<size_t>(((o * s[1] + c) * s[2] + d) * plane), static_cast<size_t>(plane));
        std::ranges::copy(source, to.begin() + ((o * s[2] + d) * s[1] + c) * plane);
      }
    }
  }
  return in.constant(in[id].name + "_flat", std::move(flat).freeze());
}

// Slice `depth` of [N,C,D,H,W] as an image [N,C,H,W].
ValueId image_at(Rewriter& in, ValueId x, int64_t depth) {
  const Shape shape = in.shape(x);
  return in.view(slice(in, x, 2, depth, depth + 1), Shape{shape[0], shape[1], shape[3], shape[4]});
}

ValueId padded_in_depth(Rewriter& in, ValueId x, int64_t padding) {
  if (padding == 0) return x;
  Shape shape = in.shape(x);
  shape[2] += 2 * padding;
  return in.move(AtenOp::constant_pad_nd_default, {x}, {{"pad", Ints{0, 0, 0, 0, padding, padding}}, {"value", 0.0}},
                 shape);
}

// Every slice of the result is one two-dimensional convolution of the slices that it looks at, side by side as channels.
Result<bool> conv3d(Rewriter& in, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1];
  const ir::Value& w = in[weight];
  const Shape shape = in.shape(x), out = in.shape(node.outputs[0]);
  const Attributes& attributes = node.attributes;
  const bool plain = shape.rank() == 5 && w.constant && w.constant->dtype == DType::kFp32 && !w.quantization;
  if (!plain || attributes.integer("groups") != 1) return false;
  const auto at = [&](std::string_view name, size_t axis) {
    const Ints& list = attributes.integers(name);
    return list[std::min(axis, list.size() - 1)];
  };
  const int64_t taps = w.shape[2];
  if (out[2] * taps > kMostSlices) return false;
  const ValueId flat = flat_weight(in, weight), volume = padded_in_depth(in, x, at("padding", 0));
  const Attributes conv{{"stride", Ints{at("stride", 1), at("stride", 2)}},
                        {"padding", Ints{at("padding", 1), at("padding", 2)}},
                        {"dilation", Ints{at("dilation", 1), at("dilation", 2)}},
                        {"groups", int64_t{1}}};
  std::vector<ValueId> slices;
  for (int64_t d = 0; d < out[2]; ++d) {
    std::vector<ValueId> images;
    for (int64_t tap = 0; tap < taps; ++tap)
      images.push_back(image_at(in, volume, d * at("stride", 0) + tap * at("dilation", 0)));
    const ValueId image = in.make(AtenOp::conv2d_default, {join(in, images, 1), flat, node.inputs[2]}, conv,
                                  Shape{out[0], out[1], out[3], out[4]});
    slices.push_back(in.view(image, Shape{out[0], out[1], 1, out[3], out[4]}));
  }
  return rewritten(in.view_into(node.outputs[0], join(in, slices, 2)));
}

constexpr RewriteRow kVolumeRewrites[] = {{AtenOp::conv3d_default, conv3d}};
static_assert(rewrites_what_becomes(kVolumeRewrites));

}  // namespace

std::span<const RewriteRow> volume_rewrites() {
  return kVolumeRewrites;
}

}  // namespace carina::lower
