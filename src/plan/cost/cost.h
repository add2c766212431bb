#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "npu/cost/cost.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

// The cost of parts of a schedule. A search compares schedules by it. The formulas are those of npu/cost/cost.h, which
// the simulator's time line uses too. All values are estimates in cycles of the NPU's clock.
namespace carina::plan {

// Returns whether an operation leaves the MAC array idle: elementwise operations, RESIZE and transfers do.
bool has_no_macs(const Step& op);
// The kind of work that the output unit does in an operation.
npu::OutputWork::Kind output_kind(const Step& op);

// The cycles and the traffic of one stripe.
struct StripeCost {
  double npu_cycles = 0;  // MACs and output, overlapped block by block
  double ofm_bytes = 0;   // bytes written
  double ifm_bytes = 0;   // bytes read; a byte counts once per block that reads it
  double ifm2_bytes = 0;
  int64_t weight_fetches = 1;  // times that all of its weights are read
};
// Computes the cost of a subop, which is what subop_of() returns. The subop is not a transfer.
StripeCost cost_of(const Step& subop, const BlockConfig& block, const Family& family, const Target& target);

struct PortSpeed {
  double bytes_per_cycle = 0;
  double map_read_bytes_per_cycle = 0;  // of one operand
  int read_latency_cycles = 0;
};
// The speed of a space's port. The target must have that space.
PortSpeed speed_of(Space space, const Family& family, const Target& target);

}  // namespace carina::plan
