#pragma once

#include <span>

#include "normalize/decompose_internal.h"

namespace carina::normalize {

// The rows of to_core_aten() for index.Tensor and index_put, whose kernels have lists of optional tensors as arguments.
std::span<const RewriteRow> core_aten_indexing();

// The rows about convolutions of volumes.
std::span<const RewriteRow> core_aten_volumes();

}  // namespace carina::normalize
