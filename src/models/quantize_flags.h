#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carina/options.h"
#include "carina/result.h"
#include "models/quantize.h"

namespace carina::models {

// The options of quantization as command lines and files give them. scheme: "none", "auto", or as
// quantize::parse_scheme(); empty: the model's own quantization. overrides: as quantize::parse_override(). max_cycles:
// of "auto", as choose_mixed_scheme(). file: JSON of the same: {"scheme": .., "io": .., "overrides": [..]}.
using QuantizeFlags = options::QuantizeOptions;

// For command lines: what is wrong with one word; empty: nothing.
std::string scheme_error(std::string_view flags);
std::string override_error(std::string_view flags);

// The request that the flags make, without its samples. The file counts first, then the rest. Errors (usage): unknown
// values, all of them; a file that is no such JSON.
Result<QuantizeRequest> parse_quantize_flags(const QuantizeFlags& flags);

}  // namespace carina::models
