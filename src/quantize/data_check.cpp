#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/micro/extremes.h"
#include "quantize/data_check_internal.h"

namespace carina::quantize {

void DataCheck::widen(Extent& extent, const Tensor& tensor) {
  if (tensor.dtype != DType::kFp32 || tensor.elements() == 0) return;
  const auto [min, max, numbers] = kernels::extremes_of(tensor.values<float>());
  if (!numbers) return;
  extent.min = extent.elements == 0 ? min : std::min(extent.min, min);
  extent.max = extent.elements == 0 ? max : std::max(extent.max, max);
  extent.elements += static_cast<size_t>(tensor.elements());
}

void DataCheck::see(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  ++samples_;
  for (size_t i = 0; i < inputs.size(); ++i) widen(seen_[i], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) widen(seen_[inputs.size() + i], outputs[i]);
}

void DataCheck::report(const std::string& where, const Log& log) const {
  if (samples_ == 1) {
    log.note({.where = where,
              .what = "there is one sample: ranges that it does not reach will saturate",
              .hint = "a few dozen typical inputs are enough",
              .severity = Severity::kNote});
  }
  constexpr float kSmallest = std::numeric_limits<float>::min();
  for (size_t i = 0; i < seen_.size(); ++i) {
    const Extent& extent = seen_[i];
    const bool is_input = i < graph_.inputs.size();
    const ir::ValueId id = is_input ? graph_.inputs[i] : graph_.outputs[i - graph_.inputs.size()];
    const bool is_tiny = extent.max < kSmallest && extent.min > -kSmallest && extent.max != extent.min;
    if (extent.elements < 2 || !id.valid() || graph_[id].constant || (extent.min != extent.max && !is_tiny)) continue;
    log.note({.where = where,
              .what = fmt::format("{} {} is {} in all samples: calibration learns nothing from it",
                                  is_input ? "the input" : "the output", graph_[id].name,
                                  is_tiny ? std::string("practically 0") : fmt::format("{}", extent.min)),
              .hint = "calibrate with real inputs of the model",
              .severity = Severity::kWarning});
  }
}

}  // namespace carina::quantize
