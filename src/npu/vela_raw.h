#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "npu/compiled_network.h"

namespace carina::npu {

// Reads what `vela --output-format raw` writes (<net>_vela.npz), with cmd_data and weight_data as byte strings or uint8
// arrays; pickled quantization entries are left out. Errors: an entry is missing or of a wrong shape, a size or region
// out of range.
Result<CompiledNetwork> read_vela_raw(const Buffer& npz, const std::string& where);

// The same file for a network; NumPy reads it. Quantization entries are not written.
Result<std::vector<std::byte>> write_vela_raw(const CompiledNetwork& network);

}  // namespace carina::npu
