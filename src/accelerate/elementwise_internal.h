#pragma once

#include <memory>

#include "accelerate/float_functions_internal.h"
#include "accelerate/step_internal.h"
#include "kernels/micro/microkernels.h"

// Steps for elementwise operators and operators that place elements. Each function returns nullptr if it does not
// support the types, sizes or layouts of the call.
namespace carina::accelerate {

std::unique_ptr<Step> make_function(FloatFunctionKind kind, const EValue& in, EValue& out);
// (input, approximate, out)
std::unique_ptr<Step> make_gelu(Arguments arguments);
// (a, b: a tensor or a number, out)
std::unique_ptr<Step> make_comparison(kernels::Comparison op, Arguments arguments);
// (condition, a, b, out)
std::unique_ptr<Step> make_where(Arguments arguments);
// (input, mask, number, out)
std::unique_ptr<Step> make_masked_fill(Arguments arguments);
// (input, padding: before and after, of the last axis first, number, out)
std::unique_ptr<Step> make_pad(Arguments arguments);
// (input, output size or None, scale factors or None, out)
std::unique_ptr<Step> make_nearest(Arguments arguments);
// (input, output size or None, align corners, scale factors or None, out)
std::unique_ptr<Step> make_bilinear(Arguments arguments);

}  // namespace carina::accelerate
