#include <algorithm>

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

}  // namespace

std::span<const KernelEntry> portable_kernels() {
  return kPortableKernels;
}

}  // namespace carina::runtime
