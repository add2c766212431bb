// Defines the options of the verifier. The rules read them.
#pragma once

#include <cstddef>
#include <string>

#include "facts/tosa_row.h"

namespace carina::tosa {

// Every profile and extension.
inline constexpr TosaFeatures kAllTosaFeatures{.bits = (1 << kTosaFeatureNames.size()) - 1};

struct VerifyOptions {
  std::string where = "graph";               // the name of the module in messages
  TosaFeatures features = kAllTosaFeatures;  // the profiles and extensions that may be used
  TosaLevel level = kTosaLevel8K;            // the default of the reference model
  size_t max_messages = 20;
};

}  // namespace carina::tosa
