#include "plan/stage.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/estimate.h"

namespace carina::plan {
namespace {

// Without a limit of the user's, staging may grow the arena to this; networks that need more for themselves are not
// grown.
constexpr int64_t kUnaskedArenaBytes = 512 * 1024;

int64_t arena_budget(int64_t needed, const Options& options) {
  if (options.arena_limit_bytes > 0) return options.arena_limit_bytes;
  return std::max(needed, kUnaskedArenaBytes);
}

// Bytes live while each operation runs, before staging.
std::vector<int64_t> live_bytes(const Program& program) {
  const Network& network = program.network;
  const size_t count = network.operations.size();
  struct Life {
    size_t first = SIZE_MAX, last = 0;
  };
  std::vector<Life> lives(network.tensors.size());
  const auto touch = [&](TensorId id, size_t time) {
    lives[id.index()].first = std::min(lives[id.index()].first, time);
    lives[id.index()].last = std::max(lives[id.index()].last, time);
  };
  for (size_t i = 0; i < count; ++i) {
    const Operation& op = network.operations[i];
    touch(op.ofm.tensor, i);
    touch(op.ifm.tensor, i);
    if (op.second == SecondOperand::kFeatureMap) touch(op.ifm2.tensor, i);
  }
  for (const TensorId id : network.inputs) touch(id, 0);
  for (const TensorId id : network.outputs) touch(id, count == 0 ? 0 : count - 1);
  std::vector<int64_t> live(count, 0);
  for (size_t t = 0; t < lives.size(); ++t) {
    if (lives[t].first == SIZE_MAX || network.tensors[t].kind == TensorKind::kConstant) continue;
    for (size_t i = lives[t].first; i <= std::min(lives[t].last, count - 1); ++i) live[i] += network.tensors[t].bytes();
  }
  return live;
}

// Operations that read the same bytes, and before which operation the copy of them starts.
struct Group {
  size_t encoded = 0;
  std::vector<size_t> users;  // ascending
  int64_t bytes = 0;
  double copy_cycles = 0;
  std::optional<size_t> from = {};  // nothing: read where they are
  [[nodiscard]] size_t first() const { return users.front(); }
  [[nodiscard]] size_t last() const { return users.back(); }
};

// How long an operation takes with its weights in slow memory, and in the arena; how long it then keeps slow memory
// busy.
struct Times {
  double in_place = 0;
  double staged = 0;
  double slow_reads = 0;
};

const npu::MemoryPort& slow_port(const Target& target) {
  return target.system.ports[static_cast<size_t>(target.memory.constants_port)];
}
const npu::MemoryPort& fast_port(const Target& target) {
  return target.system.ports[static_cast<size_t>(target.memory.arena_port)];
}

std::vector<Times> times_of(const Program& program, const Target& target) {
  std::vector<Times> times;
  const double slow = bytes_per_cycle(slow_port(target), target), fast = bytes_per_cycle(fast_port(target), target);
  for (size_t i = 0; i < program.network.operations.size(); ++i) {
    const Operation& op = program.network.operations[i];
    if (op.kind == OperationKind::kDma) {
      times.push_back({});
      continue;
    }
    const Estimate e = estimate(op, program.blocks[i], target);
    const double maps = e.feature_map_bytes / fast;
    const size_t encoded = program.encoded_of[i];
    const double weights = encoded == Program::kNone ? 0
                                                     : static_cast<double>(program.encoded[encoded].bytes.size()) *
                                                           static_cast<double>(e.weight_fetches);
    times.push_back({.in_place = std::max({e.npu_cycles, maps, weights / slow}),
                     .staged = std::max(e.npu_cycles, maps + weights / fast),
                     .slow_reads = weights / slow});
  }
  return times;
}

std::vector<Group> groups_of(const Program& program, const Target& target) {
  std::vector<Group> groups;
  std::vector<size_t> index(program.encoded.size(), Program::kNone);
  for (size_t i = 0; i < program.network.operations.size(); ++i) {
    if (!program.network.operations[i].is_convolution()) continue;
    size_t& group = index[program.encoded_of[i]];
    if (group == Program::kNone) {
      group = groups.size();
      const auto bytes = static_cast<int64_t>(program.encoded[program.encoded_of[i]].bytes.size());
      groups.push_back({.encoded = program.encoded_of[i],
                        .users = {},
                        .bytes = bytes,
                        .copy_cycles = static_cast<double>(bytes) / bytes_per_cycle(slow_port(target), target) +
                                       slow_port(target).read_latency_cycles});
    }
    groups[group].users.push_back(i);
  }
  return groups;
}

// Tries where each copy could start, and keeps what makes the network faster by a simple simulation.
class Stager {
 public:
  // How many operations ahead of its first user a copy may start.
  static constexpr size_t kAhead[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

  Stager(const Program& program, const Target& target, const Options& options)
      : live_(live_bytes(program)),
        times_(times_of(program, target)),
        groups_(groups_of(program, target)),
        group_of_(times_.size(), Program::kNone) {
    budget_ = arena_budget(live_.empty() ? 0 : std::ranges::max(live_), options);
    loads_.resize(times_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const size_t user : groups_[g].users) group_of_[user] = g;
    }
    for (const Operation& op : program.network.operations)
      transfers_.push_back(op.uses_table() || op.kind == OperationKind::kDma);
  }

  const std::vector<Group>& run() {
    best_ = total_cycles();
    // The search is quadratic: long networks get fewer tries.
    constexpr size_t kWork = 30'000'000;
    size_t tries = kWork / (times_.size() + 1);
    for (int round = 0; round < 3; ++round) {
      const double before = best_;
      for (size_t g = 0; g < groups_.size() && tries > std::size(kAhead); ++g) {
        improve(g);
        tries -= std::size(kAhead);
      }
      if (best_ >= before) break;
    }
    return groups_;
  }

 private:
  void set(size_t g, std::optional<size_t> from) {
    Group& group = groups_[g];
    if (group.from) {
      for (size_t i = *group.from; i <= group.last(); ++i) live_[i] -= group.bytes;
      std::erase(loads_[*group.from], g);
    }
    group.from = from;
    if (!from) return;
    for (size_t i = *from; i <= group.last(); ++i) live_[i] += group.bytes;
    auto& loads = loads_[*from];
    loads.insert(std::ranges::upper_bound(loads, g), g);
  }

  [[nodiscard]] bool fits(size_t from, size_t to, int64_t bytes) const {
    for (size_t i = from; i <= to; ++i) {
      if (live_[i] + bytes > budget_) return false;
    }
    return true;
  }

  void improve(size_t g) {
    const std::optional<size_t> before = groups_[g].from;
    std::optional<size_t> choice = before;
    set(g, std::nullopt);
    const auto consider = [&](std::optional<size_t> from) {
      if (from) set(g, from);
      const double total = total_cycles();
      if (from) set(g, std::nullopt);
      if (total < best_ || (total == best_ && !from && choice)) {
        best_ = total;
        choice = from;
      }
    };
    consider(std::nullopt);
    for (const size_t ahead : kAhead) {
      if (ahead > groups_[g].first()) break;
      const size_t from = groups_[g].first() - ahead;
      if (!fits(from, groups_[g].last(), groups_[g].bytes)) break;
      consider(from);
    }
    set(g, choice);
  }

  // Transfers run one after the other beside the operations, and share slow memory with operations that read their
  // weights from it. One that stands before an operation starts with it: its place in the arena may be in use until
  // then.
  [[nodiscard]] double total_cycles() const {
    std::vector<double> ready(groups_.size(), 0);
    std::vector<size_t> running;  // groups whose copies are under way
    double now = 0, dma_end = 0;
    for (size_t i = 0; i < times_.size(); ++i) {
      double issue = now;
      if (transfers_[i]) issue = std::max(issue, dma_end);
      for (const size_t g : loads_[i]) {
        issue = std::max(issue, dma_end);  // one transfer at a time; the parser waits with the next
        ready[g] = dma_end = issue + groups_[g].copy_cycles;
        running.push_back(g);
      }
      const size_t g = group_of_[i];
      const bool staged = g != Program::kNone && groups_[g].from.has_value();
      double start = std::max(now, issue);
      if (staged) start = std::max(start, ready[g]);
      std::erase_if(running, [&](size_t k) { return ready[k] <= start; });
      if (g != Program::kNone && !staged && !running.empty()) {
        for (const size_t k : running) ready[k] += times_[i].slow_reads;
        dma_end += times_[i].slow_reads;
      }
      now = start + (staged ? times_[i].staged : times_[i].in_place);
    }
    return std::max(now, dma_end);
  }

  std::vector<int64_t> live_;
  std::vector<Times> times_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;            // per operation
  std::vector<std::vector<size_t>> loads_;  // per operation: groups whose copies start before it
  std::vector<bool> transfers_;             // per operation: whether it needs the transfer engine itself
  int64_t budget_ = 0;
  double best_ = 0;
};

}  // namespace

void stage_nothing(Program& program) {
  program.staged.assign(program.network.operations.size(), TensorId());
  program.loads.assign(program.network.operations.size(), {});
}

void stage_weights(Program& program, const Target& target, const Options& options) {
  stage_nothing(program);
  if (!target.constants_are_slow() || options.variation.staging == Variation::Staging::kNever) return;
  Stager stager(program, target, options);
  for (const Group& group : stager.run()) {
    if (!group.from) continue;
    const std::string name = program.network.operations[group.first()].name + " weights";
    const TensorId buffer =
        program.network.add({.name = name, .shape = Shape{group.bytes}, .extent = {.depth = group.bytes}});
    for (const size_t user : group.users) program.staged[user] = buffer;
    program.loads[*group.from].push_back(group.first());
  }
}

}  // namespace carina::plan
