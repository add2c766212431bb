#include "npu/delegate_blob.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>

#include "base/checked_math.h"
#include "base/hash/sha256.h"
#include "facts/npu_targets.h"

namespace carina::npu {

namespace {

constexpr size_t kAlignmentBytes = 16;
constexpr size_t kNameBytes = 16;
constexpr size_t kHeaderBytes = 32;    // name, u32 size, u8 external, 11 reserved
constexpr size_t kKeyBytes = 64;       // of an external block
constexpr size_t kTensorWords = 9;     // shape[6], element size, offset, region
constexpr size_t kOldTensorWords = 7;  // before ExecuTorch 0.4: shape[4], padded with zeros at the end
constexpr size_t kMaxTensors = 4096;

constexpr std::string_view kStart = "vela_bin_stream";
constexpr std::string_view kCommands = "cmd_data";
constexpr std::string_view kWeights = "weight_data";
constexpr std::string_view kScratch = "scratch_size";
// before ExecuTorch 0.4 the blob contained the scratch memory, as zeros
constexpr std::string_view kOldScratch = "scratch_data";
constexpr std::string_view kInputs = "inputs";
constexpr std::string_view kOutputs = "outputs";
constexpr std::string_view kEnd = "vela_end_stream";

// ---- Writing ----

template <typename T>
void append_value(std::vector<std::byte>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

enum class Stored : uint8_t { kInline, kExternal };

void append_header(std::vector<std::byte>& out, std::string_view name, size_t bytes, Stored stored) {
  const size_t at = out.size();
  out.resize(at + kHeaderBytes);
  std::memcpy(out.data() + at, name.data(), name.size());
  const auto size = static_cast<uint32_t>(bytes);
  std::memcpy(out.data() + at + kNameBytes, &size, sizeof size);
  out[at + kNameBytes + sizeof size] = static_cast<std::byte>(stored == Stored::kExternal ? 1 : 0);
}

void append_block(std::vector<std::byte>& out, std::string_view name, std::span<const std::byte> data,
                  Stored stored = Stored::kInline) {
  append_header(out, name, data.size(), stored);
  out.insert(out.end(), data.begin(), data.end());
  out.resize(round_up(out.size(), kAlignmentBytes));
}

std::vector<std::byte> tensor_table(const std::vector<IoTensor>& tensors) {
  std::vector<std::byte> table;
  append_value(table, static_cast<int32_t>(tensors.size()));
  for (const IoTensor& tensor : tensors) {
    for (const int32_t dim : tensor.shape) append_value(table, dim);
    append_value(table, tensor.element_bytes);
    append_value(table, static_cast<int32_t>(tensor.offset));
    append_value(table, tensor.region);
  }
  return table;
}

Result<void> check_writable(const CompiledNetwork& network, std::span<const ExternalBlock> external) {
  const std::string where = "delegate blob";
  for (const ExternalBlock& block : external) {
    if (block.block != kCommands && block.block != kWeights) {
      return fail({.where = where,
                   .what = "this block cannot be external",
                   .expected = "cmd_data or weight_data",
                   .got = block.block,
                   .fault = Fault::kUsage});
    }
    const bool ascii = std::ranges::all_of(block.placement, [](char c) { return c > 0; });
    if (block.placement.empty() || !ascii) {
      return fail({.where = where,
                   .what = fmt::format("invalid placement of {}", block.block),
                   .expected = "a tag of ASCII characters",
                   .got = block.placement,
                   .fault = Fault::kUsage});
    }
  }
  const int64_t largest = std::max<int64_t>({network.scratch_bytes, static_cast<int64_t>(network.weights.size()),
                                             static_cast<int64_t>(network.command_payload.size())});
  if (network.scratch_bytes < 0 || largest > std::numeric_limits<uint32_t>::max()) {
    return fail({.where = where,
                 .what = "too large for an Ethos-U delegate",
                 .expected = "below 4 GiB",
                 .got = fmt::format("{} bytes", largest)});
  }
  for (const auto* tensors : {&network.inputs, &network.outputs}) {
    for (const IoTensor& tensor : *tensors) {
      if (tensor.offset < 0 || tensor.offset > std::numeric_limits<int32_t>::max()) {
        return fail({.where = where,
                     .what = "the offset of an input or output is too large",
                     .expected = "below 2 GiB",
                     .got = std::to_string(tensor.offset)});
      }
    }
  }
  return {};
}

// ---- Reading ----

struct Block {
  Buffer data;
  size_t offset = 0;  // offset of the block's header in the blob
};

class BlobReader {
 public:
  BlobReader(const Buffer& blob, const std::string& where, const NamedData& named_data)
      : blob_(blob), where_(where), named_data_(named_data) {}

  Result<NetworkInFile> read(BlobAlignment alignment);

 private:
  [[nodiscard]] std::unexpected<Diagnostics> bad(size_t offset, std::string what, std::string expected = {},
                                                 std::string got = {}) const {
    return fail({.where = fmt::format("{}: Ethos-U blob, byte {}", where_, offset),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .got = std::move(got)});
  }
  Result<void> read_blocks();
  Result<Buffer> external_data(std::string_view name, const Buffer& key, size_t offset) const;
  Result<const Block*> block(std::string_view name) const;
  Result<std::vector<IoTensor>> tensors(std::string_view name) const;

  const Buffer& blob_;
  const std::string& where_;
  const NamedData& named_data_;
  std::map<std::string, Block, std::less<>> blocks_;
};

Result<Buffer> BlobReader::external_data(std::string_view name, const Buffer& key, size_t offset) const {
  if (name != kCommands && name != kWeights)
    return bad(offset, "this block cannot be external", "cmd_data or weight_data", std::string(name));
  if (key.size() != kKeyBytes)
    return bad(offset, "the key of an external block has a wrong length", "64", std::to_string(key.size()));
  const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
  const Buffer data = named_data_ ? named_data_(text) : Buffer();
  if (data.size() == 0) {
    return bad(offset, fmt::format("the bytes of {} live outside of the program and were not found", name),
               fmt::format("named data '{}'", text));
  }
  return data;
}

Result<void> BlobReader::read_blocks() {
  const size_t size = blob_.size();
  for (size_t at = 0; at < size;) {
    if (size - at < kHeaderBytes)
      return bad(at, "cut off inside a block header", "32 bytes", std::to_string(size - at));
    const auto* name_data = reinterpret_cast<const char*>(blob_.data() + at);
    const std::string name(name_data, strnlen(name_data, kNameBytes));
    const bool first = at == 0;
    if (first && name != kStart)
      return bad(at, "not an Ethos-U delegate blob", "a first block 'vela_bin_stream'",
                 fmt::format("'{}'", name.substr(0, 15)));
    const bool known = name == kStart || name == kCommands || name == kWeights || name == kScratch ||
                       name == kOldScratch || name == kInputs || name == kOutputs || name == kEnd;
    if (!known)
      return bad(at, "unknown block", "a block of vela_bin_stream", fmt::format("{} characters", name.size()));
    uint32_t bytes = 0;
    std::memcpy(&bytes, blob_.data() + at + kNameBytes, sizeof bytes);
    const size_t padded = round_up(static_cast<size_t>(bytes), kAlignmentBytes);
    const size_t payload = at + kHeaderBytes;
    if (padded > size - payload)
      return bad(at, fmt::format("block '{}' is longer than the blob", name), fmt::format("at most {}", size - payload),
                 fmt::format("{}", bytes));
    Block found{.data = blob_.slice(payload, bytes), .offset = at};
    if (blob_.bytes()[at + kNameBytes + 4] != std::byte{0}) {
      CARINA_TRY(found.data, external_data(name, found.data, at));
    }
    if (!blocks_.emplace(name, std::move(found)).second) return bad(at, fmt::format("a second block '{}'", name));
    at = payload + padded;
    if (name == kEnd && at != size)
      return bad(at, "bytes after the last block", "the end", fmt::format("{} bytes", size - at));
  }
  if (!blocks_.contains(kEnd)) return bad(size, "the blob is cut off: its last block is missing", "vela_end_stream");
  return {};
}

Result<const Block*> BlobReader::block(std::string_view name) const {
  const auto found = blocks_.find(name);
  if (found == blocks_.end()) return bad(blob_.size(), fmt::format("block '{}' is missing", name));
  return &found->second;
}

// Reads a row of an inputs or outputs block. A row of the old format has zeros after its last axis.
IoTensor tensor_of(std::span<const int32_t> words) {
  const size_t axes = words.size() - 3;
  IoTensor tensor;
  tensor.shape.fill(1);
  bool after_last = words.size() == kOldTensorWords;
  for (size_t i = axes; i-- > 0;) {
    after_last = after_last && words[i] == 0;
    if (!after_last) tensor.shape[i] = words[i];
  }
  tensor.element_bytes = words[axes];
  tensor.offset = words[axes + 1];
  tensor.region = words[axes + 2];
  return tensor;
}

Result<std::vector<IoTensor>> BlobReader::tensors(std::string_view name) const {
  CARINA_TRY(const Block* found, block(name));
  const std::span<const std::byte> data = found->data.bytes();
  int32_t count = 0;
  if (data.size() >= sizeof count) std::memcpy(&count, data.data(), sizeof count);
  const size_t row_words = count > 0 && data.size() == sizeof count + static_cast<size_t>(count) * kOldTensorWords * 4
                               ? kOldTensorWords
                               : kTensorWords;
  if (data.size() < sizeof count || count < 0 || static_cast<size_t>(count) > kMaxTensors ||
      data.size() != sizeof count + static_cast<size_t>(count) * row_words * sizeof(int32_t)) {
    return bad(found->offset, fmt::format("the size of block '{}' does not fit its number of tensors", name),
               "4 + 36 bytes each", fmt::format("{} bytes for {}", data.size(), count));
  }
  std::vector<IoTensor> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    std::vector<int32_t> words(row_words);
    std::memcpy(words.data(), data.data() + sizeof count + i * row_words * 4, row_words * 4);
    out[i] = tensor_of(words);
    const bool good = std::ranges::all_of(out[i].shape, [](int32_t dim) { return dim >= 0; }) &&
                      out[i].element_bytes >= 1 && out[i].element_bytes <= 8 && out[i].offset >= 0 &&
                      out[i].region >= 0 && out[i].region < kMaxRegions;
    if (!good)
      return bad(found->offset,
                 fmt::format("tensor {} of block '{}' has an impossible shape, size, offset or region", i, name));
  }
  return out;
}

Result<NetworkInFile> BlobReader::read(BlobAlignment alignment) {
  if (alignment == BlobAlignment::kRequire16 && reinterpret_cast<uintptr_t>(blob_.data()) % kAlignmentBytes != 0) {
    return bad(0, "the blob is not aligned in memory", "a multiple of 16 bytes");
  }
  if (blob_.size() % kAlignmentBytes != 0 || blob_.size() == 0)
    return bad(0, "the blob's size is impossible", "a multiple of 16", std::to_string(blob_.size()));
  CARINA_CHECKED(read_blocks());
  NetworkInFile read;
  CompiledNetwork& network = read.network;
  CARINA_TRY(const Block* commands, block(kCommands));
  const auto payload = commands->data.bytes();
  if (payload.size() < 4 ||
      (std::memcmp(payload.data(), "COP1", 4) != 0 && std::memcmp(payload.data(), "COP2", 4) != 0)) {
    return bad(commands->offset, "the command data has no driver payload", "COP1 or COP2");
  }
  network.command_payload.assign(payload.begin(), payload.end());
  if (blocks_.contains(kWeights)) {
    CARINA_TRY(const Block* weights, block(kWeights));
    read.weights = weights->data;
  }
  CARINA_TRY(network.inputs, tensors(kInputs));
  CARINA_TRY(network.outputs, tensors(kOutputs));
  if (const auto old = blocks_.find(kOldScratch); old != blocks_.end()) {
    network.scratch_bytes = static_cast<int64_t>(old->second.data.size());
    return read;
  }
  CARINA_TRY(const Block* scratch, block(kScratch));
  uint32_t scratch_bytes = 0;
  if (scratch->data.size() != sizeof scratch_bytes)
    return bad(scratch->offset, "block 'scratch_size' has a wrong size", "4", std::to_string(scratch->data.size()));
  std::memcpy(&scratch_bytes, scratch->data.data(), sizeof scratch_bytes);
  network.scratch_bytes = scratch_bytes;
  return read;
}

void append_rest(std::vector<std::byte>& out, const CompiledNetwork& network) {
  std::vector<std::byte> scratch;
  append_value(scratch, static_cast<uint32_t>(network.scratch_bytes));
  append_block(out, kScratch, scratch);
  append_block(out, kInputs, tensor_table(network.inputs));
  append_block(out, kOutputs, tensor_table(network.outputs));
  append_block(out, kEnd, {});
}

}  // namespace

Result<DelegateBlob> write_delegate_blob(const CompiledNetwork& network, std::span<const ExternalBlock> external) {
  CARINA_CHECKED(check_writable(network, external));
  DelegateBlob blob;
  const auto append_data = [&](std::string_view name, std::span<const std::byte> data) {
    const auto found = std::ranges::find(external, name, &ExternalBlock::block);
    if (found == external.end()) return append_block(blob.bytes, name, data);
    const std::span<const std::byte> parts[] = {
        std::as_bytes(std::span(found->placement.c_str(), found->placement.size() + 1)), data};
    blob.named_blocks.push_back({.key = sha256_hex(parts), .placement = found->placement, .data = data});
    append_block(blob.bytes, name, std::as_bytes(std::span(blob.named_blocks.back().key)), Stored::kExternal);
  };
  append_block(blob.bytes, kStart, {});
  append_data(kCommands, network.command_payload);
  append_data(kWeights, network.weights);
  append_rest(blob.bytes, network);
  return blob;
}

Result<std::vector<std::byte>> turn_into_delegate_blob(CompiledNetwork&& network) {
  CARINA_CHECKED(check_writable(network, {}));
  std::vector<std::byte> blob = std::move(network.weights), before;
  append_block(before, kStart, {});
  append_block(before, kCommands, network.command_payload);
  append_header(before, kWeights, blob.size(), Stored::kInline);
  blob.insert(blob.begin(), before.begin(), before.end());
  blob.resize(round_up(blob.size(), kAlignmentBytes));
  append_rest(blob, network);
  return blob;
}

Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where, BlobAlignment alignment,
                                           const NamedData& named_data) {
  CARINA_TRY(NetworkInFile read, BlobReader(blob, where, named_data).read(alignment));
  read.network.weights.assign(read.weights.bytes().begin(), read.weights.bytes().end());
  return std::move(read.network);
}
Result<CompiledNetwork> read_delegate_blob(const Buffer& blob, const std::string& where) {
  return read_delegate_blob(blob, where, BlobAlignment::kAny, {});
}
Result<NetworkInFile> read_delegate_blob_in_place(const Buffer& blob, const std::string& where) {
  return BlobReader(blob, where, {}).read(BlobAlignment::kAny);
}

}  // namespace carina::npu
