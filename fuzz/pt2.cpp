// Reads any bytes as a .pt2 archive. Checksums reject most of these at once, so it also reads any text as the model
// description of an otherwise valid archive. Text after a zero byte is the table of weights.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/io/zip.h"
#include "frontend/pt2/reader.h"
#include "ir/pass.h"

namespace {

using namespace carina;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void read(std::span<const std::byte> archive) {
  const auto graph = pt2::read_pt2(Buffer::copy_of(archive), "fuzz", {});
  // An accepted graph must be valid.
  if (graph && !ir::verify_structure(*graph)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("PK")) {
    read(bytes_of(text));
    return 0;
  }
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view weights = end < text.size() ? text.substr(end + 1) : std::string_view(R"({"config": {}})");
  const std::string_view storage = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const std::vector<ZipEntry> entries = {
      {.name = "m/archive_format", .data = bytes_of("pt2")},
      {.name = "m/archive_version", .data = bytes_of("0")},
      {.name = "m/models/model.json", .data = bytes_of(text.substr(0, end))},
      {.name = "m/data/weights/model_weights_config.json", .data = bytes_of(weights)},
      {.name = "m/data/weights/weight_0", .data = bytes_of(storage)},
  };
  if (const auto archive = write_zip(entries)) read(*archive);
  return 0;
}
