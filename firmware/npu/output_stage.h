#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "firmware/npu/execute.h"
#include "firmware/npu/operation.h"

namespace carina::firmware::npu_core {

// The computation from an accumulator to the stored value. Source: docs/facts/ethosu.md 4.2.
class OutputStage {
 public:
  // Returns false if a scale table or lookup table is too short, and prints the reason on the console.
  bool prepare(const Operation& op, const Resources& resources);
  // `count` divides the sum of an AVERAGE pool.
  [[nodiscard]] int64_t value(int64_t acc, int32_t channel, int64_t count) const;

 private:
  enum class Mode : uint8_t { kGlobal, kPerChannel, kDivide, kNone };
  [[nodiscard]] static Mode mode_of(const Operation& op);

  const Operation* op_ = nullptr;
  Mode mode_ = Mode::kGlobal;
  bool has_entries_ = false;  // the scale table has a bias and a scale per channel
  Scaling global_;
  int32_t zero_point_ = 0;
  std::span<const std::byte> scales_;
  std::span<const std::byte> table_;
};

}  // namespace carina::firmware::npu_core
