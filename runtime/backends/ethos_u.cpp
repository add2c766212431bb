#include "runtime/backends/ethos_u.h"

#include <cstring>

#include "facts/executorch.h"
#include "runtime/backends/npu_copy_internal.h"

namespace carina::runtime {

namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kBlockHeaderBytes = 32;
constexpr size_t kNameBytes = 16;
constexpr size_t kAxes = 6;
constexpr size_t kOldAxes = 4;
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

// Reads the block at the front of `rest` and removes it from `rest`.
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

// A row of a table, with its shape extended to six axes.
NpuTensor row_at(const NpuTensorTable& table, size_t index) {
  NpuTensor tensor;
  tensor.shape.fill(1);
  const size_t at = index * table.row_bytes();
  bool empty_so_far = table.axes == kOldAxes;  // zeros after the last axis
  for (size_t i = table.axes; i-- > 0;) {
    const auto size = load_at<int32_t>(table.rows, at + 4 * i);
    empty_so_far &= size == 0;
    if (!empty_so_far) tensor.shape[i] = size;
  }
  tensor.element_bytes = load_at<int32_t>(table.rows, at + 4 * table.axes);
  tensor.offset = load_at<int32_t>(table.rows, at + 4 * table.axes + 4);
  tensor.region = load_at<int32_t>(table.rows, at + 4 * table.axes + 8);
  return tensor;
}

NpuTensor tensor_at(const NpuTensorTable& table, size_t index) {
  NpuTensor tensor = row_at(table, index);
  tensor.bytes = static_cast<size_t>(tensor.element_bytes);
  for (const int32_t size : tensor.shape) tensor.bytes *= static_cast<size_t>(size);
  return tensor;
}

// Checks the tensor's offset and size before other code multiplies its numbers unchecked.
Error check_tensor(const NpuTensorTable& table, size_t index, size_t scratch_bytes) {
  const NpuTensor tensor = row_at(table, index);
  const bool known_size = tensor.element_bytes == 1 || tensor.element_bytes == 2 || tensor.element_bytes == 4;
  if (!known_size || tensor.offset < 0) return Error::kInvalidProgram;
  size_t bytes = static_cast<size_t>(tensor.element_bytes);
  for (const int32_t size : tensor.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes)) return Error::kInvalidProgram;
  }
  const auto offset = static_cast<size_t>(tensor.offset);
  if (offset > scratch_bytes || bytes > scratch_bytes - offset) return Error::kInvalidProgram;
  return tensor.region == kScratchRegion ? Error::kOk : Error::kNotSupported;
}

Error read_tensors(std::span<const std::byte> data, NpuTensorTable& table) {
  if (data.size() < sizeof(int32_t)) return Error::kInvalidProgram;
  const auto count = load_at<int32_t>(data, 0);
  table.rows = data.subspan(sizeof(int32_t));
  for (const size_t axes : {kAxes, kOldAxes}) {
    table.axes = axes;
    const bool whole = table.rows.size() % table.row_bytes() == 0;
    if (whole && count >= 0 && table.count() == static_cast<size_t>(count)) return Error::kOk;
  }
  return Error::kInvalidProgram;
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
  if (block.name == "scratch_data") {
    stream.scratch_bytes = block.data.size();
    return Error::kOk;
  }
  if (block.name == "inputs") return read_tensors(block.data, stream.inputs);
  if (block.name == "outputs") return read_tensors(block.data, stream.outputs);
  return Error::kInvalidProgram;
}

bool is_inside(const void* data, std::span<const std::byte> memory) {
  const auto at = reinterpret_cast<uintptr_t>(data), first = reinterpret_cast<uintptr_t>(memory.data());
  return at >= first && at - first < memory.size();
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

bool npu_argument_place(std::span<const std::byte> blob, size_t argument, ArgumentPlace& place) {
  NpuStream stream;
  if (read_npu_stream(blob, stream) != Error::kOk) return false;
  const size_t inputs = stream.input_count();
  if (argument >= inputs + stream.output_count()) return false;
  const NpuTensor tensor = argument < inputs ? stream.input(argument) : stream.output(argument - inputs);
  place = {.offset = static_cast<size_t>(tensor.offset),
           .bytes = tensor.bytes,
           .scratch_bytes = stream.scratch_bytes,
           .is_output = argument >= inputs};
  return true;
}

std::string_view EthosUBackend::id() const {
  return kEthosUBackendId;
}

bool EthosUBackend::serves(std::string_view delegate_id) const {
  return is_ethos_u(delegate_id);
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
  // The NPU only reads region 0. The cast is needed because the driver's interface has one type for all regions.
  const std::span<std::byte> constants(const_cast<std::byte*>(stream.weights.data()), stream.weights.size());
  const std::array<std::span<std::byte>, 3> bases{constants, std::span(memory, stream.scratch_bytes), fast_scratch_};
  CARINA_RT_TRY(driver_.invoke(stream.commands, bases));
  // A state that is moved in the scratch memory may overwrite results, which are copied before.
  const std::span<const std::byte> own(memory, stream.scratch_bytes);
  for (const bool is_moved : {false, true}) {
    for (size_t i = 0; i < outputs; ++i) {
      const EValue& argument = *arguments[inputs + i];
      if (is_inside(argument.tensor.data, own) == is_moved) copy_npu_output(argument, stream.output(i), memory);
    }
  }
  return Error::kOk;
}

}  // namespace carina::runtime
