#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/firmware.h"
#include "facts/npu_accelerators.h"
#include "firmware/npu/checked_map.h"
#include "firmware/npu/operation.h"
#include "firmware/npu/registers.h"

// The simulated NPU of firmware images.
namespace carina::firmware::npu_core {

inline constexpr npu::Product kProduct = npu::Product::kU55;

// The memory of lookup tables: the part of the NPU's shared buffer that a command stream can access.
inline constexpr size_t kTableBytes = size_t{npu::kShramLutBanks} * npu::kShramBankBytes;

// Scratch memory of the simulator.
struct Workspace {
  std::span<int16_t> weights;             // weights of one operation
  uint64_t max_work = uint64_t{1} << 40;  // limit of multiply-accumulates of a stream, so that a damaged stream ends
  std::array<std::byte, kTableBytes> tables{};
};

// A scalar simulator of Ethos-U55 with a small code size: it computes one output element after the other and has no
// cycle model. Its results are those of src/simulate. It is an independent implementation without a heap.
class Core {
 public:
  using Regions = std::array<std::span<std::byte>, kNpuRegions>;

  Core(const npu::AcceleratorConfig& accelerator, const Regions& regions, Workspace& workspace)
      : accelerator_(accelerator), regions_(regions), workspace_(workspace) {}

  // Runs a whole command stream. Returns false for a fault, and prints the reason on the console.
  bool run(std::span<const uint32_t> stream);

 private:
  bool step(const Command& command, bool& running);
  bool run_dma();
  bool transfer_ends(std::span<std::byte>& source, std::span<std::byte>& destination);
  bool spend(const Operation& op);
  bool run_operation(const Operation& op);
  [[nodiscard]] std::span<std::byte> range(uint32_t region, uint32_t base, uint32_t bytes) const;

  const npu::AcceleratorConfig& accelerator_;
  const Regions& regions_;
  Workspace& workspace_;
  Registers registers_;
  uint64_t work_ = 0;
};

}  // namespace carina::firmware::npu_core
