// Declares the function that puts a program into a firmware image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boards/firmware_image.h"
#include "boards/selected_image.h"
#include "carina/log.h"
#include "carina/result.h"
#include "results/firmware_report.h"

namespace carina::boards {

inline constexpr const char* kDefaultImage = "corstone300-host";  // its NPU is a simulator on the host

// Sizes of the memory pools of an image; 0: the image's default.
struct FirmwarePools {
  uint32_t method_bytes = 0;
  uint32_t temp_bytes = 0;
  uint32_t fast_bytes = 0;
};

struct FirmwareRequest {
  std::string program;                // .pte
  std::string image = kDefaultImage;  // the name of an installed image, or the path of an .elf
  std::string output = {};            // .elf; empty: no file is written
  FirmwarePools pools = {};
  KernelChoice kernels = {};     // kernels to link into an installed image; empty: the image as built, with all kernels
  std::string accelerator = {};  // the simulated NPU of an image that simulates one; empty: the program's
};

// Returns the path of a firmware image. `image` is the name of an image that is installed beside the carina program or
// in the folder of CARINA_FIRMWARE, or a path, which is returned unchanged. Errors: there is no such image.
Result<std::string> image_path(const std::string& image);

// A firmware image that contains a model: the image as it was built, plus a program segment.
struct Firmware {
  std::vector<std::byte> elf;
  results::FirmwareReport report;
};

// Puts a program into an image. Errors: those of image_path(), put_model() and link_image(); a file that is not a
// program; a delegate for anything but an Ethos-U; the names of kernels that the program calls and the image lacks;
// more memory than the image's pools or its simulator have, with both sizes.
Result<Firmware> make_firmware(const FirmwareRequest& request, const Log& log);

}  // namespace carina::boards
