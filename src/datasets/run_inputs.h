// Converts a user's input files and arrays to the samples of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"

// Inputs of a run as a user gives them.
namespace carina::datasets {

enum class ImageFormat { kNone, kPng, kJpeg };
ImageFormat image_format_of(const Buffer& file);

// The pixels of an image, [height, width, channels], row by row.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;  // 1: gray, 3: red, green, blue
  std::vector<uint8_t> pixels;
};

// Decodes a PNG or JPEG to `channels` (1 or 3) channels of 8 bits. `where` names the file in messages.
using ImageDecoder = Result<Image> (*)(const Buffer& file, int64_t channels, const std::string& where);

// Normalization of an image's channels, whose values v are 0 to 255: (v / 255 - mean) / std. `mean` and `std` hold one
// number for all channels or one per channel. Empty: mean 0 and std 1; a uint8 input gets v itself.
struct ImageOptions {
  std::vector<double> mean;
  std::vector<double> std;
  ImageDecoder decoder = nullptr;  // decode_image() of the library images; nullptr: an image as an input is an error
};

// How a sound file becomes the steps of a sequence.
struct SoundOptions {
  int64_t rate = 0;  // in Hz, that the model takes: a file of another rate is an error; 0: any
};

struct InputBatch {
  std::vector<Sample> samples;
  // How the samples were stored in their files. The outputs are joined in the same way.
  enum class Join : uint8_t {
    kNone,       // one sample, with the inputs' own shapes
    kFirstAxis,  // samples concatenated along the first axis, as by torch.cat
    kNewAxis,    // samples stacked along a new first axis, as by np.stack
  } join = Join::kNone;
};

// Loads the samples of a run. `specs` has one word per input, in the order of the inputs or as NAME=WORD; or it is one
// .npz or folder with the data of all inputs by name. A word is a file (.npy; a PNG or JPEG image; .csv; .bin for raw
// bytes), a folder of such files, or numbers ("0.5", "1,2,3"; a single number fills the input). A file may hold many
// samples. An input of one sample is used with every sample of the others. For an input that is a fixed number of the
// program the word is that number ("3", "0.5", "true"). Errors: wrong count, dtype or shape; inputs with different
// numbers of samples; a number other than the exported one, which ExecuTorch's runtime rejects too.
Result<InputBatch> load_batch(std::span<const std::string> specs, std::span<const InputType> inputs,
                              const ImageOptions& images, const Log& log);

// Loads the steps of a sequence, whose first axis is time, in the same way. Outputs are stacked along a new first axis,
// also where the inputs' first axis has size 1. An .npz whose arrays have other names than the inputs holds them in the
// order of the inputs, since a program has no names. A .wav is cut into steps of the input's size.
Result<InputBatch> load_sequence(std::span<const std::string> specs, std::span<const InputType> inputs,
                                 const ImageOptions& images, const SoundOptions& sound, const Log& log);

// Loads the inputs of exactly one sample. Errors: those of load_batch(); several samples.
Result<Sample> load_inputs(std::span<const std::string> specs, std::span<const InputType> inputs,
                           const ImageOptions& images);

// Converts arrays in memory, one per input in order, to a sample. `where` is their name in messages.
Result<Sample> fit_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs, const std::string& where);

// Converts arrays in memory, one per input in order, to the samples of a run: an array holds one sample, or several
// along its first axis, by the rules of load_batch() for a .npy. Errors: those of load_batch().
//   Example: an array [8,3,128] for an input [1,3,128] has 8 samples, joined along the first axis.
Result<InputBatch> split_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs,
                                const std::string& where);

// Joins the outputs of all samples as the inputs' samples were joined. Outputs without an axis of samples are stacked
// along a new axis. Errors: the shapes of an output differ between samples.
Result<std::vector<NamedTensor>> joined_outputs(std::span<const std::vector<NamedTensor>> outputs,
                                                InputBatch::Join join, std::span<const InputType> inputs,
                                                const std::string& where);

}  // namespace carina::datasets
