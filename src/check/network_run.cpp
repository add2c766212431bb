#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory/copy_bytes.h"
#include "check/network_run_internal.h"
#include "estimate/network_memory.h"

namespace carina::check {

namespace {

constexpr int64_t kBrick = npu::kBrickDepth;

// Where an element of a tensor is, in bytes from the tensor's start.
int64_t byte_of(const npu::ValueNote& note, int64_t element) {
  if (note.brick_depth == 0) return element * note.element_bytes;
  const int64_t c = element % note.brick_depth, x = element / note.brick_depth % note.brick_width;
  const int64_t y = element / note.brick_depth / note.brick_width;
  const int64_t bricks = (note.brick_depth + kBrick - 1) / kBrick;
  return (((y * bricks + c / kBrick) * note.brick_width + x) * kBrick + c % kBrick) * note.element_bytes;
}

}  // namespace

std::span<std::byte> bytes_of(const npu::IoTensor& io, const simulate::Memory& memory, size_t bytes) {
  const std::span<std::byte> region = memory.regions[static_cast<size_t>(io.region)];
  const auto offset = static_cast<size_t>(io.offset);
  CARINA_CHECK(io.offset >= 0 && offset <= region.size() && bytes <= region.size() - offset,
               "{} bytes at {} of region {} with {} bytes", bytes, io.offset, io.region, region.size());
  return region.subspan(offset, bytes);
}

std::vector<std::byte> elements_of(const npu::ValueNote& note, const simulate::Memory& memory) {
  const std::span<std::byte> region = memory.regions[static_cast<size_t>(note.region)];
  const auto bytes = static_cast<size_t>(note.element_bytes);
  size_t count = 1;
  for (const npu::ValueNote::Axis& axis : note.axes) count *= static_cast<size_t>(axis.size);
  std::vector<std::byte> elements(count * bytes);
  std::vector<int64_t> index(note.axes.size());
  int64_t element = note.offset;
  for (size_t i = 0; i < count; ++i) {
    const int64_t at = note.address + byte_of(note, element);
    CARINA_CHECK(at >= 0 && static_cast<size_t>(at) + bytes <= region.size(), "byte {} of region {} with {} bytes", at,
                 note.region, region.size());
    std::memcpy(&elements[i * bytes], &region[static_cast<size_t>(at)], bytes);
    for (size_t axis = index.size(); axis-- > 0;) {
      element += note.axes[axis].stride;
      if (++index[axis] < note.axes[axis].size) break;
      element -= note.axes[axis].stride * note.axes[axis].size;
      index[axis] = 0;
    }
  }
  return elements;
}

NetworkRun::NetworkRun(const npu::CompiledNetwork& network, simulate::Options options)
    : network_(network),
      scratch_(static_cast<size_t>(network.scratch_bytes)),
      fast_(static_cast<size_t>(network.fast_scratch_bytes)),
      memory_(estimate::network_memory(network, {.scratch = scratch_.bytes(), .fast_scratch = fast_.bytes()})),
      simulator_(std::move(options)) {}

Result<simulate::Report> NetworkRun::run(std::span<const Tensor> inputs) {
  memory_.defined = {{.region = network_.scratch_region}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const npu::IoTensor& io = network_.inputs[i];
    copy_bytes(inputs[i].data.bytes(), bytes_of(io, memory_, inputs[i].data.size()));
    memory_.defined.push_back(
        {.region = io.region, .offset = static_cast<uint64_t>(io.offset), .bytes = inputs[i].data.size()});
  }
  return simulator_.run(network_.command_payload, memory_);
}

}  // namespace carina::check
