#include <algorithm>

#include "npu/weights/swd_symbols_internal.h"

namespace carina::npu::swd {

namespace {

// The size in bits of a chunk of the section, for each weight code and for each divisor of zero runs.
struct ChunkCost {
  std::array<uint64_t, kWeightCodes> weight{};
  std::array<uint64_t, kMaxZdiv + 1> zero{};
};

constexpr size_t kLanes = 16;

// Sums function(value) in lanes, so that compilers can vectorize the loop. The quotients of a chunk fit 16 bits per
// lane.
template <typename Function>
uint64_t sum_of(std::span<const uint16_t> values, const Function& function) {
  static_assert(kChunkValues / kLanes * (kMaxFolded + kMaxPaletteSize) <= UINT16_MAX);
  std::array<uint16_t, kLanes> sums{};
  const size_t whole = values.size() - values.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] = static_cast<uint16_t>(sums[lane] + function(values[i + lane]));
  }
  uint64_t total = 0;
  for (const uint16_t sum : sums) total += sum;
  for (const uint16_t value : values.subspan(whole)) total += function(value);
  return total;
}

// The values fit signed lanes, which all vector instruction sets can compare.
uint32_t max_of(std::span<const uint16_t> values) {
  std::array<int16_t, kLanes> largest{};
  const size_t whole = values.size() - values.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      largest[lane] = std::max(largest[lane], static_cast<int16_t>(values[i + lane]));
  }
  int16_t max = std::ranges::max(largest);
  for (const uint16_t value : values.subspan(whole)) max = std::max(max, static_cast<int16_t>(value));
  return static_cast<uint32_t>(max);
}

void add_weight_cost(ChunkCost& cost, std::span<const uint16_t> values, const Palette& palette) {
  Quotients quotients{.values = values.size(), .max = max_of(values)};
  for (int d = 0; d <= kMaxWdiv; ++d) {
    quotients.sum = sum_of(values, [d](uint16_t value) { return static_cast<uint16_t>(value >> d); });
    const bool truncates = quotients.max >> d <= 2;
    if (truncates) {
      const auto first = static_cast<uint16_t>(2 << d);  // the first value with quotient 2, the largest quotient
      quotients.twos =
          sum_of(values, [first](uint16_t value) { return static_cast<uint16_t>(value >= first ? 1 : 0); });
    }
    for (const int i : {2 * d, 2 * d + 1})
      cost.weight[static_cast<size_t>(i)] = bits_of(quotients, weight_code(i), palette);
  }
  cost.weight[kWeightCodes - 1] = bits_of(quotients, weight_code(kWeightCodes - 1), palette);
}

// Adds the cost of zero runs. The run before the section's first weight belongs to the first chunk. Each chunk has the
// runs after its weights.
void add_zero_cost(ChunkCost& cost, std::span<const uint32_t> runs) {
  for (size_t d = 0; d < cost.zero.size(); ++d) {
    uint64_t sum = 0;
    for (const uint32_t run : runs) sum += run >> d;
    cost.zero[d] = sum + runs.size() * (1 + d);
  }
}

ChunkCost cost_of(const Symbols& chunk, bool is_first, const Palette& palette) {
  ChunkCost cost;
  add_weight_cost(cost, chunk.values, palette);
  if (!chunk.runs.empty()) add_zero_cost(cost, chunk.runs.subspan(is_first ? 0 : 1));
  return cost;
}

// The cheapest codings of the chunks so far, one for each code of the last chunk. Each step either keeps the code of
// the previous chunk or changes it, which costs a slice header.
class SliceSearch {
 public:
  explicit SliceSearch(ZeroRuns zero_runs)
      : zero_codes_(zero_runs == ZeroRuns::kYes ? kMaxZdiv + 1 : 0),
        states_(static_cast<size_t>(kWeightCodes * std::max(zero_codes_, 1))) {}

  void add(const ChunkCost& chunk) {
    constexpr uint64_t kSwitchBits = kSliceHeaderBits + kSliceTailBits;
    const auto best = static_cast<uint8_t>(best_state());
    const uint64_t switched = cost_[best] + kSwitchBits;
    from_.resize(from_.size() + states_);
    uint8_t* const from = from_.data() + from_.size() - states_;
    for (size_t s = 0; s < states_; ++s) {
      from[s] = cost_[s] <= switched ? static_cast<uint8_t>(s) : best;
      const uint64_t own = std::min(cost_[s], switched) + chunk.weight[weight_code_of(s)] +
                           (zero_codes_ > 0 ? chunk.zero[static_cast<size_t>(zdiv_of(s))] : 0);
      cost_[s] = std::min(own, kImpossible);
    }
  }
  // Returns the slices. Chunk i starts at places[i] and has kChunkValues values; the last chunk ends where `values`
  // ends.
  [[nodiscard]] std::vector<Slice> finish(std::span<const size_t> positions, size_t values) const {
    std::vector<Slice> slices;
    size_t state = best_state();
    for (size_t p = positions.size(); p-- > 0;) {
      const Slice chunk{.position = positions[p],
                        .values = std::min(kChunkValues, values - p * kChunkValues),
                        .code = weight_code(static_cast<int>(weight_code_of(state))),
                        .zdiv = zdiv_of(state)};
      if (!slices.empty() && same_code(slices.back(), chunk) &&
          slices.back().values + chunk.values <= kMaxSliceWeights) {
        slices.back().position = chunk.position;
        slices.back().values += chunk.values;
      } else {
        slices.push_back(chunk);
      }
      state = from_[p * states_ + state];
    }
    std::ranges::reverse(slices);
    return slices;
  }

 private:
  static constexpr size_t kMaxStates = kWeightCodes * (kMaxZdiv + 1);
  static_assert(kMaxStates <= UINT8_MAX);

  static bool same_code(const Slice& a, const Slice& b) {
    return a.zdiv == b.zdiv && a.code.wdiv == b.code.wdiv && a.code.truncated == b.code.truncated;
  }
  [[nodiscard]] size_t weight_code_of(size_t state) const {
    return state / static_cast<size_t>(std::max(zero_codes_, 1));
  }
  [[nodiscard]] int zdiv_of(size_t state) const {
    return zero_codes_ > 0 ? static_cast<int>(state) % zero_codes_ : kZdivNone;
  }
  [[nodiscard]] size_t best_state() const {
    const auto end = cost_.begin() + static_cast<ptrdiff_t>(states_);
    return static_cast<size_t>(std::min_element(cost_.begin(), end) - cost_.begin());
  }

  int zero_codes_;
  size_t states_;
  std::array<uint64_t, kMaxStates> cost_{};
  std::vector<uint8_t> from_;  // [chunks][states]
};

}  // namespace

std::vector<Slice> choose_slices(SymbolReader& section, const Choice& choice) {
  SliceSearch search(choice.zero_runs);
  std::vector<size_t> positions;
  size_t values = 0;
  while (!section.at_end()) {
    positions.push_back(section.position());
    const Symbols chunk = section.read(kChunkValues);
    search.add(cost_of(chunk, positions.size() == 1, choice.palette));
    values += chunk.values.size();
  }
  return search.finish(positions, values);
}

}  // namespace carina::npu::swd
