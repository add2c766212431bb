#pragma once

#include <vector>

#include "lower/lowering_internal.h"

namespace carina::lower {

// Returns whether a node has both quantized and float tensors.
bool mixes_floats_and_integers(const ir::Graph& annotated, const ir::Node& node);

// Returns whether a node computes in float between dequantize and quantize nodes: because it mixes quantized tensors
// and floats, or because the target has no integer form of it. The target must support floats, and the types must have
// been checked.
bool computes_in_float(const Candidate& node);

struct QdqGraph {
  ir::Graph graph;
  std::vector<ir::NodeId> node_of;  // for each node of `graph`, the node of the given graph that it belongs to
};

// Returns a graph in which integers and floats meet only in Q/DQ nodes: quantize_per_tensor and dequantize_per_tensor
// are inserted around each node that computes on floats; quantized constants of such a node become floats. Values keep
// their ids.
QdqGraph insert_qdq(const ir::Graph& annotated, const Target& target);

bool is_qdq(const ir::Node& node);

// Lowers a Q/DQ node with the arithmetic of PyTorch's quantized_decomposed. Quantize: x * (1 / scale), rounded to
// nearest even, plus the zero point, clamped to the limits. Dequantize: (q - zero point) * scale. The parameters are
// those of the values.
ir::ValueId lower_qdq(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
