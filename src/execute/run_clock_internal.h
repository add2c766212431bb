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

// Takes the time of each instruction of a method, and which invocations of the NPU belong to it; and the values that it
// writes, where it is given the method.
class RunClock final : public runtime::InstructionObserver {
 public:
  // `method`: whose values are kept, for the clock's life; nullptr: none are.
  explicit RunClock(const SimulatedNpu& npu, const runtime::Method* method = nullptr) : npu_(npu), method_(method) {}

  void before(size_t instruction) override;
  void after(size_t instruction) override;

  // What an invocation of the NPU took, by its number since the simulator was made; cycles 0: not estimated.
  using Invocation = std::function<results::NpuReport(size_t invocation)>;
  // The run since the last call, as events under ExecuTorch's names. A delegate call lasts as long as the NPU's cycles at
  // its clock where they are known, and has one event for each layer; all else has this machine's time.
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
