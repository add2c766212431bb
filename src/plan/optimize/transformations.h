#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel/parallel.h"
#include "carina/result.h"
#include "npu/compiled_network.h"
#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

// The transformations that turn the first schedule into a finished one, in this order. Each takes a schedule and
// returns one that is legal by plan/verify/verify.h. Each has its own file, which says what it needs and why it is
// legal.
namespace carina::plan {

Schedule choose_formats(Schedule schedule, const Context& context);

// Errors: as choose_blocks.
struct Cascaded {
  Schedule schedule;
  int64_t working_bytes = 0;  // kSize: planned, copies of weights included; 0: no limit
  int64_t whole_bytes = 0;    // without the cascades; 0: there are none
};
Result<Cascaded> form_cascades(Schedule schedule, const Material& material, const Context& context,
                               ThreadPool& threads);

// For a network whose tensors fit: for each limit of the bytes of tensors alone, the schedule with the cascades that
// keep it. Only schedules with cascades, and each once. Errors: as choose_blocks.
Result<std::vector<Schedule>> cascades_within(std::span<const int64_t> limits, const Schedule& schedule,
                                              const Material& material, const Context& context, ThreadPool& threads);

Schedule cut_stripes(Schedule schedule, const Context& context);

// Errors: no block of a step fits the NPU. This happens for no supported step.
Result<Schedule> choose_blocks(Schedule schedule, const Context& context, ThreadPool& threads);

Schedule cut_depth(Schedule schedule, const Context& context, ThreadPool& threads);

// Whether cut_depth() has noted that more parts might gain more.
bool is_about_cuts(const Diagnostic& note);

Schedule order_weights(Schedule schedule, const Context& context, ThreadPool& threads);

Schedule store_for_fast_decoder(Schedule schedule, const Context& context);

// Also returns the bytes of each constant storage, by StorageId. Errors: a stream is too long for the NPU's registers.
struct Encoded {
  Schedule schedule;
  std::vector<std::byte> constants;  // the space's bytes, as they will be loaded
  std::vector<npu::StreamNote> streams;
};
Result<Encoded> encode_slices(Schedule schedule, const Material& material, const Context& context, ThreadPool& threads);

Schedule load_tables(Schedule schedule, const Context& context);

Schedule choose_spaces(Schedule schedule, const Context& context);

// Also allocates all storages. Errors: as allocate_storages() (plan/memory/allocate.h).
Result<Schedule> stage_weights(Schedule schedule, const Context& context);

Schedule chain_results(Schedule schedule, const Context& context);

}  // namespace carina::plan
