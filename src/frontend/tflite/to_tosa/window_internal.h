#pragma once

#include <cstdint>

#include "frontend/tflite/to_tosa/call_internal.h"

namespace carina::tflite {

// A window that slides along one axis.
struct Window {
  int64_t size = 0;  // of the input
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
};

// How TOSA covers the same positions: it wants the last window to end at the padded input's end.
//   Example: size 6, kernel 3, stride 2, VALID has 2 results, of the elements 0 .. 4: `used` is 5.
//   Example: the same with SAME has 3 results and ends one element after the input: `after` is 1.
struct Coverage {
  int64_t results = 0;
  int64_t used = 0;  // elements of the input, from its start
  int64_t before = 0;
  int64_t after = 0;
};

// Returns the coverage as LiteRT's kernels compute it. Error: sizes below 1, or no result.
Result<Coverage> coverage_of(const Call& call, Padding padding, const Window& window);

// Cuts an NHWC input to the elements that are used.
ir::ValueId used_part(Call& call, ir::ValueId input, const Coverage& rows, const Coverage& columns);

}  // namespace carina::tflite
