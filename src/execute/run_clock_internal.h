#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "execute/simulated_npu.h"
#include "pte/etdump.h"
#include "results/run_report.h"
#include "runtime/method.h"

namespace carina::execute {

// Measures the time of each instruction of a method and assigns the NPU's invocations to instructions. If it is given
// the method, it also records the values that each instruction writes.
class RunClock final : public runtime::InstructionObserver {
 public:
  // `method`: its values are recorded, and it must outlive the clock; nullptr: no values.
  explicit RunClock(const SimulatedNpu& npu, const runtime::Method* method = nullptr) : npu_(npu), method_(method) {}

  void before(size_t instruction) override;
  void after(size_t instruction) override;

  // Returns the report of an NPU invocation by its number since the simulator was made; cycles 0: not estimated.
  using Invocation = std::function<results::NpuReport(size_t invocation)>;
  // Returns the run since the last call as events with ExecuTorch's names. If the NPU's cycles are known, a delegate
  // call lasts that many cycles at the NPU's clock and has one event per layer. All other events have this machine's
  // time.
  pte::RunRecord take(const runtime::Method& method, const Invocation& invocation);

 private:
  struct Step {
    size_t instruction = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    size_t first_invocation = 0;
    size_t invocations = 0;
  };
  [[nodiscard]] uint64_t now_ns() const;
  void keep_values(size_t instruction);
  void keep(int32_t instruction, const runtime::EValue& value);

  const SimulatedNpu& npu_;
  const runtime::Method* method_;
  std::chrono::steady_clock::time_point zero_ = std::chrono::steady_clock::now();
  std::vector<Step> steps_;
  std::vector<pte::RecordedValue> values_;
};

}  // namespace carina::execute
