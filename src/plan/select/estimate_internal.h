#pragma once

#include <optional>

#include "plan/network/weight_facts.h"
#include "plan/select/emit_internal.h"

namespace carina::plan {

// The cycles of any operation beside its work. estimate(75): registers, filling of the pipeline.
inline constexpr double kCyclesOfStart = 75;

// The cycles of a step in its cheapest block. Feature maps use the arena's port; weights are not counted. Rules use it
// to choose between two forms of one operator.
double cycles_of(const Selection& s, const Step& step);
// As cheapest_cycles(), with the inputs and outputs of the graph where they are: in the arena, also where results have
// a faster memory. The step names its tensors. Without `weights`, it has none.
double cheapest_cycles_in_place(const Selection& s, Step step, const std::optional<WeightFacts>& weights = {});
// As cycles_of(), for the operations of a pool, with what each waits for the one before it. Infinitely many if the
// kernel is too large.
double cycles_of(const Selection& s, Window pool, const Epilogue& epilogue);

}  // namespace carina::plan
