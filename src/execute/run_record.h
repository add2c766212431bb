// Declares the record of a run in ExecuTorch's terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "pte/etdump.h"
#include "results/run_report.h"
#include "runtime/method.h"

namespace carina::execute {

// The time of an instruction on some clock. A delegate call has the NPU's invocations from `first_invocation` on.
struct InstructionTime {
  size_t instruction = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  size_t first_invocation = 0;
  size_t invocations = 0;
};

// Returns the report of an NPU invocation by its number; cycles 0: not estimated.
using Invocation = std::function<results::NpuReport(size_t invocation)>;

// Returns a run as events with ExecuTorch's names, in the order of `times`. If the NPU's cycles are known, a delegate
// call lasts that many cycles at the NPU's clock and has one event per layer.
pte::RunRecord record_of(std::span<const InstructionTime> times, const runtime::Method& method,
                         const Invocation& invocation);

}  // namespace carina::execute
