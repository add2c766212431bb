#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "npu/weights/swd_plan_internal.h"

// A section of weights as the symbols that a slice codes.
//   Example: 0 0 5 7 0 with coded zero runs is the values 5, 7 and the runs 2, 0, 1: one before each value, one at the
//   end.
namespace carina::npu::swd {

inline constexpr size_t kChunkValues = 512;

// Symbols of a stretch of weights: palette values, the zero run before the first value, and the zero run after each
// value.
struct Symbols {
  std::span<const uint16_t> values;
  std::span<const uint32_t> runs;  // one more than values; empty without zero runs
};

// Reads a section as symbols, one stretch at a time. The symbols of a whole section would take three times the memory
// of its weights.
class SymbolReader {
 public:
  // Values after the last one of a stretch that may be read; their content does not matter.
  static constexpr size_t kReadFurther = 3;

  SymbolReader(std::span<const int16_t> weights, const Choice& choice);

  // The weight at which the next stretch begins. Another reader of the section can continue there.
  [[nodiscard]] size_t position() const { return at_; }
  void go_to(size_t position) { at_ = position; }
  [[nodiscard]] bool at_end() const { return at_ == weights_.size(); }
  // Returns at most `max` values (kMaxSliceWeights). They are valid until the next call. Only the section's first
  // stretch has a run before its first value.
  Symbols read(size_t max);

 private:
  [[nodiscard]] uint16_t value_of(int16_t weight) const { return table_[static_cast<size_t>(weight - kFirst)]; }
  Symbols read_plain(size_t max);
  Symbols read_zeros();
  Symbols read_runs(size_t max);

  static constexpr int kFirst = -(kMaxFolded / 2);
  std::span<const int16_t> weights_;
  ZeroRuns zero_runs_;
  bool all_zero_;
  size_t at_ = 0;
  std::array<uint16_t, kFoldedValues> table_;  // by weight
  std::unique_ptr<uint16_t[]> values_;
  std::unique_ptr<uint32_t[]> runs_;
};

// A series of values of a section with one code.
struct Slice {
  size_t position = 0;  // position of a SymbolReader at its first value
  size_t values = 0;
  WeightCode code;
  int zdiv = kZdivNone;
};

// Finds the cheapest series of slices.
std::vector<Slice> choose_slices(SymbolReader& section, const Choice& choice);

}  // namespace carina::npu::swd
