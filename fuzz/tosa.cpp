// Reads any bytes as a TOSA file. An accepted module must be well formed. It is verified, written in both versions and
// read back. If it is valid and small, it also runs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "interpret/interpreter.h"
#include "ir/pass.h"

namespace {

using namespace carina;

const tosa::VerifyOptions kAnySize{.where = "fuzz", .level = kTosaLevelNone};

// A module that satisfies the specification's rules must still do so after writing and reading.
void write_and_read(const ir::Module& module, tosa::FileVersion version) {
  const auto bytes = tosa::write_tosa(module, {.version = version});
  if (!bytes || !tosa::verify(module, kAnySize)) return;
  const auto again = tosa::read_tosa(Buffer::copy_of(*bytes), "fuzz");
  if (!again || !tosa::verify(*again, kAnySize)) std::abort();
}

void run(const ir::Module& module) {
  auto interpreter =
      interpret::Interpreter::create(module, {.memory_budget_bytes = size_t{1} << 20, .loop_limit = 100});
  if (!interpreter) return;
  std::vector<Tensor> inputs;
  size_t bytes = 0;
  for (const ir::ValueId id : module.main().inputs) {
    const ir::Value& value = module.main()[id];
    bytes += tensor_bytes(value.dtype, value.shape);
    if (bytes > size_t{1} << 20) return;
    MutableTensor zeros(value.dtype, value.shape);
    std::memset(zeros.bytes().data(), 0, zeros.bytes().size());
    inputs.push_back(std::move(zeros).freeze());
  }
  (void)interpreter->run(inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = tosa::read_tosa(Buffer::copy_of(std::as_bytes(std::span(data, size))), "fuzz");
  if (!module) return 0;
  for (const ir::Graph& graph : module->graphs) {
    if (!ir::verify_structure(graph)) std::abort();
  }
  write_and_read(*module, tosa::FileVersion::k1_0);
  write_and_read(*module, tosa::FileVersion::k0_80);
  if (tosa::verify(*module, kAnySize)) run(*module);
  return 0;
}
