#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "facts/npu_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// TRANSPOSE_CONV2D with constant weights, in one of two forms:
// - phases: the outputs o with the same (o + shift) % stride read the same taps. They are an ordinary convolution with
//   these taps, whose results are `stride` apart.
//   Example, one axis, stride 2, 3 taps: even outputs read taps 0 and 2 at the inputs o / 2 and o / 2 - 1, odd ones tap
//   1 at (o - 1) / 2. In two axes, these are 4 convolutions with 4, 2, 2 and 1 taps.
// - zeros: NPUs with SHRAM read an IFM with a zero after each element (Step::inserts_zeros), so that stride 2 is one
//   convolution with all taps, in reverse order, and a stride of 1. It multiplies 4 times as often, but it is only one
//   operation, which waits once for its first read and its last write.
// Small maps take fewer cycles with zeros, large ones by phases. Source: Vela uses zeros for all.
namespace carina::plan {
namespace {

// The taps of one output phase along an axis. Outputs o with (o + shift) % stride == phase read the taps phase, phase +
// stride, and so on.
struct Phase {
  int64_t first_output = 0;
  int64_t outputs = 0;
  std::vector<int64_t> taps;  // in the order of growing input positions
  int64_t first_input = 0;    // input position of taps[0] for output `first_output`; may be negative
};

std::vector<Phase> phases_of(int64_t stride, int64_t kernel, int64_t out_pad, int64_t outputs) {
  // Transposed convolution: out[i*stride + k + out_pad] += in[i] * w[k], so output o reads tap k from input (o -
  // out_pad - k) / stride.
  std::vector<Phase> phases;
  for (int64_t first = 0; first < std::min(stride, outputs); ++first) {
    Phase phase{.first_output = first, .outputs = (outputs - first + stride - 1) / stride, .taps = {}};
    for (int64_t k = kernel - 1; k >= 0; --k) {
      if ((first - out_pad - k) % stride == 0) phase.taps.push_back(k);
    }
    if (!phase.taps.empty()) phase.first_input = (first - out_pad - phase.taps.front()) / stride;
    phases.push_back(std::move(phase));
  }
  return phases;
}

// The input rows that a phase reads, as a padded slice.
struct Slice {
  int64_t start = 0;
  int64_t size = 1;
  int64_t before = 0;
  int64_t after = 0;
};
Slice slice_of(const Phase& phase, int64_t inputs) {
  const int64_t taps = std::max<int64_t>(static_cast<int64_t>(phase.taps.size()), 1);
  const int64_t first = phase.first_input, end = phase.first_input + phase.outputs + taps - 1;
  const int64_t start = std::clamp<int64_t>(first, 0, inputs - 1), stop = std::clamp<int64_t>(end, start + 1, inputs);
  return {.start = start, .size = stop - start, .before = start - first, .after = end - stop};
}

bool reads_nothing(const Phase& phase, int64_t inputs) {
  const int64_t end = phase.first_input + phase.outputs + static_cast<int64_t>(phase.taps.size()) - 1;
  return phase.taps.empty() || phase.first_input >= inputs || end <= 0;
}

std::vector<int16_t> phase_weights(const Convolution& c, const Phase& y, const Phase& x) {
  const int64_t out = c.weight_shape[0], in = c.weight_shape[3];
  if (y.taps.empty() || x.taps.empty()) return std::vector<int16_t>(static_cast<size_t>(out * in), 0);
  const std::vector<int16_t> all = c.weights.widened();
  std::vector<int16_t> weights;
  for (int64_t o = 0; o < out; ++o) {
    for (const int64_t ky : y.taps) {
      for (const int64_t kx : x.taps) {
        const auto* from = &all[static_cast<size_t>(((o * c.weight_shape[1] + ky) * c.weight_shape[2] + kx) * in)];
        weights.insert(weights.end(), from, from + in);
      }
    }
  }
  return weights;
}

// An ordinary convolution that computes some of the results. It has no weights yet.
struct TransposedPart {
  Convolution convolution;
  View ofm;
};

TransposedPart phase_part(const Convolution& c, const View& out, const Phase& y, const Phase& x) {
  const auto count = [](const Phase& p) { return std::max<int64_t>(static_cast<int64_t>(p.taps.size()), 1); };
  const Slice rows = slice_of(y, c.ifm.view.axes[1].size), columns = slice_of(x, c.ifm.view.axes[2].size);
  TransposedPart part;
  part.convolution.ifm = c.ifm;
  part.convolution.ifm.view =
      sliced_axis(sliced_axis(c.ifm.view, 1, rows.start, rows.size), 2, columns.start, columns.size);
  part.convolution.kernel = {.height = count(y), .width = count(x)};
  part.convolution.padding = {.top = rows.before, .bottom = rows.after, .left = columns.before, .right = columns.after};
  part.convolution.weight_shape = {c.weight_shape[0], count(y), count(x), c.weight_shape[3]};
  const int64_t stride_y = c.kernel.stride_y, stride_x = c.kernel.stride_x;
  part.ofm =
      stepped_axis(stepped_axis(out, 1, y.first_output, stride_y, y.outputs), 2, x.first_output, stride_x, x.outputs);
  return part;
}

// The phases of both axes, as pairs of a phase of rows and one of columns.
std::vector<std::array<Phase, 2>> phases_of(const Convolution& c, const std::vector<int64_t>& out_pad,
                                            const Shape& shape) {
  std::vector<std::array<Phase, 2>> phases;
  for (const Phase& y : phases_of(c.kernel.stride_y, c.kernel.height, out_pad[0], shape[1])) {
    for (const Phase& x : phases_of(c.kernel.stride_x, c.kernel.width, out_pad[2], shape[2])) {
      phases.push_back({y, x});
      if (!reads_nothing(y, c.ifm.view.axes[1].size) && !reads_nothing(x, c.ifm.view.axes[2].size)) continue;
      for (Phase& phase : phases.back()) {  // only the bias
        phase.taps.clear();
        phase.first_input = 0;
      }
    }
  }
  return phases;
}

Result<void> emit_phases(Selection& s, const Convolution& c, const std::vector<int64_t>& biases, const View& out,
                         const Epilogue& epilogue, const std::vector<std::array<Phase, 2>>& phases) {
  for (const auto& [y, x] : phases) {
    TransposedPart part = phase_part(c, out, y, x);
    part.convolution.weights = phase_weights(c, y, x);
    lay_tall_kernel_down(part.convolution);
    const View ofm = oriented(part.convolution, part.ofm);
    CARINA_CHECKED(emit_convolution(s, StepKind::kConv, std::move(part.convolution), biases, ofm, epilogue));
  }
  return {};
}

// One axis of the form with zeros: its window moves over 2 * inputs elements. Nothing, if some window would lie wholly
// in the padding.
struct Upscaled {
  int64_t inputs = 0;  // that are read
  int64_t before = 0;  // padding
  int64_t after = 0;
};
std::optional<Upscaled> upscaled(int64_t taps, int64_t out_pad, int64_t inputs, int64_t outputs) {
  const int64_t before = taps - 1 + out_pad, end = outputs + taps - 1 - before;
  const Upscaled axis{
      .inputs = std::min(inputs, (end + 1) / 2), .before = before, .after = std::max<int64_t>(end - 2 * inputs, 0)};
  if (before < 0 || std::max(before, axis.after) >= taps || axis.inputs <= 0) return std::nullopt;
  return axis;
}

// The whole convolution in the form with zeros.
std::optional<TransposedPart> upscaled_part(const Convolution& c, const View& out,
                                            const std::vector<int64_t>& out_pad) {
  const Kernel& k = c.kernel;
  if (k.stride_y != 2 || k.stride_x != 2 || k.height > npu::kMaxKernelHeight || k.taps() > npu::kMaxKernelElements)
    return std::nullopt;
  const auto y = upscaled(k.height, out_pad[0], c.ifm.view.axes[1].size, out.axes[1].size);
  const auto x = upscaled(k.width, out_pad[2], c.ifm.view.axes[2].size, out.axes[2].size);
  if (!y || !x) return std::nullopt;
  TransposedPart part{
      .convolution = {.ifm = c.ifm,
                      .kernel = {.height = k.height, .width = k.width},
                      .padding = {.top = y->before, .bottom = y->after, .left = x->before, .right = x->after},
                      .weights = {},
                      .weight_shape = c.weight_shape},
      .ofm = out};
  if (!fits_padding_limits(part.convolution.padding)) return std::nullopt;
  part.convolution.ifm.view = sliced_axis(sliced_axis(c.ifm.view, 1, 0, y->inputs), 2, 0, x->inputs);
  return part;
}

// The taps of both axes in reverse order.
std::vector<int16_t> reversed_weights(const Convolution& c) {
  const std::vector<int16_t> all = c.weights.widened();
  std::vector<int16_t> reversed;
  reversed.reserve(all.size());
  const int64_t taps = c.kernel.taps(), in = c.weight_shape[3];
  for (int64_t o = 0; o < c.weight_shape[0]; ++o) {
    for (int64_t tap = taps - 1; tap >= 0; --tap) {
      const auto from = all.begin() + (o * taps + tap) * in;
      reversed.insert(reversed.end(), from, from + in);
    }
  }
  return reversed;
}

// The cycles of a part, with its wait for the first read and the last write.
double cycles_of(const Selection& s, const TransposedPart& part, int64_t upscale) {
  const Convolution& c = part.convolution;
  const npu::MemoryPort& port = s.target().arena_port();
  Step step{.kind = StepKind::kConv,
            .ofm = image_map(part.ofm, c.ifm.type, 0),
            .ifm = image_map(c.ifm.view, c.ifm.type, 0),
            .kernel = c.kernel,
            .padding = c.padding,
            .upscale = upscale,
            .inserts_zeros = upscale != 1,
            .per_channel = true,
            .activation = {.min = c.ifm.type.min(), .max = c.ifm.type.max()},
            .acc = c.ifm.type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow,
            .name = {}};
  return kCyclesOfStart + port.read_latency_cycles + port.write_latency_cycles +
         cheapest_cycles(std::move(step), s.family(), s.target());
}

bool zeros_pay(const Selection& s, const Convolution& c, const View& out, const TransposedPart& whole,
               const std::vector<std::array<Phase, 2>>& phases) {
  double cycles = 0;
  for (const auto& [y, x] : phases) cycles += cycles_of(s, phase_part(c, out, y, x), 1);
  constexpr double kMaxShare = 0.85;  // estimate(0.85): one operation with all weights overlaps less than several
  return cycles_of(s, whole, 2) < kMaxShare * cycles;
}

Result<void> emit_upscaled(Selection& s, const Convolution& c, const std::vector<int64_t>& biases, TransposedPart part,
                           const Epilogue& epilogue) {
  part.convolution.weights = reversed_weights(c);
  CARINA_TRY(const WeightsId weights, weights_of(s, part.convolution, biases, epilogue));
  return emit_window(s,
                     {.kind = StepKind::kConv,
                      .ifm = part.convolution.ifm,
                      .ofm = part.ofm,
                      .kernel = part.convolution.kernel,
                      .padding = part.convolution.padding,
                      .upscale = 2,
                      .inserts_zeros = true,
                      .weights = weights},
                     epilogue);
}

enum class Zeros : uint8_t { kNo, kWhereTheyPay };

Result<void> select_in_best_form(Selection& s, Zeros zeros) {
  CARINA_CHECKED(check_convolution_types(s));
  Convolution c;
  const auto& out_pad = s.node().attributes.integers("out_pad");
  const auto& stride = s.node().attributes.integers("stride");
  CARINA_TRY(c.weights, read_weights(s));
  c.weight_shape = s.shape(s.input(1));
  CARINA_TRY(const std::vector<int64_t> biases, biases_of(s, s.input(2), c.weight_shape[0]));
  CARINA_TRY(const int64_t input_zp, s.constant_scalar(s.input(3), "input zero point"));
  c.ifm = s.with_channels(s.input(0));
  c.ifm.zero_point = input_zp;
  c.kernel = {.height = c.weight_shape[1], .width = c.weight_shape[2], .stride_y = stride[0], .stride_x = stride[1]};
  const Shape shape = s.shape(s.output());
  const auto phases = phases_of(c, out_pad, shape);
  CARINA_TRY(const std::vector<Epilogue> epilogues, epilogues_of(s, c, biases));
  for (const Epilogue& epilogue : epilogues) {
    const View result = s.open(epilogue.value, shape);
    auto whole = zeros == Zeros::kNo ? std::nullopt : upscaled_part(c, result, out_pad);
    if (whole && zeros_pay(s, c, result, *whole, phases)) {
      CARINA_CHECKED(emit_upscaled(s, c, biases, *std::move(whole), epilogue));
    } else {
      // Each phase would copy its results to other channels than it computes them in. One copy of all is cheaper.
      const bool is_direct = shape[3] == 1 || result.axes[3].stride == 1;
      const View out = is_direct ? result : s.new_tensor("phases", shape, epilogue.type);
      CARINA_CHECKED(emit_phases(s, c, biases, out, epilogue, phases));
      if (!is_direct) emit_copy(s, result, out, epilogue.type);
    }
    s.close(epilogue.value, result, epilogue.type);
  }
  return {};
}

}  // namespace

Result<void> select_transpose_conv(Selection& s) {
  return select_in_best_form(s, Zeros::kNo);
}

Result<void> select_transpose_conv_with_zeros(Selection& s) {
  return select_in_best_form(s, Zeros::kWhereTheyPay);
}

}  // namespace carina::plan
