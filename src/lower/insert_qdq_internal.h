#pragma once

#include <vector>

#include "lower/lowering_internal.h"

namespace carina::lower {

// Whether a node has quantized tensors and floats.
bool mixes_floats_and_integers(const ir::Graph& annotated, const ir::Node& node);

// Whether a node of a target that takes floats, whose types have been checked, computes on floats, and what is quantized is
// read and written as the floats that the integers stand for: it mixes both, or the target has no integer form of it.
bool computes_in_float(const Candidate& node);

struct QdqGraph {
  ir::Graph graph;
  std::vector<ir::NodeId> node_of;  // per node of `graph` the one of the given graph that it stands for
};

// A graph in which floats and integers meet in Q/DQ nodes only: quantize_per_tensor and dequantize_per_tensor around
// each node that computes on floats; quantized constants of such a node become floats. Values keep their ids.
QdqGraph insert_qdq(const ir::Graph& annotated, const Target& target);

bool is_qdq(const ir::Node& node);

// Integers to floats and back as PyTorch's quantized_decomposed does it: x * (1 / scale), to the nearest, ties to even,
// plus the zero point, within the limits; and (q - zero point) * scale. The parameters are those of the values.
ir::ValueId lower_qdq(Lowering& in, const ir::Node& node);

}  // namespace carina::lower
