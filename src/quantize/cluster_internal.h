#pragma once

#include "carina/tensor.h"
#include "tensor/quantization.h"

namespace carina::quantize {

// Returns weights [O, terms] in int8 with at most `clusters` different integers, those that give the least square error
// of all weights of the layer. `weights` are floats, or integers in the steps of `q`, which has scales along axis 0 or
// one scale. Few integers take few bits in the NPU's weight encoding.
//   Example: 2 clusters, one scale, the integers -90, -88, 3, 5, 5: -89 and 4 remain.
// The choice is exact: the integers in ascending order are divided into runs, by dynamic programming over the at most
// 255 integers of a layer, in O(clusters * 255^2). Source: Wang and Song, "Ckmeans.1d.dp", The R Journal 3 (2011).
Tensor clustered(const Tensor& weights, const Quantization& q, int clusters);

}  // namespace carina::quantize
