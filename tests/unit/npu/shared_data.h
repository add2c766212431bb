#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "facts/npu_targets.h"

namespace carina::npu {

// The folder of test data that is not part of the repository: $CARINA_SHARED, else ../shared beside it; empty when
// absent.
inline std::string shared_folder() {
  const char* set = std::getenv("CARINA_SHARED");
  const std::filesystem::path folder =
      set != nullptr ? std::filesystem::path(set) : std::filesystem::path(CARINA_SOURCE_DIR) / ".." / "shared";
  return std::filesystem::is_directory(folder) ? folder.string() : std::string();
}

struct SharedStream {
  std::string model;
  const AcceleratorConfig* accelerator;
  std::string folder;  // of model.pte and out_vela.npz
};

// All networks that Vela 5.2 compiled, for all targets, in a fixed order.
inline std::vector<SharedStream> shared_streams() {
  std::vector<SharedStream> found;
  if (shared_folder().empty()) return found;
  for (const char* model : {"add_int32", "ds_cnn", "kws", "lstm", "mobilenet_v2", "resnet20", "resnet8", "softmax"}) {
    for (const AcceleratorConfig& accelerator : kAccelerators) {
      const std::filesystem::path folder = std::filesystem::path(shared_folder()) / "cases" / model / accelerator.name;
      if (std::filesystem::exists(folder / "out_vela.npz")) found.push_back({model, &accelerator, folder.string()});
    }
  }
  return found;
}

}  // namespace carina::npu
