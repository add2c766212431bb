#include "litert/copies_internal.h"
#include "npu/payload.h"
#include "npu/registers.h"

namespace carina::litert {

namespace {

using npu::Reg;

void write_copies(npu::StreamWriter& out, const std::vector<RegionCopy>& copies) {
  for (const RegionCopy& copy : copies) {
    out.set(Reg::DMA0_SRC_REGION, copy.from.region);
    out.set(Reg::DMA0_SRC, copy.from.offset);
    out.set(Reg::DMA0_DST_REGION, copy.to.region);
    out.set(Reg::DMA0_DST, copy.to.offset);
    out.set(Reg::DMA0_LEN, copy.bytes);
    out.op(npu::Op::DMA_START);
  }
}

std::vector<uint32_t> words_before(npu::Product product, const std::vector<RegionCopy>& copies) {
  npu::StreamWriter out(product);
  write_copies(out, copies);
  if (!copies.empty()) out.op(npu::Op::DMA_WAIT, 0);
  return std::move(out).take();
}

std::vector<uint32_t> words_after(npu::Product product, const std::vector<RegionCopy>& copies, uint16_t stop_mask) {
  npu::StreamWriter out(product);
  if (!copies.empty()) {
    out.op(npu::Op::KERNEL_WAIT, 0);
    out.op(npu::Op::DMA_WAIT, 0);
    write_copies(out, copies);
    out.op(npu::Op::DMA_WAIT, 0);
  }
  out.op(npu::Op::STOP, stop_mask);
  return std::move(out).take();
}

}  // namespace

Result<std::vector<std::byte>> with_copies(std::span<const std::byte> payload, const std::vector<RegionCopy>& before,
                                           const std::vector<RegionCopy>& after, const std::string& where) {
  if (before.empty() && after.empty()) return std::vector<std::byte>(payload.begin(), payload.end());
  CARINA_TRY(const npu::Payload parsed, npu::parse_payload(payload, where));
  const npu::AcceleratorConfig* accelerator = parsed.accelerator();
  if (accelerator == nullptr) return fail({.where = where, .what = "a stream for an NPU that Carina does not know"});
  CARINA_TRY(const std::vector<npu::Command> commands, npu::read_stream(accelerator->product, parsed.stream, where));
  std::vector<uint32_t> words = words_before(accelerator->product, before);
  const auto moved_bytes = static_cast<uint32_t>(words.size() * sizeof(uint32_t));
  for (const npu::Command& command : commands) {
    if (command.kind == npu::Command::Kind::kOperation && command.op == npu::Op::STOP) {
      const std::vector<uint32_t> end = words_after(accelerator->product, after, command.param);
      words.insert(words.end(), end.begin(), end.end());
      break;
    }
    const auto first = parsed.stream.begin() + command.word_index;
    words.insert(words.end(), first, first + command.words());
    const bool is_branch = command.kind == npu::Command::Kind::kOperation && command.op == npu::Op::BRANCH;
    if (is_branch) words.back() += moved_bytes;  // targets count from the start of the stream
  }
  return npu::build_payload(*accelerator, words);
}

}  // namespace carina::litert
