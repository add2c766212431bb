#include "runtime/backends/ethos_u.h"

#include <cstring>

#include "facts/executorch.h"
#include "runtime/backends/npu_copy_internal.h"

namespace carina::runtime {

namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kBlockHeaderBytes = 32;
constexpr size_t kNameBytes = 16;
constexpr size_t kTensorBytes = 9 * sizeof(int32_t);
constexpr int32_t kScratchRegion = 1;

size_t padded(size_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

template <typename T>
T load_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct Block {
  std::string_view name;
  std::span<const std::byte> data;
};

// The block at the front of `rest`, which is then behind it.
Error take_block(std::span<const std::byte>& rest, Block& block) {
  if (rest.size() < kBlockHeaderBytes) return Error::kInvalidProgram;
  const std::string_view name(reinterpret_cast<const char*>(rest.data()), kNameBytes);
  block.name = name.substr(0, name.find('\0'));
  const size_t size = load_at<uint32_t>(rest, kNameBytes);
  const bool external = load_at<uint8_t>(rest, kNameBytes + 4) != 0;
  rest = rest.subspan(kBlockHeaderBytes);
  if (padded(size) > rest.size()) return Error::kInvalidProgram;
  block.data = rest.first(size);
  rest = rest.subspan(padded(size));
  return external ? Error::kNotSupported : Error::kOk;
}

NpuTensor tensor_at(std::span<const std::byte> entries, size_t index) {
  NpuTensor tensor;
  const size_t at = index * kTensorBytes;
  for (size_t i = 0; i < tensor.shape.size(); ++i) tensor.shape[i] = load_at<int32_t>(entries, at + 4 * i);
  tensor.element_bytes = load_at<int32_t>(entries, at + 24);
  tensor.offset = load_at<int32_t>(entries, at + 28);
  tensor.region = load_at<int32_t>(entries, at + 32);
  tensor.bytes = static_cast<size_t>(tensor.element_bytes);
  for (const int32_t size : tensor.shape) tensor.bytes *= static_cast<size_t>(size);
  return tensor;
}

// The tensor's place, before anything multiplies its numbers unchecked.
Error check_tensor(std::span<const std::byte> entries, size_t index, size_t scratch_bytes) {
  const size_t at = index * kTensorBytes;
  size_t bytes = 1;
  for (size_t i = 0; i < 7; ++i) {  // shape and element size
    const auto size = load_at<int32_t>(entries, at + 4 * i);
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes)) return Error::kInvalidProgram;
  }
  const auto element_bytes = load_at<int32_t>(entries, at + 24);
  const auto offset = load_at<int32_t>(entries, at + 28);
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) return Error::kInvalidProgram;
  if (offset < 0 || static_cast<size_t>(offset) > scratch_bytes || bytes > scratch_bytes - static_cast<size_t>(offset))
    return Error::kInvalidProgram;
  return load_at<int32_t>(entries, at + 32) == kScratchRegion ? Error::kOk : Error::kNotSupported;
}

Error read_tensors(std::span<const std::byte> data, std::span<const std::byte>& entries) {
  if (data.size() < 4) return Error::kInvalidProgram;
  const auto count = load_at<int32_t>(data, 0);
  const size_t room = (data.size() - 4) / kTensorBytes;
  if (count < 0 || static_cast<size_t>(count) > room) return Error::kInvalidProgram;
  entries = data.subspan(4, static_cast<size_t>(count) * kTensorBytes);
  return Error::kOk;
}

Error read_block(const Block& block, NpuStream& stream) {
  if (block.name == "cmd_data") {
    stream.commands = block.data;
    const bool known = block.data.size() >= 4 && (std::memcmp(block.data.data(), "COP1", 4) == 0 ||
                                                  std::memcmp(block.data.data(), "COP2", 4) == 0);
    return known ? Error::kOk : Error::kInvalidProgram;
  }
  if (block.name == "weight_data") {
    stream.weights = block.data;
    return Error::kOk;
  }
  if (block.name == "scratch_size") {
    if (block.data.size() != 4) return Error::kInvalidProgram;
    stream.scratch_bytes = load_at<uint32_t>(block.data, 0);
    return Error::kOk;
  }
  if (block.name == "inputs") return read_tensors(block.data, stream.inputs);
  if (block.name == "outputs") return read_tensors(block.data, stream.outputs);
  return Error::kInvalidProgram;
}

Error check_places(const NpuStream& stream) {
  for (size_t i = 0; i < stream.input_count(); ++i) CARINA_RT_TRY(check_tensor(stream.inputs, i, stream.scratch_bytes));
  for (size_t i = 0; i < stream.output_count(); ++i)
    CARINA_RT_TRY(check_tensor(stream.outputs, i, stream.scratch_bytes));
  return Error::kOk;
}

}  // namespace

NpuTensor NpuStream::input(size_t index) const {
  return tensor_at(inputs, index);
}
NpuTensor NpuStream::output(size_t index) const {
  return tensor_at(outputs, index);
}

Error read_npu_stream(std::span<const std::byte> blob, NpuStream& stream) {
  stream = {};
  if (reinterpret_cast<uintptr_t>(blob.data()) % kAlignment != 0 || blob.size() % kAlignment != 0)
    return Error::kInvalidProgram;
  std::span<const std::byte> rest = blob;
  Block block;
  CARINA_RT_TRY(take_block(rest, block));
  if (block.name != "vela_bin_stream") return Error::kInvalidProgram;
  for (;;) {
    CARINA_RT_TRY(take_block(rest, block));
    if (block.name == "vela_end_stream") break;
    CARINA_RT_TRY(read_block(block, stream));
  }
  if (!rest.empty() || stream.commands.empty()) return Error::kInvalidProgram;
  return check_places(stream);
}

std::string_view EthosUBackend::id() const {
  return kEthosUBackendId;
}

Error EthosUBackend::init(std::span<const std::byte> blob, std::span<const CompileSpec> /*specs*/, Arena& arena,
                          void** handle) {
  auto* stream = arena.make_array<NpuStream>(1);
  if (stream == nullptr) return Error::kOutOfMemory;
  *handle = stream;
  return read_npu_stream(blob, *stream);
}

Error EthosUBackend::execute(void* handle, Arguments arguments, Arena& scratch) {
  const NpuStream& stream = *static_cast<const NpuStream*>(handle);
  const size_t inputs = stream.input_count();
  const size_t outputs = stream.output_count();
  if (arguments.size() < inputs + outputs) return Error::kInvalidArgument;
  for (size_t i = 0; i < inputs; ++i) CARINA_RT_TRY(check_npu_input(*arguments[i], stream.input(i)));
  for (size_t i = 0; i < outputs; ++i) CARINA_RT_TRY(check_npu_output(*arguments[inputs + i], stream.output(i)));
  auto* memory = static_cast<std::byte*>(scratch.allocate(stream.scratch_bytes, kAlignment));
  if (memory == nullptr) return Error::kOutOfMemory;
  for (size_t i = 0; i < inputs; ++i) copy_npu_input(*arguments[i], stream.input(i), memory);
  // The NPU only reads region 0; the driver's interface has one type for all regions.
  const std::span<std::byte> constants(const_cast<std::byte*>(stream.weights.data()), stream.weights.size());
  const std::array<std::span<std::byte>, 3> bases{constants, std::span(memory, stream.scratch_bytes), fast_scratch_};
  CARINA_RT_TRY(driver_.invoke(stream.commands, bases));
  for (size_t i = 0; i < outputs; ++i) copy_npu_output(*arguments[inputs + i], stream.output(i), memory);
  return Error::kOk;
}

}  // namespace carina::runtime
