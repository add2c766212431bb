#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

// What a schedule costs: one figure, by which a search compares schedules with each other. Made of the formulas of
// npu/cost.h, which the simulator's time line uses too. Estimates, in cycles of the NPU's clock.
namespace carina::plan {

// What one stripe takes, by what bounds it.
struct StripeCost {
  double npu_cycles = 0;  // multiplying and output, overlapped block by block
  double ofm_bytes = 0;   // written
  double ifm_bytes = 0;   // read, as often as blocks need them
  double ifm2_bytes = 0;
  int64_t weight_fetches = 1;  // how often all of its weights are read
};
// `piece`: as piece_of() gives it; not a transfer.
StripeCost cost_of(const Step& piece, const BlockConfig& block, const Family& family, const Target& target);

struct PortSpeed {
  double bytes_per_cycle = 0;
  double map_read_bytes_per_cycle = 0;  // of one operand
  int read_latency_cycles = 0;
};
// How fast the port of a space is, which the target must have.
PortSpeed speed_of(Space space, const Family& family, const Target& target);

// The commands of a schedule as they run beside each other: stripes one after the other, and the transfer engine.
class Timeline {
 public:
  struct Work {
    double in_place = 0;              // its weights read from where they are stored
    double staged = 0;                // its weights read from the arena
    double slow_reads = 0;            // how long it keeps slow memory busy then
    bool transfers = false;           // whether it needs the transfer engine itself
    std::optional<size_t> copy = {};  // of its weights, if they can be copied
  };
  struct Copy {
    int64_t bytes = 0;
    double cycles = 0;
    std::vector<size_t> users = {};   // stripes (indices of `works`), ascending
    std::optional<size_t> from = {};  // before which stripe it starts; nothing: read where they are
    [[nodiscard]] size_t first() const { return users.front(); }
    [[nodiscard]] size_t last() const { return users.back(); }
  };

  Timeline(const Schedule& schedule, const Family& family, const Target& target);

  [[nodiscard]] const std::vector<Work>& works() const { return works_; }
  [[nodiscard]] const std::vector<Copy>& copies() const { return copies_; }
  // Lets a copy start before a stripe (nothing: no copy).
  void start_copy(size_t copy, std::optional<size_t> from);
  // From the first command to the end of the last.
  [[nodiscard]] double cycles() const;

 private:
  class Builder;
  std::vector<Work> works_;                 // stripes in their order
  std::vector<Copy> copies_;                // by first use
  std::vector<std::vector<size_t>> loads_;  // per stripe: copies that start before it
};

// The cycles of a whole schedule.
double cost_of(const Schedule& schedule, const Family& family, const Target& target);

}  // namespace carina::plan
