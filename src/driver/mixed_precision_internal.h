#pragma once

#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/compilation.h"

namespace carina::driver {

// Chooses which parts of a float model compute with 16-bit activations, the rest with 8 bits: the parts whose 8 bits
// cost the outputs most, for the cycles that 16 bits cost there, as long as all of it stays within the budget. Both are
// measured: the noise of each part on the first samples, the cycles by compiling. `budget`: cycles ("1200000"), or in
// percent of those with 8 bits ("150%"); empty: 150%. A note says what came of it. Errors: a budget that is no number or
// less than 8 bits take (usage); no samples; as the stages' on the way.
Result<quantize::Scheme> choose_mixed_scheme(const models::Model& model, const CompileOptions& options,
                                             const backends::Backend& backend, std::string_view budget, const Log& log);

}  // namespace carina::driver
