#pragma once

#include <string>
#include <vector>

#include "results/listing.h"

namespace carina::report {

// The listing's own text, or a line for each part.
std::string to_text(const results::Listing& listing);
std::string to_json(const results::Listing& listing);

}  // namespace carina::report
