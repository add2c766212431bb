// Declares the simulator as the NPU of an emulated board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "facts/firmware.h"
#include "plan/network/target.h"
#include "simulate/simulator.h"

namespace carina::boards {

// Memory that the device and the host share.
struct SharedMemory {
  std::span<std::byte> bytes;
  uint64_t device_address = 0;  // address of the first byte
};

// The simulator as the NPU of a device. It answers the requests of a firmware's driver (facts/firmware.h).
class NpuService {
 public:
  // `kept`: the number of invocations whose reports are kept, from the first on.
  NpuService(const plan::Target& target, const SharedMemory& memory, simulate::Timing timing, int threads, size_t kept);

  // Never fails: the reply carries the error.
  firmware::NpuReply answer(const firmware::NpuRequest& request);

  [[nodiscard]] const std::vector<simulate::Report>& reports() const { return reports_; }

 private:
  Result<void> run(const firmware::NpuRequest& request, firmware::NpuReply& reply);
  [[nodiscard]] Result<std::span<std::byte>> range(uint64_t address, uint64_t bytes, const char* role) const;

  npu::AcceleratorConfig accelerator_;
  SharedMemory memory_;
  simulate::Simulator simulator_;
  size_t kept_;
  std::vector<simulate::Report> reports_;
};

}  // namespace carina::boards
