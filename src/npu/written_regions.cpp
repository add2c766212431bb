#include "npu/written_regions.h"

#include "npu/registers.h"

namespace carina::npu {

namespace {

bool computes(Op op) {
  return op == Op::CONV || op == Op::DEPTHWISE || op == Op::POOL || op == Op::ELEMENTWISE || op == Op::RESIZE;
}

}  // namespace

Result<std::bitset<kMaxRegions>> written_regions(Product product, std::span<const uint32_t> words,
                                                 const std::string& where) {
  // This row is the same on all products.
  constexpr FieldRow kOutput = field_of(Reg::OFM_REGION, "region", Product::kU55);
  constexpr FieldRow kTarget = field_of(Reg::DMA0_DST_REGION, "region", Product::kU55);
  constexpr FieldRow kMode = field_of(Reg::DMA0_DST_REGION, "region_mode", Product::kU55);
  StreamReader reader(product, words, where);
  RegisterFile registers(product);
  std::bitset<kMaxRegions> written;
  for (Command command;;) {
    CARINA_TRY(const bool more, reader.next(command));
    if (!more) return written;
    if (command.kind == Command::Kind::kOperation) {
      const bool output = computes(command.op) && !registers.written(Reg::OFM_REGION);
      const bool target = command.op == Op::DMA_START && !registers.written(Reg::DMA0_DST_REGION);
      if (output || target) written.set(0);
      continue;
    }
    registers.write(command);
    const bool external = kMode.get(command.data()) == static_cast<uint32_t>(DmaRegionMode::EXTERNAL);
    if (command.reg == Reg::OFM_REGION) written.set(kOutput.get(command.data()));
    if (command.reg == Reg::DMA0_DST_REGION && external) written.set(kTarget.get(command.data()));
  }
}

bool may_write_weights(const CompiledNetwork& network, Product product, std::span<const uint32_t> words) {
  auto written = written_regions(product, words, {});
  if (!written) return true;
  written->set(static_cast<size_t>(network.scratch_region));
  // If a network has no fast scratch, Vela's streams may name any region for it, even that of the weights. Such writes
  // are ignored.
  if (network.fast_scratch_bytes != 0) written->set(static_cast<size_t>(network.fast_scratch_region));
  for (const IoTensor& input : network.inputs) written->set(static_cast<size_t>(input.region));
  return written->test(static_cast<size_t>(network.weight_region));
}

}  // namespace carina::npu
