// Starts and supervises one QEMU process.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/shared_pages.h"
#include "carina/result.h"

namespace carina::boards {

struct QemuRun {
  std::string folder;                   // working folder; holds the image and the two pipes of facts/firmware.h
  std::string image;                    // a file's name in the folder
  const SharedPages* memory = nullptr;  // backs its DDR
  std::vector<std::string> arguments;   // command-line arguments of the image
  int timeout_seconds = 600;
  std::function<void(std::string_view)> on_line;           // each line of the console
  std::function<void(int request, int reply)> on_request;  // called when one request for the NPU can be read
};

// Runs QEMU and returns the image's exit status. Errors: QEMU cannot be started, or it times out.
Result<int> run_qemu(const QemuRun& run);

// The address of the DDR of mps3-an547. Source: QEMU's hw/arm/mps2-tz.c.
inline constexpr uint64_t kQemuDdrAddress = 0x60000000;
inline constexpr uint64_t kQemuDdrBytes = uint64_t{2} << 30;

}  // namespace carina::boards
