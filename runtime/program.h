#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/error.h"

namespace carina::pte::schema {
struct BackendDelegate;
struct ExecutionPlan;
struct SubsegmentOffsets;
}  // namespace carina::pte::schema

namespace carina::runtime {

// How thoroughly a file is checked before it is used, as in ExecuTorch's Program::Verification.
enum class Verification : uint8_t {
  kMinimal,  // the identifier, the version and the offsets of the parts: for files that have been verified before
  kInternalConsistency,  // also every offset of the FlatBuffer: for any file
};

// A .pte in memory, from which methods are loaded. The file is checked once. The object keeps a view of the caller's
// bytes, which must outlive it.
class Program {
 public:
  // `file` is the whole .pte, aligned to 16 bytes. Errors: kInvalidProgram for a malformed file; kInvalidArgument for a
  // file that is not aligned.
  Error load(std::span<const std::byte> file, Verification verification = Verification::kInternalConsistency);

  [[nodiscard]] size_t methods() const;
  [[nodiscard]] std::string_view method_name(size_t method) const;
  // The number and the sizes of the buffers for a method's planned tensors.
  [[nodiscard]] size_t planned_buffers(size_t method) const;
  [[nodiscard]] size_t planned_buffer_bytes(size_t method, size_t buffer) const;
  // Bytes of the FlatBuffer part and of the whole file.
  [[nodiscard]] size_t program_bytes() const { return program_bytes_; }
  [[nodiscard]] size_t file_bytes() const { return file_.size(); }

 private:
  friend class DelegateState;
  friend class Method;
  friend class MethodSizer;
  // The bytes of segment `index`, and of constant `index`. Returns false if the index is out of range.
  [[nodiscard]] bool segment(uint32_t index, std::span<const std::byte>& bytes) const;
  [[nodiscard]] bool constant(uint32_t index, size_t bytes, const std::byte*& data) const;
  // The initial value `index` of table `table` of the mutable data. It has no alignment.
  [[nodiscard]] bool initial_value(uint64_t table, uint32_t index, size_t bytes, const std::byte*& data) const;
  [[nodiscard]] bool entry(const pte::schema::SubsegmentOffsets* table, uint32_t index, size_t bytes,
                           const std::byte*& data) const;
  // The bytes of a delegate, which lie in the FlatBuffer or in a segment. Returns false if there are none.
  [[nodiscard]] bool blob(const pte::schema::BackendDelegate& delegate, std::span<const std::byte>& bytes) const;

  std::span<const std::byte> file_;
  size_t program_bytes_ = 0;
  size_t segment_base_ = 0;
  size_t segment_bytes_ = 0;
};

}  // namespace carina::runtime
