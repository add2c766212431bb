#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "models/quantize.h"

namespace carina::models {

// What a user says about quantization, as command lines and files say it.
struct QuantizeFlags {
  std::string scheme;                       // "none", "auto", or as quantize::parse_scheme(); empty: as the model is
  std::vector<std::string> overrides = {};  // as quantize::parse_override()
  std::string io = {};                      // "float", or the type of the raw integers: "int8", "uint8", "int16"
  std::string max_cycles = {};              // of "auto"; as choose_mixed_scheme()
  std::string file = {};                    // JSON of the same: {"scheme": .., "io": .., "overrides": [..]}
};

// For command lines: what is wrong with one word; empty: nothing.
std::string scheme_error(std::string_view flags);
std::string override_error(std::string_view flags);

// The request that the flags make, without its samples. The file counts first, then the rest. Errors (usage): unknown
// values, all of them; a file that is no such JSON.
Result<QuantizeRequest> parse_quantize_flags(const QuantizeFlags& flags);

}  // namespace carina::models
