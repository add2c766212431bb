#include "firmware/npu/core.h"

#include <cstring>

#include "firmware/board/console.h"
#include "firmware/npu/decode.h"
#include "firmware/npu/execute.h"
#include "firmware/npu/weights.h"

namespace carina::firmware::npu_core {

namespace {

using npu::Op;
using npu::Product;
using npu::Reg;

bool reject(std::string_view why) {
  error().text("ethosu: ").text(why);
  return false;
}

}  // namespace

std::span<std::byte> Core::range(uint32_t region, uint32_t base, uint32_t bytes) const {
  if (region >= regions_.size() || base > regions_[region].size() || bytes > regions_[region].size() - base) return {};
  return regions_[region].subspan(base, bytes);
}

bool Core::transfer_ends(std::span<std::byte>& source, std::span<std::byte>& destination) {
  const Registers& r = registers_;
  const uint32_t bytes = r.payload(Reg::DMA0_LEN);
  const auto region = npu::field_of(Reg::DMA0_DST_REGION, "region", Product::kU55);
  const auto internal = npu::field_of(Reg::DMA0_DST_REGION, "region_mode", Product::kU55);
  if (internal.get(r.data(Reg::DMA0_SRC_REGION)) != 0) return reject("a DMA from the shared buffer");
  source = range(region.get(r.data(Reg::DMA0_SRC_REGION)), r.payload(Reg::DMA0_SRC), bytes);
  const uint32_t to = r.payload(Reg::DMA0_DST);
  if (internal.get(r.data(Reg::DMA0_DST_REGION)) == 0) {
    destination = range(region.get(r.data(Reg::DMA0_DST_REGION)), to, bytes);
    return true;
  }
  const auto tables = static_cast<uint32_t>(accelerator_.shram.banks * npu::kShramBankBytes) - uint32_t{kTableBytes};
  const bool in_tables = to >= tables && to - tables <= kTableBytes && bytes <= kTableBytes - (to - tables);
  if (in_tables) destination = std::span(workspace_.tables).subspan(to - tables, bytes);
  return in_tables || reject("a DMA to a part of the shared buffer that holds no tables");
}

bool Core::run_dma() {
  std::span<std::byte> source;
  std::span<std::byte> destination;
  if (!transfer_ends(source, destination)) return false;
  if (source.data() == nullptr || destination.data() == nullptr) return reject("a DMA reaches outside its region");
  std::memmove(destination.data(), source.data(), source.size());
  return true;
}

// Each size is at most 2^16, so the floating-point product is exact enough for the comparison.
bool Core::spend(const Operation& op) {
  const Extent& ofm = op.ofm_extent;
  const double work = static_cast<double>(ofm.height) * ofm.width * ofm.depth * static_cast<double>(op.kernel.taps()) *
                      (op.kind == Kind::kElementwise ? 1 : op.ifm_depth);
  if (work > static_cast<double>(workspace_.max_work - work_))
    return reject("the stream asks for more work than any network");
  work_ += static_cast<uint64_t>(work);
  return true;
}

bool Core::run_operation(const Operation& op) {
  if (!spend(op)) return false;
  Resources resources;
  if (op.is_convolution_like()) {
    const auto stream = range(op.weights.region, op.weights.base, op.weights.bytes);
    if (stream.data() == nullptr) return reject("weights outside of their region");
    if (!decode_weights(op, accelerator_, stream, workspace_.weights)) return false;
    resources.weights = workspace_.weights;
  }
  resources.scales = range(op.scales.region, op.scales.base, op.scales.bytes);
  resources.tables = workspace_.tables;
  return execute(op, resources, regions_);
}

bool Core::step(const Command& command, bool& running) {
  if (command.is_register) {
    registers_.write(command.reg, command.data);
    return true;
  }
  switch (command.op) {
    case Op::STOP:
      running = false;
      return true;
    case Op::IRQ:
    case Op::DMA_WAIT:
    case Op::KERNEL_WAIT:
    case Op::PMU_MASK:
      return true;
    case Op::DMA_START:
      return run_dma();
    default: {
      Operation op;
      return decode(command, registers_, op) && run_operation(op);
    }
  }
}

bool Core::run(std::span<const uint32_t> stream) {
  bool running = true;
  for (size_t word = 0; running && word < stream.size();) {
    const size_t at = word;
    Command command;
    if (!read_command(stream, word, command) || !step(command, running)) {
      error()
          .text("ethosu: the NPU stopped at word ")
          .number(static_cast<int64_t>(at))
          .text(" of the command stream: ")
          .hex(stream[at]);
      return false;
    }
  }
  return !running || reject("the command stream does not end with a stop");
}

}  // namespace carina::firmware::npu_core
