#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"

// What a user gives as inputs of a run.
namespace carina::datasets {

// What becomes of an image's channels, v of 0 to 255: (v / 255 - mean) / std, one number for all channels or one for
// each. Empty: mean 0, std 1; of an input of uint8, v itself.
struct ImageOptions {
  std::vector<double> mean;
  std::vector<double> std;
};

struct InputBatch {
  std::vector<Sample> samples;
  // How the samples stood in their files, and so how their outputs are put together.
  enum class Join : uint8_t {
    kNone,       // one sample, of the inputs' own shapes
    kFirstAxis,  // one after another along the first axis, as torch.cat
    kNewAxis,    // along an axis before the first, as np.stack
  } join = Join::kNone;
};

// One word per input, in the order of the inputs, or as NAME=WORD; or one .npz or folder for all, by their names. A word is
// a file (.npy; an image, PNG or JPEG; .csv; .bin: the bytes as they are), a folder of such, or numbers ("0.5", "1,2,3":
// one fills the input). A file may hold many samples; an input of one sample serves all samples of the others. Where the
// input is a number of the program, its text ("3", "0.5", "true").
// Errors: wrong count, dtype or shape; inputs with different numbers of samples; another number than the program was
// exported for, as ExecuTorch's runtime refuses it.
Result<InputBatch> load_batch(std::span<const std::string> specs, std::span<const InputType> inputs,
                              const ImageOptions& images, const Log& log);

// The same for one sample. Errors: also several.
Result<Sample> load_inputs(std::span<const std::string> specs, std::span<const InputType> inputs);

// The same of arrays in memory, one for each input, in order. `where` is what messages call them.
Result<Sample> fit_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs, const std::string& where);

// The outputs of all samples, each put together as the samples were; where they have no axis that counts samples, along a
// new one. Errors: outputs whose shapes differ between samples.
Result<std::vector<NamedTensor>> joined_outputs(std::span<const std::vector<NamedTensor>> outputs,
                                                InputBatch::Join join, std::span<const InputType> inputs,
                                                const std::string& where);

}  // namespace carina::datasets
