#include "plan/emit/stream.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "plan/cost/hazards.h"
#include "plan/family/emitter.h"

namespace carina::plan {
namespace {

bool is_transfer(const Schedule& schedule, const Command& command) {
  return command.kind != Command::Kind::kStripe || schedule.step_of(command).kind == StepKind::kDma;
}

// By TOSA node: the names of the nodes that its operations compute.
std::vector<std::vector<std::string>> names_by_node(const Material& material, const ir::Graph& graph) {
  std::vector<std::vector<std::string>> names(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) names[i].push_back(graph.nodes[i].name);
  for (size_t i = 0; i < material.done_by.size(); ++i) {
    if (const ir::NodeId by = material.done_by[i]; by.valid()) names[by.index()].push_back(graph.nodes[i].name);
  }
  return names;
}

npu::LayerNote note_of(const Step& op, const ir::Graph& graph, const std::vector<std::vector<std::string>>& names) {
  npu::LayerNote note{.name = op.name,
                      .tosa_ops = op.node.valid() ? names[op.node.index()] : std::vector<std::string>{}};
  if (!op.node.valid()) return note;
  note.node = op.node.index();
  if (!graph.nodes[*note.node].source.empty()) note.source_lines.push_back(graph.nodes[*note.node].source);
  return note;
}

Transfer copy_of(const Schedule& schedule, const Step& step) {
  Transfer transfer{.from = schedule.space_of(step.ifm.tensor),
                    .to = schedule.space_of(step.ofm.tensor),
                    .source = schedule.address_of(step.ifm.tensor) + step.ifm.offset * step.ifm.type.bytes(),
                    .destination = schedule.address_of(step.ofm.tensor) + step.ofm.offset * step.ofm.type.bytes(),
                    .bytes = step.dma_bytes};
  if (step.indexed == Indexed::kNo) return transfer;
  transfer.indexed = step.indexed;
  transfer.rows = step.ifm2.depth;
  transfer.places = step.places;
  transfer.index_space = schedule.space_of(step.ifm2.tensor);
  transfer.index = schedule.address_of(step.ifm2.tensor) + step.ifm2.offset * step.ifm2.type.bytes();
  return transfer;
}

Transfer table_load(const Schedule& schedule, const Command& command, const TableMemory& tables) {
  const TensorId table = schedule.step_of(command).activation.table;
  const Storage& source = schedule[table_source(schedule, schedule[command.stripe])];
  return {.from = source.space,
          .to = Space::kTables,
          .source = source.address,
          .destination = slot_address(tables, command.slot),
          .bytes = schedule[table].bytes()};
}

Transfer staging_copy(const Schedule& schedule, const Command& command) {
  const Copy copy = copy_of(schedule, command);
  const Storage &from = schedule[copy.from], &to = schedule[copy.to];
  return {.from = from.space,
          .to = to.space,
          .source = from.address + command.first_byte,
          .destination = to.address + command.first_byte,
          .bytes = command.bytes};
}

Transfer transfer_of(const Schedule& schedule, const Command& command, const TableMemory& tables) {
  switch (command.kind) {
    case Command::Kind::kLoadTable:
      return table_load(schedule, command, tables);
    case Command::Kind::kLoadWeights:
    case Command::Kind::kLoadScales:
    case Command::Kind::kStageTable:
      return staging_copy(schedule, command);
    case Command::Kind::kStripe:
      return copy_of(schedule, schedule.step_of(command));
  }
  CARINA_UNREACHABLE("command", command.kind);
}

// Whether one transfer can load both tables: they are contiguous in memory and in their slots. Each transfer costs the
// latency of the memory.
bool continues(const Transfer& first, const Transfer& next) {
  return first.to == Space::kTables && next.to == Space::kTables && first.from == next.from &&
         first.source + first.bytes == next.source && first.destination + first.bytes == next.destination;
}

// The commands from `first` on that one transfer executes.
struct Run {
  Transfer transfer = {};
  std::vector<Access> accesses = {};
  size_t commands = 1;
};
Run run_of(const Schedule& schedule, size_t first, const TableMemory& tables) {
  Run run{.transfer = transfer_of(schedule, schedule.order[first], tables),
          .accesses = accesses_of(schedule, schedule.order[first], tables)};
  for (size_t i = first + 1; i < schedule.order.size() && is_transfer(schedule, schedule.order[i]); ++i) {
    const Transfer next = transfer_of(schedule, schedule.order[i], tables);
    if (!continues(run.transfer, next)) break;
    run.transfer.bytes += next.bytes;
    std::ranges::copy(accesses_of(schedule, schedule.order[i], tables), std::back_inserter(run.accesses));
    ++run.commands;
  }
  return run;
}

class Streamer {
 public:
  explicit Streamer(const Emission& what)
      : what_(what),
        schedule_(what.schedule),
        emitter_(what.family.emitter(what.schedule, what.target)),
        tables_(what.family.tables(what.target)),
        hazards_(what.family.limits),
        names_(names_by_node(what.material, what.graph)) {
    emitter_->set_writes(what.writes);
  }

  Stream run() && {
    for (size_t i = 0; i < schedule_.order.size();) {
      const size_t first_word = emitter_->words();
      const size_t end = i + (is_transfer(schedule_, schedule_.order[i]) ? transfer(i) : compute(i));
      for (size_t k = i; k < end; ++k) note(schedule_.order[k], k == i ? first_word : emitter_->words());
      i = end;
    }
    emitter_->stop();
    return {.words = std::move(*emitter_).take(), .notes = std::move(notes_)};
  }

 private:
  [[nodiscard]] bool overlaps() const { return what_.overlap == Variation::Overlap::kExact; }
  void wait(const Waits& waits) { emitter_->wait(overlaps() ? waits : Waits{.kernels = 0, .dmas = 0}); }

  size_t transfer(size_t first) {
    Run run = run_of(schedule_, first, tables_);
    wait(hazards_.before_dma(accesses_.emplace_back(std::move(run.accesses))));
    emitter_->transfer(run.transfer);
    return run.commands;
  }
  size_t compute(size_t at) {
    const Command& command = schedule_.order[at];
    wait(hazards_.before_kernel(accesses_.emplace_back(accesses_of(schedule_, command, tables_))));
    const int dependency =
        overlaps() ? block_dependency(schedule_, previous_, command.stripe, what_.family, what_.target) : 0;
    emitter_->compute(schedule_[command.stripe], command.slot, dependency);
    previous_ = command.stripe;
    return 1;
  }
  void note(const Command& command, size_t first_word) {
    npu::LayerNote note = note_of(schedule_.step_of(command), what_.graph, names_);
    note.first_word = first_word;
    note.end_word = emitter_->words();
    notes_.push_back(std::move(note));
  }

  const Emission& what_;
  const Schedule& schedule_;
  std::unique_ptr<Emitter> emitter_;
  TableMemory tables_;
  std::deque<std::vector<Access>> accesses_;  // of all commands
  HazardTracker hazards_;
  std::vector<std::vector<std::string>> names_;
  std::optional<StripeId> previous_;
  std::vector<npu::LayerNote> notes_;
};

}  // namespace

Stream emit_stream(const Emission& what) {
  return Streamer(what).run();
}

}  // namespace carina::plan
