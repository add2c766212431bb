#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/resize_internal.h"
#include "plan/select/rules.h"

// RESIZE for NPUs with an operation for it, with the RESCALE after it where that is a shift, rounded half up or away
// from zero.
namespace carina::plan {
namespace {

constexpr int64_t kMaxScale = 2048;
constexpr int64_t kMaxStep = 16;  // whole input elements from one output to the next
constexpr int kMaxShift = 47;     // after the sums' own 16 bits
constexpr int64_t kNearest = 1;

Result<void> check(Selection& s, const ResizeAxis& axis) {
  if (axis.scale > kMaxScale || axis.step / axis.scale >= kMaxStep)
    return s.reject("this RESIZE is not supported", fmt::format("scales of at most {}", kMaxScale),
                    fmt::format("{}/{}", axis.scale, axis.step));
  return {};
}

// No stream of Vela shows a RESIZE whose result is transposed.
bool has_contiguous_channels(const View& view) {
  return view.axes.back().size == 1 || view.axes.back().stride == 1;
}

}  // namespace

Result<void> select_resample(Selection& s) {
  CARINA_TRY(const std::vector<int64_t> scale, s.constant(s.input(1), "scale"));
  CARINA_TRY(const std::vector<int64_t> offset, s.constant(s.input(2), "offset"));
  if (scale.size() != 4 || offset.size() != 2 || std::ranges::min(scale) < 1)
    return s.reject("RESIZE needs four scales and two offsets");
  const bool nearest = s.node().attributes.integer("mode") == kNearest;
  Resize resize{.mode = nearest ? npu::ResizeMode::NEAREST : npu::ResizeMode::BILINEAR,
                .y = {.scale = scale[0], .step = scale[1], .offset = offset[0]},
                .x = {.scale = scale[2], .step = scale[3], .offset = offset[1]}};
  CARINA_CHECKED(check(s, resize.y));
  CARINA_CHECKED(check(s, resize.x));
  const Operand x = s.with_channels(s.input(0));
  if (x.type.bits > 16)
    return s.reject("the type is not supported", "int8 or int16", std::string(name_of(s.value(s.input(0)).dtype)));
  Epilogue epilogue = store_only(s.output(), x.type);
  const int64_t unit = resize.y.scale * resize.x.scale;
  const auto rounded = nearest || !std::has_single_bit(static_cast<uint64_t>(unit)) ? std::optional<RoundedSums>()
                                                                                    : rounded_sums(s, x.type, unit);
  if (rounded) {
    for (const ir::NodeId node : rounded->nodes) s.absorb(node);
    epilogue = s.follow(rounded->epilogue, {});
    epilogue.factors = {{.multiplier = 1, .shift = std::countr_zero(static_cast<uint64_t>(unit))}};
    resize.rounds_away = true;
  } else if (!nearest) {
    epilogue = s.follow(s.output(), x.type.bits == 8 ? kSigned32 : kSigned64, {.scale = EpilogueRules::Scale::kShift});
  }
  if (epilogue.scaled && (epilogue.factors[0].shift > kMaxShift || epilogue.rounding != Rounding::kSingle))
    return s.reject("the RESCALE after this RESIZE shifts too far, or rounds twice");
  const View out = s.open(epilogue.value, s.shape(s.output()));
  const View written = has_contiguous_channels(out) ? out : s.new_tensor("dense", out.shape(), epilogue.type);
  for (int64_t n = 0; n < out.axes[0].size && !s.is_full(); ++n) {
    s.push({.kind = StepKind::kResize,
            .ofm = image_map(at(written, n), epilogue.type, epilogue.zero_point),
            .ifm = image_map(at(x.view, n), x.type, 0),
            .scaling = simplified(epilogue.scaling()),
            .activation = epilogue.activation,
            .acc = x.type.bits == 16 && !nearest ? AccWidth::kWide : AccWidth::kNarrow,
            .resize = resize,
            .name = {}});
  }
  if (written != out) emit_copy(s, out, written, epilogue.type);
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
