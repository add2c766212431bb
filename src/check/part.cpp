#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "check/draw_inputs.h"
#include "check/part_internal.h"

// What a quick check runs. A check costs a run of each sample on the interpreter and on the simulator: mostly
// multiply-accumulates, and once what both do with weights. A compilation costs mostly what its weights do: encoding
// and search; and, of a float model, calibration. So a network with few weights and large images is checked with one
// sample, or only its first operators are.
//   Example: 3x3 convolutions of 512x512x32. Each has 9,216 weights, which take 0.4 ms to compile, and 2.4 G
//   multiply-accumulates for each sample and engine. Only the first ones are checked.
// The network is cut between two nodes where all values that later nodes read are in memory as TOSA defines them.
namespace carina::check {

namespace {

// Work in nanoseconds of one core, measured on the networks of `make bench`. Only the ratio of a check to a compilation
// matters.
constexpr double kPerMac = 0.025;           // of one sample, both engines
constexpr double kPerFloatMac = 0.2;        // likewise
constexpr double kPerElement = 0.25;        // likewise, of an operand or a result
constexpr double kPerWeight = 5.5;          // decoded and packed once
constexpr double kPerNode = 8'000;          // planning of the interpreter, and operations of both engines
constexpr double kCompileOnce = 4'000'000;  // starting, reading, packaging
constexpr double kCompilePerNode = 30'000;
constexpr double kCompilePerLayer = 250'000;  // a node with weights: its blocks, and how its weights are divided
constexpr double kCompilePerWeight = 16;      // encoding
constexpr double kWritePerNode = 30'000;
constexpr double kWritePerWeight = 5;
constexpr double kImportPerNode = 30'000;
constexpr double kImportPerWeight = 8;
constexpr double kCalibratePerMac = 0.05;  // of one sample
constexpr double kShare = 0.17;            // so that it is at most a fifth on machines that differ

// The weights of a quick check. Each engine has a copy of them, beside those of the planner.
constexpr int64_t kMaxWeights = int64_t{1} << 25;

int64_t elements(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() && graph[id].dtype != DType::kShape ? graph[id].shape.elements() : 0;
}

int64_t weights_of(const ir::Graph& graph, const ir::Node& node) {
  int64_t count = 0;
  for (const ir::ValueId id : node.inputs) {
    if (id.valid() && graph[id].constant) count += elements(graph, id);
  }
  return count;
}

double macs_of(const ir::Graph& graph, const ir::Node& node) {
  const auto results = static_cast<double>(elements(graph, node.outputs.front()));
  const auto shape = [&](size_t input) -> const Shape& { return graph[node.inputs[input]].shape; };
  switch (node.op.tosa()) {
    case TosaOp::CONV2D:
    case TosaOp::CONV3D:
    case TosaOp::TRANSPOSE_CONV2D:
      return results * static_cast<double>(shape(1).elements()) /
             static_cast<double>(std::max<int64_t>(1, shape(1)[0]));
    case TosaOp::DEPTHWISE_CONV2D:
      return results * static_cast<double>(shape(1)[0] * shape(1)[1]);
    case TosaOp::MATMUL:
      return results * static_cast<double>(shape(0)[2]);
    case TosaOp::AVG_POOL2D:
    case TosaOp::MAX_POOL2D: {
      const auto& kernel = node.attributes.integers("kernel");
      return results * static_cast<double>(kernel[0] * kernel[1]);
    }
    default:
      return 0;
  }
}

double check_work(const ir::Graph& graph, const ir::Node& node, int samples) {
  int64_t moved = 0;
  for (const auto& list : {node.inputs, node.outputs}) {
    for (const ir::ValueId id : list) moved += id.valid() && !graph[id].constant ? elements(graph, id) : 0;
  }
  const double per_mac = is_float(graph[node.outputs.front()].dtype) ? kPerFloatMac : kPerMac;
  return kPerNode + kPerWeight * static_cast<double>(weights_of(graph, node)) +
         samples * (per_mac * macs_of(graph, node) + kPerElement * static_cast<double>(moved));
}

// The work of the front end, as far as it follows from the graph that came of it.
double front_end_work(const ir::Graph& graph, const FrontEnd& front_end) {
  if (!front_end.has_imported) return 0;
  double work = 0;
  for (const ir::Node& node : graph.nodes) {
    work += kImportPerNode + kImportPerWeight * static_cast<double>(weights_of(graph, node)) +
            kCalibratePerMac * static_cast<double>(front_end.samples) * macs_of(graph, node);
  }
  return work;
}

double compile_work(const ir::Graph& graph) {
  double work = kCompileOnce;
  for (const ir::Node& node : graph.nodes) {
    const auto weights = static_cast<double>(weights_of(graph, node));
    work += kCompilePerNode + (macs_of(graph, node) > 0 && weights > 0 ? kCompilePerLayer : 0) +
            kCompilePerWeight * weights;
  }
  return work;
}

// The work of writing a file with the graph, lowering included.
double write_work(const ir::Graph& graph) {
  double work = kCompileOnce + kWritePerNode * static_cast<double>(graph.nodes.size());
  for (const ir::Node& node : graph.nodes) work += kWritePerWeight * static_cast<double>(weights_of(graph, node));
  return work;
}

// The results of the first nodes that are outputs of the graph or that later nodes read.
std::vector<ir::ValueId> read_after(const ir::Graph& graph, size_t nodes) {
  std::vector<bool> is_read = ir::is_output(graph);
  for (size_t n = nodes; n < graph.nodes.size(); ++n) {
    for (const ir::ValueId id : graph.nodes[n].inputs) {
      if (id.valid()) is_read[id.index()] = true;
    }
  }
  std::vector<ir::ValueId> values;
  for (size_t n = 0; n < nodes; ++n) {
    for (const ir::ValueId id : graph.nodes[n].outputs) {
      if (is_read[id.index()]) values.push_back(id);
    }
  }
  return values;
}

// Where a network can be cut after its first nodes. What is asked of each value is found in one pass over the graph, so
// that many cuts can be tried.
class Cuts {
 public:
  Cuts(const ir::Graph& graph, const npu::CompiledNetwork& network)
      : graph_(graph),
        last_layer_(graph.nodes.size()),
        layers_(graph.nodes.size() + 1),
        read_until_(graph.values.size()),
        held_until_(graph.values.size()),
        notes_(graph.values.size()) {
    for (size_t l = 0; l < network.layers.size(); ++l) {
      if (const auto node = network.layers[l].node) last_layer_[*node] = l;
    }
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      layers_[n + 1] = std::max(layers_[n], last_layer_[n] ? *last_layer_[n] + 1 : 0);
    for (const npu::ValueNote& note : network.values) notes_[note.value] = &note;
    note_readers();
  }

  // The part of the first `nodes` nodes; nothing if a value that later nodes read is nowhere.
  [[nodiscard]] std::optional<Part> after(size_t nodes) const {
    Part part{.extent = {.nodes = nodes, .samples = 1}, .layers = layers_[nodes]};
    for (size_t n = nodes; n-- > 0;) {
      for (const ir::ValueId id : std::views::reverse(graph_.nodes[n].outputs)) {
        if (read_until_[id.index()] <= nodes) continue;
        const npu::ValueNote* note = notes_[id.index()];
        if (note == nullptr || note->layer >= part.layers || held_until_[id.index()] <= part.layers)
          return std::nullopt;
        part.results.push_back(*note);
      }
    }
    std::ranges::reverse(part.results);
    return part.results.empty() ? std::nullopt : std::optional(std::move(part));
  }

 private:
  // A node without layers is a view: its results' readers count.
  void note_readers() {
    constexpr size_t kAlways = std::numeric_limits<size_t>::max();
    for (const ir::ValueId id : graph_.outputs) read_until_[id.index()] = held_until_[id.index()] = kAlways;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const ir::Node& node = graph_.nodes[n];
      size_t held = last_layer_[n] ? *last_layer_[n] + 1 : 0;
      if (!last_layer_[n]) {
        for (const ir::ValueId id : node.outputs) held = std::max(held, held_until_[id.index()]);
      }
      for (const ir::ValueId id : node.inputs) {
        if (!id.valid()) continue;
        read_until_[id.index()] = std::max(read_until_[id.index()], n + 1);
        held_until_[id.index()] = std::max(held_until_[id.index()], held);
      }
    }
  }

  const ir::Graph& graph_;
  std::vector<std::optional<size_t>> last_layer_;  // by node
  std::vector<size_t> layers_;                     // of the first nodes, by their number
  std::vector<size_t> read_until_;                 // by value: one more than the last node that reads it
  std::vector<size_t> held_until_;                 // by value: one more than the last layer that reads its memory
  std::vector<const npu::ValueNote*> notes_;       // by value
};

// The number of first nodes whose check takes at most this work, and whose weights both engines can hold.
size_t nodes_within(const ir::Graph& graph, double work, int samples) {
  int64_t weights = 0;
  size_t nodes = 0;
  for (; nodes < graph.nodes.size(); ++nodes) {
    work -= check_work(graph, graph.nodes[nodes], samples);
    weights += weights_of(graph, graph.nodes[nodes]);
    if (work < 0 || weights > kMaxWeights) break;
  }
  return nodes;
}

// The most samples with which all nodes are checked within this work, otherwise one sample of the first nodes.
Extent extent_within(const ir::Graph& graph, double work) {
  Extent extent;
  for (extent.samples = kSamples; extent.samples > 0; --extent.samples) {
    extent.nodes = nodes_within(graph, work, extent.samples);
    if (extent.nodes == graph.nodes.size()) return extent;
  }
  extent.samples = 1;
  return extent;
}

}  // namespace

Part part_of(const ir::Graph& graph, const npu::CompiledNetwork& network, options::Check check,
             const FrontEnd& front_end) {
  const Extent whole{.nodes = graph.nodes.size(), .samples = kSamples};
  const Extent most = check == options::Check::kFull
                          ? whole
                          : extent_within(graph, kShare * (compile_work(graph) + front_end_work(graph, front_end)));
  if (most.nodes == whole.nodes) return {.extent = most, .layers = network.layers.size()};
  const Cuts cuts(graph, network);
  constexpr size_t kMaxAttempts = 256;  // each takes a pass over the first nodes
  for (size_t i = 0; i < std::min(most.nodes, kMaxAttempts); ++i) {
    if (auto part = cuts.after(most.nodes - i)) return *std::move(part);
  }
  return {};
}

Extent extent_of_file_check(const ir::Graph& graph, options::Check check, const FrontEnd& front_end) {
  if (check == options::Check::kFull) return {.nodes = graph.nodes.size(), .samples = kSamples};
  return extent_within(graph, kShare * (write_work(graph) + front_end_work(graph, front_end)));
}

ir::Graph first_nodes(const ir::Graph& graph, size_t nodes) {
  ir::Graph first = graph;
  first.nodes.erase(first.nodes.begin() + static_cast<std::ptrdiff_t>(nodes), first.nodes.end());
  first.outputs = read_after(graph, nodes);
  return first;
}

}  // namespace carina::check
