#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel/parallel.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "simulate/decode/operation.h"
#include "simulate/kernels/weights.h"
#include "simulate/kernels/work.h"
#include "simulate/simulator.h"

// The machine: executes the commands of a stream on memory.
namespace carina::simulate {

// State that persists between runs.
struct Persistent {
  Options options;
  WeightCache weights;
  StatisticsCache statistics;
  ThreadPool pool;
};

// The result of one operation in a chaining buffer of U85: a whole temporary tensor.
struct ChainSlot {
  std::vector<std::byte> bytes;
  Extent extent;
  ElementType type;
};

// The memory as the NPU addresses it: eight regions and the internal memory. All accesses are checked here.
class MemoryMap {
 public:
  MemoryMap(const Memory& memory, size_t internal_bytes)
      : regions_(memory.regions), read_only_(memory.read_only), internal_(internal_bytes) {}

  // Error: the range is not inside the region.
  [[nodiscard]] Result<std::span<std::byte>> range(int region, uint64_t base, uint64_t bytes,
                                                   std::string_view role) const;
  [[nodiscard]] Result<void> check_writable(int region, std::string_view role) const;
  [[nodiscard]] Result<std::span<std::byte>> internal_range(uint64_t base, uint64_t bytes, std::string_view role);
  [[nodiscard]] std::span<std::byte> region(int region) const { return regions_[static_cast<size_t>(region)]; }
  [[nodiscard]] std::span<std::byte> internal() { return internal_; }

 private:
  std::array<std::span<std::byte>, 8> regions_;
  std::array<bool, 8> read_only_;
  std::vector<std::byte> internal_;
};

// An operation with resolved addresses. `op` may differ from the registers for chained operands.
struct Prepared {
  Operation op;
  Work work;
  std::shared_ptr<const DecodedWeights> weights;  // nullptr if only time is needed
  WeightStatistics statistics{};
  std::unique_ptr<OutputStage> output;
  std::array<HostRange, 4> weight_ranges{};
  std::array<HostRange, 2> scale_ranges{};
  HostRange lut_range;
};

// The addresses that a DMA transfer reads and writes, for traffic and checks.
struct DmaEffect {
  HostRange source;
  HostRange destination;
  HostRange index;
  uint64_t bytes = 0;
};

// One run of one command stream.
class Machine {
 public:
  Machine(Persistent& persistent, const npu::AcceleratorConfig& accelerator, const npu::Payload& payload,
          const Memory& memory);
  ~Machine();
  Result<Report> run();

 private:
  struct Observers;
  Result<bool> step(const npu::Command& command, npu::StreamReader& reader);  // false: the stream has ended
  Result<void> operate(const npu::Command& command);
  Result<void> run_kernel(Operation op);
  Result<void> run_dma(const Operation& op);
  Result<Prepared> prepare(Operation op);
  Result<CheckedMap> check_map(const FeatureMap& map, const Extent& box, std::string_view role);
  Result<CheckedMap> check_output(Operation& op);
  Result<void> resolve_weights(Prepared& prepared);
  Result<void> read_weights(Prepared& prepared, const WeightStreams& streams);
  Result<void> resolve_output(Prepared& prepared);
  [[nodiscard]] bool computes() const { return persistent_.options.execution == Execution::kFull; }
  Result<void> spend(uint64_t work);
  void note_read(const HostRange& range) const;
  void execute(const Prepared& prepared);
  void note_result_flag(const Prepared& prepared);
  OperationReport& report_operation(const Operation& op);
  Result<void> start_observers();
  void time_kernel(const Prepared& prepared, OperationReport& entry);
  void time_dma(const Operation& op, OperationReport& entry);
  void time_wait(TimelineStep::Kind kind, int outstanding);
  void place_in_time();
  void poison();
  void note_held_bytes();
  void finish_report();

  Persistent& persistent_;
  const npu::AcceleratorConfig& accelerator_;
  const npu::Payload& payload_;
  const Memory& given_;
  MemoryMap memory_;
  npu::RegisterFile registers_;
  std::array<ChainSlot, 8> chain_{};
  std::vector<int64_t> kept_;
  bool result_flag_ = false;
  uint64_t work_done_ = 0;
  uint32_t command_index_ = 0;
  Report report_;
  std::unique_ptr<Observers> observers_;
};

// Executes a transfer. `spend` is charged per row. Errors: an address outside its region; an index beyond its limit.
Result<DmaEffect> execute_dma(const DmaTransfer& dma, MemoryMap& memory);
// The work of a transfer: its rows and bytes.
uint64_t dma_work(const DmaTransfer& dma);

}  // namespace carina::simulate
