#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/diagnostic.h"
#include "base/parallel/parallel.h"
#include "npu/compiled_network.h"
#include "plan/family/context.h"
#include "plan/schedule/schedule.h"

// What turns the first schedule into a finished one, in this order: each takes a schedule and gives one that is legal by
// plan/verify/verify.h, stands in a file of its own, and says there what it needs and why it may.
namespace carina::plan {

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

// Also gives all storages their addresses. Errors: as allocate_storages() (plan/memory/allocate.h).
Result<Schedule> stage_weights(Schedule schedule, const Context& context);

}  // namespace carina::plan
