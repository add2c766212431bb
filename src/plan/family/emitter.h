#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "npu/registers.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// How many of the other kind may still run when a command starts (nothing: no need to wait).
struct Waits {
  std::optional<int> kernels;
  std::optional<int> dmas;
};

// Bytes to be copied from a space to another; to kTables at an address of the NPU's internal memory.
struct Transfer {
  Space from = Space::kConstants;
  Space to = Space::kArena;
  int64_t source = 0;
  int64_t destination = 0;
  int64_t bytes = 0;  // Indexed: of one row
  // Row i of `rows` stands at bytes * index[i] of the source (kGather) or the destination (kScatter).
  Indexed indexed = Indexed::kNo;
  int64_t rows = 1;
  int64_t places = 0;  // that an index may name
  Space index_space = Space::kArena;
  int64_t index = 0;  // where the indices lie, 32 bits each
};

// Writes commands as register writes and operations: what a family must be able to say. plan/emit/stream.h decides which
// commands, with which waits between them.
class Emitter {
 public:
  explicit Emitter(npu::Product product) : out_(product) {}
  virtual ~Emitter() = default;

  // Computes a stripe that is not a transfer. `table_slot` counts where it looks up, `blockdep` is how many of its
  // blocks may start before the operation in front has ended.
  virtual void compute(const Stripe& stripe, int table_slot, int blockdep) = 0;
  virtual void transfer(const Transfer& transfer) = 0;

  void wait(const Waits& waits) {
    if (waits.kernels) out_.op(npu::Op::KERNEL_WAIT, static_cast<uint16_t>(*waits.kernels));
    if (waits.dmas) out_.op(npu::Op::DMA_WAIT, static_cast<uint16_t>(*waits.dmas));
  }
  void stop() {
    constexpr uint16_t kMask = 0xFFFF;
    out_.op(npu::Op::STOP, kMask);
  }
  [[nodiscard]] size_t words() const { return out_.word_count(); }
  [[nodiscard]] std::vector<uint32_t> take() && { return std::move(out_).take(); }

 protected:
  npu::StreamWriter out_;
};

}  // namespace carina::plan
