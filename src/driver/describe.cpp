#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>

#include "carina/check.h"
#include "driver/budgets.h"
#include "driver/compilation.h"
#include "facts/aten_quantization.h"
#include "options/rows.h"

// The rows of a report for the user's nodes: what each became in the normalized graph, where it runs, and why.
//   Example: a linear layer that became "aten.view, aten.mm, aten.add" has one row, with the reasons of all three.
namespace carina::driver {

namespace {

using results::NodeReport;
using results::RunsOn;

constexpr std::string_view kFoldedReason = "folded into its neighbors, a constant, or without effect";

// The decisions about the nodes made from a node of the user's model.
using Parts = std::vector<const partition::Decision*>;

std::string_view bare_op(std::string_view op) {
  const size_t last = op.rfind('.');
  return op.find('.') == last ? op : op.substr(0, last);  // "tosa.MUL" has no overload
}

// Formats what a node became: "aten.conv2d, 2 aten.view". Empty if it became only itself.
std::string became(const Parts& parts, const std::string& op) {
  std::vector<std::pair<std::string_view, int>> counts;
  for (const partition::Decision* part : parts) {
    const std::string_view name = bare_op(part->op);
    const auto known = std::ranges::find(counts, name, [](const auto& entry) { return entry.first; });
    if (known == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
  if (parts.size() == 1 && counts.front().first == bare_op(op)) return {};
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", count == 1 ? "" : fmt::format("{} ", count), name);
  return text;
}

// "aten.view, aten.add, aten.mul and 4 more"
std::string some_of(const std::vector<std::string>& ops) {
  constexpr size_t kShown = 3;
  const std::string text = fmt::format("{}", fmt::join(ops | std::views::take(kShown), ", "));
  return ops.size() <= kShown ? text : fmt::format("{} and {} more", text, ops.size() - kShown);
}

// Formats each reason once, in order, the first few if there are many. If the node became several operators, a reason
// names those that have it, unless all do.
std::string reasons_of(const Parts& parts) {
  struct Shared {
    std::string reason;
    std::vector<std::string> ops;
  };
  std::vector<Shared> reasons;
  for (const partition::Decision* part : parts) {
    auto known = std::ranges::find(reasons, part->reason, &Shared::reason);
    if (known == reasons.end()) known = reasons.insert(known, {.reason = part->reason, .ops = {}});
    const std::string op(bare_op(part->op));
    if (std::ranges::find(known->ops, op) == known->ops.end()) known->ops.push_back(op);
  }
  if (reasons.size() == 1) return reasons.front().reason;
  constexpr size_t kShown = 4;
  std::string text;
  for (const Shared& shared : reasons | std::views::take(kShown))
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", some_of(shared.ops), shared.reason);
  return reasons.size() <= kShown ? text : fmt::format("{}; and {} more like these", text, reasons.size() - kShown);
}

void set_parts(NodeReport& row, const Parts& parts) {
  Parts on_cpu;
  std::ranges::copy_if(parts, std::back_inserter(on_cpu), [](const auto* part) { return !part->runs_on_npu; });
  row.runs_on = on_cpu.empty() ? RunsOn::kNpu : on_cpu.size() == parts.size() ? RunsOn::kCpu : RunsOn::kBoth;
  if (row.runs_on == RunsOn::kNpu) {
    const std::string forms = became(parts, row.op);
    row.reason = parts.front()->reason + (forms.empty() ? "" : fmt::format(", as {}", forms));
    return;
  }
  row.reason = reasons_of(on_cpu);
  // A node that stays on the CPU only because of its group gives less information than the others.
  const auto main = std::ranges::find_if(on_cpu, [](const auto* part) { return !part->rule.starts_with("group."); });
  const partition::Decision& telling = main == on_cpu.end() ? *on_cpu.front() : **main;
  row.hint = telling.hint;
  row.rule = telling.rule;
  for (const partition::Decision* part : on_cpu) row.cpu_cycles += part->cpu_cycles;
}

void set_disposition(NodeReport& row, Disposition disposition) {
  if (disposition == Disposition::kFolded) return;
  row.runs_on = RunsOn::kUndecided;
  row.reason = disposition == Disposition::kNpu ? "could run on the NPU" : "could run on the CPU";
}

// Returns whether a node of a quantized model only annotates how values are represented (quantize, dequantize).
bool is_annotation(const NodeReport& row) {
  if (row.runs_on != RunsOn::kFolded) return false;
  const auto op = aten_op_of_name(row.op);
  return op && quantization_step_of(*op).has_value();
}

// One row per node of the user's model, then one per operator that the compiler added.
class NodeTable {
 public:
  explicit NodeTable(const Compilation& compilation) : compilation_(compilation) {
    for (const pt2::ModelNode& node : compilation.model.nodes)
      rows_.push_back(
          {.name = node.name, .op = node.op, .source = node.source, .reason = std::string(kFoldedReason), .hint = {}});
  }

  std::vector<NodeReport> take() && {
    add_dispositions();
    if (compilation_.delegated) add_decisions();
    if (compilation_.delegated) add_cycles();
    if (compilation_.delegated) add_inputs();
    add_errors();
    std::erase_if(rows_, is_annotation);
    return std::move(rows_);
  }

 private:
  void add_dispositions() {
    for (size_t n = 0; n < compilation_.dispositions.size(); ++n)
      set_disposition(rows_[n], compilation_.dispositions[n]);
  }

  // Returns the row for a node of the normalized graph. A node that the compiler added gets a new row.
  size_t row_of(const partition::Decision& decision) {
    const ir::NodeId origin = compilation_.model.graph[decision.node].origin;
    if (origin.valid() && origin.index() < compilation_.model.nodes.size()) return origin.index();
    rows_.push_back({.name = decision.name, .op = decision.op, .source = decision.source, .reason = {}, .hint = {}});
    return rows_.size() - 1;
  }

  void add_decisions() {
    std::map<size_t, Parts> parts;
    for (const partition::Decision& decision : compilation_.delegated->split.partitioned.decisions) {
      row_of_node_.push_back(row_of(decision));
      parts[row_of_node_.back()].push_back(&decision);
    }
    for (const auto& [row, of_row] : parts) set_parts(rows_[row], of_row);
  }

  void add_cycles() {
    int64_t rest = 0;
    for (size_t d = 0; d < compilation_.delegated->delegates.size(); ++d) {
      const std::vector<int64_t>& cycles = compilation_.delegated->delegates[d].cycles_of_node;
      const ir::Graph& tosa = compilation_.delegated->split.tosa[d];
      for (size_t n = 0; n < cycles.size(); ++n) {
        const ir::NodeId origin = n < tosa.nodes.size() ? tosa.nodes[n].origin : ir::NodeId();
        if (origin.valid() && origin.index() < row_of_node_.size()) {
          rows_[row_of_node_[origin.index()]].cycles += cycles[n];
        } else {
          rest += cycles[n];
        }
      }
    }
    if (rest == 0) return;
    rows_.push_back({.name = "(between nodes)",
                     .op = "-",
                     .source = {},
                     .runs_on = RunsOn::kNpu,
                     .reason = "copies and waits that belong to no node",
                     .hint = {},
                     .cycles = rest});
  }

  // The nodes of the normalized graph that one row stands for read each other's results: only reads across rows count.
  void add_inputs() {
    const ir::Graph& graph = compilation_.model.graph;
    const std::vector<ir::NodeId> producers = ir::producers(graph);
    for (size_t n = 0; n < row_of_node_.size(); ++n) {
      NodeReport& row = rows_[row_of_node_[n]];
      for (const ir::ValueId input : graph.nodes[n].inputs) {
        const ir::NodeId producer = input.valid() ? producers[input.index()] : ir::NodeId();
        if (!producer.valid() || producer.index() >= row_of_node_.size()) continue;
        const NodeReport& source = rows_[row_of_node_[producer.index()]];
        if (&source == &row || std::ranges::find(row.inputs, source.name) != row.inputs.end()) continue;
        row.inputs.push_back(source.name);
      }
    }
  }

  void add_errors() {
    for (const Diagnostic& error : compilation_.errors) {
      if (!error.node || *error.node >= compilation_.model.nodes.size()) continue;
      NodeReport& row = rows_[*error.node];
      const bool is_first = row.runs_on != RunsOn::kNowhere;
      row.runs_on = RunsOn::kNowhere;
      row.reason = is_first ? error.what : fmt::format("{}; {}", row.reason, error.what);
      row.hint = error.hint.empty() ? "replace it by operators that `carina ops` lists" : error.hint;
      row.rule = "model";
    }
  }

  const Compilation& compilation_;
  std::vector<NodeReport> rows_;
  std::vector<size_t> row_of_node_;  // per node of the normalized graph
};

void add_delegates(results::CompileReport& report, const std::vector<backends::Delegate>& delegates) {
  for (const backends::Delegate& delegate : delegates) {
    report.delegates.push_back(delegate.report);
    report.scratch_bytes = std::max(report.scratch_bytes, delegate.report.scratch_bytes);
    report.fast_scratch_bytes = std::max(report.fast_scratch_bytes, delegate.report.fast_scratch_bytes);
    if (report.cycles && delegate.report.estimate) {
      *report.cycles += delegate.report.estimate->cycles;
      report.memory_cycles += delegate.report.estimate->memory_cycles;
    } else {
      report.cycles.reset();
    }
  }
}

// The name in the user's model: an output that is converted to floats has a value of its own.
std::string user_name(std::string name) {
  constexpr std::string_view kConverted = "_dequantized";
  if (name.ends_with(kConverted)) name.resize(name.size() - kConverted.size());
  return name;
}

// The node that converts an input or output of a graph between integers and real numbers; null for other values.
//   Example: --io int8 makes an input of a dequantize_per_tensor of it; without, an input is read by a
//   quantize_per_tensor.
const ir::Node* conversion_at(const ir::Graph& graph, ir::ValueId edge) {
  const auto converts = [&](const ir::Node& node) {
    const bool is_conversion =
        node.op == AtenOp::quantize_per_tensor_default || node.op == AtenOp::dequantize_per_tensor_default;
    return is_conversion && (node.inputs.front() == edge || node.outputs.front() == edge);
  };
  const auto found = std::ranges::find_if(graph.nodes, converts);
  return found == graph.nodes.end() ? nullptr : &*found;
}

// The integer type that a quantized model computes with at a float input or output of its program; none: the edge is
// not quantized.
std::optional<DType> integers_after(const ir::Graph& program, ir::ValueId edge) {
  const ir::Node* conversion = conversion_at(program, edge);
  if (conversion == nullptr || !is_float(program[edge].dtype)) return std::nullopt;
  const bool quantizes = conversion->op == AtenOp::quantize_per_tensor_default;
  return program[quantizes ? conversion->outputs.front() : conversion->inputs.front()].dtype;
}

// Adds the float inputs and outputs that are quantized at once, if they are most of what the executor plans.
void add_float_edges(results::CompileReport& report, const Compilation& compilation) {
  const ir::Graph& program = compilation.delegated->split.partitioned.program;
  int64_t bytes = 0;
  std::vector<results::FloatEdge> edges;
  std::optional<DType> type;
  for (const std::vector<ir::ValueId>* ends : {&program.inputs, &program.outputs}) {
    for (const ir::ValueId end : *ends) {
      const std::optional<DType> integers = integers_after(program, end);
      if (!integers) continue;
      edges.push_back(
          {.name = user_name(program[end].name),
           .bytes = program[end].shape.elements() * static_cast<int64_t>(element_bytes(program[end].dtype))});
      bytes += edges.back().bytes;
      type = integers;
    }
  }
  if (bytes * 2 < report.planned_bytes || !type) return;
  report.float_edges = std::move(edges);
  report.integer_io = *type == DType::kInt16 ? "int16" : "int8";
}

// `ids` are values of the program's graph; `model_ids` are the same in the model's, where quantization is known.
std::vector<results::PortReport> ports_of(const ir::Graph& program, std::span<const ir::ValueId> ids,
                                          const ir::Graph& model, std::span<const ir::ValueId> model_ids) {
  std::vector<results::PortReport> ports;
  for (size_t n = 0; n < ids.size(); ++n) {
    if (!ids[n].valid()) continue;
    const ir::Value& value = program[ids[n]];
    results::PortReport port{.name = value.name, .dtype = std::string(name_of(value.dtype)), .shape = {}};
    port.shape.assign(value.shape.dims().begin(), value.shape.dims().end());
    if (model_ids.size() == ids.size() && model_ids[n].valid()) {
      port.name = model[model_ids[n]].name;
      const ir::Node* conversion = conversion_at(model, model_ids[n]);
      if (conversion != nullptr && !is_float(value.dtype)) {
        port.scale = conversion->attributes.number("scale");
        port.zero_point = conversion->attributes.integer("zero_point");
      }
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

results::CompileReport compile_report(const Compilation& compilation, const backends::Backend& backend,
                                      const backends::DelegateOptions& options) {
  results::CompileReport report{.model = compilation.model.name,
                                .target = backend.target,
                                .accelerator = backend.accelerator,
                                .system_config = backend.system_config,
                                .memory_mode = backend.memory_mode,
                                .optimize = std::string(options::name_of_value(options.optimize)),
                                .dynamic_weights = options.dynamic_weights,
                                .sram_budget_bytes = compilation.sram_budget_bytes,
                                .flash_budget_bytes = compilation.flash_budget_bytes,
                                .arena_budget_bytes = options.arena_budget_bytes,
                                .cache_bytes = backend.cache_bytes,
                                .quantization = compilation.model.quantization,
                                .nodes = NodeTable(compilation).take(),
                                .delegates = {},
                                .output = {}};
  report.clock_hz = backend.clock_hz;
  report.arena_memory = backend.arena_memory;
  report.constants_memory = backend.constants_memory;
  report.random_ranges = compilation.model.random_ranges;
  report.errors = compilation.errors;
  report.schemes = compilation.schemes;
  for (const legalize::Legalized& entry : compilation.legalized)
    report.legalized.push_back({.node = entry.node,
                                .source = entry.source,
                                .rule = entry.rule,
                                .reason = entry.reason,
                                .change = entry.change});
  if (compilation.delegated) add_delegates(report, compilation.delegated->delegates);
  if (compilation.package) {
    report.program_bytes = static_cast<int64_t>(compilation.package->program.size());
    report.planned_bytes = compilation.package->planned_bytes;
    report.tables_bytes = compilation.package->tables_bytes;
    report.conversion_cycles = partition::boundary_cycles_of(compilation.delegated->split.partitioned.program);
    add_float_edges(report, compilation);
    report.over_budget = exceeded_budgets(report, compilation.limit_errors);
    const ir::Graph& program = compilation.delegated->split.partitioned.program;
    const ir::Graph& model = compilation.model.graph;
    report.inputs = ports_of(program, std::span(program.inputs).first(program.inputs_without_state()), model,
                             std::span(model.inputs).first(model.inputs_without_state()));
    report.outputs = ports_of(program, std::span(program.outputs).first(program.outputs_without_state()), model,
                              std::span(model.outputs).first(model.outputs_without_state()));
  }
  return report;
}

}  // namespace carina::driver
