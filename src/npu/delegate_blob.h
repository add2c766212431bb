#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "npu/compiled_network.h"

namespace carina::npu {

// A block whose bytes live in the program's named data instead of in the blob; the blob has their key.
struct ExternalBlock {
  std::string block;      // "cmd_data" or "weight_data"
  std::string placement;  // the tag of the file that holds it
};

// Bytes for the program's named data: key, placement tag and content (aligned to 16 bytes there).
struct NamedBlock {
  std::string key;
  std::string placement;
  std::span<const std::byte> data;
};

struct DelegateBlob {
  std::vector<std::byte> bytes;
  std::vector<NamedBlock> named_blocks;  // views of the network
};

// The processed bytes of ExecuTorch's backend "EthosUBackend": vela_bin_stream, cmd_data, weight_data, scratch_size,
// inputs, outputs, vela_end_stream. `network` must outlive the result when blocks are external. Error: an external
// block of an unknown name, a tag that is empty or not ASCII, a scratch size above 4 GiB.
Result<DelegateBlob> write_delegate_blob(const CompiledNetwork& network, std::span<const ExternalBlock> external = {});
// The same around the weights where they stand: takes them.
Result<std::vector<std::byte>> turn_into_delegate_blob(CompiledNetwork&& network);

// Finds the bytes of a named block by its key; an empty buffer when there is none.
using NamedData = std::function<Buffer(std::string_view key)>;

// Reads such a blob by all rules of the device's reader: first block vela_bin_stream, last vela_end_stream that ends
// exactly at the end, every block known, sizes and padding inside, COP1 or COP2 magic, consistent input and output
// tables. Blobs of ExecuTorch before 0.4 ("ArmBackend") are read too. `require_alignment`: the device needs the blob itself at a multiple of 16; a host reader may ignore that.
enum class BlobAlignment : uint8_t { kRequire16, kAny };
Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where, BlobAlignment alignment,
                                           const NamedData& named_data);
Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where);
// The same, of a blob at any place and without named data, with a view of its weights.
Result<NetworkInFile> read_delegate_blob_in_place(const Buffer& blob, const std::string& where);

}  // namespace carina::npu
