// Declares the decoder of PNG and JPEG images.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina::datasets {

// The pixels of an image, [height, width, channels], row by row.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;  // 1: gray, 3: red, green, blue
  std::vector<uint8_t> pixels;
};

enum class ImageFormat { kNone, kPng, kJpeg };
ImageFormat image_format_of(const Buffer& file);

// Decodes a PNG or JPEG to `channels` (1 or 3) channels of 8 bits; transparent pixels are composed over black. Errors:
// a damaged file, an image of more than 64 million pixels, a JPEG with four color components.
Result<Image> read_image(const Buffer& file, int64_t channels, const std::string& where);

}  // namespace carina::datasets
