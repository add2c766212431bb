#include "plan/hazards.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "plan/layout.h"

namespace carina::plan {

int64_t table_address(const Target& target, int slot) {
  const npu::Shram& shram = target.accelerator.shram;
  return int64_t{npu::kShramBankBytes} * (shram.banks - npu::kShramLutBanks) + int64_t{npu::kLutSlotBytes} * slot;
}

namespace {

Access access_of(const Program& program, const FeatureMap& map, bool writes) {
  const PlanTensor& tensor = program.network[map.tensor];
  const ByteRange range = range_of(map, tensor);
  return {.space = tensor.kind == TensorKind::kConstant ? Space::kConstants : Space::kArena,
          .begin = tensor.address + range.begin,
          .end = tensor.address + range.end,
          .writes = writes};
}

Access whole_tensor(const Program& program, TensorId id, bool writes) {
  const PlanTensor& tensor = program.network[id];
  return {.begin = tensor.address, .end = tensor.address + tensor.bytes(), .writes = writes};
}

Access dma_access(const Program& program, const FeatureMap& map, int64_t bytes, bool writes) {
  const PlanTensor& tensor = program.network[map.tensor];
  const int64_t begin = tensor.address + map.offset * map.type.bytes();
  return {.space = tensor.kind == TensorKind::kConstant ? Space::kConstants : Space::kArena,
          .begin = begin,
          .end = begin + bytes,
          .writes = writes};
}

Access table_access(const Target& target, int slot, int64_t bytes, bool writes) {
  const int64_t begin = table_address(target, slot);
  return {.space = Space::kTables, .begin = begin, .end = begin + bytes, .writes = writes};
}

std::vector<Access> operation_accesses(const Program& program, const Command& command, const Target& target) {
  const Operation& op = program.network.operations[command.operation];
  if (op.kind == OperationKind::kDma)
    return {dma_access(program, op.ifm, op.dma_bytes, false), dma_access(program, op.ofm, op.dma_bytes, true)};
  std::vector<Access> accesses{access_of(program, op.ofm, true), access_of(program, op.ifm, false)};
  if (op.second == SecondOperand::kFeatureMap) accesses.push_back(access_of(program, op.ifm2, false));
  if (const TensorId staged = program.staged[command.operation]; staged.valid())
    accesses.push_back(whole_tensor(program, staged, false));
  if (op.uses_table()) {
    accesses.push_back(table_access(target, command.slot, program.network[op.activation.table].bytes(), false));
  } else if (target.accelerator.shram.reserved_end_banks == 0) {
    accesses.push_back(table_access(target, 0, npu::kLutBytes, true));  // its accumulators may lie there
  }
  return accesses;
}

bool conflict(const Access& a, const Access& b) {
  return a.space == b.space && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  return std::ranges::any_of(
      a, [&](const Access& x) { return std::ranges::any_of(b, [&](const Access& y) { return conflict(x, y); }); });
}

}  // namespace

std::vector<Access> accesses_of(const Program& program, const Command& command, const Target& target) {
  const Operation& op = program.network.operations[command.operation];
  switch (command.kind) {
    case Command::Kind::kOperation:
      return operation_accesses(program, command, target);
    case Command::Kind::kLoadTable:
      return {table_access(target, command.slot, program.network[op.activation.table].bytes(), true)};
    case Command::Kind::kLoadWeights:
      return {whole_tensor(program, program.staged[command.operation], true)};
  }
  CARINA_UNREACHABLE("command", command.kind);
}

std::optional<int> HazardTracker::wait_for(Outstanding& others, const std::vector<Access>& accesses) {
  for (size_t i = others.size(); i-- > 0;) {
    if (!conflict(others[i], accesses)) continue;
    const auto remaining = static_cast<int>(others.size() - 1 - i);
    others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return remaining;
  }
  return std::nullopt;
}

void HazardTracker::start(Outstanding& own, const std::vector<Access>& accesses, int limit) {
  own.push_back(accesses);
  if (own.size() > static_cast<size_t>(limit))
    own.erase(own.begin());  // one more can only start when the oldest is done
}

HazardTracker::Waits HazardTracker::before_kernel(const std::vector<Access>& accesses) {
  const Waits waits{.kernels = std::nullopt, .dmas = wait_for(dmas_, accesses)};
  start(kernels_, accesses, limits_.max_outstanding_kernels);
  return waits;
}

HazardTracker::Waits HazardTracker::before_dma(const std::vector<Access>& accesses) {
  const Waits waits{.kernels = wait_for(kernels_, accesses), .dmas = wait_for(dmas_, accesses)};
  start(dmas_, accesses, limits_.max_outstanding_dmas);
  return waits;
}

namespace {

struct Interval {
  int64_t begin;
  int64_t end;
  [[nodiscard]] bool overlaps(const Interval& other) const { return begin < other.end && other.begin < end; }
};
struct Region3 {
  Interval y, x, c;
  [[nodiscard]] bool overlaps(const Region3& other) const {
    return y.overlaps(other.y) && x.overlaps(other.x) && c.overlaps(other.c);
  }
};

// The OFM blocks of an operation in the order of work: depth fastest, then width, then height.
Region3 ofm_block(const Operation& op, const BlockConfig& b, int64_t index) {
  const int64_t deep = ceil_div(op.ofm.depth, b.depth), wide = ceil_div(op.ofm.width, b.width);
  const int64_t c = index % deep * b.depth, x = index / deep % wide * b.width, y = index / deep / wide * b.height;
  return {.y = {y, std::min(y + b.height, op.ofm.height)},
          .x = {x, std::min(x + b.width, op.ofm.width)},
          .c = {c, std::min(c + b.depth, op.ofm.depth)}};
}
int64_t block_count(const Operation& op, const BlockConfig& b) {
  return ceil_div(op.ofm.depth, b.depth) * ceil_div(op.ofm.width, b.width) * ceil_div(op.ofm.height, b.height);
}

Interval input_interval(const Interval& out, int64_t stride, int64_t pad, int64_t extent) {
  return {out.begin * stride - pad, (out.end - 1) * stride - pad + extent};
}

// What a block reads of the first operand.
Region3 ifm_region(const Operation& op, const Region3& ofm) {
  const bool reduces =
      op.kind == OperationKind::kConv || (op.kind == OperationKind::kPool && op.pool == npu::PoolingMode::REDUCE_SUM);
  return {.y = input_interval(ofm.y, op.kernel.stride_y, op.padding.top, op.kernel.extent_h()),
          .x = input_interval(ofm.x, op.kernel.stride_x, op.padding.left, op.kernel.extent_w()),
          .c = reduces ? Interval{0, op.ifm.depth} : ofm.c};
}

bool same_place(const FeatureMap& a, const FeatureMap& b) {
  return a.tensor == b.tensor && a.offset == b.offset && a.height == b.height && a.width == b.width &&
         a.depth == b.depth && (a.height == 1 || a.stride_y == b.stride_y) &&
         (a.width == 1 || a.stride_x == b.stride_x) && a.type.bits == b.type.bits;
}

// The first d at which a block among the first d+1 of `current` would read what one of the last of `previous` still
// writes.
int exact_dependency(const Operation& previous, const BlockConfig& previous_block, const Operation& current,
                     const BlockConfig& current_block, int most) {
  const int64_t previous_count = block_count(previous, previous_block),
                current_count = block_count(current, current_block);
  for (int d = 0; d < most; ++d) {
    for (int i = 0; i <= d && i < current_count; ++i) {
      const Region3 read = ifm_region(current, ofm_block(current, current_block, i));
      for (int j = 0; i + j <= d && j < previous_count; ++j) {
        if (read.overlaps(ofm_block(previous, previous_block, previous_count - 1 - j))) return d;
      }
    }
  }
  return most;
}

}  // namespace

int block_dependency(const Program& program, std::optional<size_t> previous, size_t current, const Target& target) {
  if (!previous) return 0;
  const Operation &before = program.network.operations[*previous], &op = program.network.operations[current];
  const bool lut_banks_shared = target.accelerator.shram.reserved_end_banks == 0;
  if (lut_banks_shared && before.uses_table() && !op.uses_table()) return 0;
  const int most = target.limits().max_blockdep;
  const Access written = access_of(program, before.ofm, true);
  const bool second = op.second == SecondOperand::kFeatureMap;
  const bool first_overlaps = conflict(written, access_of(program, op.ifm, false));
  const bool second_overlaps = second && conflict(written, access_of(program, op.ifm2, false));
  if (!first_overlaps && !second_overlaps) return most;
  if (first_overlaps && !same_place(before.ofm, op.ifm)) return 0;
  if (second_overlaps && (!same_place(before.ofm, op.ifm2) || op.broadcast != Broadcast{})) return 0;
  return exact_dependency(before, program.blocks[*previous], op, program.blocks[current], most);
}

}  // namespace carina::plan
