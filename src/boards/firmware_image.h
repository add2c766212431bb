#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "facts/firmware.h"

namespace carina::boards {

// Where an image expects its model, and the memory that it has. Errors: not a 32-bit little-endian ELF file for Arm; one
// that is not an image of ours, or of another version.
Result<firmware::ImageSlot> read_slot(const Buffer& image, const std::string& where);

// The image with a program segment for the model behind it; nothing is compiled or linked. Errors: as read_slot(); an
// image that has a model already; a program that is larger than the image's place for it, pools larger than its memory.
// `header` says how the image's memory is cut and which NPU it is to be; the program's size is filled in.
Result<std::vector<std::byte>> put_model(const Buffer& image, const std::string& where, const Buffer& program,
                                         firmware::ModelHeader header);

// The model that put_model() put in. Errors: as read_slot(); an image without a model.
Result<Buffer> model_of(const Buffer& image, const std::string& where);

}  // namespace carina::boards
