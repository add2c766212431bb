// Reads any bytes as a .bpte: parses them, reads every byte of the tensors, writes the file and reads an equal one
// back. No input may crash.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "carina/buffer.h"
#include "pte/bundled.h"
#include "pte/reader.h"

namespace {

using namespace carina;

// Keeps the compiler from removing reads of the given bytes.
volatile uint8_t sum;

void read_all(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(byte));
}

void read_all(const std::vector<pte::BundledValue>& values) {
  for (const pte::BundledValue& value : values) {
    if (const auto* tensor = std::get_if<pte::BundledTensor>(&value)) read_all(tensor->data.bytes());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(bytes, size)));
  const Result<pte::BundledProgram> bundle = pte::read_bundled_program(file, "fuzz");
  if (!bundle) return 0;
  read_all(bundle->program.bytes());
  for (const pte::TestSuite& suite : bundle->suites) {
    for (const pte::TestCase& test : suite.cases) {
      read_all(test.inputs);
      read_all(test.expected_outputs);
    }
  }
  static_cast<void>(pte::read_program(bundle->program, "fuzz"));
  const auto written = pte::write_bundled_program(*bundle);
  if (!written || !pte::read_bundled_program(Buffer::copy_of(*written), "fuzz")) __builtin_trap();
  return 0;
}
