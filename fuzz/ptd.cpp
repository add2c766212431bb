// Reads any bytes as a .ptd: parses them, reads every entry, and loads a program that needs one of its tensors. No
// input may crash.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/buffer.h"
#include "pte/program.h"
#include "pte/writer.h"
#include "runtime/method.h"

namespace {

using namespace carina;

// A program with one external tensor, "w".
Buffer program_with_external_tensor() {
  pte::Program program;
  program.constants.resize(1);
  program.plans.resize(1);
  pte::TensorSpec tensor{.dtype = DType::kFp32, .shape = {3}, .dim_order = {}, .allocation = {}};
  tensor.external_name = "w";
  program.plans[0].values.emplace_back(tensor);
  program.plans[0].outputs = {0};
  return Buffer::copy_of(pte::write_program(program, {}).value());
}

// Keeps the compiler from removing reads of the given bytes.
volatile uint8_t sum;

void read_all(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(byte));
}

void load_with(const runtime::NamedData& data) {
  static const Buffer file = program_with_external_tensor();
  runtime::Program program;
  if (program.load(file.bytes()) != runtime::Error::kOk) __builtin_trap();
  alignas(16) static std::array<std::byte, 4096> memory;
  runtime::Arena arena(memory);
  runtime::Arena scratch;
  runtime::Method method;
  const runtime::Error error = method.load(program, 0, {.method = &arena, .scratch = &scratch, .planned = {}},
                                           {.kernels = {}, .backends = {}, .data = {&data, 1}});
  if (error != runtime::Error::kOk) return;
  const runtime::Tensor& tensor = method.output(0).tensor;
  read_all({tensor.as<const std::byte>(), tensor.bytes()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(bytes, size)));
  runtime::NamedData data;
  if (data.load(file.bytes()) != runtime::Error::kOk) return 0;
  for (size_t i = 0; i < data.entries(); ++i) {
    const runtime::NamedData::Entry entry = data.entry(i);
    read_all(entry.bytes);
    read_all(std::as_bytes(entry.sizes));
    read_all(std::as_bytes(entry.dim_order));
    read_all(std::as_bytes(std::span(entry.name)));
  }
  load_with(data);
  return 0;
}
