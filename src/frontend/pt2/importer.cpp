#include "frontend/pt2/importer_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "facts/aten_composites.h"
#include "frontend/pt2/arguments_internal.h"
#include "frontend/pt2/module_stack_internal.h"
#include "frontend/pt2/source_line_internal.h"
#include "frontend/pt2/target_internal.h"
#include "frontend/pt2/verify/schema.h"
#include "frontend/pt2/verify/verify.h"

namespace carina::pt2 {

namespace {

constexpr int64_t kMajor = 8;
constexpr int64_t kNewestMinor = 20;  // torch 2.12 to 2.15
constexpr int64_t kOldestMinor = 14;  // torch 2.9

// Returns whether a node's results share memory with an operand: rows whose schema says so, and dropout, which returns
// its operand.
bool gives_view(const ir::Node& node) {
  if (aten::schema_of(node.op.aten()).returns_view) return true;
  return node.op.aten() == AtenOp::dropout_default && !node.attributes.get<bool>("train");
}

std::string name_of_node(JsonView json) {
  if (const JsonView name = json.optional("name")) return std::string(name.text());
  const JsonView outputs = json["outputs"];
  if (outputs.size() > 0) {
    const auto [kind, value] = outputs[0].alternative();
    if (kind == "as_tensor") return std::string(value["name"].text());
    if (kind == "as_tensors" && value.size() > 0) return std::string(value[0]["name"].text());
  }
  return std::string(json["target"].text());
}

// The operator's name in facts/aten_ops.def: "torch.ops.aten.relu.default" -> "aten.relu.default".
std::string op_text(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (target.starts_with(kPrefix)) target.remove_prefix(kPrefix.size());
  return std::string(target);
}

}  // namespace

void Importer::reject(Diagnostics problems) {
  for (Diagnostic& problem : problems) reject(std::move(problem));
}

void Importer::reject(Diagnostic problem) {
  if (!problem.node) problem.node = node_;
  problems_.push_back(std::move(problem));
}

void Importer::note(std::string what, std::string hint) const {
  log_.note({.where = archive_.where(), .what = std::move(what), .hint = std::move(hint), .severity = Severity::kNote});
}

std::string Importer::where_of(const ir::Node& node) const {
  if (node.source.empty()) return fmt::format("{}: {}", archive_.where(), node.name);
  return fmt::format("{}: {} ({})", archive_.where(), node.name, node.source);
}

Scope& Importer::open_scope(JsonView graph) {
  return *scopes_.emplace_back(std::make_unique<Scope>(graph));
}

Reading Importer::run() {
  const Result<void> read = import_program();
  Reading reading{.nodes = std::move(nodes_), .graph = ir::Graph{}, .readable = {}, .unknown = std::move(unknown_)};
  if (read) {
    reading.graph = std::move(graph_);
    reading.graph->name = "main";
  } else {
    reading.graph = std::unexpected(read.error());
    reading.readable = readable_part();
  }
  return reading;
}

// Makes a valid graph of the nodes that could be read. Results of the other nodes become inputs; values that only such
// nodes read become outputs.
ir::Graph Importer::readable_part() {
  graph_.states.clear();
  std::erase_if(graph_.nodes, [this](const ir::Node& node) { return !aten::verify_node(graph_, node, node.name); });
  const auto producers = ir::producers(graph_);
  const std::set<ir::ValueId> inputs(graph_.inputs.begin(), graph_.inputs.end());
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    const ir::ValueId id(v);
    if (!producers[v].valid() && !graph_[id].constant && !inputs.contains(id)) graph_.inputs.push_back(id);
  }
  // A node that nothing reads is kept by an output. Unread results of other nodes are not outputs: passes drop them, as
  // those of a batch norm after its first.
  const auto readers = ir::users(graph_);
  for (const ir::Node& node : graph_.nodes) {
    const auto is_read = [&](ir::ValueId id) { return id.valid() && !readers[id.index()].empty(); };
    if (std::ranges::any_of(node.outputs, is_read)) continue;
    const auto first = std::ranges::find_if(node.outputs, &ir::ValueId::valid);
    if (first != node.outputs.end()) graph_.outputs.push_back(*first);
  }
  return std::move(graph_);
}

Result<void> Importer::import_program() {
  check_version();
  if (!problems_.empty()) return fail(std::move(problems_));
  const JsonView graph = program_["graph_module"]["graph"];
  Scope& scope = open_scope(graph);
  import_inputs(scope);
  reject_lost();
  import_nodes(scope);
  import_outputs(scope);
  if (const auto& wrong = program_.errors().first) return fail(*wrong);
  verify_nodes();
  if (!problems_.empty()) return fail(std::move(problems_));
  CARINA_CHECKED(settle_changes(scope));
  if (!symbols_.empty()) {
    note(fmt::format("the model has sizes that may change; they are fixed at the example's: {}", symbols_.summary()),
         "export it again with an example of the size that you need");
  }
  return {};
}

void Importer::check_version() {
  const JsonView version = program_["schema_version"];
  const int64_t major = version["major"].integer();
  const int64_t minor = version["minor"].integer();
  if (broken()) return reject(*program_.errors().first);
  if (major != kMajor || minor < kOldestMinor) {
    return reject({.where = archive_.where(),
                   .what = "the exported program is of a version that is not supported",
                   .expected = fmt::format("schema {}.{} to {}.{} (torch 2.9 to 2.15)", kMajor, kOldestMinor, kMajor,
                                           kNewestMinor),
                   .got = fmt::format("{}.{}", major, minor),
                   .hint = "save the model again with torch.export.save of torch 2.9 to 2.15"});
  }
  if (minor > kNewestMinor)
    note(fmt::format("the exported program is of schema {}.{}, newer than the {}.{} that is known", major, minor,
                     kMajor, kNewestMinor));
}

// Inputs and outputs.

void Importer::import_inputs(Scope& scope) {
  const JsonView specs = program_["graph_module"]["signature"]["input_specs"];
  for (size_t i = 0; i < specs.size() && !broken(); ++i) {
    const auto [kind, spec] = specs[i].alternative();
    program_.errors().context = fmt::format("input {}", i);
    if (kind == "user_input") {
      import_user_input(scope, spec["arg"]);
    } else if (kind == "parameter") {
      import_stored(scope, spec["arg"]["name"].text(), Store::kWeights, spec["parameter_name"].text());
    } else if (kind == "buffer") {
      const Store store = spec["persistent"].boolean() ? Store::kWeights : Store::kConstants;
      import_stored(scope, spec["arg"]["name"].text(), store, spec["buffer_name"].text());
    } else if (kind == "tensor_constant") {
      import_constant(scope, spec["arg"]["name"].text(), Store::kConstants, spec["tensor_constant_name"].text());
    } else if (kind != "constant_input" && !broken()) {
      reject(
          {.where = fmt::format("{}: input {}", archive_.where(), i),
           .what = fmt::format("inputs of kind {} are not supported", kind),
           .expected = "tensors",
           .hint = kind == "custom_obj" ? "a TorchScript object cannot be compiled: replace it by plain tensors" : ""});
    }
  }
}

// Reports the stored tensors that cannot be read. One message stands for many, as of a copy that was broken off.
void Importer::reject_lost() {
  constexpr size_t kMaxListed = 3;
  if (lost_.size() <= kMaxListed) return reject(std::exchange(lost_, {}));
  Diagnostic first = lost_.front();
  first.what += fmt::format("; {} stored tensors cannot be read", lost_.size());
  lost_.clear();
  reject(std::move(first));
}

void Importer::import_user_input(Scope& scope, JsonView argument) {
  const auto [kind, value] = argument.alternative();
  if (kind == "as_none" || kind == "as_int" || kind == "as_float" || kind == "as_string" || kind == "as_bool") return;
  if (kind != "as_tensor") {
    return reject({.where = archive_.where(),
                   .what = fmt::format("a model input is {}, not a tensor", kind),
                   .hint = "make it a constant of the model, or a tensor"});
  }
  const std::string_view name = value["name"].text();
  const ir::ValueId id = add_result(scope, name, fmt::format("{}: input {}", archive_.where(), name));
  if (!id.valid()) return;
  graph_.inputs.push_back(id);
  aliases_.bind(scope, name, id);
}

// A buffer or parameter. The program may change it.
void Importer::import_stored(Scope& scope, std::string_view name, Store store, std::string_view fqn) {
  import_constant(scope, name, store, fqn);
  const std::optional<ir::ValueId> value = scope.find(name);
  if (!value || !graph_[*value].constant) return;
  stored_.push_back({.placeholder = name, .name = std::string(fqn), .value = *value});
  scope.keep(name);
}

void Importer::import_constant(Scope& scope, std::string_view name, Store store, std::string_view fqn) {
  const std::string where = fmt::format("{}: {}", archive_.where(), fqn);
  Result<Tensor> tensor =
      read_stored_tensor(archive_, store, store == Store::kWeights ? weights_ : constants_, fqn, symbols_);
  const Result<TensorMeta> meta = read_tensor_meta(scope.graph()["tensor_values"][name], symbols_, where);
  if (broken()) return;
  if (tensor && meta && meta->dtype == tensor->dtype && meta->shape == tensor->shape)
    return aliases_.bind(scope, name, graph_.add_constant(name, *std::move(tensor)));
  // The value stands for the constant, so that the nodes that read it can be checked.
  scope.bind(name, meta ? graph_.add_value(name, meta->dtype, meta->shape) : add_unreadable(name));
  if (!tensor) return lost_.push_back(tensor.error().front());
  if (!meta) return reject(meta.error());
  reject({.where = where,
          .what = "the stored tensor is not the one that the model declares",
          .expected = fmt::format("{} {}", name_of(meta->dtype), to_string(meta->shape)),
          .got = fmt::format("{} {}", name_of(tensor->dtype), to_string(tensor->shape))});
}

void Importer::import_outputs(Scope& scope) {
  const JsonView specs = program_["graph_module"]["signature"]["output_specs"];
  const JsonView outputs = scope.graph()["outputs"];
  for (size_t i = 0; i < specs.size() && !broken(); ++i) {
    program_.errors().context = fmt::format("output {}", i);
    if (i >= outputs.size())
      return outputs.complain(fmt::format("{} outputs, as many as the signature has", specs.size()));
    const auto [kind, spec] = specs[i].alternative();
    if (kind == "user_output") {
      import_user_output(scope, outputs[i], i);
    } else if (kind == "buffer_mutation" || kind == "parameter_mutation" || kind == "user_input_mutation") {
      import_mutation(scope, kind, spec, outputs[i]);
    } else if (!broken()) {
      reject({.where = fmt::format("{}: output {}", archive_.where(), i),
              .what = fmt::format("outputs of kind {} are not supported", kind),
              .hint = "export the model for inference"});
    }
  }
}

void Importer::import_user_output(const Scope& scope, JsonView argument, size_t index) {
  const auto [kind, value] = argument.alternative();
  if (kind == "as_tensor") {
    const std::optional<ir::ValueId> id = scope.find(value["name"].text());
    if (!id || !id->valid()) return argument.complain("a tensor that a node gives");
    graph_.outputs.push_back(*id);
    return;
  }
  if (kind == "as_optional_tensor") return import_user_output(scope, value, index);
  if (kind.empty()) return;
  note(fmt::format("output {} is not a tensor ({}): it is left out", index, kind));
}

// Nodes.

void Importer::import_nodes(Scope& scope) {
  const JsonView nodes = scope.graph()["nodes"];
  const size_t count = nodes.size();
  for (size_t n = 0; n < count && !broken(); ++n) {
    scope.set_position(n);
    import_node(scope, nodes[n]);
  }
  scope.set_position(count);
}

namespace {
constexpr std::string_view kAutocast = "torch.ops.higher_order.wrap_with_autocast";

// Returns whether a region is wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, operands...) with
// `enabled`. Its nodes then convert their operands, which the file does not show.
bool converts_operands(std::string_view target, JsonView inputs) {
  if (target != kAutocast) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto [kind, value] = inputs[i]["arg"].alternative();
    if (kind == "as_bool") return value.boolean();
  }
  return true;
}
}  // namespace

void Importer::import_node(Scope& scope, JsonView json) {
  const std::string_view name = json["target"].text();
  Target target = target_of_name(name);
  if (target.kind == TargetKind::kRegion && converts_operands(name, json["inputs"]))
    target = {.reason = "it converts operands to another type"};
  if (target.kind == TargetKind::kSymbolic || target.kind == TargetKind::kAssertion) return;
  if (target.kind == TargetKind::kNumberOfData)
    return note(fmt::format("{} reads a number from the data: checks of it are left out", name_of_node(json)));
  ir::Node node{
      .op = target.op, .name = name_of_node(json), .inputs = {}, .outputs = {}, .attributes = {}, .source = {}};
  program_.errors().context = fmt::format("node {}", node.name);
  if (const JsonView trace = json["metadata"].optional("stack_trace")) node.source = source_line(trace.text());
  if (target.kind != TargetKind::kRegion) {
    node_ = nodes_.size();
    node.origin = ir::NodeId(*node_);
    const bool known = target.kind != TargetKind::kUnknown;
    const JsonView stack = json["metadata"].optional("nn_module_stack");
    nodes_.push_back({.name = node.name,
                      .op = known ? std::string(node.op.name()) : op_text(name),
                      .source = node.source,
                      .modules = stack ? module_stack(stack.text()) : std::vector<ir::UserModule>()});
  }
  const size_t problems = problems_.size();
  const size_t nodes = graph_.nodes.size();
  const ir::Node stands_for{.op = AtenOp::executorch_call_delegate_default,
                            .name = node.name,
                            .inputs = {},
                            .outputs = {},
                            .attributes = {{"delegate", int64_t{-1}}},
                            .source = node.source,
                            .origin = node.origin};
  import_listed_node(scope, json, target, std::move(node));
  const bool unknown = node_ && problems_.size() > problems;
  if (options_.keep_unknown && unknown) {
    const bool is_one_node = target.kind == TargetKind::kOperator || target.kind == TargetKind::kInPlace;
    if (is_one_node && graph_.nodes.size() > nodes) graph_.nodes.pop_back();  // known, but for a type of its tensors
    keep_unknown(scope, json, stands_for, problems);
  }
  node_.reset();
}

// Keeps a node that cannot be read as a call of an unknown delegate, with the same operands and results. The node's
// problems are recorded.
void Importer::keep_unknown(const Scope& scope, JsonView json, ir::Node node, size_t first_problem) {
  std::move(problems_.begin() + static_cast<std::ptrdiff_t>(first_problem), problems_.end(),
            std::back_inserter(unknown_));
  problems_.resize(first_problem);
  const auto add = [&scope](std::vector<ir::ValueId>& to, JsonView argument) {
    for (const ir::ValueId id : scope.tensors_of(argument)) to.push_back(id);
  };
  for (size_t i = 0; i < json["inputs"].size(); ++i) add(node.inputs, json["inputs"][i]["arg"]);
  for (size_t i = 0; i < json["outputs"].size(); ++i) add(node.outputs, json["outputs"][i]);
  graph_.add_node(std::move(node));
}
namespace {
// Returns how to replace an unsupported operator, such as "torch.ops.aten.clip.default", by supported ones.
std::string remedy_for(std::string_view target) {
  if (target == kAutocast) return "export the model without torch.autocast";
  constexpr std::string_view kOps = "torch.ops.";
  return std::string(remedy_without(target.starts_with(kOps) ? target.substr(kOps.size()) : target));
}
}  // namespace

void Importer::import_listed_node(Scope& scope, JsonView json, const Target& target, ir::Node node) {
  switch (target.kind) {
    case TargetKind::kOperator:
      return import_operator(scope, json, false, std::move(node));
    case TargetKind::kInPlace:
      return import_operator(scope, json, true, std::move(node));
    case TargetKind::kRegion:
      return import_region(scope, json, where_of(node));
    case TargetKind::kChoice:
      return import_choice(scope, json, node);
    case TargetKind::kLoop:
      return import_loop(scope, json, node);
    case TargetKind::kSequence:
      return import_sequence(scope, json, node);
    case TargetKind::kSymbolic:
    case TargetKind::kNumberOfData:
    case TargetKind::kAssertion:
      return;
    case TargetKind::kUnknown:
      break;
  }
  reject_operator(scope, json, node, target.reason, remedy_for(json["target"].text()));
}

void Importer::reject_operator(Scope& scope, JsonView json, const ir::Node& node, std::string_view reason,
                               std::string hint) {
  reject({.where = where_of(node),
          .what = fmt::format("the operator {} is not supported{}{}", json["target"].text(), reason.empty() ? "" : ": ",
                              reason),
          .hint = std::move(hint)});
  // The results get values nevertheless, so that the nodes after it can be checked.
  for (const NamedValue& result : add_results(scope, json["outputs"], where_of(node)))
    aliases_.bind(scope, result.name, result.value);
}

void Importer::import_operator(Scope& scope, JsonView json, bool in_place, ir::Node node) {
  const std::string where = where_of(node);
  const std::vector<NamedValue> results = add_results(scope, json["outputs"], where);
  const DType result_dtype =
      results.empty() || !results.front().value.valid() ? DType::kFp32 : graph_[results.front().value].dtype;
  Result<void> arguments = read_arguments(json["inputs"], graph_, scope, symbols_, result_dtype, where, node);
  if (!arguments && !broken()) reject(std::move(arguments).error());
  if (arguments) {
    for (const NamedValue& result : results) node.outputs.push_back(result.value);
    if (Result<void> added = add_operator(std::move(node), in_place, where); !added) reject(std::move(added).error());
  }
  for (const NamedValue& result : results) {
    if (result.value.valid() && !result.name.empty()) aliases_.bind(scope, result.name, result.value);
  }
}

// Adds a node that is sound. A node of which an operand or a result could not be read is left out; the error about that
// value is recorded.
Result<void> Importer::add_operator(ir::Node node, bool in_place, const std::string& where) {
  const auto is_used = [](ir::ValueId id) { return id.valid(); };
  if (std::ranges::none_of(node.outputs, is_used)) return {};  // the program describes no result of it
  const auto is_unreadable = [this](ir::ValueId id) { return id.valid() && unreadable_.contains(id); };
  if (std::ranges::any_of(node.outputs, is_unreadable)) return {};
  if (std::ranges::any_of(node.inputs, is_unreadable)) {
    if (!options_.keep_unknown) return {};
    return fail({.where = where, .what = fmt::format("{} reads a tensor that is not supported", node.op.name())});
  }
  CARINA_CHECKED(aten::verify_node(graph_, node, where));
  if (in_place && (node.inputs.empty() || !node.inputs.front().valid()))
    return fail({.where = where, .what = fmt::format("{} in place has no operand", node.op.name())});
  if (in_place && !gives_view(node) && node.outputs.front().valid() &&
      graph_[node.outputs.front()].shape != graph_[node.inputs.front()].shape) {
    return fail({.where = where,
                 .what = fmt::format("{} in place cannot change a shape", node.op.name()),
                 .expected = to_string(graph_[node.inputs.front()].shape),
                 .got = to_string(graph_[node.outputs.front()].shape)});
  }
  // Passes read the type of the first result, also if only others are used.
  if (!node.outputs.front().valid()) {
    const auto first = aten::result_of(graph_, node, 0);
    if (!first) return fail({.where = where, .what = fmt::format("the program does not describe {}", node.name)});
    node.outputs.front() = graph_.add_value(node.name + "_unused", first->dtype, first->shape);
  }
  return track_memory(graph_.add_node(std::move(node)), in_place, where);
}

// Checks all nodes, among them those that the importer made: for writes to views, for regions and for sequences.
void Importer::verify_nodes() {
  for (const ir::Node& node : graph_.nodes) {
    if (Result<void> sound = aten::verify_node(graph_, node, where_of(node)); !sound) reject(std::move(sound).error());
  }
}

Result<void> Importer::track_memory(ir::NodeId id, bool in_place, const std::string& where) {
  const ir::Node node = graph_[id];
  if (node.inputs.empty() || !node.inputs.front().valid() || node.outputs.empty() || !node.outputs.front().valid())
    return {};
  const ir::ValueId operand = node.inputs.front();
  const bool view = gives_view(node);
  if (view) {
    for (const ir::ValueId output : node.outputs) {
      if (output.valid() && graph_[output].dtype == graph_[operand].dtype) aliases_.add_view(output, id);
    }
    if (in_place) aliases_.rename(operand, node.outputs.front());
  } else if (in_place) {
    overwritten_.insert(graph_[aliases_.origin(operand)].name);
    return aliases_.overwrite(operand, node.outputs.front(), where);
  }
  return {};
}

std::vector<Importer::NamedValue> Importer::add_results(const Scope& scope, JsonView outputs,
                                                        const std::string& where) {
  std::vector<NamedValue> results;
  const auto add = [&](std::string_view name) {
    results.push_back({.name = name, .value = add_result(scope, name, where)});
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto [kind, value] = outputs[i].alternative();
    if (kind == "as_tensor") {
      add(value["name"].text());
    } else if (kind == "as_tensors") {
      for (size_t k = 0; k < value.size(); ++k) add(value[k]["name"].text());
    } else {
      results.push_back({});
    }
  }
  return results;
}

// A result that the program does not describe is unused and gets no value.
ir::ValueId Importer::add_result(const Scope& scope, std::string_view name, const std::string& where) {
  const JsonView json = scope.graph()["tensor_values"].optional(name);
  if (!json) return {};
  const Result<TensorMeta> meta = read_tensor_meta(json, symbols_, where);
  if (!meta) {
    if (!broken()) reject(meta.error());
    return add_unreadable(name);
  }
  return graph_.add_value(name, meta->dtype, meta->shape);
}

// Returns a placeholder. The nodes that read it are left out, so that no follow-up errors are reported.
ir::ValueId Importer::add_unreadable(std::string_view name) {
  const ir::ValueId id = graph_.add_value(name, DType::kFp32, Shape{});
  unreadable_.insert(id);
  return id;
}

}  // namespace carina::pt2
