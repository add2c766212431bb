#pragma once

#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"
#include "quantize/scheme.h"

namespace carina::quantize {

// The findings of quantization about a model, apart from its ranges.
struct PtqFindings {
  std::vector<std::string> beyond_int32;  // names of int64 values that exceed int32 in a sample
};

struct PtqOptions {
  int threads = 1;
  Scheme scheme;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support; nullptr: such nodes are
                                             // errors
  std::string data = "calibration";          // the samples' name in messages
  std::vector<UserNode> user_nodes = {};     // nodes of the user's model, for overrides that name them
};

// Post-training quantization of a prepared float graph (normalize::prepare): sets Value::quantization by the scheme.
// Activations are quantized per tensor, weights symmetrically, and biases with the scale input * weight. As in the Arm
// quantizer of PT2E, some values share parameters (docs/facts/arm_backend.md 4). The float graph runs on `samples` to
// find the ranges; each sample has one tensor per graph input. Nodes that only the CPU's kernels support stay float. A
// warning names inputs and outputs that never change. Errors: no samples; samples that do not match the inputs; values
// that are not finite; a model that does not compute in fp32; all unsupported nodes; unsupported schemes.
Result<PtqFindings> quantize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options,
                             const Log& log);

}  // namespace carina::quantize
