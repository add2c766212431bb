#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"
#include "npu/encoded_weights_cache.h"
#include "npu/weight_order.h"
#include "plan/family/encoded_slice.h"
#include "plan/network/target.h"
#include "plan/schedule/schedule.h"

// What a line of NPUs can do and how its instructions are written: one value of Family per line. The files of this
// folder are the only ones of the library that name a product; everything else asks the family of the target.
namespace carina::plan {

class Emitter;

// Where a space lies on a target.
struct SpaceLocation {
  int region = 0;           // of the command stream
  size_t port = 0;          // of the system configuration
  int64_t limit_bytes = 0;  // that addresses can reach
};
// By Space; nothing where the target has no such space.
using Spaces = std::array<std::optional<SpaceLocation>, kSpaces>;

// The memory for lookup tables inside the NPU.
struct TableMemory {
  int slots = 0;
  bool shared_with_accumulators = false;  // whether steps without a table may overwrite it
  int64_t address = 0;                    // of slot 0
};

// What some lines have and others not, where general code has a way for both.
struct Abilities {
  // Elements of 64 bits in memory, and pools that only scale what they read, of 32 and 64 bits, as they scale sums.
  bool wide_elements = false;
  // Weights that are a stream which the NPU itself has written (plan/select/weight_stream_internal.h).
  bool written_weights = false;
  // REDUCE_SUM of 8 and 16 bits; else a convolution with ones, which have to be fetched.
  bool sums_narrow_channels = false;
};

struct Family {
  std::string_view name;  // as a user asks for it: "an ethos-u55"
  const npu::ProductLimits& limits;

  // The spaces of a target. Errors: a memory mode that the family is not compiled for.
  Result<Spaces> (*spaces)(const Target& target);
  TableMemory (*tables)(const Target& target);

  // How ADD and SUB of elements of this type can scale both operands exactly as asked, if they can.
  std::optional<OperandScaling> (*operand_scaling)(const Scaling& a, const Scaling& b, const ElementType& type);

  // Every block in which a subop (a step, or the part of one that a stripe does) may be computed, in a fixed order.
  std::vector<BlockConfig> (*legal_blocks)(const Step& subop, const Target& target);
  // The IFM block that an OFM block of this size reads at a time, with the granules of the input buffer.
  npu::Block3 (*input_block)(const Step& subop, const BlockConfig& block, const Target& target);

  // The order in which the weights of a subop stand in its streams.
  npu::WeightTraversal (*traversal)(const Step& subop, const BlockConfig& block, const Weights& weights,
                                    const Target& target);
  // The scales and weights of `channels` output channels from `first_channel`, for all cores.
  // `streams` may have them already; none: nullptr.
  EncodedSlice (*encode)(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                         npu::EncodedWeightsCache* streams);

  // What writes the schedule's commands. Both arguments must outlive it.
  std::unique_ptr<Emitter> (*emitter)(const Schedule& schedule, const Target& target);

  Abilities abilities = {};
};

// Where what is worked on had best stand: fast scratch where the target has it, else the arena.
Space working_space(const Target& target, const Family& family);

// What storages of the working space may take together: what the options allow, else what the target has.
int64_t working_limit_bytes(const Target& target, const Family& family, int64_t asked_bytes);

// The family that compiles for a target. Errors (usage): none does; a memory mode that it is not compiled for.
Result<const Family*> find_family(const Target& target);

}  // namespace carina::plan
