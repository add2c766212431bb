#include "simulate/timing/timeline.h"

#include <algorithm>
#include <limits>

#include "carina/check.h"
#include "facts/npu_accelerators.h"
#include "facts/npu_targets.h"
#include "npu/cost/cost.h"

namespace carina::simulate {

void Timeline::issue(Engine& engine, uint64_t cycles, const PortShares& shares) {
  wait(engine, engine.depth - 1);
  engine.queue.push_back({.left = static_cast<double>(cycles), .shares = shares, .start = now_});
}

void Timeline::wait(Engine& engine, int outstanding) {
  while (static_cast<int>(engine.queue.size()) > std::max(0, outstanding)) run_until_one_ends();
}

namespace {

npu::Progress concurrent(const PortShares& kernel, const PortShares& transfer) {
  std::array<npu::PortDemand, kMemoryKinds> ports;
  for (size_t m = 0; m < ports.size(); ++m) ports[m] = {.kernel = kernel[m], .transfer = transfer[m]};
  return npu::concurrent_progress(ports);
}

}  // namespace

void Timeline::run_until_one_ends() {
  npu::Progress speed;
  if (!kernels_.queue.empty() && !dmas_.queue.empty())
    speed = concurrent(kernels_.queue.front().shares, dmas_.queue.front().shares);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double kernel_ends = kernels_.queue.empty() ? kNever : kernels_.queue.front().left / speed.kernel;
  const double dma_ends = dmas_.queue.empty() ? kNever : dmas_.queue.front().left / speed.transfer;
  const double passed = std::min(kernel_ends, dma_ends);
  now_ += passed;
  if (!kernels_.queue.empty()) kernels_.queue.front().left -= passed * speed.kernel;
  if (!dmas_.queue.empty()) dmas_.queue.front().left -= passed * speed.transfer;
  if (kernel_ends <= passed) end_first(kernels_);
  if (dma_ends <= passed) end_first(dmas_);
}

void Timeline::end_first(Engine& engine) {
  const Work& work = engine.queue.front();
  engine.ended.push_back({.start = static_cast<uint64_t>(work.start), .end = static_cast<uint64_t>(now_)});
  engine.queue.pop_front();
  if (!engine.queue.empty()) engine.queue.front().start = now_;
}

uint64_t cycles_without(const Report& report, const std::vector<bool>& left_out) {
  const npu::AcceleratorConfig* accelerator = npu::find_accelerator_of_word(report.config_word);
  CARINA_CHECK(accelerator != nullptr);
  const npu::ProductLimits& limits = npu::limits_of(accelerator->product);
  Timeline timeline(limits.max_outstanding_kernels, limits.max_outstanding_dmas);
  for (const TimelineStep& step : report.timeline) {
    using enum TimelineStep::Kind;
    const bool is_out = (step.kind == kKernel || step.kind == kDma) && left_out.at(step.operation);
    const uint64_t cycles = is_out ? 0 : step.cycles;
    const PortShares shares = is_out ? PortShares{} : step.shares;
    switch (step.kind) {
      case kKernel:
        timeline.kernel(cycles, shares);
        break;
      case kDma:
        timeline.dma(cycles, shares);
        break;
      case kWaitKernels:
        timeline.wait_kernels(step.outstanding);
        break;
      case kWaitDmas:
        timeline.wait_dmas(step.outstanding);
        break;
    }
  }
  timeline.wait_kernels(0);
  timeline.wait_dmas(0);
  return timeline.now();
}

}  // namespace carina::simulate
