#pragma once

#include <optional>
#include <vector>

#include "plan/select/selection.h"

namespace carina::plan {

// The attributes and constants of a convolution. The weights have no zero point and are in TOSA's order.
struct Convolution {
  Operand ifm;  // [N,H,W,C]
  Kernel kernel;
  Padding padding;
  WeightValues weights;
  Shape weight_shape;
  bool turned = false;  // rows and columns have changed places, also in the result
};

// Checks the types of a convolution's operands. Errors: types or weights that no NPU supports.
Result<void> check_convolution_types(Selection& s);
Result<WeightValues> read_weights(Selection& s);
// The epilogues of the node's sums, one per result. Sums of 48 bits exist only in the accumulators, so they are
// computed again for each RESCALE that reads them. Errors: a reader of such sums that is not a RESCALE.
Result<std::vector<Epilogue>> epilogues_of(Selection& s);
// The same for weights and biases that are known, which may allow narrow_epilogue().
Result<std::vector<Epilogue>> epilogues_of(Selection& s, const Convolution& c, const std::vector<int64_t>& biases);
// The epilogue of two RESCALEs after sums of int48, which the NPU then computes in 32 bits. Nothing, if they may need
// more. `c` has its weights, with the output channel as the first axis.
std::optional<Epilogue> narrow_epilogue(Selection& s, const Convolution& c, const std::vector<int64_t>& biases);
// Replaces the padding by elements of a larger copy of the input.
void pad_in_memory(Selection& s, Convolution& c);
// Emits a convolution with weights [O,KH,KW,C] (kDepthwise: [C,KH,KW,1]) and any kernel, padding and dilation. Errors:
// a kernel beyond the NPU's limit with sums beyond 32 bits; a stride that cannot be unrolled.
Result<void> emit_convolution(Selection& s, StepKind kind, Convolution c, const std::vector<int64_t>& biases,
                              const View& out, const Epilogue& epilogue);

// The dilation in the NPU's registers, and the distance of the taps in units of it.
struct Steps {
  int64_t native = 1;
  int64_t step = 1;
};
Steps steps_of(int64_t taps, int64_t dilation);
// Returns whether the padding is beyond the NPU's registers, or some windows lie wholly in it. The NPU is not known to
// support such windows.
bool needs_padding_in_memory(const Convolution& c);
// Moves the weights out of the convolution. Errors: sums that could overflow.
Result<WeightsId> weights_of(Selection& s, Convolution& c, const std::vector<int64_t>& biases,
                             const Epilogue& epilogue);
Result<void> emit_with(Selection& s, StepKind kind, const Convolution& c, WeightsId weights, const View& out,
                       const Epilogue& epilogue);
// Emits a dilated convolution as one convolution per phase, if that costs less than zeros between the taps. The taps of
// each phase are as close as the NPU allows. Returns false and emits nothing if it does not apply.
Result<bool> emit_by_phases(Selection& s, StepKind kind, const Convolution& c, const std::vector<int64_t>& biases,
                            const View& out, const Epilogue& epilogue);

// Swaps rows and columns of a convolution with weights [O,KH,KW,C] if its kernel is higher than the NPU allows, and not
// wider, or if its image is one column: only the strides of views change. Then `turned` is set.
//   Example: a 512x1 kernel on [1,1024,1,1] becomes a 1x512 kernel on [1,1,1024,1].
void lay_tall_kernel_down(Convolution& c);
// A view [N,H,W,C] with rows and columns in the order of the convolution's.
View oriented(const Convolution& c, View view);

// Returns whether a convolution with dense weights [O,KH,KW,C] has a stride that the NPU does not support, along an
// axis with more than one output.
bool has_patches(const Convolution& c, const Shape& out);

// Rewrites such a convolution to strides that the NPU supports: the elements of a patch become channels. Nothing is
// copied if addresses can express a row of patches (a pixel of `stride` pixels); then only the rows are unrolled.
// Otherwise the patches are copied, from any order of axes of the input. `out` is the shape of the result.
//   Example: a 4x4 kernel with stride 4 on [1,8,8,3] becomes a 1x1 kernel on [1,2,2,48].
void lay_patches(Selection& s, Convolution& c, const Shape& out);

// Rewrites a depthwise convolution with such a stride to one on a copy, in which its windows are beside each other, if
// that takes fewer cycles.
//   Example: 3x3 windows with stride 5 on [1,35,35,64] become those with stride 3 on [1,21,21,64].
void lay_windows_apart(Selection& s, Convolution& c, const Shape& out);

// Rewrites first layers. With few channels, the pixels of one stride become one pixel with more channels, if that takes
// fewer cycles. `is_copy`: the input's tensor is a copy made for this convolution, and is written as a whole.
void fold_columns(Selection& s, Convolution& c, const Shape& out, bool is_copy);

}  // namespace carina::plan
