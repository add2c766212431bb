// Runs any words as a command stream on the simulator of a firmware image with little memory. Every run must end
// without a crash.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "facts/npu_accelerators.h"
#include "firmware/board/board.h"
#include "firmware/npu/core.h"

namespace carina::firmware {

void board_write_line(std::string_view) {}

}  // namespace carina::firmware

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  static const npu::AcceleratorConfig& accelerator = *npu::find_accelerator("ethos-u55-64");
  std::array<std::vector<std::byte>, 3> memory;
  firmware::npu_core::Core::Regions regions;
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i].assign(1 << 14, std::byte{static_cast<unsigned char>(i)});
    regions[i] = memory[i];
  }
  std::vector<uint32_t> words(size / sizeof(uint32_t));
  for (size_t i = 0; i < words.size() * sizeof(uint32_t); ++i) words[i / 4] |= uint32_t{data[i]} << 8 * (i % 4);
  std::vector<int16_t> weights(1 << 14);
  firmware::npu_core::Workspace workspace{.weights = weights, .max_work = 1 << 22};
  static_cast<void>(firmware::npu_core::Core(accelerator, regions, workspace).run(words));
  return 0;
}
