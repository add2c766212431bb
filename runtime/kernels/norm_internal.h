#pragma once

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// Returns whether an optional weight or bias has one floating-point element per entry.
inline bool has_elements(const Tensor* tensor, int64_t count) {
  return tensor == nullptr ||
         (static_cast<int64_t>(tensor->elements()) == count && tensor->contiguous() && is_floating(tensor->type));
}

}  // namespace carina::runtime
