#pragma once

#include <span>
#include <vector>

#include "carina/tensor.h"
#include "ir/graph.h"
#include "quantize/layer_statistics_internal.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Quantizes weights [O, terms] so that the rounding of each weight compensates the errors of the previous ones in the
// layer's output (GPTQ). It replaces the scales of `q` by better ones, if it finds any. `q` has scales along axis 0, or
// one scale. `statistics` must have products. `max_scales`: how many scales are tried for a channel at most; the time
// grows with it. Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for
// Generative Pre-trained Transformers", ICLR 2023, algorithm 1, as Babai's nearest plane.
inline constexpr size_t kManyScales = 128;
Tensor rounded_for_inputs(const Tensor& weight, Quantization& q, const LayerStatistics& statistics,
                          size_t max_scales = kManyScales);

// Rounds the weights of one channel as the lowering does, to steps of `scale` within the limits of `q`.
void round_channel(std::span<const float> floats, double scale, const Quantization& q, std::span<float> steps);

// Returns the mean error of each output channel that the rounding of weights causes. `weight` holds the rounded
// weights, or the floats with the parameters by which they will be rounded.
std::vector<double> mean_errors(const Tensor& floats, const ir::Value& weight, const LayerStatistics& statistics);

// Returns whether the statistics match weights of this shape: [O, terms of each group].
bool fits(const LayerStatistics& statistics, const Shape& weight);

}  // namespace carina::quantize
