#include "facts/npu_targets.h"
#include "plan/select/emit.h"
#include "plan/select/rules.h"
#include "tensor/fixed_point.h"

// MAX_POOL2D and AVG_POOL2D, with the CLAMP and TABLE behind them.
namespace carina::plan {
namespace {

Result<Window> read_pool(Selection& s, npu::PoolingMode mode) {
  const ir::Attributes& attributes = s.node().attributes;
  const auto& kernel = attributes.integers("kernel");
  const auto& stride = attributes.integers("stride");
  const auto& pad = attributes.integers("pad");
  Window window{.kind = StepKind::kPool,
                .pool = mode,
                .ifm = s.with_channels(s.input(0)),
                .kernel = {.height = kernel[0], .width = kernel[1], .stride_y = stride[0], .stride_x = stride[1]},
                .padding = {.top = pad[0], .bottom = pad[1], .left = pad[2], .right = pad[3]}};
  if (window.ifm.type.bits > 16)
    return s.refuse("the type is not supported", "int8 or int16", std::string(name_of(s.value(s.input(0)).dtype)));
  return window;
}

Result<void> finish(Selection& s, Window& window, const Epilogue& epilogue) {
  window.ofm = s.open(epilogue.value, s.shape(s.output()));
  CARINA_CHECKED(emit_window(s, window, epilogue));
  s.close(epilogue.value, window.ofm, epilogue.type);
  return {};
}

}  // namespace

Result<void> select_max_pool(Selection& s) {
  CARINA_TRY(Window window, read_pool(s, npu::PoolingMode::MAX));
  return finish(s, window, s.follow(s.output(), window.ifm.type, {}));
}

Result<void> select_average_pool(Selection& s) {
  CARINA_TRY(Window window, read_pool(s, npu::PoolingMode::AVERAGE));
  CARINA_TRY(window.ifm.zero_point, s.constant_scalar(s.input(1), "input zero point"));
  CARINA_TRY(const int64_t output_zp, s.constant_scalar(s.input(2), "output zero point"));
  const bool padded = window.padding != Padding{};
  if (padded &&
      (window.kernel.height > npu::kMaxPaddedAveragePoolSize || window.kernel.width > npu::kMaxPaddedAveragePoolSize)) {
    return s.refuse("a padded average over this window is not supported", "at most 8x8");
  }
  Epilogue epilogue = s.follow(s.output(), window.ifm.type, {});
  epilogue.zero_point = output_zp;
  // With padding the NPU itself divides by the number of elements inside; without, it multiplies as TOSA does.
  if (!padded && window.kernel.taps() > 1) {
    const ScaleFactor factor = reciprocal_scale(static_cast<uint32_t>(window.kernel.taps()));
    epilogue.multipliers = {static_cast<uint32_t>(factor.multiplier)};
    epilogue.shifts = {static_cast<uint8_t>(factor.shift)};
  }
  return finish(s, window, epilogue);
}

}  // namespace carina::plan
