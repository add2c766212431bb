// Reads any bytes as a .pt2 archive, and any text as the model description of one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/pt2/reader.h"
#include "fuzz/pt2_archive.h"
#include "ir/pass.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const auto archive = fuzz::archive_of({reinterpret_cast<const char*>(data), size});
  if (!archive) return 0;
  const auto graph = pt2::read_pt2(Buffer::copy_of(*archive), "fuzz", {});
  // An accepted graph must be valid.
  if (graph && !ir::verify_structure(*graph)) std::abort();
  return 0;
}
