#pragma once

#include <vector>

#include "plan/select/selection.h"

namespace carina::plan {

// A convolution's attributes and constants, weights without zero point in TOSA's order.
struct Convolution {
  Operand ifm;  // [N,H,W,C]
  Kernel kernel;
  Padding padding;
  WeightValues weights;
  Shape weight_shape;
};

// What a node's constants say. Errors: types or weights that no NPU convolves.
Result<void> check_convolution_types(Selection& s);
Result<WeightValues> read_weights(Selection& s);
// What is done to the node's sums, once for each result: those of 48 bits live in the accumulators only, and are computed
// again for each RESCALE that reads them. Errors: another reader of such sums.
Result<std::vector<Epilogue>> epilogues_of(Selection& s);
// Padding as elements of a larger copy of the input.
void pad_in_memory(Selection& s, Convolution& c);
// A convolution over weights [O,KH,KW,C] (kDepthwise: [C,KH,KW,1]) of any kernel, padding and dilation. Errors: a kernel
// beyond the NPU's with sums beyond 32 bits, a stride that cannot be unrolled.
Result<void> emit_convolution(Selection& s, StepKind kind, Convolution c, const std::vector<int64_t>& biases,
                              const View& out, const Epilogue& epilogue);

// The dilation that the NPU is told, and how far apart the taps are in its steps.
struct Steps {
  int64_t native = 1;
  int64_t step = 1;
};
Steps steps_of(int64_t taps, int64_t dilation);
// Windows that lie wholly in the padding are not something the NPU is known to do.
bool has_empty_windows(const Convolution& c);
// Takes the weights out of the convolution. Errors: sums that could overflow.
Result<WeightsId> weights_of(Selection& s, Convolution& c, const std::vector<int64_t>& biases,
                             const Epilogue& epilogue);
Result<void> emit_with(Selection& s, StepKind kind, const Convolution& c, WeightsId weights, const View& out,
                       const Epilogue& epilogue);
// A dilated convolution as one per phase, whose taps are as close as the NPU can have them, where zeros between the taps
// would cost more. False, and nothing made, if it is not such a one.
Result<bool> emit_by_phases(Selection& s, StepKind kind, const Convolution& c, const std::vector<int64_t>& biases,
                            const View& out, const Epilogue& epilogue);

// Whether a convolution over dense weights [O,KH,KW,C] has a stride that the NPU has not, along an axis with more than
// one output.
bool has_patches(const Convolution& c, const Shape& out);

// Turns such a convolution into one whose strides the NPU has: the elements of a patch become channels. Where an address
// can say so for a row of patches (a pixel of `stride` pixels), nothing moves and only rows are left to be unrolled; else
// the patches are copied, from whatever order of axes the input has. `out` is the shape of the result.
void lay_patches(Selection& s, Convolution& c, const Shape& out);

// First layers: with few channels, the pixels of a stride become one pixel with more channels where that takes fewer
// cycles. `is_copy`: the input's tensor was copied for this convolution, and so written as a whole.
void fold_columns(Selection& s, Convolution& c, const Shape& out, bool is_copy);

}  // namespace carina::plan
