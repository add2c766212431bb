#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"

namespace carina::npu {

// The container of a command stream that the core driver takes (ethosu_invoke).
enum class PayloadFormat : uint8_t { kCop1, kCop2 };

// The driver payload (COP1) of a stream: optimizer configuration with the NPU's CONFIG and ID words, padding that
// starts the stream at byte 32, the stream. Source: driver_actions.py of ethos-u-vela; ethosu_driver.c.
std::vector<std::byte> build_payload(const AcceleratorConfig& accelerator, std::span<const uint32_t> stream);

// A payload taken apart. `stream` is a copy, as the payload need not be aligned.
struct Payload {
  PayloadFormat format = PayloadFormat::kCop1;
  uint32_t config_word = 0;
  uint32_t id_word = 0;
  size_t stream_offset_bytes = 0;  // of the stream in the payload
  std::vector<uint32_t> stream = {};
  // COP2 only: bit 0 network-wide addressing, bit 1 local addressing with separate input and output regions; bytes of
  // fast memory.
  uint32_t feature_mask = 0;
  uint64_t staging_bytes = 0;
  // The configuration that the CONFIG word names, as the driver compares it; nullptr when none of ours.
  [[nodiscard]] const AcceleratorConfig* accelerator() const { return find_accelerator_of_word(config_word); }
};

// Takes a COP1 or COP2 payload apart. Errors, with the byte offset: wrong magic, unknown or cut-off driver action, no
// or more than one stream, a stream that does not start 16-byte aligned, no optimizer configuration, a product that is
// unknown.
Result<Payload> parse_payload(std::span<const std::byte> bytes, const std::string& where);

// Whether a stream compiled for `payload_config`/`payload_id` may run on the NPU with these words, as the driver
// decides it: product, MACs and stream version equal (U85: AXI ports too), no custom DMA asked of an NPU without, equal
// architecture major and at least its minor version.
Result<void> check_compatible(const Payload& payload, uint32_t npu_config_word, uint32_t npu_id_word,
                              const std::string& where);

}  // namespace carina::npu
