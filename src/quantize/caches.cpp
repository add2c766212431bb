// What the schemes of a search have in common: figures of weights, and ranges of values.
#include <algorithm>
#include <utility>

#include "quantize/quantizer_internal.h"

namespace carina::quantize {

Range RangeCache::choose(size_t group, const RangeObserver& observer, RangeChoice choice, int64_t steps) {
  for (const Known& known : groups_[group]) {
    if (known.choice == choice && known.steps == steps) return known.range;
  }
  const Range range = observer.choose(choice, steps);
  groups_[group].push_back({.choice = choice, .steps = steps, .range = range});
  return range;
}

const WeightFigures* FigureCache::find(size_t node, const WeightScheme& weights, double smallest_scale) const {
  const auto is_same = [&](const Known& known) {
    if (known.weights != weights || !known.figures.parameters) return false;
    // A limit that no scale comes near changes nothing.
    const double limit = 2 * std::max(smallest_scale, known.smallest_scale);
    return known.smallest_scale == smallest_scale ||
           std::ranges::all_of(known.figures.parameters->scales, [&](double scale) { return scale > limit; });
  };
  const auto found = std::ranges::find_if(nodes_[node], is_same);
  return found == nodes_[node].end() ? nullptr : &found->figures;
}

void FigureCache::add(size_t node, const WeightScheme& weights, double smallest_scale, WeightFigures figures) {
  nodes_[node].push_back({.weights = weights, .smallest_scale = smallest_scale, .figures = std::move(figures)});
}

}  // namespace carina::quantize
