#include "plan/network/equal_weights.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/hash/content_hash.h"

namespace carina::plan {
namespace {

// The same values, in a kernel of the same form: a layer that is called twice may read a row of pixels as channels
// once.
bool have_equal_values(const Weights& a, const Weights& b) {
  const auto form = [](const Weights& w) { return std::tuple(w.out_channels, w.height, w.width, w.in_channels); };
  return form(a) == form(b) && a.values == b.values;
}

bool have_equal_scales(const Weights& a, const Weights& b) {
  const auto scales = [](const Weights& w) { return std::tie(w.acc, w.biases, w.factors); };
  return scales(a) == scales(b);
}

uint64_t hash_of_scales(const Weights& weights) {
  return content_hash(std::as_bytes(std::span(weights.factors)),
                      content_hash(std::as_bytes(std::span(weights.biases))));
}

// The first id of each class of equal weights. Hashes select the candidates; contents are always compared.
class Classes {
 public:
  WeightsId first_of(WeightsId id, uint64_t hash, const Material& material,
                     bool (*equal)(const Weights&, const Weights&)) {
    const auto [begin, end] = by_hash_.equal_range(hash);
    const auto same =
        std::find_if(begin, end, [&](const auto& entry) { return equal(material[entry.second], material[id]); });
    if (same != end) return same->second;
    by_hash_.emplace(hash, id);
    return id;
  }

 private:
  std::multimap<uint64_t, WeightsId> by_hash_;
};

}  // namespace

std::vector<EqualWeights> equal_weights(const Material& material) {
  Classes values, scales;
  std::vector<EqualWeights> equal;
  for (size_t i = 0; i < material.weights.size(); ++i) {
    const Weights& weights = material.weights[i];
    const WeightsId id(i);
    equal.push_back({.values = weights.values.empty() ? id
                                                      : values.first_of(id, sampled_hash(weights.values.bytes()),
                                                                        material, have_equal_values),
                     .scales = scales.first_of(id, hash_of_scales(weights), material, have_equal_scales)});
  }
  return equal;
}

}  // namespace carina::plan
