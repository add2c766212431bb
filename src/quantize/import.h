#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::quantize {

// Folds the quantize_per_tensor / quantize_per_channel and dequantize nodes that convert_pt2e inserted into
// Value::quantization. The fold is exact: a value represents the same numbers as the output of the dequantize node.
// - integers -> dequantize: the value becomes a constant with its integers and their parameters;
// - x -> quantize -> dequantize: x itself gets the parameters, if no node reads its unquantized form;
// - the same if x has other parameters, or is also read as a float: an aten.clone whose result has the parameters
//   (between two quantized values it is the requantization);
// - graph inputs and outputs stay logically float.
// Integers that other nodes read (an integer graph output, integer arithmetic) keep their quantize or dequantize node.
// Errors, all at once: invalid parameters. Source: quantized_decomposed of PyTorch.
Result<void> fold_imported(ir::Graph& aten, const Log& log);
// Folds only the first case, for weights, biases and divisors, also after views. The normalization
// (normalize/normalize.h) then treats them as constants.
Result<void> fold_imported_weights(ir::Graph& aten);

}  // namespace carina::quantize
