#include "plan/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "facts/npu_targets.h"
#include "plan/memory/in_place.h"
#include "plan/memory/live_ranges.h"
#include "plan/network/layout.h"
#include "plan/schedule/cascade_rows.h"
#include "plan/verify/row_tracker_internal.h"

namespace carina::plan {
namespace {

bool overlaps(const OfmBox& a, const OfmBox& b) {
  const auto meet = [](int64_t x, int64_t x_size, int64_t y, int64_t y_size) {
    return x < y + y_size && y < x + x_size;
  };
  return meet(a.y, a.height, b.y, b.height) && meet(a.x, a.width, b.x, b.width) && meet(a.c, a.depth, b.c, b.depth);
}
bool is_inside(const OfmBox& box, const FeatureMap& ofm) {
  return box.y >= 0 && box.x >= 0 && box.c >= 0 && box.height > 0 && box.width > 0 && box.depth > 0 &&
         box.y + box.height <= ofm.height && box.x + box.width <= ofm.width && box.c + box.depth <= ofm.depth;
}
int64_t elements(const OfmBox& box) {
  return box.height * box.width * box.depth;
}

// Whether two elements of a map may have one address: an axis has a shorter stride than the extent of the axes inside.
bool elements_overlap(const FeatureMap& map) {
  std::array<Axis, 3> axes{
      {{map.height, std::abs(map.stride_y)}, {map.width, std::abs(map.stride_x)}, {map.depth, std::abs(map.stride_c)}}};
  std::ranges::sort(axes, {}, &Axis::stride);
  int64_t extent = 1;
  for (const auto& [size, stride] : axes) {
    if (size == 1) continue;
    if (stride < extent) return true;
    extent += (size - 1) * stride;
  }
  return false;
}

class Verifier {
 public:
  Verifier(const Schedule& schedule, const Family& family, const Target& target)
      : s_(schedule), family_(family), target_(target) {}

  Diagnostics run() {
    ids();
    if (!errors_.empty()) return std::move(errors_);  // the other rules follow ids
    cover();
    order();
    slices();
    copies();
    blocks();
    storages();
    tensors();
    cascades();
    shared_storages();
    results();
    return std::move(errors_);
  }

 private:
  template <typename... Arguments>
  void broken(int rule, std::string where, fmt::format_string<Arguments...> what, Arguments&&... arguments) {
    errors_.push_back(
        {.where = std::move(where),
         .what = fmt::format("rule {}: {}", rule, fmt::format(what, std::forward<Arguments>(arguments)...)),
         .fault = Fault::kInternal});
  }
  template <typename IdType, typename T>
  static bool in(IdType id, const std::vector<T>& list) {
    return id.valid() && id.index() < list.size();
  }
  template <typename IdType, typename T>
  static bool none_or_in(IdType id, const std::vector<T>& list) {
    return !id.valid() || id.index() < list.size();
  }
  std::string name_of(size_t stripe) const { return fmt::format("p{} ({})", stripe, s_[s_.stripes[stripe].step].name); }

  // ---- 1 ----
  void ids() {
    for (size_t i = 0; i < s_.tensors.size(); ++i) {
      if (!none_or_in(s_.tensors[i].storage, s_.storages)) broken(1, fmt::format("t{}", i), "storage is out of range");
    }
    for (const auto* list : {&s_.inputs, &s_.outputs}) {
      for (const TensorId id : *list) {
        if (!in(id, s_.tensors)) broken(1, "inputs and outputs", "a tensor is out of range");
      }
    }
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      if (!in(step.ofm.tensor, s_.tensors) || !in(step.ifm.tensor, s_.tensors) ||
          (step.reads_second_map() && !in(step.ifm2.tensor, s_.tensors)) ||
          !none_or_in(step.activation.table, s_.tensors))
        broken(1, fmt::format("s{} ({})", i, step.name), "a tensor is out of range or missing");
    }
    for (size_t i = 0; i < s_.stripes.size(); ++i) {
      if (!in(s_.stripes[i].step, s_.steps.all()) || !none_or_in(s_.stripes[i].slice, s_.slices) ||
          !none_or_in(s_.stripes[i].staged_table, s_.storages))
        broken(1, fmt::format("p{}", i), "its step, slice or table is out of range");
    }
    for (size_t i = 0; i < s_.slices.size(); ++i) {
      const WeightSlice& slice = s_.slices[i];
      if (!in(slice.stored, s_.storages) || !in(slice.scales, s_.storages) || !none_or_in(slice.staged, s_.storages) ||
          !none_or_in(slice.staged_scales, s_.storages))
        broken(1, fmt::format("w{}", i), "a storage is out of range or missing");
    }
    for (const Cascade& cascade : s_.cascades) {
      if (!in(cascade.first, s_.steps.all()) || !in(cascade.last, s_.steps.all()))
        broken(1, "cascade", "a step is out of range");
    }
    for (size_t i = 0; i < s_.order.size(); ++i) {
      if (!in(s_.order[i].stripe, s_.stripes)) broken(1, fmt::format("command {}", i), "its stripe is out of range");
    }
  }

  // ---- 2 ----
  void cover() {
    std::vector<std::vector<size_t>> stripes(s_.steps.size());
    for (size_t i = 0; i < s_.stripes.size(); ++i) stripes[s_.stripes[i].step.index()].push_back(i);
    for (size_t step = 0; step < stripes.size(); ++step) {
      const FeatureMap& ofm = s_.steps[step].ofm;
      int64_t covered = 0;
      for (const size_t i : stripes[step]) {
        const OfmBox& box = s_.stripes[i].ofm;
        covered += elements(box);
        if (!is_inside(box, ofm)) broken(2, name_of(i), "the stripe leaves its step's OFM");
        for (const size_t j : stripes[step]) {
          if (j < i && overlaps(box, s_.stripes[j].ofm)) broken(2, name_of(i), "computes what p{} does", j);
        }
      }
      if (covered != ofm.height * ofm.width * ofm.depth)
        broken(2, fmt::format("s{} ({})", step, s_.steps[step].name), "stripes cover {} of {} elements", covered,
               ofm.height * ofm.width * ofm.depth);
    }
  }

  // ---- 3 ----
  void order() {
    std::vector<int> done(s_.stripes.size(), 0);
    RowTracker rows(s_);
    for (const Command& command : s_.order) {
      if (command.kind != Command::Kind::kStripe) continue;
      const size_t i = command.stripe.index();
      if (++done[i] == 2) broken(3, name_of(i), "is done twice");
      const Step subop = subop_of(s_, s_.stripes[i]);
      const StepId step = s_.stripes[i].step;
      const auto reads = [&](const FeatureMap& map) {
        if (const std::string why = rows.why_not(step, map); !why.empty()) broken(3, name_of(i), "reads {}", why);
      };
      reads(subop.ifm);
      if (subop.reads_second_map()) reads(subop.ifm2);
      rows.write(step, s_.stripes[i].ofm, subop.ofm);
    }
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] == 0) broken(3, name_of(i), "is never done");
    }
  }

  // ---- 4 ----
  void slices() {
    for (size_t i = 0; i < s_.stripes.size(); ++i) {
      if (!s_.stripes[i].slice.valid()) continue;
      const WeightSlice& slice = s_[s_.stripes[i].slice];
      const Step subop = subop_of(s_, s_.stripes[i]);
      if (slice.weights != subop.weights) broken(4, name_of(i), "its slice is of other weights");
      if (slice.first_channel != subop.first_channel || slice.channels != subop.ofm.depth)
        broken(4, name_of(i), "its slice has channels {}..{}, not {}..{}", slice.first_channel,
               slice.first_channel + slice.channels, subop.first_channel, subop.first_channel + subop.ofm.depth);
      if (slice.cores.empty()) broken(4, name_of(i), "its slice has no stream");
      for (const CoreStream& core : slice.cores) {
        if (core.scale_offset + core.scale_bytes > s_[slice.scales].bytes ||
            core.weight_offset + core.weight_bytes > s_[slice.stored].bytes)
          broken(4, name_of(i), "a stream of its slice leaves m{}", slice.stored.index());
      }
    }
  }

  // ---- 5 ----
  void copies() {
    const TableMemory memory = family_.tables(target_);
    std::vector<TensorId> slots(static_cast<size_t>(memory.slots));
    std::vector<int64_t> loaded(s_.storages.size(), 0);  // bytes from the start
    for (const Command& command : s_.order) {
      const Step& step = s_.step_of(command);
      const WeightSlice* slice = s_.slice_of(command);
      switch (command.kind) {
        case Command::Kind::kLoadTable:
          if (step.uses_table())
            read_copy(command, s_[command.stripe].staged_table, s_[step.activation.table].storage, loaded);
          load_table(command, step, slots);
          break;
        case Command::Kind::kLoadWeights:
        case Command::Kind::kLoadScales:
        case Command::Kind::kStageTable:
          load_part(command, slice, loaded);
          break;
        case Command::Kind::kStripe:
          if (slice != nullptr) {
            read_copy(command, slice->staged, slice->stored, loaded);
            read_copy(command, slice->staged_scales, slice->scales, loaded);
          }
          use_table(command, step, memory, slots);
          break;
      }
    }
  }
  // Parts of a storage are copied from its first byte to its last.
  void load_part(const Command& command, const WeightSlice* slice, std::vector<int64_t>& loaded) {
    const bool has_source =
        command.kind == Command::Kind::kStageTable ? s_.step_of(command).uses_table() : slice != nullptr;
    const Copy copy = has_source ? copy_of(s_, command) : Copy{};
    if (!copy.to.valid()) return broken(5, name_of(command.stripe.index()), "a copy without a place");
    int64_t& done = loaded[copy.to.index()];
    if (command.first_byte == 0) done = 0;
    if (command.bytes <= 0 || command.first_byte != done)
      return broken(5, name_of(command.stripe.index()), "copies m{} from byte {}, not {}", copy.from.index(),
                    command.first_byte, done);
    done += command.bytes;
    if (done > s_[copy.from].bytes || done > s_[copy.to].bytes)
      broken(5, name_of(command.stripe.index()), "copies more than m{} has", copy.from.index());
  }
  void read_copy(const Command& command, StorageId to, StorageId from, const std::vector<int64_t>& loaded) {
    if (to.valid() && loaded[to.index()] != s_[from].bytes)
      broken(5, name_of(command.stripe.index()), "reads m{} before it is copied", to.index());
  }
  void load_table(const Command& command, const Step& step, std::vector<TensorId>& slots) {
    const int64_t count = step.uses_table() ? slots_of(s_[step.activation.table]) : 0;
    if (count == 0 || command.slot < 0 || command.slot % count != 0 ||
        command.slot + count > static_cast<int64_t>(slots.size()))
      return broken(5, name_of(command.stripe.index()), "a table cannot be loaded to slot {}", command.slot);
    for (int64_t i = 0; i < count; ++i) slots[static_cast<size_t>(command.slot + i)] = step.activation.table;
  }
  void use_table(const Command& command, const Step& step, const TableMemory& memory, std::vector<TensorId>& slots) {
    if (!step.uses_table()) {
      if (memory.shared_with_accumulators && step.kind != StepKind::kDma) slots.assign(slots.size(), {});
      return;
    }
    if (command.slot < 0) return;  // not decided
    const int64_t count = slots_of(s_[step.activation.table]);
    for (int64_t i = command.slot; i < command.slot + count; ++i) {
      if (i < static_cast<int64_t>(slots.size()) && same_table(slots[static_cast<size_t>(i)], step.activation.table))
        continue;
      return broken(5, name_of(command.stripe.index()), "its table is not in slot {}", command.slot);
    }
  }
  [[nodiscard]] bool same_table(TensorId a, TensorId b) const {
    return a == b || (a.valid() && s_[a].storage.valid() && s_[a].storage == s_[b].storage);
  }
  static int64_t slots_of(const PlanTensor& table) { return std::max<int64_t>(1, table.bytes() / npu::kLutSlotBytes); }

  // ---- 6 ----
  void blocks() {
    const npu::Block3& max = family_.limits.max_ofm_block;
    const auto& npu = target_.accelerator;
    const std::span ublocks(npu.ofm_ublocks.data(), static_cast<size_t>(npu.ofm_ublock_count));
    for (size_t i = 0; i < s_.stripes.size(); ++i) {
      const BlockConfig& b = s_.stripes[i].block;
      if (b == BlockConfig{}) continue;  // not decided, or a transfer
      const auto made_of = [&](const npu::OfmUblock& u) {
        return b.height % u.block.height == 0 && b.width % u.block.width == 0 && b.depth % u.block.depth == 0;
      };
      const bool fits = b.height > 0 && b.width > 0 && b.depth > 0 && b.height <= max.height && b.width <= max.width &&
                        b.depth <= max.depth;
      const auto allowed = [&] {
        const std::vector<BlockConfig> legal = family_.legal_blocks(subop_of(s_, s_.stripes[i]), target_);
        BlockConfig standard = b;
        standard.format = npu::WeightFormat::SWD;
        return std::ranges::find(legal, standard) != legal.end();
      };
      if (!fits || (!std::ranges::any_of(ublocks, made_of) && !allowed()))
        broken(6, name_of(i), "a block of {}x{}x{}", b.height, b.width, b.depth);
    }
  }

  // ---- 7 ----
  void storages() {
    const auto spaces = family_.spaces(target_);
    for (size_t i = 0; i < s_.storages.size(); ++i) {
      const Storage& storage = s_.storages[i];
      if (!spaces || !(*spaces)[static_cast<size_t>(storage.space)])
        broken(7, fmt::format("m{}", i), "the target has no space of its kind");
      if (storage.bytes < 0 || storage.address < -1) broken(7, fmt::format("m{}", i), "a negative size or address");
    }
    apart();
  }
  void apart() {
    std::vector<LiveRange> ranges = live_ranges(s_);
    std::vector<size_t> by_start, alive;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (s_.storages[i].space == Space::kConstants) ranges[i] = {.first = 0, .last = INT64_MAX};
      if (ranges[i].used() && s_.storages[i].address >= 0) by_start.push_back(i);
    }
    std::ranges::stable_sort(by_start, {}, [&](size_t i) { return ranges[i].first; });
    for (const size_t i : by_start) {
      std::erase_if(alive, [&](size_t j) { return ranges[j].last < ranges[i].first; });
      const Storage& a = s_.storages[i];
      for (const size_t j : alive) {
        if (collide(a, ranges[i], s_.storages[j], ranges[j]))
          broken(7, fmt::format("m{}", i), "lies over m{} while both live", j);
      }
      alive.push_back(i);
    }
  }

  // ---- 8 ----
  void tensors() {
    for (size_t i = 0; i < s_.tensors.size(); ++i) {
      const PlanTensor& tensor = s_.tensors[i];
      if (!tensor.storage.valid()) continue;
      const Storage& storage = s_[tensor.storage];
      const int64_t rows =
          storage.rolling_rows > 0 ? std::min(storage.rolling_rows, tensor.extent.height) : tensor.extent.height;
      if (storage.bytes < tensor.place_bytes + tensor.bytes() / std::max<int64_t>(1, tensor.extent.height) * rows)
        broken(8, fmt::format("t{} ({})", i, tensor.name), "m{} has too few bytes for it", tensor.storage.index());
    }
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      const auto check = [&](const FeatureMap& map) {
        const PlanTensor& tensor = s_[map.tensor];
        const bool rolls = tensor.storage.valid() && s_[tensor.storage].rolling_rows != 0;
        if (rolls && !tensor_rows(map, tensor))
          broken(8, fmt::format("s{} ({})", i, step.name), "addresses rolling t{} otherwise than by rows",
                 map.tensor.index());
        if (tensor.format == Format::kNhcwb16 && !fits_bricks(map, tensor))
          broken(8, fmt::format("s{} ({})", i, step.name), "addresses t{} as bricks cannot be", map.tensor.index());
      };
      check(step.ofm);
      check(step.ifm);
      if (step.reads_second_map()) check(step.ifm2);
    }
  }

  // ---- 9 ----
  void cascades() {
    size_t next = 0;
    for (const Cascade& c : s_.cascades) {
      if (c.first.index() < next || c.last.index() <= c.first.index() || c.stripe_rows < 1)
        broken(9, fmt::format("cascade s{}..s{}", c.first.index(), c.last.index()),
               "is empty, out of order or shares a step");
      next = std::max(next, c.last.index() + 1);
    }
    const TensorUsers users = users_of(s_);
    std::vector<int> tensors(s_.storages.size(), 0);
    for (const PlanTensor& tensor : s_.tensors) {
      if (tensor.storage.valid()) ++tensors[tensor.storage.index()];
    }
    for (size_t i = 0; i < s_.tensors.size(); ++i) {
      const StorageId id = s_.tensors[i].storage;
      if (!id.valid() || s_[id].rolling_rows == 0) continue;
      const bool inside = std::ranges::any_of(
          s_.cascades, [&](const Cascade& c) { return lives_inside(s_, users, TensorId(i), c.first, c.last); });
      if (!inside || tensors[id.index()] != 1)
        broken(9, fmt::format("t{} ({})", i, s_.tensors[i].name), "has rolling rows outside a cascade, or shares them");
    }
  }

  // ---- 10 ----
  void shared_storages() {
    const std::vector<LiveRange> ranges = tensor_live_ranges(s_);
    std::vector<std::vector<TensorId>> tensors(s_.storages.size());
    for (size_t i = 0; i < s_.tensors.size(); ++i) {
      const StorageId id = s_.tensors[i].storage;
      if (id.valid() && s_[id].space != Space::kConstants && ranges[i].used()) tensors[id.index()].emplace_back(i);
    }
    for (auto& list : tensors) {
      std::ranges::stable_sort(list, {}, [&](TensorId id) { return ranges[id.index()].first; });
      for (size_t j = 1; j < list.size(); ++j) {
        for (size_t i = 0; i < j; ++i) check_pair(list[i], list[j], ranges);
      }
    }
  }
  static bool are_apart(const PlanTensor& a, const PlanTensor& b) {
    return a.place_bytes + a.bytes() <= b.place_bytes || b.place_bytes + b.bytes() <= a.place_bytes;
  }
  void check_pair(TensorId from, TensorId to, const std::vector<LiveRange>& ranges) {
    const LiveRange &a = ranges[from.index()], &b = ranges[to.index()];
    if (are_apart(s_[from], s_[to])) return;
    const bool alike = stand_alike(s_[from], s_[to]);
    for (int64_t time = b.first; time <= std::min(a.last, b.last); ++time) {
      if (alike && writes_in_place(s_, static_cast<size_t>(time - 1), from, to)) continue;
      return broken(10, fmt::format("t{}", to.index()), "takes the place of t{} while that is in use", from.index());
    }
  }

  // ---- 11 ----
  void results() {
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const Step& step = s_.steps[i];
      if (step.kind == StepKind::kDma) continue;
      if (elements_overlap(step.ofm)) broken(11, fmt::format("s{} ({})", i, step.name), "elements of its OFM overlap");
      if (step.ofm.is_transposed() && !(family_.abilities.transposed_results && can_transpose(step)))
        broken(11, fmt::format("s{} ({})", i, step.name), "its results cannot be transposed");
    }
  }
  static bool can_transpose(const Step& step) {
    const FeatureMap& ofm = step.ofm;
    const bool contiguous = (ofm.height > 1 && ofm.stride_y == 1) || (ofm.width > 1 && ofm.stride_x == 1);
    const bool reduces = step.kind == StepKind::kPool && step.pool == npu::PoolingMode::REDUCE_SUM;
    return contiguous && !reduces && (step.is_convolution() || step.kind == StepKind::kPool);
  }

  const Schedule& s_;
  const Family& family_;
  const Target& target_;
  Diagnostics errors_;
};

}  // namespace

Diagnostics verify(const Schedule& schedule, const Family& family, const Target& target) {
  return Verifier(schedule, family, target).run();
}

}  // namespace carina::plan
