#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "npu/compiled_network.h"
#include "tensor/npy.h"

// Reads and writes Vela's raw output files.
namespace carina::npu {

// Reads the output of `vela --output-format raw` (<net>_vela.npz), with cmd_data and weight_data as byte strings or
// uint8 arrays. Pickled quantization entries are ignored. Errors: an entry is missing or has a wrong shape; a size or
// region is out of range; compressed arrays unpack to more than `max_inflated_bytes`; the command stream is not a valid
// driver payload.
Result<CompiledNetwork> read_vela_raw(const Buffer& npz, const std::string& where,
                                      size_t max_inflated_bytes = kMaxInflatedBytes);

// Reads such a file without copying its weights. The result has views of the file, or of an unpacked array.
Result<NetworkInFile> read_vela_raw_in_place(const Buffer& npz, const std::string& where,
                                             size_t max_inflated_bytes = kMaxInflatedBytes);

// Writes such a file for a network. NumPy can read it. Quantization entries are not written.
Result<std::vector<std::byte>> write_vela_raw(const CompiledNetwork& network);

}  // namespace carina::npu
