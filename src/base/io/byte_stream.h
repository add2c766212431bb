// Declares a reader that holds only a part of its bytes in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina {

// Reads the bytes of a file or of an archive's entry part by part without keeping them. The pages of a mapped file are
// released from the process's memory after they are read.
class ByteStream {
 public:
  // Reads the bytes of `stored` as they are.
  static ByteStream of(Buffer stored, std::string where);
  // Reads the bytes that deflated data decompress to. The result must have `bytes` bytes and the checksum `crc`.
  static ByteStream inflating(Buffer packed, size_t bytes, uint32_t crc, std::string where);

  [[nodiscard]] size_t size() const;
  [[nodiscard]] const std::string& where() const;
  // Copies the bytes from `offset` on, which must lie inside. If `offset` is before the end of the last read, deflated
  // data are inflated again from the start. Errors: damaged data. The CRC is known only after the last byte was
  // inflated.
  Result<void> read(size_t offset, std::span<std::byte> to);

  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

 private:
  struct State;
  explicit ByteStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns the error that an archive's entry does not match its CRC.
Diagnostic wrong_checksum(std::string where);

}  // namespace carina
