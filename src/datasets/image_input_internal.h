#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"

namespace carina::datasets {

// An image as an input of one image: [1,C,H,W], [1,H,W,C] or without the first axis, C of 1 or 3. Floats get what
// ImageOptions says; integers likewise, rounded to nearest and clamped, uint8 the pixels themselves where nothing is
// said. Errors: a damaged image, another size, an input that is none of these shapes, integers of which nothing says
// what they mean.
Result<Tensor> image_tensor(const Buffer& file, const InputType& input, const ImageOptions& options,
                            const std::string& where);

}  // namespace carina::datasets
