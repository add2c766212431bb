#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"

namespace carina::datasets {

// Converts an image to the tensor of an input of shape [1,C,H,W], [1,H,W,C], [C,H,W] or [H,W,C], where C is 1 or 3.
// Float inputs are normalized by ImageOptions. Integer inputs are normalized likewise, rounded to nearest and clamped;
// without options uint8 gets the pixel values. Errors: a damaged image, no decoder, a wrong size, an input of another
// shape, an integer input (not uint8) without options, since nothing gives the meaning of its integers.
Result<Tensor> image_tensor(const Buffer& file, const InputType& input, const ImageOptions& options,
                            const std::string& where);

}  // namespace carina::datasets
