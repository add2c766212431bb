#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "results/listing.h"

namespace carina::inspect {

// The tables of a VGF file; its text shows the TOSA graph too, when the file is one, or why it is not. Errors: a damaged
// container.
Result<results::Listing> list_vgf(const Buffer& file, const std::string& path);

}  // namespace carina::inspect
