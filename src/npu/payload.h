#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/npu_targets.h"

// The driver payload: the container around a command stream.
namespace carina::npu {

// The container of a command stream that the core driver takes (ethosu_invoke).
enum class PayloadFormat : uint8_t { kCop1, kCop2 };

// Builds the driver payload (COP1) of a stream: the optimizer configuration with the NPU's CONFIG and ID words, padding
// up to byte 32, and the stream. Source: driver_actions.py of ethos-u-vela; ethosu_driver.c.
std::vector<std::byte> build_payload(const AcceleratorConfig& accelerator, std::span<const uint32_t> stream);

// A parsed payload. `stream` is a copy, because the payload need not be aligned.
struct Payload {
  PayloadFormat format = PayloadFormat::kCop1;
  uint32_t config_word = 0;
  uint32_t id_word = 0;
  size_t stream_offset_bytes = 0;  // of the stream in the payload
  std::vector<uint32_t> stream = {};
  // COP2 only. `feature_mask`: bit 0 is network-wide addressing, bit 1 is local addressing with separate input and
  // output regions. `staging_bytes`: bytes of fast memory.
  uint32_t feature_mask = 0;
  uint64_t staging_bytes = 0;
  // The configuration that the CONFIG word names, compared as the driver does; nullptr if there is no such
  // configuration.
  [[nodiscard]] const AcceleratorConfig* accelerator() const { return find_accelerator_of_word(config_word); }
};

// Parses a COP1 or COP2 payload. Errors, with the byte offset: wrong magic; an unknown or truncated driver action; no
// stream or several; a stream that does not start at a multiple of 16 bytes; no optimizer configuration; an unknown
// product.
Result<Payload> parse_payload(std::span<const std::byte> bytes, const std::string& where);

// Checks whether a stream compiled for `payload_config`/`payload_id` may run on an NPU with these words, by the
// driver's rules: product, MACs and stream version are equal (on U85 also the AXI ports); a stream that needs custom
// DMA needs an NPU with it; the architecture's major version is equal and its minor version not older.
Result<void> check_compatible(const Payload& payload, uint32_t npu_config_word, uint32_t npu_id_word,
                              const std::string& where);

}  // namespace carina::npu
