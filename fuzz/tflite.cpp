// Reads any bytes as a LiteRT file. An accepted model that becomes a TOSA graph must be well formed and satisfy TOSA's
// rules.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "frontend/tflite/tflite.h"
#include "frontend/tosa/verify/verify.h"
#include "ir/pass.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(data, size)));
  const auto module = tflite::read_tflite(file, "fuzz");
  if (!module) return 0;
  if (!ir::verify_structure(module->main())) std::abort();
  (void)tosa::verify(*module, {.where = "fuzz", .level = kTosaLevelNone});
  return 0;
}
