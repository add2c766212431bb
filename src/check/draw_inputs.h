#pragma once

#include <optional>
#include <vector>

#include "carina/tensor.h"
#include "ir/graph.h"

namespace carina::check {

// The samples that a check draws. Both have the extremes of the type and values that are equal.
inline constexpr int kSamples = 2;

// How wide the drawn values are. Some graphs define no result for some values, as indices beyond a table. Each range is
// tried if the one before it has no result.
enum class Spread { kWhole, kHalfOfBits, kSmall, kZero };
inline constexpr Spread kSpreads[] = {Spread::kWhole, Spread::kHalfOfBits, Spread::kSmall, Spread::kZero};

// Draws the inputs of a TOSA graph: the same for the same graph, sample and spread. Indices of GATHER and SCATTER are
// legal ones. Returns nothing if an input has a type for which no values can be drawn.
std::optional<std::vector<Tensor>> draw_inputs(const ir::Graph& tosa, int sample, Spread spread);

}  // namespace carina::check
