#pragma once

#include <cstdint>
#include <optional>

#include "facts/npu_targets.h"
#include "plan/compile.h"
#include "plan/network.h"

namespace carina::plan {

// In which pieces an operation is done, and where its buffers lie in the shared buffer (banks).
struct BlockConfig {
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  npu::WeightOrder order = npu::WeightOrder::DEPTH_FIRST;
  int ifm_end = 0;     // IFM_IB_END
  int ifm2_start = 0;  // IFM2_IB_START
  int acc_start = 0;   // AB_START
  bool operator==(const BlockConfig&) const = default;
};

// The cheapest legal block (or, for tests, any). Errors: none fits the shared buffer, which no supported operation
// meets.
std::optional<BlockConfig> choose_block(const Operation& op, const Target& target, const Variation& variation);

// The input block that an OFM block of this size needs.
npu::Block3 input_block(const Operation& op, const Target& target, const BlockConfig& block);

}  // namespace carina::plan
