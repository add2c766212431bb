#pragma once

#include <vector>

#include "lower/lowering_internal.h"

namespace carina::lower {

// Whether a node has both quantized and float tensors.
bool mixes_floats_and_integers(const ir::Graph& annotated, const ir::Node& node);

// Whether a node computes on floats between dequantize and quantize nodes. The target must take floats, and the types
// must have been checked. It is so if the node mixes quantized tensors and floats, or if the target has no integer form
// of it.
bool computes_in_float(const Candidate& node);

struct QdqGraph {
  ir::Graph graph;
  std::vector<ir::NodeId> node_of;  // per node of `graph` the one of the given graph that it stands for
};

// Returns a graph in which integers and floats meet only in Q/DQ nodes: quantize_per_tensor and dequantize_per_tensor
// are inserted around each node that computes on floats; quantized constants of such a node become floats. Values keep
// their ids.
QdqGraph insert_qdq(const ir::Graph& annotated, const Target& target);

bool is_qdq(const ir::Node& node);

// Integers to floats and back as PyTorch's quantized_decomposed does it: x * (1 / scale), to the nearest, ties to even,
// plus the zero point, within the limits; and (q - zero point) * scale. The parameters are those of the values.
ir::ValueId lower_qdq(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
