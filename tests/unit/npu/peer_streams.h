#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "../case_folders.h"
#include "base/io/file.h"
#include "facts/npu_targets.h"

namespace carina::npu {

struct PeerStream {
  std::string model;  // the model's folder
  const AcceleratorConfig* accelerator;
  std::string folder;  // the folder with model.pte and out_vela.npz
};

// All networks that Vela 5.2 compiled, for all targets, in a fixed order.
inline std::vector<PeerStream> peer_streams() {
  std::vector<PeerStream> found;
  for (const std::filesystem::path& cases : tests::case_folders()) {
    for (const char* model : {"add_int32", "ds_cnn", "kws", "lstm", "mobilenet_v2", "resnet20", "resnet8", "softmax"}) {
      for (const AcceleratorConfig& accelerator : kAccelerators) {
        const std::filesystem::path folder = cases / model / accelerator.name;
        if (!std::filesystem::exists(folder / "out_vela.npz")) continue;
        found.push_back({(cases / model).string(), &accelerator, folder.string()});
      }
    }
  }
  return found;
}

}  // namespace carina::npu
