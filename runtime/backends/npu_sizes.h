#pragma once

#include "runtime/sizes.h"

namespace carina::runtime {

// The sizer of EthosUBackend's delegates, for method_sizes().
Error npu_delegate_sizes(std::string_view id, std::span<const std::byte> blob, const TypeSizes& types,
                         DelegateSizes& sizes);

}  // namespace carina::runtime
