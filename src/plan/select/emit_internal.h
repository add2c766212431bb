#pragma once

#include <cstdint>
#include <span>

#include "plan/select/selection.h"

// The building blocks of the operator rules. Each function divides its work into as many NPU operations as it needs.
// Comments write the destination as `dst` and the source as `src`.
namespace carina::plan {

// The elements of a dense view as one row of channels.
FeatureMap flat_map(const View& view, ElementType type);

// The feature map of a view of [H,W,C] or [1,H,W,C]. Every stride of the view is a stride of the map. The channels of a
// result may have gaps between them only if is_writable() allows it.
FeatureMap image_map(const View& image, ElementType type, int64_t zero_point);
// Whether the NPU's registers can hold the padding.
bool fits_padding_limits(const Padding& padding);
// Returns whether a window operation can write its results to this view of [...,H,W,C]: the channels are contiguous, or
// the rows or columns are, and the NPU transposes results (Abilities::transposed_results).
bool is_writable(const Selection& s, const View& results);

// dst = src, element by element. Both have the same shape and type.
void emit_copy(Selection& s, const View& dst, const View& src, ElementType type);

// dst = src, if dst has contiguous channels, src has these channels along another axis, and it takes no more cycles
// than the steps `others`. Otherwise emits nothing and returns false.
bool emit_gather(Selection& s, const View& dst, const View& src, ElementType type, std::span<const Step> others);

// The cycles of a copy of 8- or 16-bit elements, by these pools or as emit_gather() makes it.
double cycles_of_copy(const Selection& s, const View& dst, const View& src, ElementType type,
                      std::span<const Step> pools);

// dst = src repeated. Every size of dst is a multiple of src's.
void emit_tiled(Selection& s, const View& dst, const View& src, ElementType type);

// dst (32 bits) = the integers that a narrow operand represents.
void emit_widen(Selection& s, const View& dst, const Operand& narrow);

// dst = scaled src (32 bits in; 8, 16 or 32 bits out).
void emit_scale_32(Selection& s, const View& dst, const View& src, const Epilogue& epilogue);

// dst = the source with its padding.
void emit_pad(Selection& s, const View& dst, const PendingPad& pad);

// dst = value in every element. `sample` is a tensor of the same type (8 or 16 bits) whose elements are defined and may
// be read.
void emit_fill(Selection& s, const View& dst, const Operand& sample, int64_t value);

// dst = scaled and clamped src, as a 1x1 pool. Both have the same shape. Input and output have 8 or 16 bits, unless the
// NPU has wide elements.
void emit_requantize(Selection& s, const View& dst, const Operand& src, const Epilogue& epilogue);

// dst = a op b. `a` and `b` have the rank of dst and its sizes or 1. If the operands have different scalings,
// `operands` holds them in the order a, b. A scalar replaces b (or a, if scalar_first).
struct Elementwise {
  npu::ElementwiseMode mode = npu::ElementwiseMode::ADD;
  Operand a = {};
  Operand b = {};
  bool has_b = true;
  std::optional<int64_t> scalar = {};  // replaces b's elements, as stored; b's type and zero point still apply
  bool scalar_first = false;           // scalar op a
  OperandScaling operands = {};
};
void emit_elementwise(Selection& s, const View& dst, const Elementwise& what, const Epilogue& epilogue);
// x * factor, for x of 8 or 16 bits and a factor of the same type. It is cheaper than an addition of 0 or a
// subtraction.
Elementwise times_scalar(const Operand& x, int64_t factor);
// Emits an elementwise operation to a new tensor. Its elements are as `store` says; its shape is the broadcast of both
// operands.
Operand emit_temporary(Selection& s, std::string name, const Elementwise& what, const Epilogue& store);
// Emits an elementwise operation as the current node's result `epilogue.value`. The axis order in memory is that of the
// operands.
void emit_output_elementwise(Selection& s, Elementwise what, const Epilogue& epilogue);
// a + b or a - b of two int32 values. It uses the narrow tensors that they represent if the NPU can scale both exactly.
Elementwise sum_of(Selection& s, npu::ElementwiseMode mode, ir::ValueId a, ir::ValueId b);
// dst (8 or 16 bits) = the low bits of src, whose elements are wider.
void emit_low_bits(Selection& s, const View& dst, const Operand& src, ElementType type);

// A window operation on [N,H,W,C] views: dst[n,oy,ox] depends on the window at (oy * stride - pad).
struct Window {
  StepKind kind = StepKind::kConv;
  npu::PoolingMode pool = npu::PoolingMode::AVERAGE;  // of pools
  Operand ifm = {};
  View ofm = {};
  Kernel kernel = {};
  Padding padding = {};
  int64_t upscale = 1;         // Step::upscale
  bool inserts_zeros = false;  // Step::inserts_zeros
  WeightsId weights = {};
};
// Emits a window operation. Errors: a kernel beyond the NPU's limit; a stride too large to be unrolled.
Result<void> emit_window(Selection& s, const Window& window, const Epilogue& epilogue);
// As emit_window(), for a pool of extremes or averages; an average has a scale, by which its sum is multiplied. Emits
// two pools
// if these take clearly fewer cycles.
Result<void> emit_pool(Selection& s, const Window& pool, const Epilogue& epilogue);
// Returns whether emit_pool() may emit two pools.
bool may_separate_pools(const Selection& s);

// Returns whether the operand's elements are known at compile time.
bool is_constant(Selection& s, const Operand& operand);
// The same constant with this order of axes in memory, outermost first.
Operand constant_in_order(Selection& s, const Operand& constant, std::span<const int64_t> order);

// Reduces each of `rows` [count, channels] to fewer elements with the same maximum. Channels are contiguous. Returns
// `rows` itself if this saves nothing.
Result<Operand> largest_of_groups(Selection& s, const Operand& rows);
// How many of the channels of `count` rows should be left to windows, after maxima of halves, for the fewest cycles:
// all of them, or half, or a quarter ... 1: no window is needed.
int64_t channels_after_halving(const Selection& s, int64_t count, int64_t channels, ElementType type);
// dst [count, half] = the maximum or minimum of the first and the last half of `rows` [count, channels]. Channels are
// contiguous.
void emit_halves(Selection& s, const View& dst, const Operand& rows, npu::ElementwiseMode mode);

// The operand's elements with another shape. They are copied if strides cannot express it.
Operand with_shape(Selection& s, const Operand& operand, const Shape& shape);
// The maximum along an axis (8 or 16 bits), in a new tensor whose size along that axis is 1.
Result<Operand> emit_largest(Selection& s, const Operand& x, size_t axis);
// The operand with a contiguous innermost axis, copied if necessary.
Operand with_dense_channels(Selection& s, const Operand& operand);
// `operand` with all repeated axes of `shape` written out in memory.
Operand repeated(Selection& s, const Operand& operand, const Shape& shape);

// A TABLE node as the NPU's lookup table: int8 to int8, or int16 to int16 with the RESCALE by 2^-7 that follows.
struct LookupTable {
  TensorId tensor = {};
  ElementType in = {};
  ir::ValueId value = {};  // the result of the lookup
  ir::NodeId second = {};  // the RESCALE that is part of it
};
std::optional<LookupTable> table_of(Selection& s, ir::NodeId table);

// An epilogue that only stores: it has the value and its type.
Epilogue store_only(ir::ValueId value, ElementType type);
// The epilogue of a RESCALE whose result is stored as `value`.
Epilogue epilogue_of(const Rescale& rescale, ir::ValueId value);
// A RESCALE, without a zero point of its input, that alone reads a value.
struct FoundRescale {
  ir::NodeId node;
  Rescale rescale;
};
std::optional<FoundRescale> rescale_after(const Selection& s, ir::ValueId value);
// The epilogue of a shift of 32-bit elements: a RESCALE that only moves and limits the result is part of it. Otherwise
// `store`.
Epilogue epilogue_of_shift(Selection& s, const Epilogue& store);
// Weights without taps: one scale and one bias per channel, from the epilogue.
WeightsId scale_table(Selection& s, const Epilogue& epilogue, int64_t channels);

}  // namespace carina::plan
