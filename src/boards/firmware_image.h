// Reads and writes the model slot of a firmware image (a 32-bit ELF file).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/firmware.h"

namespace carina::boards {

// Returns where an image expects its model, and the memory that it has. Errors: not a 32-bit little-endian ELF file for
// Arm; not an image of Carina, or an image of another version.
Result<firmware::ImageSlot> read_slot(const Buffer& image, const std::string& where);

// Returns the image with one more program segment, which holds the model. Nothing is compiled or linked. `header` gives
// the sizes of the memory pools and the NPU; the program's size is filled in. Errors: those of read_slot(); an image
// that has a model already; a program larger than the image's slot; pools larger than the image's memory.
Result<std::vector<std::byte>> put_model(const Buffer& image, const std::string& where, const Buffer& program,
                                         firmware::ModelHeader header);

// Returns the model that put_model() added. Errors: those of read_slot(); an image without a model.
Result<Buffer> model_of(const Buffer& image, const std::string& where);

}  // namespace carina::boards
