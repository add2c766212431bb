#pragma once

#include <string>
#include <vector>

#include "results/listing.h"

namespace carina::report {

// Returns the text of the listing, or else one line per part.
std::string to_text(const results::Listing& listing);
std::string to_json(const results::Listing& listing);

}  // namespace carina::report
