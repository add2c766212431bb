#pragma once

#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"

namespace carina::datasets {

// Cuts a sound file (.wav) of one channel into the steps of a sequence: each has as many sound samples as the input has
// elements. Float inputs get numbers from -1 to 1, int16 inputs the numbers of 16 bits. A note says the rate, and
// how many sound samples after the last whole step are not used. Errors: a damaged file; several channels; a coding
// other than PCM and floats; another rate than SoundOptions says, since nothing is resampled; less than one step.
//   Example: 1,200 sound samples for an input [1,512] are 2 steps, and 176 are not used
Result<std::vector<Tensor>> sound_steps(const Buffer& file, const InputType& input, const SoundOptions& options,
                                        const std::string& where, const Log& log);

}  // namespace carina::datasets
