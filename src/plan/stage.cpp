#include "plan/stage.h"

#include <algorithm>
#include <vector>

#include "plan/estimate.h"

namespace carina::plan {
namespace {

// Without a limit of the user's, staging may grow the arena to this; networks that need more for themselves are not grown.
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

struct Candidate {
  size_t operation;
  double saved_cycles;
  int64_t bytes;
};

// What staging one operation's weights saves: reading them over and over from slow memory against once, mostly hidden
// behind the operation before.
Candidate candidate_of(const Program& program, size_t i, const Target& target, const std::vector<Estimate>& estimates) {
  const EncodedWeights& encoded = program.encoded[program.encoded_of[i]];
  const auto bytes = static_cast<double>(encoded.bytes.size());
  const npu::MemoryPort &slow = target.system.ports[static_cast<size_t>(target.memory.constants_port)],
                        &fast = target.system.ports[static_cast<size_t>(target.memory.arena_port)];
  const Estimate& own = estimates[i];
  const auto fetches = static_cast<double>(own.weight_fetches);
  const double once = bytes / bytes_per_cycle(slow, target) + slow.read_latency_cycles;
  const double arena = own.feature_map_bytes / bytes_per_cycle(fast, target);
  const double in_place = std::max({own.npu_cycles, arena, fetches * bytes / bytes_per_cycle(slow, target)});
  const double staged = std::max(own.npu_cycles, arena + fetches * bytes / bytes_per_cycle(fast, target));
  const double hidden = i == 0 ? 0 : estimates[i - 1].npu_cycles;
  return {.operation = i, .saved_cycles = in_place - staged - std::max(0.0, once - hidden), .bytes = static_cast<int64_t>(encoded.bytes.size())};
}

std::vector<Candidate> candidates_of(const Program& program, const Target& target) {
  std::vector<Estimate> estimates;
  for (size_t i = 0; i < program.network.operations.size(); ++i) estimates.push_back(estimate(program.network.operations[i], program.blocks[i], target));
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < program.network.operations.size(); ++i) {
    if (!program.network.operations[i].is_convolution()) continue;
    const Candidate c = candidate_of(program, i, target, estimates);
    if (c.saved_cycles > 0) candidates.push_back(c);
  }
  std::ranges::stable_sort(candidates, std::greater(), &Candidate::saved_cycles);
  return candidates;
}

}  // namespace

void stage_weights(Program& program, const Target& target, const Options& options) {
  program.staged.assign(program.network.operations.size(), TensorId());
  if (!target.constants_are_slow() || options.variation.staging == Variation::Staging::kNever) return;
  std::vector<int64_t> live = live_bytes(program);
  const int64_t needed = live.empty() ? 0 : std::ranges::max(live);
  const int64_t budget = arena_budget(needed, options);
  for (const Candidate& c : candidates_of(program, target)) {
    const size_t before = c.operation == 0 ? 0 : c.operation - 1;
    if (std::max(live[before], live[c.operation]) + c.bytes > budget) continue;
    live[before] += c.bytes;
    if (before != c.operation) live[c.operation] += c.bytes;
    const Shape shape{c.bytes};
    program.staged[c.operation] = program.network.add({.name = program.network.operations[c.operation].name + " weights", .shape = shape,
                                                       .extent = {.depth = c.bytes}});
  }
}

}  // namespace carina::plan
