#pragma once

#include <span>

#include "plan/family/family.h"

// Code generation shared by ethos-u55 and ethos-u65. Both have a shared buffer (SHRAM) with lookup tables inside it.
// Their instructions differ in the width of addresses and in the registers of the second core. Each part has its own
// file.
namespace carina::plan {

extern const Family kU55;
extern const Family kU65;

namespace shram {

TableMemory tables(const Target& target);
std::optional<OperandScaling> operand_scaling(const Scaling& a, const Scaling& b, const ElementType& type);
// The location of a space at a port. Addresses and strides have `address_bits` bits and are signed, so they reach
// the positive half.
SpaceLocation location(npu::Region region, int port, int address_bits);

std::vector<BlockConfig> legal_blocks(const Step& subop, const Target& target);
npu::Block3 input_block(const Step& subop, const BlockConfig& block, const Target& target);

// The banks of the shared buffer at which the buffers of an operation lie.
struct SharedBuffer {
  int ifm_end = 0;     // IFM_IB_END
  int ifm2_start = 0;  // IFM2_IB_START
  int acc_start = 0;   // AB_START
};
// Computes the layout of the shared buffer. Returns nothing if the buffers of such a block do not fit.
std::optional<SharedBuffer> shared_buffer(const Step& subop, const BlockConfig& block, const Target& target);

npu::WeightTraversal traversal(const Step& subop, const BlockConfig& block, const Weights& weights,
                               const Target& target);
EncodedSlice encode(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                    npu::EncodedWeightsCache* streams);
std::unique_ptr<Emitter> emitter(const Schedule& schedule, const Target& target);

}  // namespace shram
}  // namespace carina::plan
