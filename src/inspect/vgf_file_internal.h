#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "results/listing.h"

namespace carina::inspect {

// Lists the tables of a VGF file. The text also has the TOSA graph, or the reason why the file contains none. Errors: a
// damaged container.
Result<results::Listing> list_vgf(const Buffer& file, const std::string& path);

}  // namespace carina::inspect
