#pragma once

#include <memory>
#include <optional>
#include <span>

#include "npu/cost/cost.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// The cycles of a whole schedule, from the start of its first command to the end of its last one. A search compares
// schedules by this value. Stripes run one after the other. Transfers overlap them as the command parser allows, and
// share ports with them. In a schedule without addresses, commands wait for the data that they read, but not for other
// data at the address that they write.
double cost_of(const Schedule& schedule, const Family& family, const Target& target,
               const npu::CostDetail& detail = npu::kTimeLineCost);

// Computes the cycles of several command orders of one schedule.
class Timeline {
 public:
  // The first three arguments must outlive this object. Only the order of the schedule may change meanwhile.
  Timeline(const Schedule& schedule, const Family& family, const Target& target,
           const npu::CostDetail& detail = npu::kTimeLineCost);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  [[nodiscard]] double cycles(std::span<const Command> order) const;

 private:
  class Pricing;
  const Family& family_;
  std::optional<Schedule> with_addresses_;  // if the given one lacks some
  std::unique_ptr<Pricing> pricing_;
};

}  // namespace carina::plan
