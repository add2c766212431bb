#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

// Attention masks that are large negative numbers, as -10000, -1e9 or the lowest float16, instead of -infinity.
namespace carina::quantize {

// Elements from this number down are masks in scores of a softmax: no trained network computes with such scores, and
// exp() of the difference to any other is 0 in float32 already.
inline constexpr float kMaskedScore = -1000;

// What a mask counts as in scores of this shape: kHidden below the smallest of the rows' largest visible scores, so
// that no row gives its hidden elements a weight. Rows are along the last axis; those without a visible score do not
// count.
float masked_score(std::span<const float> scores, const Shape& shape);

// exp(-12) is 6e-6: 64 hidden elements take less than a step of int8 together.
inline constexpr float kHidden = 12;

// Returns for each value whether it only tells a softmax what to choose: all of its readers are a softmax, a
// comparison, or move it or add it to what is such scores again. Softmax is in its decomposed form.
//   Example: m = where(seen, 0, -1e9); s = q @ k + m; exp(s - amax(s)) ...
//   s and m are scores, and so are s - amax(s), and q @ k, whose elements are no masks; with a second reader, m is not
std::vector<bool> softmax_scores(const ir::Graph& graph);

}  // namespace carina::quantize
