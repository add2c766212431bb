#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel/parallel.h"
#include "carina/result.h"
#include "npu/compiled_network.h"
#include "plan/family/context.h"
#include "plan/network/network.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// Runs after every transformation: it calls the user's watcher and, in development builds, verifies the rules.
Schedule checked(std::string_view transformation, Schedule schedule, const Context& context);

// A finished plan of a network. Only one of several plans is used, so the notes and the schedules for the user's
// watcher are kept with each.
struct Finished {
  Schedule schedule = {};
  std::vector<std::byte> constants = {};
  std::vector<npu::StreamNote> streams = {};
  Diagnostics notes = {};
  std::vector<std::pair<std::string, Schedule>> watched = {};
};

// The end of planning: everything after the stripes. Errors: those of the transformations.
Result<Finished> finish(Schedule schedule, const Material& material, const Context& context, ThreadPool& threads);

// Passes the notes and the watched schedules of the plan that is used to the user.
void publish(const Finished& plan, const Context& context);

}  // namespace carina::plan
