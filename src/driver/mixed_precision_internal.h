// Declares the search for a mixed-precision scheme (8-bit and 16-bit activations).
#pragma once

#include <span>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compilation.h"

namespace carina::driver {

struct MixedChoice {
  quantize::Scheme scheme;
  std::vector<results::MeasuredScheme> front;  // of all that was measured, if the goal wants it
};

// Chooses the parts of a float model that compute with 16-bit activations; the others use 8 bits. It prefers parts
// where 8 bits add much noise to the outputs and 16 bits add few cycles, as long as the total stays within the budget.
// Plain schemes are candidates too. Noise is measured on samples that are held out of the calibration data, cycles by
// compiling; those of the CPU count. A note reports the result. Errors: a budget that is not a number or is below the
// cycles with 8 bits, an SQNR that no candidate reaches (usage); no samples; the errors of the stages.
Result<MixedChoice> choose_mixed_scheme(const models::Model& model, const CompileOptions& options,
                                        const backends::Backend& backend, const models::AutoGoal& goal, const Log& log);

}  // namespace carina::driver
