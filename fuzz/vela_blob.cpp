// Reads any bytes as an Ethos-U delegate blob, as Vela's raw .npz and as weight streams.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "carina/buffer.h"
#include "npu/delegate_blob.h"
#include "npu/vela_raw.h"
#include "npu/weights/weight_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const Buffer buffer = Buffer::copy_of(bytes);
  if (const auto network = npu::read_delegate_blob(buffer, "fuzz")) {
    // An accepted network can be written, and reads back equal.
    const auto blob = npu::write_delegate_blob(*network);
    if (!blob) std::abort();
    const auto again = npu::read_delegate_blob(Buffer::copy_of(blob->bytes), "fuzz");
    if (!again || again->command_payload != network->command_payload || again->inputs != network->inputs) std::abort();
  }
  if (const auto network = npu::read_vela_raw(buffer, "fuzz")) {
    if (!npu::write_vela_raw(*network)) std::abort();
  }
  constexpr size_t kMaxWeights = 1 << 20;
  if (const auto weights = npu::decode_swd(bytes, kMaxWeights, "fuzz")) {
    const auto again = npu::decode_swd(npu::encode_swd(*weights), weights->size(), "fuzz");
    if (!again || *again != *weights) std::abort();
  }
  if (const auto weights = npu::decode_fwd(bytes, size / 2, "fuzz"); weights && weights->size() != size / 2)
    std::abort();
  return 0;
}
