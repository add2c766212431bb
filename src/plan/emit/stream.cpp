#include "plan/emit/stream.h"

#include "plan/emit/emitter.h"
#include "plan/emit/hazards.h"

namespace carina::plan {
namespace {

bool is_transfer(const Schedule& schedule, const Command& command) {
  return command.kind != Command::Kind::kStripe || schedule.step_of(command).kind == StepKind::kDma;
}

// Per TOSA node: the names of the nodes that its operations compute.
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
  return {.from = schedule.space_of(table),
          .to = Space::kTables,
          .source = schedule.address_of(table),
          .destination = slot_address(tables, command.slot),
          .bytes = schedule[table].bytes()};
}

Transfer weight_load(const Schedule& schedule, const Command& command) {
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
      return weight_load(schedule, command);
    case Command::Kind::kStripe:
      return copy_of(schedule, schedule.step_of(command));
  }
  CARINA_UNREACHABLE("command", command.kind);
}

}  // namespace

Stream emit_stream(const Emission& what) {
  const Schedule& schedule = what.schedule;
  const std::unique_ptr<Emitter> emitter = what.family.emitter(schedule, what.target);
  const TableMemory tables = what.family.tables(what.target);
  HazardTracker hazards(what.family.limits);
  const auto names = names_by_node(what.material, what.graph);
  const bool overlap = what.overlap == Variation::Overlap::kExact;
  std::optional<StripeId> previous;
  std::vector<npu::LayerNote> notes;
  for (const Command& command : schedule.order) {
    npu::LayerNote note = note_of(schedule.step_of(command), what.graph, names);
    note.first_word = emitter->words();
    const auto accesses = accesses_of(schedule, command, tables);
    const bool transfer = is_transfer(schedule, command);
    Waits waits = transfer ? hazards.before_dma(accesses) : hazards.before_kernel(accesses);
    // Weights are fetched before the operation starts: blocks that depend on blocks do not hold them back.
    if (!transfer && schedule.step_of(command).reads_written_weights()) waits.kernels = 0;
    emitter->wait(overlap ? waits : Waits{.kernels = 0, .dmas = 0});
    if (transfer) {
      emitter->transfer(transfer_of(schedule, command, tables));
    } else {
      const int blockdep =
          overlap ? block_dependency(schedule, previous, command.stripe, tables, what.family.limits) : 0;
      emitter->compute(schedule[command.stripe], command.slot, blockdep);
      previous = command.stripe;
    }
    note.end_word = emitter->words();
    notes.push_back(std::move(note));
  }
  emitter->stop();
  return {.words = std::move(*emitter).take(), .notes = std::move(notes)};
}

}  // namespace carina::plan
