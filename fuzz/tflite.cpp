// Reads any bytes as a LiteRT file. An accepted model that becomes a TOSA graph must be well formed and satisfy TOSA's
// rules; one of floats that becomes an ATen graph must be well formed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "frontend/tflite/reader.h"
#include "frontend/tflite/tflite.h"
#include "frontend/tflite/to_aten/to_aten.h"
#include "frontend/tosa/verify/verify.h"
#include "ir/pass.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const Buffer file = Buffer::copy_of(std::as_bytes(std::span(data, size)));
  if (const auto model = tflite::read_model(file, "fuzz"); model && tflite::computes_in_floats(*model)) {
    const auto graph = tflite::to_aten(*model, "fuzz");
    if (graph && !ir::verify_structure(*graph)) std::abort();
  }
  const auto module = tflite::read_tflite(file, "fuzz");
  if (!module) return 0;
  if (!ir::verify_structure(module->main())) std::abort();
  (void)tosa::verify(*module, {.where = "fuzz", .level = kTosaLevelNone});
  return 0;
}
