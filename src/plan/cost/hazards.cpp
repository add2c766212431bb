#include "plan/cost/hazards.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked_math.h"
#include "plan/schedule/rows.h"

// Waits and block dependencies from the byte ranges that commands read and write. Two commands conflict if a range of
// one overlaps a range of the other in the same space, and at least one writes it.
//
//   Example of a wait: transfers T0, T1 and T2 are outstanding, oldest first, and a kernel reads what T1 writes. They
//   end in order, so the kernel may start when at most one is left: DMA_WAIT 1. T0 and T1 are then known to be done.
//   Example of a dependency: two elementwise operations with two blocks each, the second reads the result of the first.
//   Block 0 of the second reads what block 0 of the first writes, which is not its last block. So one block of the
//   second may start before the first operation has finished: BLOCKDEP 1. With 2, block 1 would read what is still
//   written.
//
// The dependency is exact only if both maps address the rows of one tensor alike; other overlaps give 0. Time: a wait
// compares with at most limits.max_outstanding_* commands; a dependency with a few pairs of blocks, since BLOCKDEP is
// small. A value that is too large gives wrong bits on hardware only: the simulator runs operations one after another,
// and its checker compares the ranges (simulate/check_hazards.cpp).
namespace carina::plan {

int64_t slot_address(const TableMemory& tables, int slot) {
  return tables.address + int64_t{npu::kLutSlotBytes} * slot;
}

namespace {

void add_accesses(const Schedule& schedule, const FeatureMap& map, bool writes, std::vector<Access>& accesses) {
  for (const ByteRange& range : byte_ranges_of(schedule, map))
    accesses.push_back(
        {.space = schedule.space_of(map.tensor), .begin = range.begin, .end = range.end, .writes = writes});
}

Access whole_storage(const Storage& storage, bool writes) {
  return {.space = storage.space, .begin = storage.address, .end = storage.address + storage.bytes, .writes = writes};
}

Access dma_access(const Schedule& schedule, const FeatureMap& map, int64_t bytes, bool writes) {
  const int64_t begin = schedule.address_of(map.tensor) + map.offset * map.type.bytes();
  return {.space = schedule.space_of(map.tensor), .begin = begin, .end = begin + bytes, .writes = writes};
}

std::vector<Access> transfer_accesses(const Schedule& schedule, const Step& step) {
  if (step.indexed == Indexed::kNo)
    return {dma_access(schedule, step.ifm, step.dma_bytes, false),
            dma_access(schedule, step.ofm, step.dma_bytes, true)};
  const int64_t rows = step.ifm2.depth * step.dma_bytes, all = step.places * step.dma_bytes;
  const bool gathers = step.indexed == Indexed::kGather;
  return {dma_access(schedule, step.ifm, gathers ? all : rows, false),
          dma_access(schedule, step.ofm, gathers ? rows : all, true),
          dma_access(schedule, step.ifm2, step.ifm2.depth * step.ifm2.type.bytes(), false)};
}

Access table_access(const TableMemory& tables, int slot, int64_t bytes, bool writes) {
  const int64_t begin = slot_address(tables, slot);
  return {.space = Space::kTables, .begin = begin, .end = begin + bytes, .writes = writes};
}

std::vector<Access> stripe_accesses(const Schedule& schedule, const Command& command, const TableMemory& tables) {
  std::optional<Step> part;
  const Step& step = subop_in(schedule, schedule[command.stripe], part);
  if (step.kind == StepKind::kDma) return transfer_accesses(schedule, step);
  constexpr size_t kUsual = 6;  // three maps, two copies and a table; maps may have more ranges
  std::vector<Access> accesses;
  accesses.reserve(kUsual);
  add_accesses(schedule, step.ofm, true, accesses);
  add_accesses(schedule, step.ifm, false, accesses);
  if (step.reads_second_map()) add_accesses(schedule, step.ifm2, false, accesses);
  const WeightSlice* slice = schedule.slice_of(command);
  if (slice != nullptr) {
    for (const StorageId copy : {slice->staged, slice->staged_scales}) {
      if (copy.valid()) accesses.push_back(whole_storage(schedule[copy], false));
    }
  }
  if (step.uses_table()) {
    accesses.push_back(table_access(tables, command.slot, schedule[step.activation.table].bytes(), false));
  } else if (tables.shared_with_accumulators) {
    accesses.push_back(table_access(tables, 0, int64_t{tables.slots} * npu::kLutSlotBytes, true));
  }
  return accesses;
}

std::vector<Access> table_load_accesses(const Schedule& schedule, const Command& command, const TableMemory& tables) {
  const int64_t bytes = schedule[schedule.step_of(command).activation.table].bytes();
  std::vector<Access> accesses{table_access(tables, command.slot, bytes, true)};
  const StorageId copy = schedule[command.stripe].staged_table;
  if (copy.valid()) accesses.push_back(whole_storage(schedule[copy], false));
  return accesses;
}

bool conflict(const Access& a, const Access& b) {
  return a.space == b.space && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

bool conflict(std::span<const Access> a, std::span<const Access> b) {
  return std::ranges::any_of(
      a, [&](const Access& x) { return std::ranges::any_of(b, [&](const Access& y) { return conflict(x, y); }); });
}

}  // namespace

std::vector<Access> accesses_of(const Schedule& schedule, const Command& command, const TableMemory& tables) {
  switch (command.kind) {
    case Command::Kind::kStripe:
      return stripe_accesses(schedule, command, tables);
    case Command::Kind::kLoadTable:
      return table_load_accesses(schedule, command, tables);
    case Command::Kind::kLoadWeights:
    case Command::Kind::kLoadScales:
    case Command::Kind::kStageTable: {
      const Storage& to = schedule[copy_of(schedule, command).to];
      const int64_t begin = to.address + command.first_byte;
      return {{.space = to.space, .begin = begin, .end = begin + command.bytes, .writes = true}};
    }
  }
  CARINA_UNREACHABLE("command", command.kind);
}

std::optional<int> HazardTracker::wait_for(Outstanding& others, std::span<const Access> accesses) {
  for (size_t i = others.size(); i-- > 0;) {
    if (!conflict(others[i], accesses)) continue;
    const auto remaining = static_cast<int>(others.size() - 1 - i);
    others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return remaining;
  }
  return std::nullopt;
}

void HazardTracker::start(Outstanding& own, std::span<const Access> accesses, int limit) {
  own.push_back(accesses);
  if (own.size() > static_cast<size_t>(limit))
    own.erase(own.begin());  // another can start only when the oldest is done
}

Waits HazardTracker::before_kernel(std::span<const Access> accesses) {
  const Waits waits{.kernels = std::nullopt, .dmas = wait_for(dmas_, accesses)};
  start(kernels_, accesses, limits_.max_outstanding_kernels);
  return waits;
}

Waits HazardTracker::before_dma(std::span<const Access> accesses) {
  const Waits waits{.kernels = wait_for(kernels_, accesses), .dmas = wait_for(dmas_, accesses)};
  start(dmas_, accesses, limits_.max_outstanding_dmas);
  return waits;
}

namespace {

struct Span {
  int64_t begin;
  int64_t end;
  [[nodiscard]] bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};
struct Region3 {
  Span y, x, c;
  [[nodiscard]] bool overlaps(const Region3& other) const {
    return y.overlaps(other.y) && x.overlaps(other.x) && c.overlaps(other.c);
  }
};

// The OFM blocks of an operation in the order of work: depth fastest, then width, then height.
Region3 ofm_block(const Step& op, const BlockConfig& b, int64_t index) {
  const int64_t deep = ceil_div(op.ofm.depth, b.depth), wide = ceil_div(op.ofm.width, b.width);
  const int64_t c = index % deep * b.depth, x = index / deep % wide * b.width, y = index / deep / wide * b.height;
  return {.y = {y, std::min(y + b.height, op.ofm.height)},
          .x = {x, std::min(x + b.width, op.ofm.width)},
          .c = {c, std::min(c + b.depth, op.ofm.depth)}};
}
int64_t block_count(const Step& op, const BlockConfig& b) {
  return ceil_div(op.ofm.depth, b.depth) * ceil_div(op.ofm.width, b.width) * ceil_div(op.ofm.height, b.height);
}

// Of an upscaled IFM, the elements that the interval touches.
Span input_interval(const Span& out, int64_t stride, int64_t pad, int64_t extent, int64_t upscale) {
  const int64_t begin = out.begin * stride - pad, end = (out.end - 1) * stride - pad + extent;
  return upscale == 1 ? Span{begin, end} : Span{std::max<int64_t>(begin, 0) / upscale, ceil_div(end, upscale)};
}

// The jobs of an operation. A block that sums over the input channels has one for each pass over some of them, in
// order.
struct Jobs {
  const Step& op;
  const BlockConfig& block;
  int64_t pass_depth;  // input channels of a pass
  [[nodiscard]] int64_t passes() const { return op.sums_over_depth() ? ceil_div(op.ifm.depth, pass_depth) : 1; }
  [[nodiscard]] int64_t count() const { return block_count(op, block) * passes(); }
  // The region of the first operand that a job reads.
  [[nodiscard]] Region3 ifm_region(int64_t index) const {
    const Region3 ofm = ofm_block(op, block, index / passes());
    const int64_t first = index % passes() * pass_depth;
    return {.y = input_interval(ofm.y, op.kernel.stride_y, op.padding.top, op.kernel.extent_h(), op.upscale),
            .x = input_interval(ofm.x, op.kernel.stride_x, op.padding.left, op.kernel.extent_w(), op.upscale),
            .c = op.sums_over_depth() ? Span{first, std::min(first + pass_depth, op.ifm.depth)} : ofm.c};
  }
};

// The number of rows by which the map `read` starts below `written`. Both must address the same elements in the same
// rows, or rows of one tensor at different heights.
std::optional<int64_t> rows_below(const Schedule& schedule, const FeatureMap& written, const FeatureMap& read) {
  const bool same_columns = read.tensor == written.tensor && read.width == written.width &&
                            read.depth == written.depth && read.type.bits == written.type.bits &&
                            (read.width == 1 || read.stride_x == written.stride_x) && !written.is_transposed();
  if (!same_columns) return std::nullopt;
  const PlanTensor& tensor = schedule[read.tensor];
  const auto from = tensor_rows(written, tensor), to = tensor_rows(read, tensor);
  if (from && to && (read.offset - written.offset) % (tensor.extent.width * tensor.extent.depth) == 0)
    return to->begin - from->begin;
  const bool same_rows = read.offset == written.offset && read.height == written.height &&
                         (read.height == 1 || read.stride_y == written.stride_y);
  return same_rows ? std::optional<int64_t>(0) : std::nullopt;
}

// The first d at which a job among the first d+1 of `current` would read a result that the last blocks of `previous`
// still write. `below`: rows from the previous OFM to the operand.
int exact_dependency(const Step& previous, const BlockConfig& previous_block, const Jobs& current, int64_t below,
                     int max) {
  const int64_t previous_count = block_count(previous, previous_block), current_count = current.count();
  for (int d = 0; d < max; ++d) {
    for (int i = 0; i <= d && i < current_count; ++i) {
      Region3 read = current.ifm_region(i);
      read.y = {read.y.begin + below, read.y.end + below};
      for (int j = 0; i + j <= d && j < previous_count; ++j) {
        if (read.overlaps(ofm_block(previous, previous_block, previous_count - 1 - j))) return d;
      }
    }
  }
  return max;
}

}  // namespace

int block_dependency(const Schedule& schedule, std::optional<StripeId> previous, StripeId current, const Family& family,
                     const Target& target) {
  if (!previous) return 0;
  const Stripe &first = schedule[*previous], &second = schedule[current];
  std::optional<Step> before_part, part;
  const Step &before = subop_in(schedule, first, before_part), &op = subop_in(schedule, second, part);
  if (family.tables(target).shared_with_accumulators && before.uses_table() && !op.uses_table()) return 0;
  if (before.reads_written_weights()) return 0;  // which this operation may overwrite
  std::vector<Access> written, first_read, second_read;
  add_accesses(schedule, before.ofm, true, written);
  add_accesses(schedule, op.ifm, false, first_read);
  if (op.reads_second_map()) add_accesses(schedule, op.ifm2, false, second_read);
  const Jobs jobs{.op = op, .block = second.block, .pass_depth = family.input_block(op, second.block, target).depth};
  int dependency = family.limits.max_blockdep;
  const auto limit = [&](const std::vector<Access>& read, const FeatureMap& operand, bool block_by_block) {
    if (!conflict(written, read)) return;
    const auto below = rows_below(schedule, before.ofm, operand);
    const bool is_chained =
        schedule.space_of(operand.tensor) == Space::kChaining;  // Vela's chains have a BLOCKDEP of 0
    dependency = below && block_by_block && !is_chained
                     ? std::min(dependency, exact_dependency(before, first.block, jobs, *below, dependency))
                     : 0;
  };
  limit(first_read, op.ifm, op.kind != StepKind::kResize && op.first_broadcast == Broadcast{});
  // Only elementwise operations read their second operand as they write.
  limit(second_read, op.ifm2, op.kind == StepKind::kElementwise && op.broadcast == Broadcast{});
  return dependency;
}

}  // namespace carina::plan
