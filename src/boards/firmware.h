#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "boards/firmware_image.h"
#include "boards/selected_image.h"
#include "results/firmware_report.h"

namespace carina::boards {

inline constexpr const char* kDefaultImage = "corstone300-host";  // the host's simulator is its NPU

// How an image's memory is cut; 0: the image's own share.
struct FirmwarePools {
  uint32_t method_bytes = 0;
  uint32_t temp_bytes = 0;
  uint32_t fast_bytes = 0;
};

struct FirmwareRequest {
  std::string program;                // .pte
  std::string image = kDefaultImage;  // one of those that are installed by its name, or an .elf
  std::string output = {};            // .elf; empty: nothing is written
  FirmwarePools pools = {};
  KernelChoice kernels = {};  // of an image that is installed, which is linked anew for it; empty: all, as it is built
  std::string accelerator = {};  // of an image that simulates it; empty: the program's
};

// The path of an image that is installed beside the carina program, or that CARINA_FIRMWARE names the folder of; `image`
// itself when it is a path. Errors: there is none.
Result<std::string> image_path(const std::string& image);

// A firmware image with a model in it: the image as it was built, and a program segment.
struct Firmware {
  std::vector<std::byte> elf;
  results::FirmwareReport report;
};

// Puts a program into an image. Errors: as image_path(), put_model() and link_image(); a file that is no program; kernels
// that the program calls and the image lacks, by name.
Result<Firmware> make_firmware(const FirmwareRequest& request, const Log& log);

}  // namespace carina::boards
