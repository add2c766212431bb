#include "results/float_conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace carina::results {

std::optional<Diagnostic> conversion_note(std::string where, const ConversionCycles& cycles) {
  constexpr int64_t kFewCycles = 10'000;
  if (cycles.cpu <= std::max(kFewCycles, cycles.npu)) return std::nullopt;
  return Diagnostic{
      .where = std::move(where),
      .what = fmt::format("the CPU takes {} cycles to convert float inputs and outputs, the NPU {} to compute",
                          cycles.cpu, cycles.npu),
      .hint = "carina compile --io int8 saves the conversion: the program then takes and gives integers",
      .severity = Severity::kNote};
}

}  // namespace carina::results
