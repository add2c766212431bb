#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/npu_targets.h"
#include "npu/weights/encoded_weights_cache.h"
#include "npu/weights/weight_order.h"
#include "plan/family/encoded_slice.h"
#include "plan/network/target.h"
#include "plan/schedule/schedule.h"

// A Family describes a line of NPUs: what it can do and how its instructions are written. Only the files of this folder
// name a product. The rest of the planner uses the target's Family.
namespace carina::plan {

class Emitter;

// The location of a space on a target.
struct SpaceLocation {
  int region = 0;           // of the command stream
  size_t port = 0;          // of the system configuration
  int64_t limit_bytes = 0;  // bytes that addresses can reach
};
// Indexed by Space; empty for a space that the target does not have.
using Spaces = std::array<std::optional<SpaceLocation>, kSpaces>;

// The memory for lookup tables inside the NPU.
struct TableMemory {
  int slots = 0;
  bool shared_with_accumulators = false;  // whether steps without a table may overwrite it
  int64_t address = 0;                    // of slot 0
};

// Abilities that differ between families. The family-independent code handles both cases of each.
struct Abilities {
  // Elements of 64 bits in memory, and pools that only scale elements of 32 and 64 bits, as they scale sums.
  bool wide_elements = false;
  // Tables of 16 bits whose interpolated results are stored with 32 bits.
  bool wide_tables = false;
  // Convolutions whose weight stream the NPU itself has written (plan/select/weight_stream_internal.h).
  bool written_weights = false;
  // Convolutions and pools whose OFM has contiguous rows or columns instead of channels (FeatureMap::stride_c).
  bool transposed_results = false;
  // A second format of weights, which is decoded faster and takes more bytes (npu::WeightFormat::FWD).
  bool fast_weights = false;
  // Either operand of an elementwise operation may be repeated, or be the scalar, and has a scale of its own. Other
  // families repeat the second one only, and their scales depend on the order of operands.
  bool symmetric_operands = false;
  // The widest constant that the register of an elementwise operation's scalar holds.
  int scalar_bits = 16;
  // The built-in sigmoid and tanh read a table, which the program has to load.
  bool built_ins_read_tables = false;
  // Pools whose results are the positions of the largest elements.
  bool argmax_pools = false;
  // Pools whose results are the smallest elements.
  bool min_pools = false;
  // REDUCE_SUM of 8 and 16 bits. Other families use a convolution with weights of 1, which have to be fetched.
  bool sums_narrow_channels = false;
};

struct Family {
  std::string_view name;  // for messages: "an ethos-u55"
  const npu::ProductLimits& limits;

  // Returns the spaces of a target. Errors: a memory mode that the family does not support.
  Result<Spaces> (*spaces)(const Target& target);
  TableMemory (*tables)(const Target& target);

  // Returns how ADD and SUB of this type scale both operands exactly; nothing if the NPU cannot.
  std::optional<OperandScaling> (*operand_scaling)(const Scaling& a, const Scaling& b, const ElementType& type);

  // Returns every legal block of a subop, in a fixed order. A subop is a step, or the part of a step that one stripe
  // computes.
  std::vector<BlockConfig> (*legal_blocks)(const Step& subop, const Target& target);
  // Returns the IFM block that is read for an OFM block of this size, rounded to the granules of the input buffer.
  npu::Block3 (*input_block)(const Step& subop, const BlockConfig& block, const Target& target);

  // Returns the order of a subop's weights in its streams.
  npu::WeightTraversal (*traversal)(const Step& subop, const BlockConfig& block, const Weights& weights,
                                    const Target& target);
  // Encodes the scales and weights of `channels` output channels from `first_channel`, for all cores. `streams` is a
  // cache of encoded streams, or nullptr.
  EncodedSlice (*encode)(const npu::WeightTraversal& traversal, const Weights& weights, int64_t first_channel,
                         npu::EncodedWeightsCache* streams);

  // Creates the emitter for a schedule's commands. Both arguments must outlive it.
  std::unique_ptr<Emitter> (*emitter)(const Schedule& schedule, const Target& target);

  Abilities abilities = {};
};

// The preferred space for activations: fast scratch if the target has it, otherwise the arena.
Space working_space(const Target& target, const Family& family);

// The most bytes that the storages of the working space may take together: the option's limit, otherwise the target's.
int64_t working_limit_bytes(const Target& target, const Family& family, int64_t asked_bytes);

// Returns the family that compiles for a target. Errors (usage): no family does; the family does not support the memory
// mode.
Result<const Family*> find_family(const Target& target);

}  // namespace carina::plan
