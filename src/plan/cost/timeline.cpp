#include "plan/cost/timeline.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "npu/cost/channel.h"
#include "npu/cost/cost.h"
#include "plan/cost/hazards.h"
#include "plan/cost/kernel_cost.h"

// Event simulation of two engines. The parser issues commands in order. Kernels run one after another, transfers run
// one after another, and both engines run at the same time. The parser waits at a wait command, and while a queue is
// full.
//
//   Example: kernel A (1,000 cycles), a transfer of weights (1,400 cycles), then kernel B, which reads these weights.
//   A and the transfer start at 0. Before B stands DMA_WAIT 0, so B starts at 1,400. Without the dependency it would
//   start at 1,000. If A uses 0.6 and the transfer 0.7 of one port, the transfer gets 0.5 (at most its fair share, or
//   what A leaves) and A the rest: the transfer runs at 0.5 / 0.7 and A at 0.5 / 0.6 of its speed until one ends.
//
// An event is the end of the front of one of the queues, so the time is linear in the number of commands, besides the
// comparison with the few outstanding commands. Timeline computes the cycles of several orders of the same commands,
// for which the prices of kernels are computed once. The simulator has its own timeline (simulate/timing), which sees
// only the words of the stream.
namespace carina::plan {
namespace {

using Shares = std::array<double, 2>;  // of each port's width

struct Work {
  double left = 0;
  Shares shares = {};
};

// Two engines: one for kernels, one for transfers. The parser waits while a queue is full.
class Engines {
 public:
  Engines(int kernel_queue, int transfer_queue) : kernel_queue_(kernel_queue), transfer_queue_(transfer_queue) {}

  void kernel(const Work& work) { issue(kernels_, kernel_queue_, work); }
  void transfer(const Work& work) { issue(transfers_, transfer_queue_, work); }
  void wait(const Waits& waits) {
    if (waits.kernels) drain(kernels_, *waits.kernels);
    if (waits.dmas) drain(transfers_, *waits.dmas);
  }
  double end() {
    wait({.kernels = 0, .dmas = 0});
    return now_;
  }

 private:
  void issue(std::deque<Work>& queue, int depth, const Work& work) {
    drain(queue, depth - 1);
    queue.push_back(work);
  }
  void drain(const std::deque<Work>& queue, int outstanding) {
    while (static_cast<int>(queue.size()) > std::max(0, outstanding)) run_until_one_ends();
  }
  void run_until_one_ends() {
    npu::Progress speed;
    if (!kernels_.empty() && !transfers_.empty()) {
      std::array<npu::PortDemand, 2> ports;
      for (size_t i = 0; i < ports.size(); ++i)
        ports[i] = {.kernel = kernels_.front().shares[i], .transfer = transfers_.front().shares[i]};
      speed = npu::concurrent_progress(ports);
    }
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double kernel_ends = kernels_.empty() ? kNever : kernels_.front().left / speed.kernel;
    const double transfer_ends = transfers_.empty() ? kNever : transfers_.front().left / speed.transfer;
    const double passed = std::min(kernel_ends, transfer_ends);
    now_ += passed;
    if (!kernels_.empty()) kernels_.front().left -= passed * speed.kernel;
    if (!transfers_.empty()) transfers_.front().left -= passed * speed.transfer;
    if (kernel_ends <= passed) kernels_.pop_front();
    if (transfer_ends <= passed) transfers_.pop_front();
  }

  int kernel_queue_;
  int transfer_queue_;
  std::deque<Work> kernels_;
  std::deque<Work> transfers_;
  double now_ = 0;
};

bool has_all_addresses(const Schedule& schedule) {
  return std::ranges::all_of(schedule.tensors, [](const PlanTensor& tensor) { return tensor.storage.valid(); }) &&
         std::ranges::all_of(schedule.storages, [](const Storage& storage) { return storage.address >= 0; });
}

// Unique dummy addresses for storages that have none yet, so that hazards are detected.
std::optional<Schedule> with_addresses(const Schedule& given) {
  if (has_all_addresses(given)) return std::nullopt;
  Schedule schedule = given;
  for (PlanTensor& tensor : schedule.tensors) {
    if (!tensor.storage.valid()) tensor.storage = schedule.add({.space = Space::kConstants, .bytes = tensor.bytes()});
  }
  int64_t next = 0;
  for (const Storage& storage : schedule.storages) next = std::max(next, storage.address + storage.bytes);
  for (Storage& storage : schedule.storages) {
    if (storage.address >= 0) continue;
    storage.address = next;
    next += storage.bytes;
  }
  return schedule;
}

}  // namespace

class Timeline::Pricing {
 public:
  Pricing(const Schedule& schedule, const Family& family, const Target& target, const npu::CostDetail& detail)
      : schedule_(schedule),
        target_(target),
        tables_(family.tables(target)),
        cost_(schedule, family, target, detail),
        accesses_(schedule.stripes.size()) {
    for (const Stripe& stripe : schedule.stripes)
      kernels_.push_back(schedule[stripe.step].kind == StepKind::kDma ? Work{} : kernel(stripe));
  }

  [[nodiscard]] bool is_transfer(const Command& command) const {
    return command.kind != Command::Kind::kStripe || schedule_.step_of(command).kind == StepKind::kDma;
  }
  [[nodiscard]] const Work& kernel(const Command& command) const { return kernels_[command.stripe.index()]; }
  // The accesses of stripes are those of all orders. Those of other commands are appended to `of_transfers`.
  [[nodiscard]] std::span<const Access> accesses(const Command& command,
                                                 std::deque<std::vector<Access>>& of_transfers) {
    if (command.kind != Command::Kind::kStripe)
      return of_transfers.emplace_back(accesses_of(schedule_, command, tables_));
    StripeAccesses& known = accesses_[command.stripe.index()];
    if (known.list.empty() || known.slot != command.slot)
      known = {.list = accesses_of(schedule_, command, tables_), .slot = command.slot};
    return known.list;
  }
  [[nodiscard]] Work transfer(const Command& command) const {
    if (command.kind == Command::Kind::kLoadTable)
      return copy(schedule_[schedule_.step_of(command).activation.table].bytes(),
                  table_space(schedule_[command.stripe]), Space::kTables);
    if (command.kind == Command::Kind::kStripe) {
      const Step& step = schedule_.step_of(command);
      return copy(step.dma_bytes, schedule_.space_of(step.ifm.tensor), schedule_.space_of(step.ofm.tensor));
    }
    const Copy what = copy_of(schedule_, command);
    return copy(command.bytes, schedule_[what.from].space, schedule_[what.to].space);
  }

 private:
  [[nodiscard]] Space table_space(const Stripe& stripe) const {
    return stripe.staged_table.valid() ? schedule_[stripe.staged_table].space : Space::kConstants;
  }
  [[nodiscard]] Work kernel(const Stripe& stripe) const {
    std::optional<Step> part;
    const KernelCycles cycles = cost_.of(subop_in(schedule_, stripe, part), stripe.block, feed_of(stripe));
    Work work{.left = cycles.total};
    for (size_t i = 0; i < work.shares.size(); ++i)
      work.shares[i] = std::min(1.0, cycles.port_busy[i] / std::max(1.0, cycles.total));
    return work;
  }
  [[nodiscard]] Feed feed_of(const Stripe& stripe) const {
    Feed feed;
    if (!stripe.slice.valid()) return feed;
    const WeightSlice& slice = schedule_[stripe.slice];
    for (const CoreStream& core : slice.cores) {
      feed.weight_bytes += static_cast<double>(core.weight_bytes);
      feed.scale_bytes += static_cast<double>(core.scale_bytes);
    }
    feed.zero_rate = static_cast<double>(slice.zeros_per_million) / 1e6;
    feed.weights_from = weights_of(schedule_, slice, 0).space;
    feed.scales_from = scales_of(schedule_, slice, 0).space;
    return feed;
  }
  [[nodiscard]] Work copy(int64_t bytes, Space from, Space to) const {
    Work work{.left = cost_.transfer(bytes, from, to)};
    for (const Space space : {from, to}) {
      if (space == Space::kTables) continue;
      const size_t port = cost_.port_of(space);
      work.shares[port] += static_cast<double>(bytes) /
                           npu::port_bytes_per_cycle(target_.accelerator.product, target_.system.ports[port]);
    }
    for (double& share : work.shares) share = std::min(1.0, share / std::max(1.0, work.left));
    return work;
  }

  const Schedule& schedule_;
  const Target& target_;
  TableMemory tables_;
  KernelCost cost_;
  std::vector<Work> kernels_;  // by stripe
  struct StripeAccesses {
    std::vector<Access> list = {};
    int slot = -1;
  };
  std::vector<StripeAccesses> accesses_;  // by stripe, once they are asked for
};

Timeline::Timeline(const Schedule& schedule, const Family& family, const Target& target, const npu::CostDetail& detail)
    : family_(family),
      with_addresses_(with_addresses(schedule)),
      pricing_(std::make_unique<Pricing>(with_addresses_ ? *with_addresses_ : schedule, family, target, detail)) {}

Timeline::~Timeline() = default;

double Timeline::cycles(std::span<const Command> order) const {
  Engines engines(family_.limits.max_outstanding_kernels, family_.limits.max_outstanding_dmas);
  HazardTracker hazards(family_.limits);
  std::deque<std::vector<Access>> of_transfers;
  for (const Command& command : order) {
    const std::span<const Access> accesses = pricing_->accesses(command, of_transfers);
    if (pricing_->is_transfer(command)) {
      engines.wait(hazards.before_dma(accesses));
      engines.transfer(pricing_->transfer(command));
    } else {
      engines.wait(hazards.before_kernel(accesses));
      engines.kernel(pricing_->kernel(command));
    }
  }
  return engines.end();
}

double cost_of(const Schedule& schedule, const Family& family, const Target& target, const npu::CostDetail& detail) {
  return Timeline(schedule, family, target, detail).cycles(schedule.order);
}

}  // namespace carina::plan
