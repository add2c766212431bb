// What:   passes results from an elementwise operation to the next one inside the NPU, where it can.
// Before: s1 MUL ofm=t5, s2 SUB ifm=t5 ofm=t6      storage m5 space=arena (of t5)
// After:  the same steps                           storage m9 space=chaining address=slot 1 (of t5), one block for both
// Needs:  a finished schedule: blocks, addresses, the order of commands.
// Gives:  storages in the space `chaining` (rule 7), blocks that the family allows (rule 6).
// Legal:  the result has one writer and one reader, which follows it at once and reads it element by element. A chain
//         may be computed block by block, so what its last operation writes is no operand of the chain, unless each
//         element is written where it was read, or there is one block.
//
// An operation that reads from the chain waits for no first read, and one that writes to it for no last write: of 82
// cycles for a few elements with 256 MACs, 43 or 8 are left.
//   Example: the Newton step x + 4 * x * (1 - h * x) of a softmax is MUL, SUB, MUL, MUL, ADD. The first four are a
//   chain of three results; ADD also reads x, from memory, and writes the next x there.
// Source: Vela's streams have chains of up to four elementwise operations, each with a chaining buffer of its own, one
// size of blocks and a BLOCKDEP of 0 (docs/npu-open-points.md).
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "plan/cost/kernel_cost.h"
#include "plan/network/layout.h"
#include "plan/optimize/transformations.h"
#include "plan/schedule/cascade_rows.h"
#include "plan/schedule/rows.h"

namespace carina::plan {
namespace {

constexpr size_t kMaxChain = 4;  // operations

bool covers(const OfmBox& box, const FeatureMap& map) {
  return box.height == map.height && box.width == map.width && box.depth == map.depth;
}
bool same_size(const FeatureMap& a, const FeatureMap& b) {
  return a.height == b.height && a.width == b.width && a.depth == b.depth;
}
bool is_one_block(const FeatureMap& map, const BlockConfig& block) {
  return map.height <= block.height && map.width <= block.width && map.depth <= block.depth;
}

class Chainer {
 public:
  Chainer(Schedule schedule, const Context& context)
      : s_(std::move(schedule)),
        context_(context),
        users_(users_of(s_)),
        cost_(s_, context.family, context.target),
        outside_(s_.tensors.size(), 0) {
    for (const TensorId id : s_.outputs) outside_[id.index()] = 1;
  }

  Schedule run() && {
    for (size_t first = 0; first + 1 < s_.order.size();) first += chain_from(first);
    return std::move(s_);
  }

 private:
  [[nodiscard]] const Step& step_at(size_t command) const { return s_.step_of(s_.order[command]); }
  [[nodiscard]] const Stripe& stripe_at(size_t command) const { return s_[s_.order[command].stripe]; }

  // Whether a command computes a whole result by an elementwise operation without a table.
  [[nodiscard]] bool is_elementwise(size_t command) const {
    if (command >= s_.order.size() || s_.order[command].kind != Command::Kind::kStripe) return false;
    const Step& step = step_at(command);
    return step.kind == StepKind::kElementwise && !step.uses_table() && covers(stripe_at(command).ofm, step.ofm);
  }

  // Whether a transfer writes the operand. The operation might have to wait for it, in the middle of a chain.
  [[nodiscard]] bool comes_by_transfer(const FeatureMap& map) const {
    return std::ranges::any_of(users_.writers[map.tensor.index()],
                               [&](StepId id) { return s_[id].kind == StepKind::kDma; });
  }

  // Whether only `reader` reads the result of `writer`, element by element.
  [[nodiscard]] bool is_link(const Step& writer, const Step& reader) const {
    const FeatureMap& result = writer.ofm;
    const PlanTensor& tensor = s_[result.tensor];
    if (tensor.kind != TensorKind::kIntermediate || outside_[result.tensor.index()] || tensor.place_bytes != 0 ||
        !tensor.storage.valid() || s_[tensor.storage].rolling_rows != 0)
      return false;
    if (users_.writers[result.tensor.index()].size() != 1 || users_.readers[result.tensor.index()].size() != 1)
      return false;
    if (tensor.shape.elements() != result.height * result.width * result.depth || !same_size(result, reader.ofm))
      return false;
    const bool is_first = reader.ifm.tensor == result.tensor;
    const bool is_second = reader.reads_second_map() && reader.ifm2.tensor == result.tensor;
    if (is_first == is_second || (reader.reads_second_map() && comes_by_transfer(is_first ? reader.ifm2 : reader.ifm)))
      return false;
    return (is_first ? reader.first_broadcast : reader.broadcast) == Broadcast{} &&
           (is_first ? reader.ifm : reader.ifm2) == result;
  }

  // How many commands from `first` on follow each other in a chain.
  [[nodiscard]] size_t length_from(size_t first) const {
    if (!is_elementwise(first)) return 1;
    size_t length = 1;
    while (length < kMaxChain && is_elementwise(first + length) &&
           is_link(step_at(first + length - 1), step_at(first + length)))
      ++length;
    return length;
  }

  // Whether the last operation may write while others of the chain still read.
  [[nodiscard]] bool is_safe(size_t first, size_t length, const BlockConfig& block) const {
    const FeatureMap& result = step_at(first + length - 1).ofm;
    if (is_one_block(result, block)) return true;
    const std::vector<ByteRange> written = byte_ranges_of(s_, result);
    const auto may_read = [&](const FeatureMap& map) {
      if (s_.space_of(map.tensor) != s_.space_of(result.tensor)) return true;
      const auto overlaps = [&](const ByteRange& a) {
        return std::ranges::any_of(written, [&](const ByteRange& b) { return a.overlaps(b); });
      };
      if (std::ranges::none_of(byte_ranges_of(s_, map), overlaps)) return true;
      const PlanTensor &from = s_[map.tensor], &to = s_[result.tensor];
      return same_size(map, result) && s_.address_of(map.tensor) == s_.address_of(result.tensor) &&
             map.offset == result.offset && map.stride_y == result.stride_y && map.stride_x == result.stride_x &&
             map.stride_c == result.stride_c && from.format == to.format && from.element_bytes == to.element_bytes;
    };
    for (size_t i = first; i < first + length; ++i) {
      const Step& step = step_at(i);
      if (!may_read(step.ifm) || (step.reads_second_map() && !may_read(step.ifm2))) return false;
    }
    return true;
  }

  [[nodiscard]] double cycles(size_t first, size_t length, const std::optional<BlockConfig>& block) const {
    double sum = 0;
    for (size_t i = first; i < first + length; ++i)
      sum += cost_.of(subop_of(s_, stripe_at(i)), block.value_or(stripe_at(i).block), Feed{}).total;
    return sum;
  }

  // A block of one of the operations that all may have. The results of the chain are in chaining buffers.
  [[nodiscard]] std::optional<BlockConfig> common_block(size_t first, size_t length) const {
    std::optional<BlockConfig> best;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = first; i < first + length; ++i) {
      const BlockConfig block = stripe_at(i).block;
      if (block == best || !is_safe(first, length, block)) continue;
      const auto allows = [&](size_t at) {
        if (stripe_at(at).block == block) return true;
        const std::vector<BlockConfig> legal =
            context_.family.legal_blocks(subop_of(s_, stripe_at(at)), context_.target);
        return std::ranges::find(legal, block) != legal.end();
      };
      bool is_legal = true;
      for (size_t at = first; at < first + length && is_legal; ++at) is_legal = allows(at);
      if (!is_legal) continue;
      const double now = cycles(first, length, block);
      if (now >= least) continue;
      least = now;
      best = block;
    }
    return best;
  }

  // Returns where the results of the chain were.
  std::vector<StorageId> keep_results_inside(size_t first, size_t length) {
    std::vector<StorageId> memory;
    for (size_t i = first; i + 1 < first + length; ++i) {
      const TensorId id = step_at(i).ofm.tensor;
      const int64_t slot = static_cast<int64_t>(i - first) + kFirstChainingSlot;
      memory.push_back(s_[id].storage);
      s_.tensors[id.index()].storage =
          s_.add({.space = Space::kChaining, .bytes = s_[id].bytes(), .address = slot * kChainingSlotBytes});
    }
    return memory;
  }
  void put_results_back(size_t first, const std::vector<StorageId>& memory) {
    for (size_t i = 0; i < memory.size(); ++i) s_.tensors[step_at(first + i).ofm.tensor.index()].storage = memory[i];
    s_.storages.resize(s_.storages.size() - memory.size());
  }

  // Makes the longest chain that takes fewer cycles. Returns the number of commands that are done.
  size_t chain_from(size_t first) {
    for (size_t length = length_from(first); length > 1; --length) {
      const double before = cycles(first, length, std::nullopt);
      const std::vector<StorageId> memory = keep_results_inside(first, length);
      const auto block = common_block(first, length);
      if (block && cycles(first, length, block) < before) {
        for (size_t i = first; i < first + length; ++i) s_.stripes[s_.order[i].stripe.index()].block = *block;
        return length;
      }
      put_results_back(first, memory);
    }
    return 1;
  }

  Schedule s_;
  const Context& context_;
  TensorUsers users_;
  KernelCost cost_;
  std::vector<char> outside_;
};

}  // namespace

Schedule chain_results(Schedule schedule, const Context& context) {
  const auto spaces = context.family.spaces(context.target);
  const bool has_chaining = spaces && (*spaces)[static_cast<size_t>(Space::kChaining)];
  if (!has_chaining || !context.options.uses(Optimization::kChainedResults)) return schedule;
  return Chainer(std::move(schedule), context).run();
}

}  // namespace carina::plan
