// Decomposes sorting to comparisons between all elements of an axis.

#include <numeric>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// The limit for comparisons, which are all kept in memory. For few of many elements a CPU kernel is faster, but only
// topk has one.
constexpr int64_t kMaxComparisons = int64_t{1} << 22;
constexpr int64_t kMaxComparisonsOfTopk = int64_t{1} << 14;

enum class Order : uint8_t { kAscending, kDescending };

// The axis, the order and the number of sorted elements that are needed.
struct Sorting {
  ValueId x;
  size_t axis;
  Order order;
  int64_t first = 0;  // rank of the first needed element
  int64_t wanted;
  int64_t max_comparisons = kMaxComparisons;
};

Tensor numbers_from(int64_t first, int64_t count, const Shape& shape) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return Tensor::of<int64_t>(DType::kInt64, shape, numbers);
}

// A constant [size, size]: whether the column index is less than the row index.
Tensor earlier(int64_t size) {
  std::vector<uint8_t> flags;
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) flags.push_back(column < row ? 1 : 0);
  }
  return Tensor::of<uint8_t>(DType::kBool, Shape{size, size}, flags);
}

// Adds the nodes of one sorting. All tensors have the sorted axis last; some have another axis before it.
class Ranks {
 public:
  Ranks(Rewriter& in, const Node& node, const Sorting& sorting) : in_(in), node_(node), sorting_(sorting) {
    const Shape shape = in.shape(sorting.x);
    size_ = shape[sorting.axis];
    rows_ = dims_of(shape);
    std::swap(rows_[sorting.axis], rows_.back());
    rows_.pop_back();
  }

  [[nodiscard]] bool is_small() const { return Shape(rows_).elements() * size_ * size_ <= sorting_.max_comparisons; }

  Result<bool> define(ValueId values, ValueId indices) {
    const ValueId x = with_axis_last(sorting_.x, sorting_.axis);
    const ValueId found = is_wanted(rank(x));
    if (values.valid() && in_.uses(values) > 0) CARINA_CHECKED(give(values, picked(found, x)));
    if (indices.valid() && in_.uses(indices) > 0) CARINA_CHECKED(give(indices, index_of(found)));
    return true;
  }

 private:
  [[nodiscard]] Shape with(int64_t second_last, int64_t last) const {
    std::vector<int64_t> dims = rows_;
    dims.push_back(second_last);
    dims.push_back(last);
    return Shape(dims);
  }

  ValueId node(AtenOp op, std::vector<ValueId> inputs, DType type, const Shape& shape, ir::Attributes attributes = {}) {
    return in_.make_value(
        op, std::move(inputs), std::move(attributes),
        {.name = node_.name + "_order", .dtype = type, .shape = shape, .quantization = {}, .constant = {}});
  }

  ValueId with_axis_last(ValueId x, size_t axis) {
    std::vector<int64_t> dims(in_.shape(x).rank());
    std::iota(dims.begin(), dims.end(), int64_t{0});
    std::swap(dims[axis], dims.back());
    return permuted_axes(in_, x, dims);
  }

  // The rank of each element, which is the number of elements that precede it: [.., size]. Equal elements keep their
  // order.
  ValueId rank(ValueId x) {
    const Shape all = with(size_, size_);
    const ValueId row = in_.view(x, with(size_, 1)), column = in_.view(x, with(1, size_));
    const bool up = sorting_.order == Order::kAscending;
    const ValueId before = node(AtenOp::gt_Tensor, {up ? row : column, up ? column : row}, DType::kBool, all);
    const ValueId equal = node(AtenOp::eq_Tensor, {row, column}, DType::kBool, all);
    const ValueId tie = node(AtenOp::logical_and_default,
                             {equal, in_.constant(node_.name + "_earlier", earlier(size_))}, DType::kBool, all);
    const ValueId earlier_ones = node(AtenOp::logical_or_default, {before, tie}, DType::kBool, all);
    return sum(as_numbers(earlier_ones, all), DType::kInt64, all);
  }

  ValueId as_numbers(ValueId flags, const Shape& shape) {
    return node(AtenOp::_to_copy_default, {flags}, DType::kInt64, shape, {{"dtype", DType::kInt64}});
  }

  ValueId sum(ValueId x, DType type, const Shape& shape) {
    const std::vector<size_t> last{shape.rank() - 1};
    return node(AtenOp::sum_dim_IntList, {x}, type, kept_shape(shape, last), over(last));
  }

  // Flags that say which element has each needed rank: [.., wanted, size].
  ValueId is_wanted(ValueId ranks) {
    const ValueId numbers =
        in_.constant(node_.name + "_ranks", numbers_from(sorting_.first, sorting_.wanted, Shape{sorting_.wanted, 1}));
    return node(AtenOp::eq_Tensor, {in_.view(ranks, with(1, size_)), numbers}, DType::kBool,
                with(sorting_.wanted, size_));
  }

  // Selects the elements as a sum over the axis, in which all other terms are 0.
  ValueId picked(ValueId found, ValueId x) {
    const Shape all = with(sorting_.wanted, size_);
    const DType type = in_[x].dtype;
    const ValueId alone =
        node(AtenOp::where_self, {found, in_.view(x, with(1, size_)), in_.scalar(0, type)}, type, all);
    return sum(alone, type, all);
  }

  ValueId index_of(ValueId found) {
    const Shape all = with(sorting_.wanted, size_);
    const ValueId numbers = in_.constant(node_.name + "_places", numbers_from(0, size_, Shape{size_}));
    return sum(node(AtenOp::mul_Tensor, {as_numbers(found, all), numbers}, DType::kInt64, all), DType::kInt64, all);
  }

  Result<void> give(ValueId output, ValueId sorted) {
    std::vector<int64_t> dims = rows_;
    dims.push_back(sorting_.wanted);
    return in_.view_into(output, with_axis_last(in_.view(sorted, Shape(dims)), sorting_.axis));
  }

  Rewriter& in_;
  const Node& node_;
  const Sorting& sorting_;
  int64_t size_ = 0;
  std::vector<int64_t> rows_;  // sizes of the axes before the sorted one
};

Result<bool> sorted(Rewriter& in, const Node& node, const Sorting& sorting, ValueId values, ValueId indices) {
  if (in[sorting.x].dtype != DType::kFp32 || in[sorting.x].constant) return false;
  Ranks ranks(in, node, sorting);
  return ranks.is_small() ? ranks.define(values, indices) : Result<bool>(false);
}

// The sorted axis. No value for tensors of rank 0 and axes with fewer than two elements, which run on the CPU.
std::optional<size_t> sorted_axis(const Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.rank() == 0 || shape.elements() == 0) return std::nullopt;
  return axis_of(node.attributes.integer("dim"), shape.rank());
}

Order order_of(bool descending) {
  return descending ? Order::kDescending : Order::kAscending;
}

Result<bool> topk(Rewriter& in, const Node& node) {
  const auto axis = sorted_axis(in, node);
  const int64_t wanted = node.attributes.integer("k");
  if (!axis || wanted < 1) return false;
  const Sorting sorting{.x = node.inputs[0],
                        .axis = *axis,
                        .order = order_of(node.attributes.get<bool>("largest")),
                        .wanted = wanted,
                        .max_comparisons = kMaxComparisonsOfTopk};
  return sorted(in, node, sorting, node.outputs[0], node.outputs[1]);
}

Result<bool> sort_all(Rewriter& in, const Node& node, ValueId values, ValueId indices) {
  const auto axis = sorted_axis(in, node);
  if (!axis) return false;
  const Sorting sorting{.x = node.inputs[0],
                        .axis = *axis,
                        .order = order_of(node.attributes.get<bool>("descending")),
                        .wanted = in.shape(node.inputs[0])[*axis]};
  return sorted(in, node, sorting, values, indices);
}

Result<bool> sort(Rewriter& in, const Node& node) {
  return sort_all(in, node, node.outputs[0], node.outputs[1]);
}
Result<bool> argsort(Rewriter& in, const Node& node) {
  return sort_all(in, node, ValueId(), node.outputs[0]);
}

// The element of one rank.
Result<bool> ranked(Rewriter& in, const Node& node, const Sorting& sorting) {
  return sorted(in, node, sorting, node.outputs[0], node.outputs.size() > 1 ? node.outputs[1] : ValueId());
}

// The median. For an even number of elements, it is the lower of the two middle elements.
Result<bool> median_along(Rewriter& in, const Node& node, ValueId x, size_t axis) {
  const int64_t middle = (in.shape(x)[axis] - 1) / 2;
  return ranked(in, node, {.x = x, .axis = axis, .order = Order::kAscending, .first = middle, .wanted = 1});
}
Result<bool> median(Rewriter& in, const Node& node) {
  const auto axis = sorted_axis(in, node);
  return axis ? median_along(in, node, node.inputs[0], *axis) : Result<bool>(false);
}
Result<bool> median_of_all(Rewriter& in, const Node& node) {
  const int64_t count = in.shape(node.inputs[0]).elements();
  const bool is_small = count > 0 && count * count <= kMaxComparisons;
  return is_small ? median_along(in, node, in.view(node.inputs[0], Shape{count}), 0) : Result<bool>(false);
}

Result<bool> kth_value(Rewriter& in, const Node& node) {
  const auto axis = sorted_axis(in, node);
  const int64_t first = node.attributes.integer("k") - 1;
  if (!axis || first < 0) return false;
  return ranked(in, node,
                {.x = node.inputs[0], .axis = *axis, .order = Order::kAscending, .first = first, .wanted = 1});
}

constexpr RewriteRow kOrderRewrites[] = {
    {AtenOp::topk_default, topk},       {AtenOp::sort_default, sort},          {AtenOp::sort_stable, sort},
    {AtenOp::argsort_default, argsort}, {AtenOp::argsort_stable, argsort},     {AtenOp::median_default, median_of_all},
    {AtenOp::median_dim, median},       {AtenOp::kthvalue_default, kth_value},
};
static_assert(rewrites_what_becomes(kOrderRewrites));

}  // namespace

std::span<const RewriteRow> order_rewrites() {
  return kOrderRewrites;
}

}  // namespace carina::normalize
