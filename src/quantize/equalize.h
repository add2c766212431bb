#pragma once

#include "ir/graph.h"

namespace carina::quantize {

// Shares out the magnitudes of channels between the weights that make them and those that read them, for layers that
// follow one another with nothing but a ReLU between: row c of the first is divided by a number, column c of the second is
// multiplied by it, so that the largest of both are equal. What the float graph computes stays the same but for rounding.
// Only weights that nobody else reads are changed. Source: Nagel et al., Data-Free Quantization Through Weight
// Equalization and Bias Correction, 2019.
void equalize_layers(ir::Graph& graph);

}  // namespace carina::quantize
