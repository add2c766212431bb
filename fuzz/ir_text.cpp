// Reads any bytes as the text form of a module. If they parse, the printed text must parse to the same module.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/tosa/verify/verify.h"
#include "ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const auto module = ir::parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!module) return 0;
  const auto again = ir::parse(ir::print(*module), "fuzz");
  if (!again || !identical(*module, *again)) std::abort();
  (void)tosa::verify(*module);
  return 0;
}
