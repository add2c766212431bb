#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "npu/registers.h"
#include "plan/schedule/schedule.h"

// The interface by which the planner writes commands; each family implements it.
namespace carina::plan {

// How many outstanding commands of each kind a command allows when it starts. An empty value means no wait.
struct Waits {
  std::optional<int> kernels;
  std::optional<int> dmas;
};

// A copy of bytes from one space to another. The destination address in kTables is one of the NPU's internal memory.
struct Transfer {
  Space from = Space::kConstants;
  Space to = Space::kArena;
  int64_t source = 0;
  int64_t destination = 0;
  int64_t bytes = 0;  // Indexed: bytes of one row
  // An indexed transfer copies `rows` rows. Row i lies at bytes * index[i] of the source (kGather) or of the
  // destination (kScatter).
  Indexed indexed = Indexed::kNo;
  int64_t rows = 1;
  int64_t places = 0;  // number of rows that an index may select
  Space index_space = Space::kArena;
  int64_t index = 0;  // address of the indices, 32 bits each
};

// Writes commands as register writes and operations. Each family implements it. plan/emit/stream.h decides the order of
// the commands and the waits between them.
class Emitter {
 public:
  explicit Emitter(npu::Product product) : out_(product) {}
  virtual ~Emitter() = default;

  // Whether registers are set again that have the right value already. Before the first command.
  void set_writes(npu::StreamWriter::Writes writes) { out_ = npu::StreamWriter(out_.product(), writes); }

  // Writes the operation of a stripe that is not a transfer. `table_slot` is the slot of its lookup table. `blockdep`
  // is how many of its blocks may start before the previous operation has ended.
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
