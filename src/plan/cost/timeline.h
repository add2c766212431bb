#pragma once

#include <memory>
#include <span>

#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// The cycles of a whole schedule from its first command to the end of its last, by which a search compares schedules:
// stripes one after the other, transfers beside them, as the command parser lets them, sharing ports. Commands of a
// schedule that is not placed wait for what they read, but not for what else stands where they write.
double cost_of(const Schedule& schedule, const Family& family, const Target& target);

// The same for several orders of a schedule's commands.
class Timeline {
 public:
  // `family` and `target` must outlive it.
  Timeline(Schedule schedule, const Family& family, const Target& target);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  [[nodiscard]] double cycles(std::span<const Command> order) const;

 private:
  class Pricing;
  const Family& family_;
  TableMemory tables_;
  Schedule schedule_;
  std::unique_ptr<Pricing> pricing_;
};

}  // namespace carina::plan
