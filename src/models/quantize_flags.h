#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carina/options.h"
#include "carina/result.h"
#include "models/quantize.h"

namespace carina::models {

// The quantization options of command lines and files. scheme: "none", "auto", or text for quantize::parse_scheme();
// empty: the model's own quantization. overrides: texts for quantize::parse_override(). max_cycles: the budget of
// "auto", as for choose_mixed_scheme(). file: a JSON file with the same settings: {"scheme": .., "io": .., "overrides":
// [..]}.
using QuantizeFlags = options::QuantizeOptions;

// Returns the error in one option of a command line, or an empty string.
std::string scheme_error(std::string_view flags);
std::string override_error(std::string_view flags);

// Returns the request for these flags, without its samples. Settings of the flags take precedence over those of the
// file. Errors (usage): all unknown values; a file that is not such JSON.
Result<QuantizeRequest> parse_quantize_flags(const QuantizeFlags& flags);

}  // namespace carina::models
