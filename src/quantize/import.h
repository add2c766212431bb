#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::quantize {

// Folds the quantize_per_tensor / quantize_per_channel and dequantize nodes of a model that convert_pt2e made into
// Value::quantization, exactly: what a value stands for after the fold is what the dequantize node gave.
// - integers -> dequantize: a constant that keeps its integers and has their parameters;
// - x -> quantize -> dequantize: x itself gets the parameters, when nobody reads its unquantized form;
// - the same where x is quantized otherwise, or is read as a float as well: an aten.clone whose result has the
// parameters
//   (between two quantized values it is the requantization);
// - graph inputs and outputs stay logically float.
// Integers that somebody else reads (an integer graph output, integer arithmetic) keep their quantize or dequantize
// node. Errors: parameters that are not possible, all of them at once. Source: quantized_decomposed of PyTorch.
Result<void> fold_imported(ir::Graph& aten, const Log& log);
// Folds the first case only, for weights and biases, also after views. Then the normalization (normalize/prepare.h)
// treats them as constants.
Result<void> fold_imported_weights(ir::Graph& aten);

}  // namespace carina::quantize
