#pragma once

#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/evaluator.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace carina::quantize {

// How an activation's range is chosen from what calibration saw.
enum class RangeChoice {
  kMinMax,     // all of it
  kHistogram,  // the part that gives the least mean square error
};

struct PtqOptions {
  int threads = 1;
  RangeChoice ranges = RangeChoice::kHistogram;
  double smallest_scale = 1.0 / 65536;       // eps of the Arm quantizer
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not have; none: such nodes are errors
};

// Post-training quantization to int8 of a prepared float graph (lower::prepare): sets Value::quantization. Activations
// are affine per tensor in [-128, 127], weights symmetric per output channel in [-127, 127], biases int32 of scale
// input * weight. Which values get parameters of their own and which share them follows the Arm quantizer of PT2E
// (docs/facts/arm_backend.md 4). Ranges come from running the lowered float graph in the interpreter on `samples`;
// each sample is one tensor per graph input. Nodes that only the CPU's kernels run stay float. Errors: no samples,
// samples that do not fit, values that are not finite, nodes that nobody can run (all of them).
Result<void> quantize(ir::Graph& aten, std::span<const std::vector<Tensor>> samples, const PtqOptions& options,
                      const Log& log);

}  // namespace carina::quantize
