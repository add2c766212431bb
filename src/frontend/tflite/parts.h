// Cuts a graph into parts that run one after another, each on the NPU or on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontend/tflite/model.h"

namespace carina::tflite {

// The most variable tensors that a part on the NPU may have. TFLM's kernel gives a stream the addresses of eight
// tensors, of which constants, scratch and fast scratch are three.
inline constexpr size_t kMaxVariables = 5;

// Operators that run together. `inputs` and `outputs` are the tensors that cross the part's border, without constants.
// Variable tensors of a part on the NPU are its first inputs and its last outputs: it gives them their next value.
struct Part {
  bool on_npu = false;
  std::vector<size_t> operators;  // indices in the graph, in an order of evaluation
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<int32_t> variables = {};  // of a part on the NPU
  bool operator==(const Part&) const = default;
};

// Cuts a graph. Each part has all operators of its kind that can run when it begins, so there are few parts. Operators
// that read or write variables keep their order. `on_npu` has an entry per operator.
//   Example: QUANTIZE (CPU), CONV_2D, RELU, DEQUANTIZE (CPU) become 3 parts; the second one is {CONV_2D, RELU}
std::vector<Part> split_operators(const Subgraph& graph, const std::vector<bool>& on_npu);

// A part of these operators.
Part part_of(const Subgraph& graph, std::vector<size_t> operators, bool on_npu);

// The model of one part, whose subgraph has all tensors of `graph`.
Model model_of(const Subgraph& graph, const Part& part);

}  // namespace carina::tflite
