#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/npu_accelerators.h"
#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// Decodes the weights of an operation into `weights` [channels, height, width, depth] (depthwise: depth 1). False, with
// the reason on the console: more weights than fit, a damaged stream.
bool decode_weights(const Operation& op, const npu::AcceleratorConfig& accelerator, std::span<const std::byte> stream,
                    std::span<int16_t> weights);

}  // namespace carina::firmware::npu_core
