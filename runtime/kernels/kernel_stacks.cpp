#include "runtime/kernels/kernel_stacks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace carina::runtime {

namespace {

struct KernelStackRow {
  std::string_view name;
  uint16_t bytes;
};
constexpr KernelStackRow kStacks[] = {
#define CARINA_KERNEL_STACK(name, bytes) {name, bytes},
#include "runtime/kernels/kernel_stacks.def"
#undef CARINA_KERNEL_STACK
};
static_assert(std::ranges::is_sorted(kStacks, {}, &KernelStackRow::name));

}  // namespace

size_t portable_kernel_stack(std::string_view kernel) {
  const auto* found = std::ranges::lower_bound(kStacks, kernel, {}, &KernelStackRow::name);
  return found == std::end(kStacks) || found->name != kernel ? 0 : found->bytes;
}

}  // namespace carina::runtime
