#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/decode/operation.h"
#include "simulate/kernels/scaling_internal.h"

namespace carina::simulate {

// The scale table of an operation: one entry per output channel. Source: docs/facts/ethosu.md 4.3.
struct ScaleTable {
  std::vector<int64_t> bias;
  std::vector<uint32_t> multiplier;
  std::vector<uint8_t> shift;
  [[nodiscard]] bool empty() const { return bias.empty(); }
};

// Reads the entries of all channels. `tables[k]` holds the channels of core k (k, k + cores, ...). Errors: a table that
// is too short.
Result<ScaleTable> read_scale_table(std::span<const std::span<const std::byte>> tables, int32_t channels,
                                    const Operation& op);

// The processing of an accumulator between the MAC array and memory, in the order of docs/facts/ethosu.md 4.2.
class OutputStage {
 public:
  // The scaling of the accumulator.
  enum class Mode : uint8_t { kGlobal, kPerChannel, kDivide, kNone };

  // `table` is empty for operations without one. `lut` is the internal memory from the operation's table slot on.
  OutputStage(const Operation& op, ScaleTable table, std::span<const std::byte> lut);

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] const ScaleTable& table() const { return table_; }
  // The scaling of a channel's accumulator (for kDivide: of the quotient).
  [[nodiscard]] Scaling scaling(size_t channel) const;
  [[nodiscard]] int32_t channels() const { return channels_; }
  [[nodiscard]] bool adds_bias() const { return adds_bias_; }
  [[nodiscard]] int64_t zero_point() const { return zero_point_; }
  [[nodiscard]] const Activation& activation() const { return activation_; }
  [[nodiscard]] std::span<const std::byte> lut() const { return lut_; }

  // The stored value; memory gets its low bits. `count` divides the sum of an AVERAGE pool.
  [[nodiscard]] int64_t value(int64_t acc, int32_t channel, int64_t count = 1) const;
  // The value after the clamp: the result of the table lookup.
  [[nodiscard]] int64_t activate(int64_t value) const;

 private:
  Activation activation_;
  Scaling global_;
  ScaleTable table_;
  std::span<const std::byte> lut_;
  Mode mode_ = Mode::kGlobal;
  bool adds_bias_ = false;
  int32_t channels_ = 0;
  int64_t zero_point_ = 0;
};

// Whether an operation's output uses the scale table, and whether its bias is added.
OutputStage::Mode scaling_mode(const Operation& op);
bool uses_scale_table(const Operation& op);

}  // namespace carina::simulate
