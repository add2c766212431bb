// Makes the .pt2 archive that an input of a fuzz target stands for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/io/zip.h"

namespace carina::fuzz {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// An archive stands for itself. Checksums reject most of these at once, so any other text is the model description of
// an otherwise valid archive; text after a zero byte is the table of weights.
inline std::optional<std::vector<std::byte>> archive_of(std::string_view text) {
  if (text.starts_with("PK")) {
    const auto bytes = bytes_of(text);
    return std::vector(bytes.begin(), bytes.end());
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
  auto archive = write_zip(entries);
  if (!archive) return std::nullopt;
  return *std::move(archive);
}

}  // namespace carina::fuzz
