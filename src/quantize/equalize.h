#pragma once

#include "ir/graph.h"

namespace carina::quantize {

// Balances the channel magnitudes of consecutive layers' weights. It applies to two layers with nothing but a ReLU
// between them: output channel c of the first is divided by a factor and input channel c of the second is multiplied by
// it, so that their largest magnitudes are equal. The float graph computes the same values except for rounding. Only
// weights with a single reader are changed. Source: Nagel et al., Data-Free Quantization Through Weight Equalization
// and Bias Correction, 2019.
void equalize_layers(ir::Graph& graph);

}  // namespace carina::quantize
