#include <numeric>

#include "normalize/place_selection_internal.h"
#include "normalize/slices.h"
#include "tensor/elements.h"

namespace carina::normalize {
namespace {

using ir::ValueId;

ValueId flags(Rewriter& in, AtenOp op, std::vector<ValueId> inputs, const Shape& shape) {
  ir::Value result{.name = "is_place", .dtype = DType::kBool, .shape = shape, .quantization = {}, .constant = {}};
  return in.make_value(op, std::move(inputs), {}, std::move(result));
}

// The numbers from `first` on along an axis: [1, rows, 1]
ValueId numbers(Rewriter& in, DType type, const Shape& along, size_t axis, int64_t first) {
  std::vector<int64_t> from(static_cast<size_t>(along[axis]));
  std::iota(from.begin(), from.end(), first);
  return in.constant("rows", integer_tensor(type, along, from));
}

// Which rows are the place: a negative one counts from the end.
ValueId is_place(Rewriter& in, ValueId place, const Shape& along, size_t axis) {
  const ValueId number = in.view(place, Shape(std::vector<int64_t>(along.rank(), 1)));
  const DType type = in[place].dtype;
  const ValueId forward = flags(in, AtenOp::eq_Tensor, {numbers(in, type, along, axis, 0), number}, along);
  const ValueId backward = flags(in, AtenOp::eq_Tensor, {numbers(in, type, along, axis, -along[axis]), number}, along);
  return flags(in, AtenOp::logical_or_default, {forward, backward}, along);
}

}  // namespace

std::optional<ValueId> with_selected_places(Rewriter& in, ValueId x, const IndexedAxes& axes, ValueId places,
                                            ValueId values) {
  const Shape shape = in.shape(x);
  if (axes.indexed().size() != 1 || axes.chosen().rank() != 1 || axes.count() > kMaxPlaces) return std::nullopt;
  if (in[places].dtype != DType::kInt64 && in[places].dtype != DType::kInt32) return std::nullopt;
  const size_t axis = axes.indexed().front();
  Shape along(std::vector<int64_t>(shape.rank(), 1));
  along[axis] = shape[axis];
  for (int64_t p = 0; p < axes.count(); ++p) {
    const ValueId mask = is_place(in, slice(in, places, 0, p, p + 1), along, axis);
    ir::Value result{
        .name = "written", .dtype = in[x].dtype, .shape = shape, .quantization = in[x].quantization, .constant = {}};
    x = in.make_value(AtenOp::where_self, {mask, slice(in, values, axis, p, p + 1), x}, {}, std::move(result));
  }
  return x;
}

}  // namespace carina::normalize
