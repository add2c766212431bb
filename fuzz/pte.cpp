// Reads any bytes as a .pte, with the compiler's reader and the runtime; writes, loads and runs it. No input may crash.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pte/reader.h"
#include "pte/writer.h"
#include "runtime/backends/ethos_u.h"
#include "runtime/method.h"

namespace {

using namespace carina;

constexpr size_t kMaxBytes = 1 << 16;  // limit of planned memory, which bounds the work of a kernel

// A device that does nothing.
class IdleDriver final : public runtime::NpuDriver {
 public:
  runtime::Error invoke(std::span<const std::byte> /*payload*/,
                        std::span<const std::span<std::byte>> /*bases*/) override {
    return runtime::Error::kOk;
  }
};

void read(const Buffer& file) {
  const Result<pte::Program> program = pte::read_program(file, "fuzz");
  if (program) static_cast<void>(pte::write_program(*program, {.delegate_data = pte::DelegateData::kSegment}));
}

void run(const Buffer& file) {
  runtime::Program program;
  if (program.load(file.bytes()) != runtime::Error::kOk) return;
  IdleDriver driver;
  runtime::EthosUBackend backend(driver);
  const std::array<runtime::Backend*, 1> backends{&backend};
  alignas(16) static std::array<std::byte, kMaxBytes> method_memory;
  alignas(16) static std::array<std::byte, kMaxBytes> scratch_memory;
  for (size_t m = 0; m < std::min<size_t>(program.methods(), 4); ++m) {
    size_t total = 0;
    std::vector<MutableBuffer> buffers;
    for (size_t i = 0; i < program.planned_buffers(m); ++i) {
      total += std::min(program.planned_buffer_bytes(m, i), kMaxBytes + 1);
      if (total > kMaxBytes) return;
      buffers.push_back(MutableBuffer::allocate(program.planned_buffer_bytes(m, i)));
      std::ranges::fill(buffers.back().bytes(), std::byte{0});
    }
    std::vector<std::span<std::byte>> planned;
    for (MutableBuffer& buffer : buffers) planned.push_back(buffer.bytes());
    runtime::Arena arena(method_memory);
    runtime::Arena scratch(scratch_memory);
    runtime::Method method;
    const runtime::MemoryManager memory{.method = &arena, .scratch = &scratch, .planned = planned};
    if (method.load(program, m, memory, {.kernels = runtime::portable_kernels(), .backends = backends}) !=
        runtime::Error::kOk)
      continue;
    method.limit_jumps_back(64);
    if (method.instructions() <= 16) static_cast<void>(method.execute());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(data, size)));
  read(file);
  run(file);
  return 0;
}
