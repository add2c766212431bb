#include "npu/weights/swd_symbols_internal.h"

#include <algorithm>

namespace carina::npu::swd {

namespace {

std::array<uint16_t, kFoldedValues> value_table(const Palette& palette) {  // indexed by folded weight
  std::array<uint16_t, kFoldedValues> value{};
  for (int f = palette.direct_offset; f <= kMaxFolded; ++f)
    value[static_cast<size_t>(f)] = static_cast<uint16_t>(f - palette.direct_offset + palette.size);
  for (int i = 0; i < palette.size; ++i) value[palette.entries[static_cast<size_t>(i)]] = static_cast<uint16_t>(i);
  return value;
}

}  // namespace

SymbolReader::SymbolReader(std::span<const int16_t> weights, const Choice& choice)
    : weights_(weights),
      zero_runs_(choice.zero_runs),
      all_zero_(zero_runs_ == ZeroRuns::kYes && std::ranges::all_of(weights, [](int16_t w) { return w == 0; })),
      values_(std::make_unique<uint16_t[]>(std::min<size_t>(weights.size(), kMaxSliceWeights) + kReadFurther)) {
  if (zero_runs_ == ZeroRuns::kYes)
    runs_ = std::make_unique_for_overwrite<uint32_t[]>(std::min<size_t>(weights.size(), kMaxSliceWeights) + 1);
  const auto of_folded = value_table(choice.palette);
  for (size_t i = 0; i < table_.size(); ++i) {
    const int weight = std::min(static_cast<int>(i) + kFirst, -kFirst);
    table_[i] = of_folded[static_cast<size_t>(fold(weight))];
  }
}

Symbols SymbolReader::read(size_t max) {
  max = std::min<size_t>(max, kMaxSliceWeights);
  if (zero_runs_ == ZeroRuns::kNo) return read_plain(max);
  return all_zero_ ? read_zeros() : read_runs(max);
}

Symbols SymbolReader::read_plain(size_t max) {
  const auto weights = weights_.subspan(at_, std::min(max, weights_.size() - at_));
  for (size_t i = 0; i < weights.size(); ++i) values_[i] = value_of(weights[i]);
  at_ += weights.size();
  return {.values = {values_.get(), weights.size()}, .runs = {}};
}

// A slice needs at least one value, so the last zero is coded as a value.
Symbols SymbolReader::read_zeros() {
  values_[0] = value_of(0);
  runs_[0] = static_cast<uint32_t>(weights_.size() - 1);
  runs_[1] = 0;
  at_ = weights_.size();
  return {.values = {values_.get(), 1}, .runs = {runs_.get(), 2}};
}

Symbols SymbolReader::read_runs(size_t max) {
  uint32_t run = 0;
  size_t count = 0;
  for (; at_ < weights_.size() && count < max; ++at_) {  // zeros are unpredictable, so the loop has no branch on them
    const int16_t weight = weights_[at_];
    runs_[count] = run;
    values_[count] = value_of(weight);
    count += weight != 0 ? 1 : 0;
    run = weight != 0 ? 0 : run + 1;
  }
  for (; at_ < weights_.size() && weights_[at_] == 0; ++at_) ++run;
  runs_[count] = run;
  return {.values = {values_.get(), count}, .runs = {runs_.get(), count + 1}};
}

}  // namespace carina::npu::swd
