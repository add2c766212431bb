#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/log.h"
#include "plan/family/family.h"
#include "plan/family/options.h"
#include "plan/network/target.h"
#include "plan/network/weight_facts.h"

namespace carina::plan {

// The phases of compile(), as Log::progress counts them. What takes long says its phase again on each round: a caller may
// stop the work there.
enum class CompilePhase : uint8_t { kSelect, kBlocks, kWeights, kMemory, kEmit };
inline void say(CompilePhase phase, const Log& log) {
  constexpr std::array<std::string_view, 5> kNames{"select", "blocks", "weights", "memory", "emit"};
  log.progress(kNames[static_cast<size_t>(phase)], static_cast<size_t>(phase), kNames.size());
}

// What a transformation may ask of the target.
struct Context {
  const Family& family;
  const Target& target;
  const Options& options;
  const Log& log;
  std::span<const WeightFacts> weights = {};  // by WeightsId; empty: nothing is known of them
  int64_t working_bytes = 0;                  // that cascades plan with, copies of weights included; 0: with no bound
};

}  // namespace carina::plan
