#pragma once

#include <span>

#include "facts/npu_u85_blocks.h"
#include "plan/family/family.h"

// The parts of the family "ethos-u85". Each part has its own file.
namespace carina::plan {

extern const Family kU85;

namespace u85 {

std::vector<BlockConfig> legal_blocks(const Step& subop, const Target& target);
npu::Block3 input_block(const Step& subop, const BlockConfig& block, const Target& target);

npu::WeightTraversal traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                               const Target& target);
EncodedSlice encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                    npu::EncodedWeightsCache* streams);
std::unique_ptr<Emitter> emitter(const Schedule& schedule, const Target& target);

// The pooling mode of an operation. Sums, averages and copies are one mode on other families; ethos-u85 has a mode for
// each.
npu::PoolingMode pooling_mode(const Step& op);
// The class of an operation, which decides the microblocks that it may use.
npu::U85OpClass op_class(const Step& op);

}  // namespace u85
}  // namespace carina::plan
