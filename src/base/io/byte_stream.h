#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"

namespace carina {

// Bytes that are read a part at a time, and held no longer: of a file, or of an entry of an archive. Those of a mapped
// file leave the process's memory behind the reader.
class ByteStream {
 public:
  // Bytes as they stand in `stored`.
  static ByteStream of(Buffer stored, std::string where);
  // What `packed`, deflated, holds: so many bytes of this CRC, and no more.
  static ByteStream inflating(Buffer packed, size_t bytes, uint32_t crc, std::string where);

  [[nodiscard]] size_t size() const;
  [[nodiscard]] const std::string& where() const;
  // Copies the bytes from `offset` on; they lie inside. Deflated ones are inflated from the start again where `offset`
  // lies before what was read last. Errors: damaged data, whose CRC shows when the last byte has been inflated.
  Result<void> read(size_t offset, std::span<std::byte> to);

  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

 private:
  struct State;
  explicit ByteStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// That an entry of an archive has another CRC than it says.
Diagnostic wrong_checksum(std::string where);

}  // namespace carina
