#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "api/frameworks.h"
#include "carina/api.h"
#include "keyword_options.h"
#include "listeners.h"
#include "module.h"
#include "values.h"

// Graphs, annotations and assignments as Python tuples: what torchao's quantizer and the partitioner of ExecuTorch ask.
namespace carina::python {

using namespace nb::literals;

namespace {

const char* name_of(quantize::OperandRole role) {
  switch (role) {
    case quantize::OperandRole::kActivation:
      return "activation";
    case quantize::OperandRole::kWeight:
      return "weight";
    case quantize::OperandRole::kBias:
      return "bias";
  }
  CARINA_UNREACHABLE("role", static_cast<int>(role));
}

void bind_annotations(nb::module_& module) {
  nb::class_<quantize::AnnotatedValue>(module, "AnnotatedValue", "A tensor between nodes of the model.")
      .def_ro("name", &quantize::AnnotatedValue::name)
      .def_ro("quantized", &quantize::AnnotatedValue::quantized, "Whether the value is to be observed and quantized.")
      .def_ro("group", &quantize::AnnotatedValue::group, "Values of a group share their parameters.")
      .def_ro("scheme", &quantize::AnnotatedValue::scheme, "The number of the scheme of its group.");
  nb::class_<quantize::AnnotatedOperand>(module, "AnnotatedOperand", "An operand that is quantized.")
      .def_ro("value", &quantize::AnnotatedOperand::value, "Index in Annotations.values.")
      .def_prop_ro(
          "role", [](const quantize::AnnotatedOperand& operand) { return name_of(operand.role); },
          "\"activation\", \"weight\" or \"bias\".")
      .def_ro("axis", &quantize::AnnotatedOperand::axis,
              "The axis of the channels of weights and biases. None: one scale for all.")
      .def_ro("end_int8", &quantize::AnnotatedOperand::end_int8,
              "A fixed range, from -end to end. None: the observed range.")
      .def_ro("end_int16", &quantize::AnnotatedOperand::end_int16);
  nb::class_<quantize::AnnotatedNode>(module, "AnnotatedNode", "A node that computes with integers.")
      .def_ro("name", &quantize::AnnotatedNode::name)
      .def_ro("scheme", &quantize::AnnotatedNode::scheme)
      .def_ro("operands", &quantize::AnnotatedNode::operands)
      .def_ro("results", &quantize::AnnotatedNode::results, "Indices in Annotations.values.");
  nb::class_<quantize::Annotations>(
      module, "Annotations",
      "Annotations for a quantizer: values, operands and nodes of a model. annotate() returns one.")
      .def_ro("values", &quantize::Annotations::values)
      .def_ro("nodes", &quantize::Annotations::nodes);
  module.attr("LEFT_FLOAT") = quantize::kLeftFloat;
}

nb::object object_of(const ir::Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> nb::object {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate> || std::is_same_v<Value, ir::Bytes>) {
          return nb::none();
        } else if constexpr (std::is_same_v<Value, DType>) {
          return nb::cast(std::string(numpy_name(value)));
        } else {
          return nb::cast(value);
        }
      },
      attribute);
}

// (operator, operands, attributes, results). Values are indices; -1: no operand.
nb::tuple tuple_of(const ir::Node& node) {
  nb::list operands, results;
  for (const ir::ValueId id : node.inputs) operands.append(id.valid() ? static_cast<int64_t>(id.index()) : -1);
  for (const ir::ValueId id : node.outputs) results.append(id.valid() ? static_cast<int64_t>(id.index()) : -1);
  nb::dict attributes;
  for (const auto& [name, value] : node.attributes.list()) attributes[name.c_str()] = object_of(value);
  return nb::make_tuple(std::string(node.op.name()), operands, attributes, results);
}

std::vector<size_t> indices_of(const std::vector<ir::ValueId>& ids) {
  std::vector<size_t> indices;
  for (const ir::ValueId id : ids) indices.push_back(id.index());
  return indices;
}

void bind_expansions(nb::module_& module) {
  nb::class_<quantize::Expansion>(module, "Expansion", "A node, as the simpler nodes that replace it.")
      .def_ro("node", &quantize::Expansion::node)
      .def_prop_ro(
          "values",
          [](const quantize::Expansion& expansion) {
            std::vector<std::string> names;
            for (const ir::Value& value : expansion.graph.values) names.push_back(value.name);
            return names;
          },
          "Names of values. Operands have the names of the user's model.")
      .def_prop_ro(
          "inputs", [](const quantize::Expansion& expansion) { return indices_of(expansion.graph.inputs); },
          "Indices of values.")
      .def_prop_ro("outputs", [](const quantize::Expansion& expansion) { return indices_of(expansion.graph.outputs); })
      .def_prop_ro(
          "constants",
          [](const quantize::Expansion& expansion) {
            nb::dict constants;
            for (size_t v = 0; v < expansion.graph.values.size(); ++v) {
              if (expansion.graph.values[v].constant)
                constants[nb::int_(v)] = array_of(*expansion.graph.values[v].constant);
            }
            return constants;
          },
          nb::sig("def constants(self) -> dict[int, NDArray[Any]]"), "Arrays by the index of the value.")
      .def_prop_ro(
          "nodes",
          [](const quantize::Expansion& expansion) {
            nb::list nodes;
            for (const ir::Node& node : expansion.graph.nodes) nodes.append(tuple_of(node));
            return nodes;
          },
          nb::sig("def nodes(self) -> list[tuple[str, list[int], dict[str, object], list[int]]]"),
          "For each node in order: operator, operands, attributes, results. Values are indices; -1 is an absent "
          "operand.");
}

void bind_assignments(nb::module_& module) {
  nb::class_<driver::NodeAssignment>(
      module, "NodeAssignment", "The delegate of a node of the user's graph, or the reason why it stays on the CPU.")
      .def_ro("name", &driver::NodeAssignment::name)
      .def_ro("op", &driver::NodeAssignment::op, "\"aten.conv2d.default\"")
      .def_ro("source", &driver::NodeAssignment::source, "\"model.py:41\"; may be empty.")
      .def_ro("delegate", &driver::NodeAssignment::delegate, "Its number; -1: the CPU.")
      .def_ro("reason", &driver::NodeAssignment::reason, "Why the node is in no delegate; may be empty.")
      .def_ro("hint", &driver::NodeAssignment::hint);
}

}  // namespace

void bind_graphs(nb::module_& module) {
  bind_annotations(module);
  bind_expansions(module);
  bind_assignments(module);
  module.def(
      "annotate",
      [](const nb::bytes& pt2, const std::string& name, int general, std::map<std::string, int> of_node,
         const std::vector<int>& apart, bool quantized_ends, NoteListener note) {
        const Buffer file = buffer_of(pt2);
        const quantize::NodeSchemes schemes{.general = general,
                                            .of_node = std::move(of_node),
                                            .apart = std::set<int>(apart.begin(), apart.end()),
                                            .quantized_ends = quantized_ends};
        return call({std::move(note), {}}, [&](const Log& log) { return api::annotate(file, name, schemes, log); });
      },
      "pt2"_a, "name"_a, nb::kw_only(), "general"_a = 0, "of_node"_a = std::map<std::string, int>(),
      "apart"_a = std::vector<int>(), "quantized_ends"_a = false, "note"_a.none() = nb::none(),
      "Annotates a float model for the quantizer of a framework. Schemes are numbers that the caller chooses. "
      "`of_node`: "
      "schemes of single nodes, by name; LEFT_FLOAT keeps a node float. `apart`: schemes without zero points, whose "
      "values before an activation have parameters of their own. `quantized_ends`: inputs and outputs are integers.");
  module.def(
      "expand",
      [](const nb::bytes& pt2, const std::string& name, int general, std::map<std::string, int> of_node,
         NoteListener note) {
        const Buffer file = buffer_of(pt2);
        const quantize::NodeSchemes schemes{.general = general, .of_node = std::move(of_node)};
        return call({std::move(note), {}}, [&](const Log& log) { return api::expand(file, name, schemes, log); });
      },
      "pt2"_a, "name"_a, nb::kw_only(), "general"_a = 0, "of_node"_a = std::map<std::string, int>(),
      "note"_a.none() = nb::none(),
      "Returns the nodes of a float model that have to be expanded before annotate(), which takes the same arguments.");
  module.def(
      "map_delegates",
      [](const nb::bytes& pt2, const std::string& name, const api::TargetNames& target, NoteListener note,
         ProgressListener progress, const nb::kwargs& named) {
        const Buffer file = buffer_of(pt2);
        api::CompileOptions options;
        set_options<options::PartitionOptions>(options.partition, named);
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return api::map_delegates(file, name, target, options, log); });
      },
      "pt2"_a, "name"_a, "target"_a, nb::kw_only(), CARINA_LISTENERS, "options"_a,
      nb::sig(signature_with_options<options::PartitionOptions>(
                  "def map_delegates(pt2: bytes, name: str, target: Target, *, ", "list[NodeAssignment]")
                  .c_str()),
      help_with_options<options::PartitionOptions>("Assigns the nodes of a model to delegates.").c_str());
  nb::class_<api::TargetMemories>(module, "TargetMemories", "The memories of an Ethos-U target.")
      .def_ro("system_config", &api::TargetMemories::system_config)
      .def_ro("memory_mode", &api::TargetMemories::memory_mode)
      .def_ro("clock_hz", &api::TargetMemories::clock_hz, "0: unknown.")
      .def_ro("arena_memory", &api::TargetMemories::arena_memory, "The memory of the arena: \"SRAM\".")
      .def_ro("constants_memory", &api::TargetMemories::constants_memory, "The memory of the constants: \"flash\".");
  module.def(
      "memories_of",
      [](const api::TargetNames& target) {
        return call({}, [&](const Log& log) { return api::memories_of(target, log); });
      },
      "target"_a, "Returns the memories of an Ethos-U target.");
  nb::class_<api::TosaOperator>(module, "TosaOperator",
                                "An operator of a TOSA graph, and the node from which it was lowered.")
      .def_ro("op", &api::TosaOperator::op, "\"CONV2D\"")
      .def_ro("result", &api::TosaOperator::result, "The name of its first result.")
      .def_ro("node", &api::TosaOperator::node, "The user's node from which it was lowered; empty: none.");
  nb::class_<api::TracedTosa>(module, "TracedTosa", "A TOSA graph and the origins of its operators.")
      .def_prop_ro("tosa", [](const api::TracedTosa& traced) { return bytes_of(traced.tosa); })
      .def_ro("operators", &api::TracedTosa::operators, "In the order of the file, without constants.");
  module.def(
      "to_traced_tosa",
      [](const api::Model& model, const api::TargetNames& target, const std::map<std::string, std::string>& locations,
         NoteListener note, ProgressListener progress) {
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return api::to_traced_tosa(model, target, locations, log); });
      },
      "model"_a, "target"_a, nb::kw_only(), "locations"_a = std::map<std::string, std::string>(), CARINA_LISTENERS,
      "Like to_tosa(), with the origin of each operator. `locations`: texts by names of the user's nodes, which the "
      "file "
      "has as locations of the operators lowered from them.");
}

}  // namespace carina::python
