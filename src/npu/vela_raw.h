#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "npu/compiled_network.h"
#include "tensor/npy.h"

namespace carina::npu {

// Reads what `vela --output-format raw` writes (<net>_vela.npz), with cmd_data and weight_data as byte strings or uint8
// arrays; pickled quantization entries are left out. Errors: an entry is missing or of a wrong shape, a size or region
// out of range; compressed arrays that unpack to more than `max_inflated_bytes`; a command stream that no driver takes.
Result<CompiledNetwork> read_vela_raw(const Buffer& npz, const std::string& where,
                                      size_t max_inflated_bytes = kMaxInflatedBytes);

// The same, with views of the weights in the file, or in what a compressed array unpacks to.
Result<NetworkInFile> read_vela_raw_in_place(const Buffer& npz, const std::string& where,
                                             size_t max_inflated_bytes = kMaxInflatedBytes);

// The same file for a network; NumPy reads it. Quantization entries are not written.
Result<std::vector<std::byte>> write_vela_raw(const CompiledNetwork& network);

}  // namespace carina::npu
