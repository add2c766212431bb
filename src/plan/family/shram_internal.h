#pragma once

#include <span>

#include "plan/family/family.h"

// What the lines with a shared buffer (SHRAM) and lookup tables inside it have in common, one file each: ethos-u55 and
// ethos-u65, whose instructions differ in the width of addresses and in the registers of the second core.
namespace carina::plan {

extern const Family kU55;
extern const Family kU65;

namespace shram {

TableMemory tables(const Target& target);
std::optional<OperandScaling> operand_scaling(const Scaling& a, const Scaling& b, const ElementType& type);
// A space behind a port, of which addresses and strides of `address_bits` reach the half that is positive.
SpaceLocation location(npu::Region region, int port, int address_bits);

std::vector<BlockConfig> legal_blocks(const Step& subop, const Target& target);
npu::Block3 input_block(const Step& subop, const BlockConfig& block, const Target& target);

// Where an operation's buffers lie in the shared buffer, in banks.
struct SharedBuffer {
  int ifm_end = 0;     // IFM_IB_END
  int ifm2_start = 0;  // IFM2_IB_START
  int acc_start = 0;   // AB_START
};
// Nothing where the buffers of such a block do not fit.
std::optional<SharedBuffer> shared_buffer(const Step& subop, const BlockConfig& block, const Target& target);

npu::WeightTraversal traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                               const Target& target);
EncodedSlice encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                    npu::EncodedWeightsCache* streams);
std::unique_ptr<Emitter> emitter(const Schedule& schedule, const Target& target);

}  // namespace shram
}  // namespace carina::plan
