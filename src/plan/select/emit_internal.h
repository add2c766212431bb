#pragma once

#include <cstdint>

#include "plan/select/selection.h"

// The operations that rules are made of. Each splits what it is asked for into as many NPU operations as needed.
namespace carina::plan {

// The elements of a dense view as one row of channels.
FeatureMap flat_map(const View& view, ElementType type);

// dst = src, element by element; both have the same shape and type.
void emit_copy(Selection& s, const View& dst, const View& src, ElementType type);

// The same where dst has its channels side by side and src has them in another axis; false if that is not so.
bool emit_gather(Selection& s, const View& dst, const View& src, ElementType type);

// dst = src again and again: every size of dst is a multiple of src's.
void emit_tiled(Selection& s, const View& dst, const View& src, ElementType type);

// dst (32 bits) = the integers that a narrow operand stands for.
void emit_widen(Selection& s, const View& dst, const Operand& narrow);

// dst = scaled src (32 bits in; 8, 16 or 32 out).
void emit_scale_32(Selection& s, const View& dst, const View& src, const Epilogue& epilogue);

// dst = the source with its padding.
void emit_pad(Selection& s, const View& dst, const PendingPad& pad);

// dst = value everywhere. `sample` is a tensor with defined elements of the same type (8 or 16 bits) that may be read.
void emit_fill(Selection& s, const View& dst, const Operand& sample, int64_t value);

// dst = scaled and clamped src, as a 1x1 pool. Same shapes; 8 or 16 bits in and out, unless the NPU has wide elements.
void emit_requantize(Selection& s, const View& dst, const Operand& src, const Epilogue& epilogue);

// dst = a op b. `a` and `b` have the rank of dst and its sizes or 1. With scaling that differs between operands,
// `operands` counts for a, b in this order. A scalar stands where b would (before a if scalar_first).
struct Elementwise {
  npu::ElementwiseMode mode = npu::ElementwiseMode::ADD;
  Operand a = {};
  Operand b = {};
  bool has_b = true;
  std::optional<int64_t> scalar = {};  // instead of b's elements, as stored; b's type and zero point count
  bool scalar_first = false;           // scalar op a
  OperandScaling operands = {};
};
void emit_elementwise(Selection& s, const View& dst, const Elementwise& what, const Epilogue& epilogue);
// x * factor, x of 8 or 16 bits and the factor of as many: cheaper than a sum with nothing or a difference from it.
Elementwise times_scalar(const Operand& x, int64_t factor);
// The same to a new tensor of elements as `store` says; its shape is what both operands broadcast to.
Operand emit_temporary(Selection& s, std::string name, const Elementwise& what, const Epilogue& store);
// The same as the result of the node at hand, `epilogue.value`, with its axes in memory as its operands have theirs.
void emit_output_elementwise(Selection& s, Elementwise what, const Epilogue& epilogue);
// a + b or a - b of two int32 values: of the narrow tensors that they stand for where the NPU can scale both exactly.
Elementwise sum_of(Selection& s, npu::ElementwiseMode mode, ir::ValueId a, ir::ValueId b);
// dst (8 or 16 bits) = the low bits of src, whose elements are wider.
void emit_low_bits(Selection& s, const View& dst, const Operand& src, ElementType type);

// A window operation on [N,H,W,C] views: dst[n,oy,ox] from the window at (oy*stride - pad).
struct Window {
  StepKind kind = StepKind::kConv;
  npu::PoolingMode pool = npu::PoolingMode::AVERAGE;  // of pools
  Operand ifm = {};
  View ofm = {};
  Kernel kernel = {};
  Padding padding = {};
  WeightsId weights = {};
};
// Errors: a kernel that is larger than the NPU's, a stride too large to be unrolled.
Result<void> emit_window(Selection& s, const Window& window, const Epilogue& epilogue);

// Whether the operand's elements are known when the network is compiled.
bool is_constant(Selection& s, const Operand& operand);
// The same constant with its axes in this order in memory, outermost first.
Operand constant_in_order(Selection& s, const Operand& constant, std::span<const int64_t> order);

// Fewer elements in each of `rows` [count, channels], channels side by side, with the same largest one; `rows` itself
// where that saves nothing.
Result<Operand> largest_of_groups(Selection& s, const Operand& rows);

// The operand's elements under another shape, copied where strides cannot say it.
Operand with_shape(Selection& s, const Operand& operand, const Shape& shape);
// The largest elements along an axis (8 or 16 bits), in a new tensor where that axis has one element.
Result<Operand> emit_largest(Selection& s, const Operand& x, size_t axis);
// The operand with its innermost axis side by side in memory, copied if need be.
Operand with_dense_channels(Selection& s, const Operand& operand);
// `operand` with every axis of `shape` in memory instead of repeated.
Operand repeated(Selection& s, const Operand& operand, const Shape& shape);

// A TABLE node as the NPU's lookup table: int8 to int8, or int16 to int16 together with the RESCALE by 2^-7 behind it.
struct LookupTable {
  TensorId tensor = {};
  ElementType in = {};
  ir::ValueId value = {};  // what the lookup makes
  ir::NodeId second = {};  // the RESCALE that is part of it
};
std::optional<LookupTable> table_of(Selection& s, ir::NodeId table);

// An epilogue that only stores: the value, its type and nothing else.
Epilogue store_only(ir::ValueId value, ElementType type);
// What a RESCALE does, to be stored as `value`.
Epilogue epilogue_of(const Rescale& rescale, ir::ValueId value);
// Weights without taps: a scale and bias per channel, from the epilogue.
WeightsId scale_table(Selection& s, const Epilogue& epilogue, int64_t channels);

}  // namespace carina::plan
