#include "carina/files.h"

#include "base/guarded.h"
#include "base/io/file.h"
#include "datasets/samples.h"

namespace carina::api {

Result<Buffer> open_file(const std::string& path) {
  return guarded([&] { return map_file(path); });
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  return guarded([&] { return carina::write_file(path, bytes); });
}

Result<std::map<std::string, Tensor>> read_arrays(const std::string& path) {
  return guarded([&] { return datasets::load_arrays(path); });
}

Result<std::vector<datasets::Sample>> read_samples(const std::string& path,
                                                   std::span<const datasets::InputType> inputs) {
  return guarded([&]() -> Result<std::vector<datasets::Sample>> {
    CARINA_TRY(const auto arrays, datasets::load_arrays(path));
    return datasets::split_samples(arrays, inputs, path);
  });
}

}  // namespace carina::api
