#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "npu/compiled_network.h"

// Reads and writes the processed bytes of ExecuTorch's Ethos-U delegate.
namespace carina::npu {

// A block whose bytes are in the program's named data instead of in the blob. The blob holds its key.
struct ExternalBlock {
  std::string block;      // "cmd_data" or "weight_data"
  std::string placement;  // the tag of the file that holds it
};

// An entry of the program's named data: key, placement tag and content. The program aligns it to 16 bytes.
struct NamedBlock {
  std::string key;
  std::string placement;
  std::span<const std::byte> data;
};

struct DelegateBlob {
  std::vector<std::byte> bytes;
  std::vector<NamedBlock> named_blocks;  // views of the network
};

// Writes the processed bytes of ExecuTorch's backend "EthosUBackend": vela_bin_stream, cmd_data, weight_data,
// scratch_size, inputs, outputs, vela_end_stream. `network` must outlive the result if blocks are external. Errors: an
// external block with an unknown name; a tag that is empty or not ASCII; a scratch size above 4 GiB.
Result<DelegateBlob> write_delegate_blob(const CompiledNetwork& network, std::span<const ExternalBlock> external = {});
// Writes the same bytes in place around the network's weights, whose buffer it takes over.
Result<std::vector<std::byte>> turn_into_delegate_blob(CompiledNetwork&& network);

// Finds the bytes of a named block by its key. Returns an empty buffer if there is none.
using NamedData = std::function<Buffer(std::string_view key)>;

// Reads a blob by all rules of the device's reader: the first block is vela_bin_stream; the last is vela_end_stream and
// ends exactly at the end; every block is known; sizes and padding are inside the blob; the magic is COP1 or COP2; the
// input and output tables are consistent. Blobs of ExecuTorch before 0.4 ("ArmBackend") are accepted too.
// `require_alignment`: the device needs the blob at a multiple of 16 bytes; a host reader may ignore that.
enum class BlobAlignment : uint8_t { kRequire16, kAny };
Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where, BlobAlignment alignment,
                                           const NamedData& named_data);
Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where);
// Reads a blob at any address and without named data. The result has a view of its weights.
Result<NetworkInFile> read_delegate_blob_in_place(const Buffer& blob, const std::string& where);

}  // namespace carina::npu
