#include <algorithm>

#include "normalize/axes.h"
#include "normalize/slices.h"

namespace carina::normalize {

using ir::ValueId;

namespace {

constexpr size_t kMaxSlices = 64;

struct Run {
  int64_t first;
  int64_t count;
  int64_t step;  // 1: adjacent elements; 0: one element, repeated
};

std::vector<Run> runs_of(std::span<const int64_t> indices) {
  std::vector<Run> runs;
  for (const int64_t index : indices) {
    Run* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->count == 1 && (index == last->first || index == last->first + 1)) {
      *last = {.first = last->first, .count = 2, .step = index - last->first};
    } else if (last != nullptr && last->count > 1 && index == last->first + last->count * last->step) {
      ++last->count;
    } else {
      runs.push_back({.first = index, .count = 1, .step = 1});
    }
  }
  return runs;
}

Shape with_size(const Shape& shape, size_t axis, int64_t size) {
  Shape result = shape;
  result[axis] = size;
  return result;
}

ValueId run(Rewriter& in, ValueId x, size_t axis, const Run& wanted) {
  if (wanted.step == 1) return slice(in, x, axis, wanted.first, wanted.first + wanted.count);
  return repeat_each(in, slice(in, x, axis, wanted.first, wanted.first + 1), axis, wanted.count);
}

}  // namespace

ValueId permuted_axes(Rewriter& in, ValueId x, const std::vector<int64_t>& dims) {
  if (std::ranges::is_sorted(dims)) return x;
  std::vector<int64_t> result;
  for (const int64_t dim : dims) result.push_back(in.shape(x)[static_cast<size_t>(dim)]);
  return in.move(AtenOp::permute_default, {x}, {{"dims", dims}}, Shape(result));
}

ValueId slice(Rewriter& in, ValueId x, size_t axis, int64_t start, int64_t end) {
  const Shape shape = in.shape(x);
  if (start == 0 && end == shape[axis]) return x;
  return in.move(AtenOp::slice_Tensor, {x},
                 {{"dim", static_cast<int64_t>(axis)}, {"start", start}, {"end", end}, {"step", int64_t{1}}},
                 with_size(shape, axis, end - start));
}

ValueId join(Rewriter& in, const std::vector<ValueId>& parts, size_t axis) {
  if (parts.size() == 1) return parts.front();
  int64_t size = 0;
  for (const ValueId part : parts) size += in.shape(part)[axis];
  const Shape shape = with_size(in.shape(parts.front()), axis, size);
  return in.move(AtenOp::cat_default, parts, {{"dim", static_cast<int64_t>(axis)}}, shape);
}

ValueId repeat_each(Rewriter& in, ValueId x, size_t axis, int64_t times) {
  if (times == 1) return x;
  const std::vector<int64_t> dims = dims_of(in.shape(x));
  std::vector<int64_t> single = dims, repeated = dims, result = dims;
  single.insert(single.begin() + static_cast<ptrdiff_t>(axis) + 1, 1);
  repeated.insert(repeated.begin() + static_cast<ptrdiff_t>(axis) + 1, times);
  result[axis] *= times;
  const ValueId wide = in.move(AtenOp::expand_default, {in.view(x, Shape(single))},
                               {{"size", repeated}, {"implicit", false}}, Shape(repeated));
  return in.view(wide, Shape(result));
}

std::optional<ValueId> take(Rewriter& in, ValueId x, size_t axis, std::span<const int64_t> indices) {
  const std::vector<Run> runs = runs_of(indices);
  if (runs.empty() || runs.size() > kMaxSlices) return std::nullopt;
  std::vector<ValueId> parts;
  for (const Run& wanted : runs) parts.push_back(run(in, x, axis, wanted));
  return join(in, parts, axis);
}

bool is_long(std::span<const int64_t> indices) {
  return runs_of(indices).size() > kMaxSlices;
}

ValueId take_or_gather(Rewriter& in, ValueId x, size_t axis, std::span<const int64_t> indices) {
  if (const auto taken = take(in, x, axis, indices)) return *taken;
  const auto count = static_cast<int64_t>(indices.size());
  const ValueId index = in.constant("index", Tensor::of<int64_t>(DType::kInt64, Shape{count}, indices));
  const Shape shape = with_size(in.shape(x), axis, count);
  return in.move(AtenOp::index_select_default, {x, index}, {{"dim", static_cast<int64_t>(axis)}}, shape);
}

}  // namespace carina::normalize
