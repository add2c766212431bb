#include "quantize/ptq.h"

namespace carina::quantize {

Result<void> quantize(ir::Graph& aten, std::span<const std::vector<Tensor>> samples, const PtqOptions& /*options*/, const Log& /*log*/) {
  return fail({.where = aten.name, .what = "calibration is not available in this build", .got = std::to_string(samples.size()), .fault = Fault::kInternal});
}

}  // namespace carina::quantize
