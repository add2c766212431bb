#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory_planner.h"
#include "base/parallel.h"
#include "plan/compile.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"
#include "plan/schedule/weight_facts.h"

// What turns the first schedule into a finished one, in this order: each takes a schedule and gives one that is legal by
// plan/schedule/verify.h, stands in a file of its own, and says there what it needs and why it may.
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

Schedule choose_formats(Schedule schedule, const Context& context);

// Errors: as choose_blocks.
struct Cascaded {
  Schedule schedule;
  int64_t working_bytes = 0;  // kSize: that were planned, copies of weights included; 0: as much as there is
  int64_t whole_bytes = 0;    // that it would take without its cascades; 0: it has none
};
Result<Cascaded> form_cascades(Schedule schedule, const Material& material, const Context& context,
                               ThreadPool& threads);

Schedule cut_stripes(Schedule schedule, const Context& context);

// Errors: no block of a step fits the NPU, which no supported step meets.
Result<Schedule> choose_blocks(Schedule schedule, const Context& context, ThreadPool& threads);

Schedule cut_depth(Schedule schedule, const Context& context, ThreadPool& threads);

Schedule order_weights(Schedule schedule, const Context& context, ThreadPool& threads);

// Also gives the bytes: of each storage among the constants, by StorageId. Errors: a stream too long for the NPU's
// registers.
struct Encoded {
  Schedule schedule;
  std::vector<std::byte> constants;  // the space, as it will be loaded
  std::vector<npu::StreamNote> streams;
};
Result<Encoded> encode_slices(Schedule schedule, const Material& material, const Context& context, ThreadPool& threads);

Schedule load_tables(Schedule schedule, const Context& context);

Schedule choose_spaces(Schedule schedule, const Context& context);

// Also gives all storages their addresses. Errors: as allocate_storages().
Result<Schedule> stage_weights(Schedule schedule, const Context& context);

// Errors: a space would be larger than its limit: by how much, and which tensors live when it is fullest.
Result<Schedule> allocate_storages(Schedule schedule, const Context& context);

// The same, however large the working space becomes. `effort`: for that space. Errors: another space is too small.
Result<Schedule> allocate_without_limit(Schedule schedule, const Context& context, const SearchBudget& budget);

}  // namespace carina::plan
