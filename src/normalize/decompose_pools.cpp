// Decomposes pools that TOSA does not have: volumes, adaptive windows of different sizes, and average pools with an
// explicit divisor.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

constexpr size_t kMaxRuns = 64;

// Consecutive windows of one size with a constant distance.
struct WindowRun {
  int64_t start;  // start of the first window
  int64_t size;
  int64_t step;
  int64_t count;

  [[nodiscard]] int64_t end() const { return start + (count - 1) * step + size; }
};

// Window i of an adaptive pool covers floor(i * from / to) to ceil((i + 1) * from / to), end exclusive.
std::vector<WindowRun> adaptive_runs(int64_t from, int64_t to) {
  std::vector<WindowRun> runs;
  for (int64_t i = 0; i < to; ++i) {
    const int64_t start = i * from / to, size = ((i + 1) * from + to - 1) / to - start;
    WindowRun* last = runs.empty() ? nullptr : &runs.back();
    const bool fits = last != nullptr && last->size == size &&
                      (last->count == 1 || start == last->start + last->count * last->step) && start > last->start;
    if (!fits) {
      runs.push_back({.start = start, .size = size, .step = 1, .count = 1});
      continue;
    }
    if (last->count == 1) last->step = start - last->start;
    ++last->count;
  }
  return runs;
}

Attributes pool_attributes(AtenOp op, const Ints& kernel, const Ints& stride, const Ints& padding) {
  Attributes attributes{{"kernel_size", kernel}, {"stride", stride}, {"padding", padding}};
  if (op == AtenOp::max_pool2d_default) attributes.set("dilation", Ints{1, 1});
  attributes.set("ceil_mode", false);
  if (op == AtenOp::max_pool2d_default) return attributes;
  attributes.set("count_include_pad", true);
  attributes.set("divisor_override", std::monostate());
  return attributes;
}

// Pools an image [...,H,W] to this shape, with one operation for each pair of runs. `result` is a copy, because a
// reference from shape() is invalid after values are added.
std::optional<ValueId> adaptive_pool(Rewriter& in, AtenOp op, ValueId x, Shape result) {
  const Shape from = in.shape(x);
  const size_t y = from.rank() - 2, w = from.rank() - 1;
  if (result[y] < 1 || result[w] < 1) return std::nullopt;
  const std::vector<WindowRun> rows = adaptive_runs(from[y], result[y]), columns = adaptive_runs(from[w], result[w]);
  if (rows.size() * columns.size() > kMaxRuns) return std::nullopt;
  std::vector<ValueId> bands;
  for (const WindowRun& row : rows) {
    std::vector<ValueId> parts;
    for (const WindowRun& column : columns) {
      const ValueId seen = slice(in, slice(in, x, y, row.start, row.end()), w, column.start, column.end());
      Shape shape = result;
      shape[y] = row.count;
      shape[w] = column.count;
      parts.push_back(
          in.move(op, {seen}, pool_attributes(op, {row.size, column.size}, {row.step, column.step}, {0, 0}), shape));
    }
    bands.push_back(join(in, parts, w));
  }
  return join(in, bands, y);
}

template <AtenOp kPool>
Result<bool> adaptive_pool2d(Rewriter& in, const Node& node) {
  const auto pooled = adaptive_pool(in, kPool, node.inputs[0], in.shape(node.outputs[0]));
  return pooled ? rewritten(in.view_into(node.outputs[0], *pooled)) : Result<bool>(false);
}

// A one-dimensional pool, as a pool of an image with one row.
template <AtenOp kPool>
Result<bool> adaptive_pool1d(Rewriter& in, const Node& node) {
  const auto of_height_one = [](const Shape& shape) {
    Ints dims = dims_of(shape);
    dims.insert(dims.end() - 1, 1);
    return Shape(dims);
  };
  const ValueId image = in.view(node.inputs[0], of_height_one(in.shape(node.inputs[0])));
  const auto pooled = adaptive_pool(in, kPool, image, of_height_one(in.shape(node.outputs[0])));
  return pooled ? rewritten(in.view_into(node.outputs[0], *pooled)) : Result<bool>(false);
}

// Returns whether the indices of a pool are used. They cannot be computed.
bool has_indices(const Rewriter& in, const Node& node) {
  return node.outputs.size() > 1 && node.outputs[1].valid() && in.uses(node.outputs[1]) > 0;
}

template <Result<bool> (*kPooled)(Rewriter&, const Node&)>
Result<bool> values_only(Rewriter& in, const Node& node) {
  return has_indices(in, node) ? Result<bool>(false) : kPooled(in, node);
}

// Reshapes a volume [N,C,D,H,W] to images: planes, or lines of planes.
Shape planes_of(const Shape& s) {
  return {s[0], s[1] * s[2], s[3], s[4]};
}
Shape depths_of(const Shape& s) {
  return {s[0], s[1], s[2], s[3] * s[4]};
}

Shape with_batch_axis(const Shape& shape) {
  Ints dims = dims_of(shape);
  if (dims.size() == 4) dims.insert(dims.begin(), 1);
  return Shape(dims);
}

// Pools within the planes first, then across them: maxima of maxima, or means of means.
template <typename Pool>
Result<bool> plane_by_plane(Rewriter& in, const Node& node, const Pool& pool) {
  const Shape from = with_batch_axis(in.shape(node.inputs[0])), to = with_batch_axis(in.shape(node.outputs[0]));
  if (from.rank() != 5 || from.elements() == 0 || to.elements() == 0) return false;
  const Shape between{from[0], from[1], from[2], to[3], to[4]};
  const auto planes = pool(in.view(node.inputs[0], planes_of(from)), planes_of(between), size_t{1}, size_t{2});
  if (!planes) return false;
  const auto depths = pool(in.view(*planes, depths_of(between)), depths_of(to), size_t{0}, size_t{3});
  return depths ? rewritten(in.view_into(node.outputs[0], *depths)) : Result<bool>(false);
}

// The attributes of a volume's pool for its images. Axis 3 stands for an axis without a window.
Attributes image_attributes(const Attributes& old, size_t y, size_t x) {
  const auto at = [&](std::string_view name, size_t axis, int64_t otherwise) {
    const Ints& list = old.integers(name);
    if (axis > 2 || list.empty()) return otherwise;
    return list[std::min(axis, list.size() - 1)];
  };
  const Ints kernel{at("kernel_size", y, 1), at("kernel_size", x, 1)};
  const bool strided = !old.integers("stride").empty();
  const Ints stride = strided ? Ints{at("stride", y, 1), at("stride", x, 1)} : kernel;
  Attributes attributes{
      {"kernel_size", kernel}, {"stride", stride}, {"padding", Ints{at("padding", y, 0), at("padding", x, 0)}}};
  if (old.find("dilation") != nullptr) attributes.set("dilation", Ints{at("dilation", y, 1), at("dilation", x, 1)});
  attributes.set("ceil_mode", old.get<bool>("ceil_mode"));
  return attributes;
}

Result<bool> max_pool3d(Rewriter& in, const Node& node) {
  return plane_by_plane(in, node, [&](ValueId image, const Shape& result, size_t y, size_t x) {
    return std::optional(in.move(AtenOp::max_pool2d_default, {image}, image_attributes(node.attributes, y, x), result));
  });
}

// The mean over all taps, times the number of taps, divided by the divisor.
Result<bool> avg_pool3d(Rewriter& in, const Node& node) {
  const Ints& kernel = node.attributes.integers("kernel_size");
  const bool overridden = !node.attributes.is_none("divisor_override");
  if (overridden) {
    int64_t taps = 1;
    for (size_t i = 0; i < 3; ++i) taps *= kernel[std::min(i, kernel.size() - 1)];
    if (node.attributes.get<bool>("ceil_mode") || !is_fp32(in, node)) return false;
    Attributes plain = node.attributes;
    plain.set("divisor_override", std::monostate());
    plain.set("count_include_pad", true);
    const double factor = static_cast<double>(taps) / static_cast<double>(node.attributes.integer("divisor_override"));
    const ValueId mean = in.make(AtenOp::avg_pool3d_default, {node.inputs[0]}, plain, in.shape(node.outputs[0]));
    return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {mean, in.scalar(factor, DType::kFp32)}, {}));
  }
  return plane_by_plane(in, node, [&](ValueId image, const Shape& result, size_t y, size_t x) {
    Attributes attributes = image_attributes(node.attributes, y, x);
    attributes.set("count_include_pad", node.attributes.get<bool>("count_include_pad"));
    attributes.set("divisor_override", std::monostate());
    return std::optional(in.move(AtenOp::avg_pool2d_default, {image}, std::move(attributes), result));
  });
}

template <AtenOp kPool>
Result<bool> adaptive_pool3d(Rewriter& in, const Node& node) {
  return plane_by_plane(in, node, [&](ValueId image, const Shape& result, size_t, size_t) {
    return adaptive_pool(in, kPool, image, result);
  });
}

// An average pool with a divisor. If the divisor is the area of the window: a mean. Else a depthwise convolution whose
// weights are 1 / divisor. Elements outside of the image count as 0.
Result<bool> pool_with_divisor(Rewriter& in, const Node& node) {
  const Ints& kernel = node.attributes.integers("kernel_size");
  const Shape from = in.shape(node.inputs[0]), to = in.shape(node.outputs[0]);
  if (node.attributes.is_none("divisor_override") || from.rank() != 4 || !is_fp32(in, node)) return false;
  const int64_t divisor = node.attributes.integer("divisor_override");
  const Ints &old = node.attributes.integers("stride"), &padding = node.attributes.integers("padding");
  const Ints stride = old.empty() ? kernel : old;
  Ints after;
  for (size_t i = 0; i < 2; ++i)
    after.push_back(std::max<int64_t>(0, (to[2 + i] - 1) * stride[i] + kernel[i] - from[2 + i] - 2 * padding[i]));
  const bool overhangs = after[0] + after[1] > 0;
  if (divisor == kernel[0] * kernel[1] && !overhangs)
    return rewritten(in.define(node.outputs[0], node.op.aten(), {node.inputs[0]},
                               pool_attributes(node.op.aten(), kernel, stride, padding)));
  ValueId image = node.inputs[0];
  if (overhangs) {
    image = in.move(AtenOp::constant_pad_nd_default, {image},
                    {{"pad", Ints{0, after[1], 0, after[0]}}, {"value", int64_t{0}}},
                    Shape{from[0], from[1], from[2] + after[0], from[3] + after[1]});
  }
  const Shape filters{from[1], 1, kernel[0], kernel[1]};
  const std::vector<float> parts(static_cast<size_t>(filters.elements()), 1.0F / static_cast<float>(divisor));
  const ValueId weight = in.constant(node.name + "_parts", Tensor::of<float>(DType::kFp32, filters, parts));
  return rewritten(
      in.define(node.outputs[0], AtenOp::conv2d_default, {image, weight, ValueId()},
                {{"stride", stride}, {"padding", padding}, {"dilation", Ints{1, 1}}, {"groups", from[1]}}));
}

constexpr RewriteRow kDecomposePoolsRows[] = {
    {AtenOp::adaptive_avg_pool2d_default, adaptive_pool2d<AtenOp::avg_pool2d_default>},
    {AtenOp::adaptive_avg_pool1d_default, adaptive_pool1d<AtenOp::avg_pool2d_default>},
    {AtenOp::adaptive_max_pool2d_default, values_only<adaptive_pool2d<AtenOp::max_pool2d_default>>},
    {AtenOp::adaptive_max_pool1d_default, values_only<adaptive_pool1d<AtenOp::max_pool2d_default>>},
    {AtenOp::max_pool3d_default, max_pool3d},
    {AtenOp::max_pool3d_with_indices_default, values_only<max_pool3d>},
    {AtenOp::avg_pool3d_default, avg_pool3d},
    {AtenOp::adaptive_avg_pool3d_default, adaptive_pool3d<AtenOp::avg_pool2d_default>},
    {AtenOp::_adaptive_avg_pool3d_default, adaptive_pool3d<AtenOp::avg_pool2d_default>},
    {AtenOp::adaptive_max_pool3d_default, values_only<adaptive_pool3d<AtenOp::max_pool2d_default>>},
    {AtenOp::avg_pool2d_default, pool_with_divisor},
};
static_assert(rewrites_what_becomes(kDecomposePoolsRows));

}  // namespace

std::span<const RewriteRow> pool_rewrites() {
  return kDecomposePoolsRows;
}

}  // namespace carina::normalize
