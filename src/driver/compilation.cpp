#include "driver/compilation.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "driver/budgets.h"
#include "driver/cpu_nodes.h"
#include "driver/mixed_precision_internal.h"
#include "driver/wide_integers_internal.h"

namespace carina::driver {

namespace {

// Adds the errors of a diagnosis that are about nodes without a known error.
void add_unknown(Diagnostics& errors, Diagnostics more) {
  std::set<size_t> known;
  for (const Diagnostic& error : errors) {
    if (error.node) known.insert(*error.node);
  }
  std::ranges::copy_if(more, std::back_inserter(errors),
                       [&](const Diagnostic& error) { return !error.node || !known.contains(*error.node); });
}

void diagnose_rest(Compilation& compilation, const ir::Graph& graph) {
  if (!has_diagnostics(compilation)) return;
  NodeDiagnosis found = diagnose_nodes(graph, compilation.model.nodes.size());
  compilation.dispositions = std::move(found.dispositions);
  add_unknown(compilation.errors, std::move(found.errors));
}

// Converts errors about nodes of the normalized graph to errors about nodes of the user's model.
Diagnostics about_model(Diagnostics errors, const ir::Graph& normalized) {
  return about_origins(std::move(errors), normalized);
}

void say_where_delegates_stand(const Package& package, const std::string& model, const Log& log) {
  if (!package.in_segments) return;
  log.note({.where = model,
            .what = "the delegates exceed 1 GiB: they are stored in segments after the program's FlatBuffer",
            .hint = "ExecuTorch's loaders support this",
            .severity = Severity::kNote});
}

void add_package(Compilation& compilation, pte::CpuKernels cpu_kernels, const Log& log) {
  auto result = package(*compilation.delegated, cpu_kernels);
  if (result) {
    compilation.package = *std::move(result);
    say_where_delegates_stand(*compilation.package, compilation.model.name, log);
  } else {
    const ir::Graph& program = compilation.delegated->split.partitioned.program;
    compilation.errors = about_model(about_origins(std::move(result).error(), program), compilation.model.graph);
  }
}

void set_budgets(Compilation& compilation, const CompileOptions& options) {
  compilation.sram_budget_bytes = options.sram_budget_bytes.value_or(0);
  compilation.flash_budget_bytes = options.flash_budget_bytes.value_or(0);
}

std::vector<pt2::ModelNode> listed(const ir::Graph& graph) {
  std::vector<pt2::ModelNode> nodes;
  for (const ir::Node& node : graph.nodes)
    nodes.push_back({.name = node.name, .op = std::string(node.op.name()), .source = node.source});
  return nodes;
}

}  // namespace

Result<FoundScheme> find_scheme(const models::Model& model, const CompileOptions& options,
                                const backends::Backend& backend, const Log& log) {
  FoundScheme found{.request = options.quantize};
  models::QuantizeRequest& request = found.request;
  if (!request.auto_goal || !request.samples || models::is_quantized(model.graph)) return found;
  CARINA_TRY(MixedChoice choice, choose_mixed_scheme(model, options, backend, *request.auto_goal, log));
  request.scheme = std::move(choice.scheme);
  request.auto_goal.reset();
  found.front = std::move(choice.front);
  return found;
}

bool has_diagnostics(const Compilation& compilation) {
  if (compilation.errors.empty()) return true;
  const auto is_about_input = [](const Diagnostic& error) { return error.fault == Fault::kInput; };
  return !compilation.model.nodes.empty() && std::ranges::all_of(compilation.errors, is_about_input);
}

Compilation compile_model(models::Model model, const CompileOptions& options, const backends::Backend& backend,
                          const Log& log) {
  Compilation compilation{
      .model = std::move(model), .delegated = {}, .package = {}, .legalized = {}, .dispositions = {}, .errors = {}};
  if (options.legalize) {
    auto legalized = legalize::legalize(compilation.model.graph, backend.lowering);
    if (!legalized) {
      compilation.errors = std::move(legalized).error();
      return compilation;
    }
    compilation.legalized = *std::move(legalized);
  }
  const ir::Graph& graph = compilation.model.graph;
  SplitOptions split = options.split;
  if (options.cpu_kernels == pte::CpuKernels::kCortexM) split.arithmetic = partition::CpuArithmetic::kInt8;
  auto choices = with_user_nodes(std::move(split), compilation.model);
  if (!choices) {
    compilation.errors = std::move(choices).error();
    return compilation;
  }
  set_budgets(compilation, options);
  const auto compile = [&](Compilation& made, const backends::DelegateOptions& delegate, const Log& notes) {
    auto delegated = delegate_graph(graph, backend, *choices, delegate, notes);
    if (!delegated) {
      made.errors = about_model(std::move(delegated).error(), graph);
      return;
    }
    made.delegated = *std::move(delegated);
    add_package(made, options.cpu_kernels, notes);
  };
  compile_within_budget(compilation, options, backend, compile, log);
  if (!compilation.delegated) {
    diagnose_rest(compilation, graph);
    return compilation;
  }
  warn_of_wide_integers(compilation.model, compilation.delegated->split, log);
  return compilation;
}

Compilation compile_pt2(const Buffer& file, const std::string& where, const CompileOptions& options,
                        const backends::Backend& backend, const Log& log) {
  const bool is_float = !options.quantize.samples && options.quantize.mode != models::QuantizeMode::kAlways;
  const bool for_cpu = options.split.delegates == DelegateMode::kNothing && is_float;
  models::Import import = models::import_model(file, where, log,
                                               {.passes = options.split.passes,
                                                .loop_rounds = options.loop_rounds,
                                                .shared_states = options.shared_states,
                                                .shapes = options.shapes,
                                                .signature = options.signature,
                                                .for_cpu = for_cpu});
  Compilation stopped{.model = {.name = where, .nodes = std::move(import.nodes), .graph = {}},
                      .delegated = {},
                      .package = {},
                      .legalized = {},
                      .dispositions = {},
                      .errors = {}};
  if (!import.graph) {
    stopped.errors = std::move(import.graph).error();
    diagnose_rest(stopped, import.readable);
    return stopped;
  }
  models::Model model{.name = where, .nodes = stopped.model.nodes, .graph = *std::move(import.graph)};
  const ir::Graph normalized = model.graph;
  CompileOptions choices = options;
  if (!models::is_quantized(normalized)) keep_floats(choices);
  auto found = find_scheme(model, options, backend, log);
  if (!found) {
    stopped.errors = about_model(found.error(), normalized);
    return stopped;
  }
  if (const auto quantized = models::quantize_model(model, found->request, log); !quantized) {
    stopped.errors = about_model(quantized.error(), normalized);
    diagnose_rest(stopped, normalized);
    return stopped;
  }
  choices.delegate.front_end = {.has_imported = true, .samples = model.samples};
  Compilation compilation = compile_model(std::move(model), choices, backend, log);
  compilation.schemes = std::move(found->front);
  return compilation;
}

Compilation compile_tosa(TosaGraph file, const std::string& where, const CompileOptions& options,
                         const backends::Backend& backend, const Log& log) {
  const bool is_litert = !file.operators.empty();
  // The origins of a LiteRT file's nodes are its operators.
  std::optional<ir::Graph> litert;
  if (is_litert) litert = file.graph;
  ir::Graph& numbered = is_litert ? *litert : file.graph;
  for (size_t n = 0; n < numbered.nodes.size(); ++n) numbered.nodes[n].origin = ir::NodeId(n);
  Compilation compilation{.model = {.name = where,
                                    .nodes = is_litert ? std::move(file.operators) : listed(file.graph),
                                    .graph = std::move(file.graph)},
                          .delegated = {},
                          .package = {},
                          .legalized = {},
                          .dispositions = {},
                          .errors = {}};
  compilation.model.quantization = is_litert ? "as in the LiteRT file" : "as in the TOSA file";
  const ir::Graph& tosa = is_litert ? *litert : compilation.model.graph;
  set_budgets(compilation, options);
  const auto compile = [&](Compilation& made, const backends::DelegateOptions& delegate, const Log& notes) {
    const std::string_view reason = is_litert ? "supported" : "TOSA input";
    auto delegated = compile_delegates(whole_graph_delegated(tosa, reason), backend, delegate, notes);
    if (!delegated) {
      made.errors = std::move(delegated).error();
      if (is_litert) made.errors = about_origins(std::move(made.errors), made.model.graph);
      return;
    }
    made.delegated = *std::move(delegated);
    add_package(made, options.cpu_kernels, notes);
  };
  compile_within_budget(compilation, options, backend, compile, log);
  drop_weights(compilation.model.graph);
  if (!compilation.delegated) compilation.dispositions.assign(compilation.model.nodes.size(), Disposition::kNpu);
  return compilation;
}

}  // namespace carina::driver
