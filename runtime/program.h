#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/error.h"

namespace carina::runtime {

// How much of a file is looked at before it is used, as ExecuTorch's Program::Verification.
enum class Verification : uint8_t {
  kMinimal,              // the identifier, the version and where the parts lie: for a file that somebody has verified
  kInternalConsistency,  // also every offset of the FlatBuffer: for any file
};

// A .pte in memory, checked once; methods are loaded from it. Keeps a view of the caller's bytes, which must stay.
class Program {
 public:
  // `file`: the whole .pte, aligned to 16 bytes. Errors: kInvalidProgram for anything that the format does not allow,
  // kInvalidArgument for a file that is not aligned.
  Error load(std::span<const std::byte> file, Verification verification = Verification::kInternalConsistency);

  [[nodiscard]] size_t methods() const;
  [[nodiscard]] std::string_view method_name(size_t method) const;
  // The sizes of the buffers that a method plans its tensors in.
  [[nodiscard]] size_t planned_buffers(size_t method) const;
  [[nodiscard]] size_t planned_buffer_bytes(size_t method, size_t buffer) const;
  // Bytes of the FlatBuffer part and of the whole file.
  [[nodiscard]] size_t program_bytes() const { return program_bytes_; }
  [[nodiscard]] size_t file_bytes() const { return file_.size(); }

 private:
  friend class Method;
  // The bytes of segment `index`, or of the constant `index`; false when out of range.
  [[nodiscard]] bool segment(uint32_t index, std::span<const std::byte>& bytes) const;
  [[nodiscard]] bool constant(uint32_t index, size_t bytes, const std::byte*& data) const;

  std::span<const std::byte> file_;
  size_t program_bytes_ = 0;
  size_t segment_base_ = 0;
  size_t segment_bytes_ = 0;
};

}  // namespace carina::runtime
