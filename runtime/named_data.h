#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "facts/executorch.h"
#include "runtime/error.h"

namespace carina::runtime {

// Tensors by name that live outside of a program: a .ptd in memory, checked once. Keeps a view of the caller's bytes,
// which must stay.
class NamedData {
 public:
  struct Entry {
    std::string_view name;
    std::span<const std::byte> bytes;
    bool is_tensor = false;  // else a blob, and what follows is empty
    PteScalarType type = PteScalarType::kFloat;
    std::span<const int32_t> sizes = {};
    std::span<const uint8_t> dim_order = {};
  };

  // `file`: the whole .ptd, aligned to 16 bytes. Errors: kInvalidProgram for anything that the format does not allow,
  // kInvalidArgument for a file that is not aligned.
  Error load(std::span<const std::byte> file);

  [[nodiscard]] size_t entries() const;
  [[nodiscard]] Entry entry(size_t index) const;
  // False when there is none of that name.
  [[nodiscard]] bool find(std::string_view name, Entry& entry) const;

 private:
  std::span<const std::byte> file_;
  std::span<const std::byte> segments_;
};

}  // namespace carina::runtime
