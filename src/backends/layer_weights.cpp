#include "backends/layer_weights_internal.h"

#include <map>

namespace carina::backends {

namespace {

// Returns the number of elements of a TOSA node's weights, its second operand.
int64_t elements_of_weights(const ir::Graph& tosa, const plan::Step& step) {
  if (!step.node.valid() || tosa[step.node].inputs.size() < 2) return 0;
  return tosa[tosa[step.node].inputs[1]].shape.elements();
}

}  // namespace

std::vector<results::LayerWeights> layer_weights(const ir::Graph& tosa, const plan::Schedule& schedule) {
  std::vector<results::LayerWeights> layers;
  std::map<size_t, size_t> layer_of;  // by the number of the weights
  std::vector<bool> counted(schedule.slices.size(), false);
  for (const plan::Stripe& stripe : schedule.stripes) {
    if (!stripe.slice.valid() || counted[stripe.slice.index()]) continue;
    counted[stripe.slice.index()] = true;
    const plan::WeightSlice& slice = schedule[stripe.slice];
    const auto [place, is_new] = layer_of.emplace(slice.weights.index(), layers.size());
    if (is_new) {
      const plan::Step& step = schedule[stripe.step];
      layers.push_back({.layer = step.name, .elements = elements_of_weights(tosa, step)});
    }
    results::LayerWeights& layer = layers[place->second];
    ++layer.slices;
    for (const plan::CoreStream& core : slice.cores) {
      layer.encoded_bytes += core.weight_bytes;
      layer.scale_bytes += core.scale_bytes;
    }
  }
  return layers;
}

}  // namespace carina::backends
