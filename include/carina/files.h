// Declares functions that read and write the files around the API: models, programs and arrays.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "carina/sample.h"

namespace carina::api {

// The content of a file, mapped where the system can do so: the file must not change while the Buffer exists. Errors:
// it does not exist or cannot be read.
Result<Buffer> open_file(const std::string& path);

// Writes a file, or replaces it. Errors: the folder does not exist, the disk is full.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);

// The arrays of an .npz by name, or of an .npy under the name "x". Errors: a damaged file; no array of numbers.
Result<std::map<std::string, Tensor>> read_arrays(const std::string& path);

// The arrays of an .npz or .npy as samples for a model or a program with these inputs. Each input takes the array of
// its name; an only input takes "x", or the only array that fits. Arrays are split along their first axis. Errors:
// those of read_arrays(); arrays that are missing or do not fit.
Result<std::vector<datasets::Sample>> read_samples(const std::string& path,
                                                   std::span<const datasets::InputType> inputs);

}  // namespace carina::api
