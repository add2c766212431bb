#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "npu/cost.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

// What a schedule costs: one figure, by which a search compares schedules with each other. Made of the formulas of
// npu/cost.h, which the simulator's time line uses too. Estimates, in cycles of the NPU's clock.
namespace carina::plan {

// Whether an operation leaves the MAC array idle: elementwise ones, RESIZE, transfers.
bool has_no_macs(const Step& op);
// What the output unit does in an operation.
npu::OutputWork::Kind output_kind(const Step& op);

// What one stripe takes, by what bounds it.
struct StripeCost {
  double npu_cycles = 0;  // multiplying and output, overlapped block by block
  double ofm_bytes = 0;   // written
  double ifm_bytes = 0;   // read, as often as blocks need them
  double ifm2_bytes = 0;
  int64_t weight_fetches = 1;  // how often all of its weights are read
};
// `subop`: as subop_of() gives it; not a transfer.
StripeCost cost_of(const Step& subop, const BlockConfig& block, const Family& family, const Target& target);

struct PortSpeed {
  double bytes_per_cycle = 0;
  double map_read_bytes_per_cycle = 0;  // of one operand
  int read_latency_cycles = 0;
};
// How fast the port of a space is, which the target must have.
PortSpeed speed_of(Space space, const Family& family, const Target& target);

}  // namespace carina::plan
