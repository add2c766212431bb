#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked_math.h"
#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"

// Dilations beyond the NPU's limit. The outputs are divided into sets with the distance of the taps; each set is a
// convolution with adjacent taps.
namespace carina::plan {
namespace {

// One phase along an axis: the outputs phase, phase + step, ... of a dilated window, and the inputs that they read,
// which have the same distance.
struct DilatedPhase {
  int64_t first_output = 0;
  int64_t outputs = 0;
  int64_t first_input = 0;  // of the input's elements
  int64_t inputs = 0;       // `step` apart
  int64_t before = 0;       // padding
  int64_t after = 0;
};
using DilatedPhases = std::vector<DilatedPhase>;

// Returns nothing if some phase reads only padding.
std::optional<DilatedPhases> dilated_phases(int64_t inputs, int64_t outputs, int64_t pad, const Steps& steps,
                                            int64_t taps) {
  DilatedPhases phases;
  for (int64_t p = 0; p < std::min(steps.step, outputs); ++p) {
    const int64_t remainder = ((p - pad) % steps.step + steps.step) % steps.step;
    const int64_t elements = ceil_div(inputs - remainder, steps.step);  // elements of the input with this remainder
    const int64_t first = (p - pad - remainder) / steps.step;
    const int64_t count = ceil_div(outputs - p, steps.step), end = first + count + (taps - 1) * steps.native;
    const int64_t start = std::max<int64_t>(first, 0), stop = std::min(end, elements);
    if (stop <= start) return std::nullopt;
    phases.push_back({.first_output = p,
                      .outputs = count,
                      .first_input = remainder + start * steps.step,
                      .inputs = stop - start,
                      .before = start - first,
                      .after = end - stop});
  }
  return phases;
}

struct PhasesOfBoth {
  std::optional<DilatedPhases> rows;
  std::optional<DilatedPhases> columns;
};
PhasesOfBoth phases_of(const Convolution& c, const Steps& y, const Steps& x, const View& out) {
  // An axis with adjacent taps may have strides. It is a single phase without change.
  const auto as_it_is = [](int64_t inputs, int64_t outputs, int64_t before, int64_t after) {
    return DilatedPhases{{.outputs = outputs, .inputs = inputs, .before = before, .after = after}};
  };
  const Shape in = c.ifm.view.shape(), o = out.shape();
  const Padding& p = c.padding;
  PhasesOfBoth both{.rows = as_it_is(in[1], o[1], p.top, p.bottom), .columns = as_it_is(in[2], o[2], p.left, p.right)};
  if (y.step > 1) both.rows = dilated_phases(in[1], o[1], p.top, y, c.kernel.height);
  if (x.step > 1) both.columns = dilated_phases(in[2], o[2], p.left, x, c.kernel.width);
  return both;
}

// The overhead of one operation, and the number of multiplier lanes that a depthwise kernel leaves idle.
constexpr double kOperationCycles = 400;  // estimate(400): first read, last write, registers
constexpr double kDepthwiseLoss = 8;
constexpr int64_t kMaxPhases = 256;

// Whether the zeros between spread taps cost more than one operation per phase.
bool phases_pay(const Selection& s, StepKind kind, const Convolution& c, const Steps& y, const Steps& x,
                const View& out) {
  const Kernel& k = c.kernel;
  const int64_t phases = y.step * x.step;
  if (phases == 1 || phases > kMaxPhases) return false;
  if ((y.step > 1 && k.stride_y > 1) || (x.step > 1 && k.stride_x > 1)) return false;
  const int64_t window = ((k.height - 1) * y.step + 1) * ((k.width - 1) * x.step + 1);
  const double lanes = kind == StepKind::kDepthwise ? kDepthwiseLoss : static_cast<double>(c.weight_shape[3]);
  const double wasted = static_cast<double>((window - k.taps()) * out.elements()) * lanes;
  return wasted / s.target().accelerator.macs_per_cycle > static_cast<double>(phases - 1) * kOperationCycles;
}

// Emits the part of a convolution that belongs to one phase of each axis.
Result<void> emit_phase(Selection& s, StepKind kind, const Convolution& close, WeightsId weights, const View& out,
                        const Epilogue& epilogue, const DilatedPhase& row, const DilatedPhase& column, int64_t step_y,
                        int64_t step_x) {
  Convolution part = close;
  const auto cut = [](const View& view, size_t axis, int64_t first, int64_t step, int64_t size) {
    return stepped_axis(view, axis, first, step, size);
  };
  part.ifm.view =
      cut(cut(close.ifm.view, 1, row.first_input, step_y, row.inputs), 2, column.first_input, step_x, column.inputs);
  part.padding = {.top = row.before, .bottom = row.after, .left = column.before, .right = column.after};
  if (needs_padding_in_memory(part)) pad_in_memory(s, part);
  return emit_with(
      s, kind, part, weights,
      cut(cut(out, 1, row.first_output, step_y, row.outputs), 2, column.first_output, step_x, column.outputs),
      epilogue);
}

}  // namespace

Result<bool> emit_by_phases(Selection& s, StepKind kind, const Convolution& c, const std::vector<int64_t>& biases,
                            const View& out, const Epilogue& epilogue) {
  const Steps y = steps_of(c.kernel.height, c.kernel.dilation_y), x = steps_of(c.kernel.width, c.kernel.dilation_x);
  if (!phases_pay(s, kind, c, y, x, out)) return false;
  const auto [rows, columns] = phases_of(c, y, x, out);
  if (!rows || !columns) return false;
  Convolution close = c;
  close.kernel.dilation_y = y.native;
  close.kernel.dilation_x = x.native;
  CARINA_TRY(const WeightsId weights, weights_of(s, close, biases, epilogue));
  for (const DilatedPhase& row : *rows) {
    for (const DilatedPhase& column : *columns)
      CARINA_CHECKED(emit_phase(s, kind, close, weights, out, epilogue, row, column, y.step, x.step));
  }
  return true;
}

}  // namespace carina::plan
