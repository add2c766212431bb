#pragma once

#include <ethosu_driver.h>  // Carina's or a vendor's (docs/porting.md)

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/arena.h"
#include "runtime/method.h"

namespace carina::firmware {

// Measures a run: the CPU's cycles per operator, and the NPU's counters.
class Perf final : public runtime::InstructionObserver {
 public:
  // Allocates the figures of a method. Returns false if the arena is too small.
  bool prepare(const runtime::Method& method, runtime::Arena& arena);
  // Selects the events that the NPU counts.
  static void choose_events(ethosu_driver& driver);

  void before(size_t instruction) override;
  void after(size_t instruction) override;
  void start();
  void stop();

  void report(const runtime::Method& method, uint32_t inferences) const;

 private:
  void report_operators(const runtime::Method& method, uint32_t inferences) const;
  void report_inference(uint32_t inferences) const;

  std::span<uint64_t> cycles_;  // one per instruction
  uint64_t operator_start_ = 0;
  uint64_t run_start_ = 0;
  uint64_t run_cycles_ = 0;
};

}  // namespace carina::firmware
