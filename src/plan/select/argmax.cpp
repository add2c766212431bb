#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// ARGMAX. One pool gives the positions, if the NPU has such pools. Otherwise, for few int8 elements, one number holds
// both value and index, and for others it computes the indices of the largest elements and takes the first.
namespace carina::plan {
namespace {

constexpr int64_t kMaxRankedChannels = 127;
constexpr int64_t kMaxIndices = 32767;  // each is an int16

// value * 128 + (C - 1 - c) as int16. The maximum of these belongs to the first of the largest values.
Result<Operand> rank_channels(Selection& s, const Operand& x) {
  const Shape shape = x.view.shape();
  Weights weights{
      .name = {}, .out_channels = shape[3], .values = std::vector<int16_t>(static_cast<size_t>(shape[3]), 128)};
  for (int64_t c = 0; c < shape[3]; ++c) weights.biases.push_back(shape[3] - 1 - c);
  const Epilogue epilogue = store_only({}, kSigned16);
  CARINA_TRY(const WeightsId id, add_weights(s, std::move(weights), epilogue));
  const View out = s.new_tensor("ranked", shape, kSigned16);
  CARINA_CHECKED(emit_window(
      s, {.kind = StepKind::kDepthwise, .ifm = x, .ofm = out, .kernel = {}, .padding = {}, .weights = id}, epilogue));
  return Operand{.view = out, .type = kSigned16};
}

// A table that interpolates to C - 1 - (q & 127).
TensorId index_table(Selection& s, int64_t channels) {
  constexpr size_t kSteps = 512;
  std::array<uint32_t, kSteps> words{};
  words.fill(static_cast<uint16_t>(channels - 1) | static_cast<uint32_t>(static_cast<uint16_t>(-128)) << 16);
  return s.new_constant("argmax", std::as_bytes(std::span(words)), {kSteps * 4}, 1);
}

// [1, 1, rows, channels] with the axis as channels.
Operand axis_as_channels(Selection& s, Operand x, size_t axis) {
  std::vector<int64_t> perms;
  for (size_t i = 0; i < x.view.rank(); ++i) {
    if (i != axis) perms.push_back(static_cast<int64_t>(i));
  }
  perms.push_back(static_cast<int64_t>(axis));
  const int64_t channels = x.view.axes[axis].size;
  x.view = permuted(x.view, perms);
  return with_shape(s, x, {1, 1, x.view.elements() / channels, channels});
}

Result<void> by_rank(Selection& s, const Operand& whole, size_t axis) {
  const Operand x = axis_as_channels(s, whole, axis);
  const int64_t rows = x.view.axes[2].size, channels = x.view.axes[3].size;
  CARINA_TRY(const Operand ranked, rank_channels(s, x));
  Epilogue largest = store_only({}, kSigned16);
  largest.activation.table = index_table(s, channels);
  const Operand ifm = with_shape(s, ranked, {1, rows, channels, 1});
  const View index = s.new_tensor("index", {1, rows, 1, 1}, kSigned16);
  CARINA_CHECKED(emit_window(s,
                             {.kind = StepKind::kPool,
                              .pool = npu::PoolingMode::MAX,
                              .ifm = ifm,
                              .ofm = index,
                              .kernel = {.width = channels},
                              .padding = {}},
                             largest));
  s.define(s.output(), {.view = *reshaped(index, s.shape(s.output())), .type = kSigned16});
  return {};
}

// The values K - k along the axis, which has K elements.
Operand indices_from_end(Selection& s, size_t rank, size_t axis, int64_t size) {
  std::vector<int16_t> values;
  for (int64_t k = 0; k < size; ++k) values.push_back(static_cast<int16_t>(size - k));
  std::vector<int64_t> dims(rank, 1);
  dims[axis] = size;
  const Shape shape{std::span<const int64_t>(dims)};
  return {.view = dense_view(s.new_constant("places", std::as_bytes(std::span(values)), shape, 2), shape),
          .type = kSigned16};
}

Result<void> by_indices(Selection& s, const Operand& x, size_t axis) {
  const int64_t size = x.view.axes[axis].size;
  CARINA_TRY(const Operand largest, emit_largest(s, x, axis));
  Epilogue store = store_only({}, kSigned16), is_largest = store;
  is_largest.zero_point = 1;  // x - largest + 1 is 1 or less
  is_largest.activation.min = 0;
  const Operand found = emit_temporary(
      s, "is largest", {.mode = npu::ElementwiseMode::SUB, .a = x, .b = largest, .operands = {}}, is_largest);
  const Operand indices = emit_temporary(s, "places",
                                         {.mode = npu::ElementwiseMode::MUL,
                                          .a = found,
                                          .b = indices_from_end(s, x.view.rank(), axis, size),
                                          .operands = {}},
                                         store);
  CARINA_TRY(Operand first, emit_largest(s, indices, axis));
  first.view = *reshaped(first.view, s.shape(s.output()));
  emit_output_elementwise(s,
                          {.mode = npu::ElementwiseMode::SUB,
                           .a = first,
                           .b = {.view = {}, .type = kSigned16},
                           .scalar = size,
                           .scalar_first = true,
                           .operands = {}},
                          store_only(s.output(), kSigned32));
  return {};
}

// A pool over whole rows, whose width is the axis and whose channels are the axes after it. Its results are the
// positions in the row.
//   Example: [1,48,48,17] over axis 1 is a pool of 48 columns over [1,1,48,816].
Result<void> by_pool(Selection& s, const Operand& x, const Shape& shape) {
  const Operand rows = with_shape(s, x, shape);
  const View index = s.new_tensor("index", {1, shape[1], 1, shape[3]}, kSigned32);
  CARINA_CHECKED(emit_window(s,
                             {.kind = StepKind::kPool,
                              .pool = npu::PoolingMode::ARGMAX_X,
                              .ifm = rows,
                              .ofm = index,
                              .kernel = {.width = shape[2]},
                              .padding = {}},
                             store_only({}, kSigned32)));
  s.define(s.output(), {.view = *reshaped(index, s.shape(s.output())), .type = kSigned32});
  return {};
}

// [1, elements before the axis, the axis, elements after it].
Shape rows_along(const Shape& shape, size_t axis) {
  int64_t before = 1, after = 1;
  for (size_t i = 0; i < axis; ++i) before *= shape[i];
  for (size_t i = axis + 1; i < shape.rank(); ++i) after *= shape[i];
  return {1, before, shape[axis], after};
}

}  // namespace

Result<void> select_argmax(Selection& s) {
  const Operand x = s.plain(s.input(0));
  const auto axis = static_cast<size_t>(s.node().attributes.integer("axis"));
  const int64_t size = x.view.axes[axis].size;
  const Shape rows = rows_along(x.view.shape(), axis);
  const auto fits = [](int64_t length) { return length <= npu::kMaxAxis; };
  if (s.family().abilities.argmax_pools && x.type == kSigned8 && std::ranges::all_of(rows.dims(), fits))
    return by_pool(s, x, rows);
  if (x.type == kSigned8 && size <= kMaxRankedChannels) return by_rank(s, x, axis);
  if (size > kMaxIndices)
    return s.reject("the axis is too long", fmt::format("at most {}", kMaxIndices), std::to_string(size));
  return by_indices(s, x, axis);
}

}  // namespace carina::plan
