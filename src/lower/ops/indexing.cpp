// Lowers index.Tensor and index_put in the form that src/normalize/decompose_indexing.cpp produces: an index for each
// of the first axes, then one axis with the remaining elements.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "facts/aten_traits.h"
#include "lower/lowering_internal.h"
#include "tensor/elements.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// `x` as [1, rows, inner], and the row number of each selected row.
struct Rows {
  ValueId values;
  ValueId row_indices;  // int32 [1, count]
  int64_t all;
  int64_t count;
  int64_t inner;
};

std::span<const ValueId> indices_of(const Node& node, size_t after) {
  return std::span(node.inputs).subspan(1, node.inputs.size() - 1 - after);
}

// The elements of a constant index, with negative ones converted.
ValueId known_index(Lowering& in, ValueId id, int64_t size) {
  Ints values = integers_of(*in.value(id).constant);
  for (int64_t& value : values) value += value < 0 ? size : 0;
  return in.out.constant(in.value(id).name, integer_tensor(DType::kInt32, in.shape(id), values));
}

// Converts negative indices, which count from the end: adds (index >> 31) * -size, which is size for negative indices.
ValueId counted_from_the_front(Lowering& in, ValueId id, int64_t size) {
  if (in.value(id).constant) return known_index(in, id, size);
  const ValueId index = in.operand(id);
  const size_t rank = in.out.shape(index).rank();
  const ValueId sign =
      in.out.emit(TosaOp::ARITHMETIC_RIGHT_SHIFT, {index, in.out.splat(DType::kInt32, 31, rank)}, {{"round", false}},
                  {.dtype = DType::kInt32, .shape = in.out.shape(index), .suffix = "sign"});
  const ValueId missing =
      in.out.binary(TosaOp::MUL, sign, in.out.splat(DType::kInt32, static_cast<double>(-size), rank));
  return in.out.binary(TosaOp::ADD, index, missing);
}

// Combines the indices of all axes to row numbers.
ValueId row_numbers(Lowering& in, const Node& node, std::span<const ValueId> indices, const Shape& chosen) {
  const Shape shape = in.shape(node.inputs[0]);
  ValueId number;
  int64_t stride = 1;
  for (size_t axis = indices.size(); axis-- > 0; stride *= shape[axis]) {
    ValueId index = counted_from_the_front(in, indices[axis], shape[axis]);
    if (stride > 1)
      index = in.out.binary(TosaOp::MUL, index,
                            in.out.splat(DType::kInt32, static_cast<double>(stride), in.out.shape(index).rank()));
    number = number.valid() ? in.out.binary(TosaOp::ADD, number, index) : index;
  }
  return in.out.reshape(in.out.tile(number, chosen), Shape{1, chosen.elements()});
}

Rows rows_of(Lowering& in, const Node& node, size_t after, const Shape& chosen) {
  const Shape shape = in.shape(node.inputs[0]);
  const int64_t inner = shape[shape.rank() - 1], all = shape.elements() / inner;
  return {.values = in.out.reshape(in.operand(node.inputs[0]), Shape{1, all, inner}),
          .row_indices = row_numbers(in, node, indices_of(node, after), chosen),
          .all = all,
          .count = chosen.elements(),
          .inner = inner};
}

Shape without_last(const Shape& shape) {
  return Shape(Ints(shape.dims().begin(), shape.dims().end() - 1));
}

ValueId gathered(Lowering& in, ValueId values, ValueId row_indices) {
  const Shape from = in.out.shape(values);
  return in.out.emit(
      TosaOp::GATHER, {values, row_indices}, {},
      {.dtype = in.out.dtype(values), .shape = Shape{1, in.out.shape(row_indices)[1], from[2]}, .suffix = "gather"});
}

// TOSA's GATHER has no bool type.
ValueId as_numbers(Lowering& in, ValueId value) {
  return in.out.dtype(value) == DType::kBool ? in.out.cast(value, DType::kInt8) : value;
}

Rejected check_index(const Candidate& c, size_t after) {
  for (const ValueId id : indices_of(c.node, after)) {
    if (!id.valid())
      return rejected("index.axes", "an axis without an index stands before one with an index",
                      "move the indexed axes to the front with permute");
    const ir::Value& index = c.graph[id];
    if (index.dtype == DType::kInt32 || index.dtype == DType::kInt64) continue;
    return rejected(
        "index.mask",
        fmt::format("{} is {}: how many elements it chooses depends on the data", index.name, name_of(index.dtype)),
        "choose with torch.where, which keeps the shape");
  }
  return std::nullopt;
}

Result<ValueId> index(Lowering& in, const Node& node) {
  CARINA_CHECKED(accepted(node, check_index(in.candidate(node), 0)));
  const Shape result = in.shape(node.outputs[0]);
  const Rows rows = rows_of(in, node, 0, without_last(result));
  const ValueId values = gathered(in, as_numbers(in, rows.values), rows.row_indices);
  const ValueId chosen = in.out.reshape(in.out.cast(values, in.out.dtype(rows.values)), result);
  if (!in.is_quantized(node)) return chosen;
  return in.requantize(chosen, in.quantization(node.inputs[0]), in.quantization(node.outputs[0]));
}

// [count, count]: which pairs of rows have the same target.
ValueId same_rows(Lowering& in, const Rows& rows) {
  const ValueId down = in.out.reshape(rows.row_indices, Shape{rows.count, 1});
  return in.out.emit(TosaOp::EQUAL, {down, rows.row_indices}, {},
                     {.dtype = DType::kBool, .shape = Shape{rows.count, rows.count}, .suffix = "same"});
}

// TOSA REQUIREs that SCATTER writes each row once. If several rows write one target, only the last may; the others are
// redirected to extra rows after the tensor.
ValueId chooses_once(Lowering& in, const Rows& rows, ValueId same) {
  std::vector<uint8_t> after;
  Ints spare(static_cast<size_t>(rows.count));
  std::iota(spare.begin(), spare.end(), rows.all);
  for (int64_t i = 0; i < rows.count * rows.count; ++i) after.push_back(i % rows.count > i / rows.count ? 1 : 0);
  const Shape square{rows.count, rows.count}, list{1, rows.count};
  const ValueId later = in.out.constant("later", Tensor::of<uint8_t>(DType::kBool, square, after));
  const ValueId again =
      in.out.emit(TosaOp::LOGICAL_AND, {same, later}, {}, {.dtype = DType::kBool, .shape = square, .suffix = "again"});
  const ValueId any = in.out.emit(TosaOp::REDUCE_ANY, {again}, {{"axis", int64_t{1}}},
                                  {.dtype = DType::kBool, .shape = Shape{rows.count, 1}, .suffix = "any"});
  const ValueId unused = in.out.constant("spare", integer_tensor(DType::kInt32, list, spare));
  return in.out.emit(TosaOp::SELECT, {in.out.reshape(any, list), unused, rows.row_indices}, {},
                     {.dtype = DType::kInt32, .shape = list, .suffix = "places"});
}

ValueId scattered(Lowering& in, const Rows& rows, ValueId row_indices, ValueId values) {
  const int64_t spare = rows.count > 1 ? rows.count : 0;
  const ValueId from = as_numbers(in, rows.values);
  const ValueId wide = in.out.pad(from, {0, 0, 0, spare, 0, 0}, 0);
  const ValueId all = in.out.emit(TosaOp::SCATTER, {wide, row_indices, as_numbers(in, values)}, {},
                                  {.dtype = in.out.dtype(wide), .shape = in.out.shape(wide), .suffix = "scatter"});
  const ValueId kept = in.out.slice(all, {0, 0, 0}, in.out.shape(rows.values));
  return in.out.cast(kept, in.out.dtype(rows.values));
}

// The type of the accumulated sums.
DType sum_type(DType type) {
  return is_float(type) ? type : DType::kInt32;
}

ValueId widened(Lowering& in, ValueId value, const std::optional<Quantization>& q) {
  if (!q) return in.out.cast(value, sum_type(in.out.dtype(value)));
  return in.out.rescale(value, {.scales = {1}, .input_zp = q->zero_point(), .output_zp = 0, .to = DType::kInt32});
}

// For each row, the sum of all rows with the same target: [count, count, inner], summed over the second axis.
ValueId sums_of(Lowering& in, const Rows& rows, ValueId same, ValueId values) {
  const Shape cube{rows.count, rows.count, rows.inner};
  const DType type = in.out.dtype(values);
  const ValueId mask = in.out.reshape(same, Shape{rows.count, rows.count, 1});
  const ValueId zero = in.out.splat(type, 0, 3);
  const ValueId chosen =
      in.out.emit(TosaOp::SELECT, {mask, values, zero}, {}, {.dtype = type, .shape = cube, .suffix = "chosen"});
  return in.out.reshape(in.out.reduce(TosaOp::REDUCE_SUM, chosen, 1), Shape{1, rows.count, rows.inner});
}

// The current rows plus the added rows.
ValueId added(Lowering& in, const Node& node, const Rows& rows, ValueId same, ValueId values) {
  const std::optional<Quantization>& q = in.value(node.outputs[0]).quantization;
  ValueId more = widened(in, values, q);
  if (rows.count > 1) more = sums_of(in, rows, same, more);
  const ValueId before = widened(in, gathered(in, rows.values, rows.row_indices), q);
  const ValueId sum = in.out.binary(TosaOp::ADD, before, more);
  if (!q) return in.out.cast(sum, in.out.dtype(rows.values));
  return in.within_range(
      in.out.rescale(sum, {.scales = {1}, .input_zp = 0, .output_zp = q->zero_point(), .to = q->dtype}), *q);
}

ValueId as_scattered(Lowering& in, const Node& node, size_t input) {
  const ValueId value = in.operand(node.inputs[input]);
  if (!in.is_quantized(node)) return value;
  return in.requantize(value, in.quantization(node.inputs[input]), in.quantization(node.outputs[0]));
}

Result<ValueId> index_put(Lowering& in, const Node& node) {
  CARINA_CHECKED(accepted(node, check_index(in.candidate(node), 1)));
  const size_t last = node.inputs.size() - 1;
  Rows rows = rows_of(in, node, 1, without_last(in.shape(node.inputs[last])));
  rows.values = in.out.reshape(as_scattered(in, node, 0), in.out.shape(rows.values));
  ValueId values = in.out.reshape(as_scattered(in, node, last), Shape{1, rows.count, rows.inner});
  const ValueId same = rows.count > 1 ? same_rows(in, rows) : ValueId();
  if (node.attributes.get<bool>("accumulate")) values = added(in, node, rows, same, values);
  const ValueId row_indices = rows.count > 1 ? chooses_once(in, rows, same) : rows.row_indices;
  return in.out.reshape(scattered(in, rows, row_indices, values), in.shape(node.outputs[0]));
}

Rejected check_rows(const Candidate& c) {
  if (c.target.limits.max_indexed_rows > 0) return std::nullopt;
  return rejected("index.run-time", fmt::format("{} does not read places from a tensor", c.target.name),
                  "use constant indices, whose neighbors are slices, or an NPU that gathers");
}

Rejected index_fits(const Candidate& c) {
  return first_of({check_index(c, 0), check_rows(c)});
}

// Rows with the same target are found by comparing all pairs, so their number is limited.
Rejected check_comparisons(const Candidate& c) {
  constexpr int64_t kMaxElements = int64_t{1} << 24;
  const Shape& values = c.input(c.node.inputs.size() - 1).shape;
  const int64_t inner = values[values.rank() - 1], count = values.elements() / inner;
  const int64_t width = c.node.attributes.get<bool>("accumulate") ? inner : 1;
  if (count <= kMaxElements / count / width) return std::nullopt;
  return rejected("index.places", fmt::format("{} places are written, of which any may be one", count),
                  "use constant indices");
}

Rejected index_put_fits(const Candidate& c) {
  if (Rejected mask = check_index(c, 1)) return mask;  // with a mask, rows are not laid out
  return first_of({check_rows(c), check_comparisons(c)});
}

constexpr LoweringRow kIndexingRows[] = {
    {.op = AtenOp::index_Tensor, .integers = PlainIntegers::kAny, .legal = index_fits, .lower = index},
    {.op = AtenOp::index_put_default, .integers = PlainIntegers::kAny, .legal = index_put_fits, .lower = index_put},
};
static_assert(lowers_all_of(kIndexingRows, {AtenFamily::kIndexing}));

}  // namespace

std::span<const LoweringRow> indexing_rows() {
  return kIndexingRows;
}

}  // namespace carina::lower
