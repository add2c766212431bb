#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "carina/options.h"
#include "npu/registers.h"
#include "npu/weights/encoded_weights_cache.h"

// The options of plan::compile().
namespace carina::plan {

// Choices that never change results. Tests vary them, and the outputs must stay the same.
struct Variation {
  // Which legal block each operation uses: the cheapest, or (kSeeded) an arbitrary one that `seed` selects.
  enum class Blocks : uint8_t { kCheapest, kSeeded } blocks = Blocks::kCheapest;
  uint32_t seed = 0;
  enum class Formats : uint8_t { kBricks, kLinear } formats = Formats::kBricks;
  // How many stripes each step has.
  enum class Stripes : uint8_t { kWhole, kHalves } stripes = Stripes::kWhole;
  int64_t cascade_rows =
      // 0: the planner chooses the cascades; otherwise there are cascades wherever possible, with stripes of this many
      // rows
      0;
  // Whether weights in slow memory are copied to the arena before use.
  enum class Staging : uint8_t { kWhereItPays, kNever } staging = Staging::kWhereItPays;
  // kNone: BLOCKDEP is 0 and every command waits for all previous ones
  enum class Overlap : uint8_t { kExact, kNone } overlap = Overlap::kExact;
  // kAll: every operation sets all registers that it uses, also those that have the right value already
  npu::StreamWriter::Writes writes = npu::StreamWriter::Writes::kOmitUnchanged;
};

struct Schedule;

using options::Optimize;

// The transformations and selections that a plan can do without. If a program computes wrong values, its plan is made
// again without them (docs/adr/0092), so every optimization that can be left out has a row here.
enum class Optimization : uint8_t {
  kTransposedResults,  // results that the NPU writes in the order of a TRANSPOSE after them
  kActivations,        // CLAMP and TABLE as part of the operation before them
  kPaddedResults,      // results that are computed between the padding of a PAD after them
  kStepOrder,          // steps closer to the readers of their results
  kBricks,             // tensors in NHCWB16
  kCascades,           // layers computed in stripes, one after the other
  kDepthSlices,        // operations cut by output channels, so that their weights arrive in time
  kWeightOrders,       // weights in another order than the default
  kStagedWeights,      // weights copied to faster memory
  kAlternatives,       // the best of several finished plans
  kOmittedWrites,      // registers that have the right value already are not set again
  kSparseWeights,      // weights of which two of four are zero, in a form of their own
  kCarriedInputs,      // inputs where an output needs their elements
  kFastWeights,        // weights in a form that takes more bytes and is decoded faster
  kStagedTables,       // lookup tables copied to faster memory
  kUnsignedBorders,    // unsigned inputs and outputs without a conversion
  kCopiedConstants,    // small constants copied to faster memory
  kSeparatedPools,     // pools as one of rows and one of columns
  kChainedResults,     // results that the next operation reads inside the NPU
};
inline constexpr size_t kOptimizations = 19;

// The name of an optimization in messages: "transposed results".
constexpr std::string_view name_of(Optimization optimization) {
  constexpr std::array<std::string_view, kOptimizations> kNames{"transposed results",
                                                                "fused activations",
                                                                "padded results",
                                                                "step order",
                                                                "NHCWB16 tensors",
                                                                "cascades",
                                                                "depth slices",
                                                                "weight orders",
                                                                "staged weights",
                                                                "alternative plans",
                                                                "omitted register writes",
                                                                "sparse weights",
                                                                "inputs in place",
                                                                "fast weights",
                                                                "staged tables",
                                                                "unsigned inputs and outputs",
                                                                "copied constants",
                                                                "separated pools",
                                                                "chained results"};
  return kNames[static_cast<size_t>(optimization)];
}

// The options of plan::compile(): the user's options for schedules, and those of the pipeline.
struct Options : options::ScheduleOptions {
  int threads = 1;  // results do not depend on it
  // A cache of encoded weights that several compilations share; nullptr: none. Results do not depend on it.
  npu::EncodedWeightsCache* streams = nullptr;
  Variation variation = {};
  std::bitset<kOptimizations> left_out = {};  // by Optimization
  // Called with the schedule after each transformation, with its name, and at the end with the name "finished". For
  // dumps.
  std::function<void(std::string_view transformation, const Schedule& schedule)> watch = {};

  [[nodiscard]] bool uses(Optimization optimization) const { return !left_out[static_cast<size_t>(optimization)]; }
};

}  // namespace carina::plan
