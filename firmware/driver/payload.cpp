#include "firmware/driver/payload.h"

#include <cstring>
#include <string_view>

#include "facts/npu_accelerators.h"
#include "firmware/board/console.h"

namespace carina::firmware {

namespace {

constexpr uint32_t kMagic = 0x31504F43;  // "COP1"
enum Action : uint32_t { kOptimizerConfig = 1, kCommandStream = 2, kNop = 5 };

bool reject(std::string_view why) {
  error().text("ethosu: the payload ").text(why);
  return false;
}

// Reads the action at word `at` and advances `at` to the next action.
bool read_action(std::span<const uint32_t> words, size_t& at, DriverPayload& payload) {
  const uint32_t action = words[at];
  const size_t left = words.size() - at - 1;
  const size_t stream_words = static_cast<size_t>(action >> 8 & 0xFF) << 16 | action >> 16;
  switch (action & 0xFF) {
    case kOptimizerConfig:
      if (left < 2) return reject("is cut off in its configuration");
      payload.words = {.config = words[at + 1], .id = words[at + 2]};
      at += 3;
      return true;
    case kCommandStream:
      if (stream_words == 0 || stream_words > left) return reject("is shorter than its command stream");
      payload.stream = words.subspan(at + 1, stream_words);
      at += 1 + stream_words;
      return true;
    case kNop:
      ++at;
      return true;
    default:
      return reject("has an action that the driver does not know");
  }
}

std::string_view name_of(uint32_t config_word) {
  const npu::AcceleratorConfig* accelerator = npu::find_accelerator_of_word(config_word);
  return accelerator == nullptr ? std::string_view("another NPU") : accelerator->name;
}

}  // namespace

bool read_payload(std::span<const std::byte> bytes, DriverPayload& payload) {
  const std::span words(reinterpret_cast<const uint32_t*>(bytes.data()), bytes.size() / sizeof(uint32_t));
  if (words.empty() || bytes.size() % sizeof(uint32_t) != 0 || words[0] != kMagic)
    return reject("does not begin with COP1");
  for (size_t at = 1; at < words.size();) {
    if (!read_action(words, at, payload)) return false;
  }
  if (payload.stream.empty() || payload.words.config == 0)
    return reject("lacks its configuration or its command stream");
  return true;
}

bool check_compatible(const NpuWords& compiled, const NpuWords& npu) {
  using npu::ConfigWord;
  using npu::IdWord;
  const auto* accelerator = npu::find_accelerator_of_word(npu.config);
  const bool custom_dma_missing = ConfigWord::custom_dma(compiled.config) > ConfigWord::custom_dma(npu.config);
  if (accelerator == nullptr || !npu::same_hardware(*accelerator, compiled.config) || custom_dma_missing) {
    error()
        .text("ethosu: the program was compiled for ")
        .text(name_of(compiled.config))
        .text(" (CONFIG ")
        .hex(compiled.config)
        .text("), this NPU is ")
        .text(name_of(npu.config))
        .text(" (CONFIG ")
        .hex(npu.config)
        .text(")");
    return false;
  }
  if (IdWord::arch_major(compiled.id) == IdWord::arch_major(npu.id) &&
      IdWord::arch_minor(compiled.id) <= IdWord::arch_minor(npu.id))
    return true;
  error()
      .text("ethosu: the program was compiled for another architecture: ID ")
      .hex(compiled.id)
      .text(", this NPU has ")
      .hex(npu.id);
  return false;
}

}  // namespace carina::firmware
