#pragma once

#include <span>

#include "plan/family/family.h"

// The parts of the family "ethos-u55", one file each.
namespace carina::plan {

extern const Family kU55;

namespace u55 {

std::span<const Rule> rules();
std::vector<BlockConfig> legal_blocks(const Step& piece, const Target& target);
npu::Block3 input_block(const Step& piece, const BlockConfig& block, const Target& target);

// Where an operation's buffers lie in the shared buffer, in banks.
struct SharedBuffer {
  int ifm_end = 0;     // IFM_IB_END
  int ifm2_start = 0;  // IFM2_IB_START
  int acc_start = 0;   // AB_START
};
// Nothing where the buffers of such a block do not fit.
std::optional<SharedBuffer> shared_buffer(const Step& piece, const BlockConfig& block, const Target& target);

npu::WeightTraversal traversal(const Step& piece, const BlockConfig& block, const Weights& weights,
                               const Target& target);
EncodedSlice encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel);
std::unique_ptr<Emitter> emitter(const Schedule& schedule, const Target& target);

}  // namespace u55
}  // namespace carina::plan
