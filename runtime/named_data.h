#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "facts/executorch.h"
#include "runtime/error.h"

namespace carina::runtime {

// Named tensors outside of a program: a .ptd file in memory. The file is checked once. The object keeps a view of the
// caller's bytes, which must outlive it.
class NamedData {
 public:
  struct Entry {
    std::string_view name;
    std::span<const std::byte> bytes;
    bool is_tensor = false;  // false: a blob without the fields below
    PteScalarType type = PteScalarType::kFloat;
    std::span<const int32_t> sizes = {};
    std::span<const uint8_t> dim_order = {};
  };

  // `file` is the whole .ptd, aligned to 16 bytes. Errors: kInvalidProgram for a malformed file; kInvalidArgument for a
  // file that is not aligned.
  Error load(std::span<const std::byte> file);

  [[nodiscard]] size_t entries() const;
  [[nodiscard]] Entry entry(size_t index) const;
  // Returns false if there is no entry with this name.
  [[nodiscard]] bool find(std::string_view name, Entry& entry) const;

 private:
  std::span<const std::byte> file_;
  std::span<const std::byte> segments_;
};

}  // namespace carina::runtime
