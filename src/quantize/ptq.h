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

// What quantizing has seen of a model beside its ranges.
struct PtqFindings {
  std::vector<std::string> beyond_int32;  // names of values of int64 that the samples show beyond int32
};

struct PtqOptions {
  int threads = 1;
  Scheme scheme;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not have; none: such nodes are errors
  std::string data = "calibration";          // what messages call the samples
  std::vector<UserNode> user_nodes = {};     // of the user's model, for overrides that name these
};

// Post-training quantization of a prepared float graph (normalize::prepare): sets Value::quantization as the scheme says.
// Activations are quantized per tensor, weights symmetrically, biases with the scale input * weight. Which values get
// parameters of their own and which share them follows the Arm quantizer of PT2E (docs/facts/arm_backend.md 4).
// Ranges come from running the float graph on `samples`; each sample is one tensor per graph input. Nodes that only the
// CPU's kernels run stay float. Inputs and outputs that never change are warned of. Errors: no samples, samples that do
// not fit, values that are not finite, a model that does not compute in fp32, nodes that nobody can run (all of them),
// schemes that are not supported.
Result<PtqFindings> quantize(ir::Graph& aten, const datasets::DataSet& samples, const PtqOptions& options,
                             const Log& log);

}  // namespace carina::quantize
