#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulate/kernels/output_stage_internal.h"
#include "simulate/kernels/work.h"
#include "simulate/vectors/kernels.h"
#include "simulate/vectors/line_vector.h"

namespace carina::simulate {

// The output stage on 32-bit accumulators, prepared for SIMD. OutputStage defines what it computes.
class FastOutput {
 public:
  // `largest_acc` bounds the accumulators' magnitude before the bias. Returns nothing if they might not fit 32 bits.
  static std::optional<FastOutput> make(const Work& work, int64_t largest_acc);

  // Scales accumulators [positions of the patch][channels padded to 16] and writes the results.
  void write(const Work& work, const int32_t* acc, const Patch& patch) const;
  // Likewise of accumulators [positions of the patch][channels] of an operation with one scale for all channels, which
  // are padded after the last one only.
  void write_dense(const Work& work, std::span<const int32_t> acc, const Patch& patch) const;
  [[nodiscard]] static size_t padded(size_t values) {
    return (values + kChannelGroup - 1) / kChannelGroup * kChannelGroup;
  }
  [[nodiscard]] size_t channels() const { return bias_.size(); }

 private:
  explicit FastOutput(const Work& work);
  // Returns whether the SIMD stage applies: all values fit its types.
  bool prepare_vectors(const Work& work, int64_t largest_acc);
  // Prepares the use of the products' upper halves. If that does not apply, whole products are used.
  bool prepare_upper(const OutputStage& stage, int64_t largest_acc);
  bool prepare_whole(const OutputStage& stage, int64_t largest_acc);
  void prepare_table(const OutputStage& stage);
  void prepare_segments(const OutputStage& stage);
  void look_up_segments(std::span<const std::byte> scaled, std::span<std::byte> out) const;
  // `channels`: as many as accumulators are of one position, or of each group if all channels have one scale.
  [[nodiscard]] std::span<std::byte> scale_vectors(const int32_t* acc, size_t values, size_t channels) const;
  [[nodiscard]] std::span<std::byte> scale_one_by_one(const OutputStage& stage, const int32_t* acc,
                                                      size_t values) const;

  enum class Method : uint8_t { kVectors, kOneByOne };
  Method method_ = Method::kOneByOne;
  LineVector<int32_t> bias_;
  LineVector<int32_t> multiplier_;
  LineVector<int64_t> round_positive_;
  LineVector<int64_t> round_negative_;
  LineVector<int64_t> shift_;
  LineVector<int32_t> upper_round_;  // as in ChannelScales, like the next three; empty if there is none
  LineVector<int32_t> upper_round_negative_;
  LineVector<int32_t> upper_shift_;
  LineVector<int32_t> upper_raise_;
  int32_t zero_point_ = 0;
  int32_t min_ = 0;
  int32_t max_ = 0;
  OutputType stage_type_ = OutputType::kS8;  // before the table
  std::vector<std::byte> table_;             // of 8-bit values, by their bits; empty if there is none
  // The table of 16-bit values: segments of 128 values each. Empty if there is none.
  struct Segment {
    int32_t base;  // times 128
    int32_t slope;
  };
  std::vector<Segment> segments_;
  int interpolated_bytes_ = 2;  // of the table's result
  int stored_bytes_ = 1;
};

inline size_t padded_channels(int32_t channels) {
  return FastOutput::padded(static_cast<size_t>(channels));
}

}  // namespace carina::simulate
