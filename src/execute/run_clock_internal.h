#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "execute/run_record.h"
#include "execute/simulated_npu.h"
#include "pte/etdump.h"
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

  // Returns the run since the last call. `invocation` counts from the simulator's start. What is not the NPU's has this
  // machine's time.
  pte::RunRecord take(const runtime::Method& method, const Invocation& invocation);

 private:
  [[nodiscard]] uint64_t now_ns() const;
  void keep_values(size_t instruction);
  void keep(int32_t instruction, const runtime::EValue& value);

  const SimulatedNpu& npu_;
  const runtime::Method* method_;
  std::chrono::steady_clock::time_point zero_ = std::chrono::steady_clock::now();
  std::vector<InstructionTime> steps_;
  std::vector<pte::RecordedValue> values_;
};

}  // namespace carina::execute
