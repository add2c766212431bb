#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "carina/log.h"
#include "plan/family/family.h"
#include "plan/family/options.h"
#include "plan/network/equal_weights.h"
#include "plan/network/target.h"
#include "plan/network/weight_facts.h"

namespace carina::plan {

// The phases of compile() that Log::progress reports. A long phase is reported again in each round, so that the caller
// can cancel there.
enum class CompilePhase : uint8_t { kSelect, kBlocks, kWeights, kMemory, kEmit };
inline void log_phase(CompilePhase phase, const Log& log) {
  constexpr std::array<std::string_view, 5> kNames{"select", "blocks", "weights", "memory", "emit"};
  log.progress(kNames[static_cast<size_t>(phase)], static_cast<size_t>(phase), kNames.size());
}

// How blocks are compared. Latencies that are twice as long count a little in the first two.
enum class BlockChoice : uint8_t {
  kNominal,     // by the nominal cycle model, of which at most 1 % is lost
  kLatencies,   // likewise, whatever is lost
  kWorstRatio,  // by their worst ratio to the best block over all assumptions of the model (npu/cost/assumptions.h)
};

class BlockCache;
class SliceCache;

// The target and the options that a transformation reads.
struct Context {
  const Family& family;
  const Target& target;
  const Options& options;
  const Log& log;
  std::span<const WeightFacts> weights = {};  // by WeightsId; empty: unknown
  std::span<const EqualWeights> equal = {};   // by WeightsId; empty: unknown
  int64_t working_bytes = 0;                  // limit for cascades, copies of weights included; 0: none
  BlockChoice block_choice = BlockChoice::kNominal;
  bool scales_apart = false;           // scales are stored apart from weights, so that each may be copied alone
  BlockCache* blocks = nullptr;        // the blocks that are known for this target (plan/optimize/blocks.h)
  SliceCache* slices = nullptr;        // the slices that are encoded (plan/optimize/slice_cache.h)
  const Schedule* cut_like = nullptr;  // a finished schedule, whose division of convolutions cut_depth() takes over
};

}  // namespace carina::plan
