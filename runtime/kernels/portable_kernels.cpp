#include <algorithm>

#include "facts/executorch.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

constexpr KernelEntry kPortableKernels[] = {
#define CARINA_PORTABLE_KERNEL(name, function) {name, function},
#include "runtime/kernels/portable_kernels.def"
#undef CARINA_PORTABLE_KERNEL
};

static_assert(std::ranges::is_sorted(kPortableKernels, std::ranges::less_equal(), &KernelEntry::name),
              "portable_kernels.def is in the order of the names");

// Checks that every kernel that the compiler may write to a program (facts/executorch_kernels.def) exists here.
constexpr bool has_kernel(const KernelRow& row) {
  for (const KernelEntry& entry : kPortableKernels) {
    // Compares the sizes first, because compilers limit the steps of a constant expression.
    const bool fits = entry.name.size() == row.name.size() + 1 + row.overload.size();
    if (fits && entry.name.starts_with(row.name) && entry.name.ends_with(row.overload)) return true;
  }
  return false;
}
static_assert(std::ranges::all_of(kKernelRows, has_kernel),
              "facts/executorch_kernels.def names a kernel that runtime/kernels does not have");

}  // namespace

std::span<const KernelEntry> portable_kernels() {
  return kPortableKernels;
}

}  // namespace carina::runtime
