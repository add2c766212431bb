#pragma once

#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "report/listing.h"

namespace carina::driver {

// The tables of a VGF file; its text shows the TOSA graph too, when the file is one, or why it is not. Errors: a damaged
// container.
Result<report::Listing> list_vgf(const Buffer& file, const std::string& path);

}  // namespace carina::driver
