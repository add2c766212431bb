// Reads any bytes as a VGF file. An accepted module must be well formed and is printed. If it satisfies TOSA's rules,
// it is written and read back with the same operators.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "frontend/tosa/verify/verify.h"
#include "frontend/vgf/vgf.h"
#include "ir/pass.h"

namespace {

using namespace carina;

const tosa::VerifyOptions kAnySize{.where = "fuzz", .level = kTosaLevelNone};

// A module from a file can be written, and still satisfies the rules after reading it back.
void write_and_read(const ir::Module& module) {
  const auto bytes = vgf::write_vgf(module, "fuzz");
  if (!bytes) std::abort();
  const auto again = vgf::read_vgf(Buffer::copy_of(*bytes), "fuzz");
  if (!again || !tosa::verify(*again, kAnySize)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(data, size)));
  (void)vgf::disassemble(file, "fuzz");
  const auto module = vgf::read_vgf(file, "fuzz");
  if (!module) return 0;
  if (!ir::verify_structure(module->main())) std::abort();
  if (tosa::verify(*module, kAnySize)) write_and_read(*module);
  return 0;
}
