// Reads any bytes as a driver payload and as a command stream of each product, and disassembles them. No input may
// crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "npu/disassemble.h"
#include "npu/payload.h"
#include "npu/registers.h"

namespace {

using namespace carina;

void run_stream(npu::Product product, const std::vector<uint32_t>& words) {
  const auto commands = npu::read_stream(product, words, "fuzz");
  if (!commands) return;
  // The commands cover the stream exactly, one after the other.
  size_t word = 0;
  for (const npu::Command& command : *commands) {
    if (command.word_index != word) std::abort();
    word += command.words();
  }
  if (word != words.size()) std::abort();
  npu::disassemble(product, *commands);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<uint32_t> words(size / 4);
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
  for (const npu::Product product : {npu::Product::kU55, npu::Product::kU65, npu::Product::kU85})
    run_stream(product, words);
  if (const auto payload = npu::parse_payload(bytes, "fuzz")) {
    if (payload->stream_offset_bytes + payload->stream.size() * 4 > size) std::abort();
    if (payload->accelerator() != nullptr) run_stream(payload->accelerator()->product, payload->stream);
  }
  return 0;
}
