#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "results/listing.h"

namespace carina::inspect {

// Lists the inputs, outputs, operators and tensors of a .tflite file, also of one that cannot be compiled.
Result<results::Listing> list_tflite(const Buffer& file, const std::string& path);

}  // namespace carina::inspect
