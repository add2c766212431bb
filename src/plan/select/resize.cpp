#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/select/emit.h"
#include "plan/select/rules.h"
#include "plan/select/weights.h"

// RESIZE, one axis after the other. Outputs whose sources advance evenly are made by one operation that steps over its
// output: with upscaling by n there are n such phases.
namespace carina::plan {
namespace {

// Where output index `o` of an axis takes its value from: (1 - fraction/n) * in[low] + fraction/n * in[high].
struct Source {
  int64_t low = 0;
  int64_t high = 0;
  int64_t fraction = 0;
};

struct AxisScale {
  int64_t n = 1;
  int64_t d = 1;
  int64_t offset = 0;
  int64_t inputs = 1;
  int64_t outputs = 1;
};

// Source: TOSA 1.0, RESIZE.
Source source_of(const AxisScale& a, int64_t o) {
  const int64_t position = o * a.d + a.offset;
  const int64_t index = position >= 0 ? position / a.n : -((-position + a.n - 1) / a.n);
  return {.low = std::clamp<int64_t>(index, 0, a.inputs - 1),
          .high = std::clamp<int64_t>(index + 1, 0, a.inputs - 1),
          .fraction = position - index * a.n};
}

// A run of outputs first, first + step, ... whose sources are `low + i * advance` with the same fraction.
struct Run {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 1;
  Source source;
  int64_t advance = 1;
};

std::vector<Run> runs_of(const AxisScale& a) {
  std::vector<bool> done(static_cast<size_t>(a.outputs), false);
  std::vector<Run> runs;
  for (int64_t o = 0; o < a.outputs; ++o) {
    if (done[static_cast<size_t>(o)]) continue;
    Run run{.first = o, .step = a.n, .count = 1, .source = source_of(a, o), .advance = a.d};
    for (int64_t next = o;;) {
      done[static_cast<size_t>(next)] = true;
      next += a.n;
      if (next >= a.outputs) break;
      const Source s = source_of(a, next);
      if (s.fraction != run.source.fraction || s.low != run.source.low + run.count * a.d ||
          s.high - s.low != run.source.high - run.source.low)
        break;
      ++run.count;
    }
    runs.push_back(run);
  }
  return runs;
}

void nearest_axis(Selection& s, const View& dst, const Operand& src, size_t axis, const AxisScale& a) {
  for (const Run& run : runs_of(a)) {
    const int64_t index = 2 * run.source.fraction >= a.n ? run.source.high : run.source.low;
    emit_copy(s, stepped_axis(dst, axis, run.first, run.step, run.count),
              stepped_axis(src.view, axis, index, run.advance, run.count), src.type);
  }
}

// A depthwise kernel of the two taps along the axis, scaled up by n.
Result<void> bilinear_axis(Selection& s, const View& dst, const Operand& src, size_t axis, const AxisScale& a,
                           const Epilogue& epilogue) {
  for (const Run& run : runs_of(a)) {
    const int64_t channels = dst.axes[3].size;
    const bool two = run.source.high != run.source.low && run.source.fraction != 0;
    const int64_t taps = two ? 2 : 1;
    const int64_t spread = run.source.high - run.source.low;
    CARINA_CHECK(!two || spread == 1, "neighbours");
    Weights weights{
        .name = {}, .out_channels = channels, .height = axis == 1 ? taps : 1, .width = axis == 2 ? taps : 1};
    for (int64_t c = 0; c < channels; ++c) {
      weights.values.push_back(static_cast<int16_t>(two ? a.n - run.source.fraction : a.n));
      if (two) weights.values.push_back(static_cast<int16_t>(run.source.fraction));
    }
    Window window{.kind = StepKind::kDepthwise,
                  .ifm = src,
                  .ofm = stepped_axis(dst, axis, run.first, run.step, run.count),
                  .kernel = {.height = weights.height, .width = weights.width}};
    (axis == 1 ? window.kernel.stride_y : window.kernel.stride_x) = run.count == 1 ? 1 : run.advance;
    window.ifm.view = sliced_axis(src.view, axis, run.source.low, (run.count - 1) * run.advance + taps);
    CARINA_TRY(window.weights, add_weights(s, std::move(weights), epilogue));
    CARINA_CHECKED(emit_window(s, window, epilogue));
  }
  return {};
}

constexpr int64_t kNearest = 1;
constexpr int64_t kMaxBilinearScale = 128;  // int8 times this fits int16, and the weights fit nine bits

}  // namespace

Result<void> select_resize(Selection& s) {
  CARINA_TRY(const std::vector<int64_t> scale, s.constant(s.input(1), "scale"));
  CARINA_TRY(const std::vector<int64_t> offset, s.constant(s.input(2), "offset"));
  if (scale.size() != 4 || offset.size() != 2 || std::ranges::min(scale) < 1)
    return s.refuse("RESIZE needs four scales and two offsets");
  const Operand x = with_dense_channels(s, s.plain(s.input(0)));
  const Shape in = s.shape(s.input(0)), out_shape = s.shape(s.output());
  const AxisScale y{.n = scale[0], .d = scale[1], .offset = offset[0], .inputs = in[1], .outputs = out_shape[1]};
  const AxisScale w{.n = scale[2], .d = scale[3], .offset = offset[1], .inputs = in[2], .outputs = out_shape[2]};
  const Shape rows_shape{in[0], out_shape[1], in[2], in[3]};
  if (s.node().attributes.integer("mode") == kNearest) {
    const View out = s.destination(s.output());
    const View rows = s.new_tensor("rows", rows_shape, x.type);
    nearest_axis(s, rows, x, 1, y);
    nearest_axis(s, out, {.view = rows, .type = x.type}, 2, w);
    s.define(s.output(), {.view = out, .type = x.type});
    return {};
  }
  if (x.type != kSigned8 || std::max(y.n, w.n) > kMaxBilinearScale) {
    return s.refuse("this bilinear RESIZE is not supported",
                    fmt::format("int8, scale numerators of at most {}", kMaxBilinearScale));
  }
  const View rows = s.new_tensor("rows", rows_shape, kSigned16);
  CARINA_CHECKED(bilinear_axis(s, rows, x, 1, y, store_only({}, kSigned16)));
  const Epilogue epilogue = s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kGlobal});
  const View out = s.open(epilogue.value, out_shape);
  CARINA_CHECKED(bilinear_axis(s, out, {.view = rows, .type = kSigned16}, 2, w, epilogue));
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
