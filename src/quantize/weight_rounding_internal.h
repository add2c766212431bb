#pragma once

#include <vector>

#include "carina/tensor.h"
#include "ir/graph.h"
#include "quantize/layer_statistics_internal.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Weights [O, terms] as integers, one after the other, each rounded such that it makes up for the errors of those before
// it in what the layer gives (GPTQ); scales that serve better than q's take their places. Scales along axis 0, or one.
// `statistics` with products. Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative
// Pre-trained Transformers", ICLR 2023, algorithm 1, as Babai's nearest plane.
Tensor rounded_for_inputs(const Tensor& weight, Quantization& q, const LayerStatistics& statistics);

// What the rounding of weights adds to each output channel on average. `weight` holds the floats and how they will be
// rounded, or has been rounded already.
std::vector<double> mean_errors(const Tensor& floats, const ir::Value& weight, const LayerStatistics& statistics);

// Whether the statistics are those of weights of this shape: [O, terms of each group].
bool fits(const LayerStatistics& statistics, const Shape& weight);

}  // namespace carina::quantize
