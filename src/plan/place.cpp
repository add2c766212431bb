#include "plan/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked_math.h"
#include "base/place.h"
#include "facts/npu_targets.h"
#include "plan/layout.h"

namespace carina::plan {
namespace {

// Over the commands, from when to when a tensor's bytes matter.
struct Life {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = -1;
  void touch(int64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
  [[nodiscard]] bool used() const { return last >= 0; }
};

std::vector<Life> lives_of(const Program& program) {
  const Network& network = program.network;
  std::vector<Life> lives(network.tensors.size());
  const auto touch = [&](TensorId id, int64_t time) {
    if (id.valid()) lives[id.index()].touch(time);
  };
  for (size_t i = 0; i < program.commands.size(); ++i) {
    const auto time = static_cast<int64_t>(i) + 1;  // inputs live from 0
    const Command& command = program.commands[i];
    const Operation& op = network.operations[command.operation];
    if (command.kind == Command::Kind::kLoadTable) continue;
    touch(program.staged[command.operation], time);
    if (command.kind == Command::Kind::kLoadWeights) continue;
    touch(op.ofm.tensor, time);
    touch(op.ifm.tensor, time);
    if (op.second == SecondOperand::kFeatureMap) touch(op.ifm2.tensor, time);
  }
  for (const TensorId id : network.inputs) touch(id, 0);
  for (const TensorId id : network.outputs) touch(id, static_cast<int64_t>(program.commands.size()) + 1);
  return lives;
}

// Tensors that may share one place: result of an elementwise operation over an operand that nobody needs afterwards.
class Sharing {
 public:
  Sharing(const Program& program, std::vector<Life>& lives) : program_(program), lives_(lives), owner_(lives.size()) {
    std::iota(owner_.begin(), owner_.end(), size_t{0});
    for (const Command& command : program.commands) {
      if (command.kind != Command::Kind::kOperation) continue;
      const Operation& op = program.network.operations[command.operation];
      if (op.kind != OperationKind::kElementwise) continue;
      if (share(op.ifm.tensor, op.ofm.tensor)) continue;
      if (op.second == SecondOperand::kFeatureMap) share(op.ifm2.tensor, op.ofm.tensor);
    }
  }
  [[nodiscard]] size_t owner(size_t tensor) const { return owner_[tensor]; }

 private:
  bool share(TensorId from, TensorId to) {
    const PlanTensor &a = program_.network[from], &b = program_.network[to];
    if (from == to || owner_[to.index()] != to.index() || a.kind != TensorKind::kIntermediate ||
        b.kind == TensorKind::kConstant)
      return false;
    const bool alike =
        a.bytes() == b.bytes() && a.format == b.format && a.extent == b.extent && a.element_bytes == b.element_bytes;
    Life& life_a = lives_[owner_[from.index()]];
    Life& life_b = lives_[to.index()];
    // Until the last reading of a, nothing but operations that read a where they write b may touch either.
    if (!alike || life_a.last > life_b.last || lives_[from.index()].last != life_a.last) return false;
    for (int64_t time = life_b.first; time <= life_a.last; ++time) {
      if (!harmless(static_cast<size_t>(time - 1), from, to)) return false;
    }
    life_a.last = life_b.last;
    owner_[to.index()] = owner_[from.index()];
    return true;
  }

  [[nodiscard]] bool harmless(size_t index, TensorId from, TensorId to) const {
    if (index >= program_.commands.size()) return false;
    const Command& command = program_.commands[index];
    if (command.kind != Command::Kind::kOperation) return true;
    const Operation& op = program_.network.operations[command.operation];
    const bool second = op.second == SecondOperand::kFeatureMap;
    const auto touches = [&](TensorId id) {
      return op.ofm.tensor == id || op.ifm.tensor == id || (second && op.ifm2.tensor == id);
    };
    if (!touches(from) && !touches(to)) return true;
    if (op.kind != OperationKind::kElementwise || op.ofm.tensor != to) return false;
    return reads_in_place(op.ifm, op.ofm, from, to) && (!second || reads_in_place(op.ifm2, op.ofm, from, to));
  }

  [[nodiscard]] bool reads_in_place(const FeatureMap& in, const FeatureMap& out, TensorId from, TensorId to) const {
    if (in.tensor != from && in.tensor != to) return true;
    return in.offset == out.offset && in.height == out.height && in.width == out.width && in.depth == out.depth &&
           (in.height == 1 || in.stride_y == out.stride_y) && (in.width == 1 || in.stride_x == out.stride_x);
  }

  const Program& program_;
  std::vector<Life>& lives_;
  std::vector<size_t> owner_;
};

std::string megabytes(int64_t bytes) {
  return fmt::format("{} bytes", bytes);
}

Diagnostic too_large(const Program& program, std::span<const Interval> buffers, std::span<const size_t> tensor_of,
                     int64_t total, int64_t limit) {
  int64_t worst_time = 0, worst = -1;
  for (const Interval& b : buffers) {
    int64_t live = 0;
    for (const Interval& other : buffers) live += other.first <= b.first && b.first <= other.last ? other.bytes : 0;
    if (live > worst) worst_time = b.first, worst = live;
  }
  std::vector<size_t> live;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].first <= worst_time && worst_time <= buffers[i].last) live.push_back(i);
  }
  std::ranges::stable_sort(live, [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::string names;
  constexpr size_t kNamed = 5;
  for (size_t i = 0; i < std::min(kNamed, live.size()); ++i) {
    const PlanTensor& tensor = program.network.tensors[tensor_of[live[i]]];
    names += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", tensor.name, to_string(tensor.shape),
                         megabytes(buffers[live[i]].bytes));
  }
  return {.where = "arena",
          .what = fmt::format("the network does not fit the NPU's memory by {}", megabytes(total - limit)),
          .expected = fmt::format("at most {}", megabytes(limit)),
          .got = megabytes(total),
          .hint = fmt::format("at its fullest it holds {}", names)};
}

}  // namespace

Result<void> place_tensors(Program& program, const Options& options) {
  std::vector<Life> lives = lives_of(program);
  const Sharing sharing(program, lives);
  std::vector<Interval> buffers;
  std::vector<size_t> tensor_of;
  for (size_t i = 0; i < lives.size(); ++i) {
    const PlanTensor& tensor = program.network.tensors[i];
    if (!lives[i].used() && tensor.kind != TensorKind::kInput) continue;
    if (tensor.kind == TensorKind::kConstant || sharing.owner(i) != i) continue;
    buffers.push_back({.bytes = tensor.bytes(), .first = lives[i].first, .last = lives[i].last});
    tensor_of.push_back(i);
  }
  const Placement allocation = carina::place(buffers, npu::kBaseAlignmentBytes, Placing::kSearch);
  constexpr int64_t kAddressSpace = (int64_t{1} << 31) - 1;  // bases of U55 have 32 bits, strides a sign
  const int64_t limit = options.arena_limit_bytes > 0 ? options.arena_limit_bytes : kAddressSpace;
  if (allocation.total_bytes > limit)
    return fail(too_large(program, buffers, tensor_of, allocation.total_bytes, limit));
  for (size_t i = 0; i < buffers.size(); ++i) program.network.tensors[tensor_of[i]].address = allocation.offsets[i];
  for (size_t i = 0; i < lives.size(); ++i) {
    PlanTensor& tensor = program.network.tensors[i];
    if (tensor.kind != TensorKind::kConstant && sharing.owner(i) != i)
      tensor.address = program.network.tensors[sharing.owner(i)].address;
  }
  program.arena_bytes = allocation.total_bytes;
  return {};
}

}  // namespace carina::plan
