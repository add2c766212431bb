// Declares the decoder of PNG and JPEG images. It is a library of its own, so that programs without images link neither
// libpng nor libjpeg.
#pragma once

#include <cstdint>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"

namespace carina::datasets {

// An ImageDecoder for PNG and JPEG. Transparent pixels are composed over black. Errors: a damaged file, an image of
// more than 64 million pixels, a JPEG with four color components.
Result<Image> decode_image(const Buffer& file, int64_t channels, const std::string& where);

}  // namespace carina::datasets
