#include "plan/select/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/npu_targets.h"
#include "plan/select/emit.h"
#include "plan/select/rules.h"
#include "plan/select/weights.h"

// CONV2D, DEPTHWISE_CONV2D and TRANSPOSE_CONV2D with constant weights, together with the RESCALE, CLAMP and TABLE
// behind them. A PAD in front of them becomes padding of the operation.
namespace carina::plan {
namespace {

// A pad of zero points in front joins the convolution's own, as long as each window still touches the input.
bool join_pad(Convolution& c, const PendingPad& pad, int64_t input_zp) {
  const auto& [source, before, after, fill] = pad;
  if (before[0] + after[0] + before[3] + after[3] != 0 || fill != input_zp) return false;
  const Padding joined{.top = c.padding.top + before[1],
                       .bottom = c.padding.bottom + after[1],
                       .left = c.padding.left + before[2],
                       .right = c.padding.right + after[2]};
  if (std::max(joined.top, joined.bottom) >= c.kernel.extent_h() ||
      std::max(joined.left, joined.right) >= c.kernel.extent_w())
    return false;
  c.padding = joined;
  c.ifm = source;
  return true;
}

// Windows that lie wholly in the padding are not something the NPU is known to do: pad in memory instead.
void pad_in_memory(Selection& s, Convolution& c) {
  const Padding& p = c.padding;
  if (std::max(p.top, p.bottom) < c.kernel.extent_h() && std::max(p.left, p.right) < c.kernel.extent_w()) return;
  const Operand source{.view = c.ifm.view, .type = c.ifm.type};
  const Shape shape = c.ifm.view.shape();
  const View padded = s.new_tensor(
      "padded", {shape[0], shape[1] + p.top + p.bottom, shape[2] + p.left + p.right, shape[3]}, c.ifm.type);
  emit_pad(s, padded,
           {.source = source,
            .before = {0, p.top, p.left, 0},
            .after = {0, p.bottom, p.right, 0},
            .fill = c.ifm.zero_point});
  c.ifm.view = padded;
  c.padding = {};
}

// Dilations that the NPU does not have become zeros between the taps. `outer` and `inner` are the elements before and
// behind the kernel axes: w[outer][kh][kw][inner].
Result<void> spread_taps(Selection& s, Convolution& c, int64_t outer, int64_t inner) {
  Kernel& k = c.kernel;
  if (k.extent_h() > npu::kMaxKernelHeight || k.extent_h() * k.extent_w() > npu::kMaxKernelElements) {
    return s.refuse(
        "the kernel is too large for the NPU",
        fmt::format("height at most {}, height * width at most {}", npu::kMaxKernelHeight, npu::kMaxKernelElements),
        fmt::format("{}x{}", k.extent_h(), k.extent_w()));
  }
  const auto native = [](int64_t taps, int64_t dilation) {
    return taps == 1 ? 1 : dilation % npu::kMaxDilation == 0 ? 2 : 1;
  };
  const int64_t step_y = k.height == 1 ? 1 : k.dilation_y / native(k.height, k.dilation_y);
  const int64_t step_x = k.width == 1 ? 1 : k.dilation_x / native(k.width, k.dilation_x);
  const int64_t height = (k.height - 1) * step_y + 1, width = (k.width - 1) * step_x + 1;
  if (step_y != 1 || step_x != 1) {
    std::vector<int16_t> spread(static_cast<size_t>(outer * height * width * inner), 0);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t y = 0; y < k.height; ++y) {
        for (int64_t x = 0; x < k.width; ++x) {
          const auto* from = &c.weights[static_cast<size_t>(((o * k.height + y) * k.width + x) * inner)];
          std::copy_n(from, inner,
                      &spread[static_cast<size_t>(((o * height + y * step_y) * width + x * step_x) * inner)]);
        }
      }
    }
    c.weights = std::move(spread);
  }
  k.dilation_y = native(k.height, k.dilation_y);
  k.dilation_x = native(k.width, k.dilation_x);
  k.height = height;
  k.width = width;
  return {};
}

Result<std::vector<int16_t>> read_weights(Selection& s) {
  CARINA_TRY(const int64_t zero_point, s.constant_scalar(s.input(4), "weight zero point"));
  CARINA_TRY(const std::vector<int64_t> values, s.constant(s.input(1), "weights"));
  std::vector<int16_t> weights(values.size());
  std::ranges::transform(values, weights.begin(), [&](int64_t w) { return static_cast<int16_t>(w - zero_point); });
  return weights;
}

Result<void> check_types(Selection& s) {
  const DType type = s.value(s.input(0)).dtype;
  if (type != DType::kInt8 && type != DType::kInt16)
    return s.refuse("the input type is not supported", "int8 or int16", std::string(name_of(type)));
  const DType weight = s.value(s.input(1)).dtype;
  if (weight != DType::kInt8 && weight != DType::kInt4)
    return s.refuse("the weight type is not supported", "int8 or int4", std::string(name_of(weight)));
  return {};
}

Result<Convolution> read_convolution(Selection& s, size_t kernel_axis) {
  CARINA_CHECKED(check_types(s));
  Convolution c;
  const ir::Attributes& attributes = s.node().attributes;
  const auto& pad = attributes.integers("pad");
  const auto& stride = attributes.integers("stride");
  const auto& dilation = attributes.integers("dilation");
  CARINA_TRY(const int64_t input_zp, s.constant_scalar(s.input(3), "input zero point"));
  CARINA_TRY(c.weights, read_weights(s));
  c.weight_shape = s.shape(s.input(1));
  c.kernel = {.height = c.weight_shape[kernel_axis],
              .width = c.weight_shape[kernel_axis + 1],
              .stride_y = stride[0],
              .stride_x = stride[1],
              .dilation_y = dilation[0],
              .dilation_x = dilation[1]};
  c.padding = {.top = pad[0], .bottom = pad[1], .left = pad[2], .right = pad[3]};
  const PendingPad* pending = s.pending_pad(s.input(0));
  if (pending == nullptr || !join_pad(c, *pending, input_zp)) c.ifm = s.plain(s.input(0));
  c.ifm.zero_point = input_zp;
  return c;
}

// Channels side by side, copied once for all who read the input. Says whether they were copied now.
bool bring_channels(Selection& s, Convolution& c) {
  const TensorId before = c.ifm.view.tensor;
  if (s.pending_pad(s.input(0)) == nullptr) c.ifm.view = s.with_channels(s.input(0)).view;
  return c.ifm.view.tensor != before;
}

// The operand as the NPU can read it with the convolution's stride.
void lay_operand(Selection& s, Convolution& c) {
  const Shape& out = s.shape(s.output());
  if (has_patches(c, out)) return lay_patches(s, c, out);
  const bool is_copy = bring_channels(s, c);
  fold_columns(s, c, out, is_copy);
}

Epilogue follow_convolution(Selection& s) {
  return s.follow(s.output(), kSigned32, {.scale = EpilogueRules::Scale::kAny});
}

Result<void> finish(Selection& s, StepKind kind, const Convolution& c, WeightsId weights, const Epilogue& epilogue) {
  const View out = s.open(epilogue.value, s.shape(s.output()));
  CARINA_CHECKED(emit_window(
      s, {.kind = kind, .ifm = c.ifm, .ofm = out, .kernel = c.kernel, .padding = c.padding, .weights = weights},
      epilogue));
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace

Result<void> select_convolution(Selection& s) {
  CARINA_TRY(Convolution c, read_convolution(s, 1));
  lay_operand(s, c);
  const int64_t out_channels = c.weight_shape[0], in_channels = c.weight_shape[3];
  CARINA_TRY(std::vector<int64_t> biases, biases_of(s, s.input(2), out_channels));
  pad_in_memory(s, c);
  CARINA_CHECKED(spread_taps(s, c, out_channels, in_channels));
  const Epilogue epilogue = follow_convolution(s);
  CARINA_TRY(const WeightsId weights, add_weights(s,
                                                  {.name = {},
                                                   .out_channels = out_channels,
                                                   .height = c.kernel.height,
                                                   .width = c.kernel.width,
                                                   .in_channels = in_channels,
                                                   .values = std::move(c.weights),
                                                   .biases = std::move(biases)},
                                                  epilogue));
  return finish(s, StepKind::kConv, c, weights, epilogue);
}

namespace {

// Weights [KH,KW,C,M] as [C*M][KH][KW].
std::vector<int16_t> channels_first(const std::vector<int16_t>& weights, int64_t taps, int64_t channels) {
  std::vector<int16_t> result(weights.size());
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c)
      result[static_cast<size_t>(c * taps + tap)] = weights[static_cast<size_t>(tap * channels + c)];
  }
  return result;
}

// Each channel `multiplier` times side by side: what a depthwise kernel with a channel multiplier reads.
Result<void> repeat_channels(Selection& s, Convolution& c, int64_t multiplier) {
  const Shape shape = c.ifm.view.shape();
  const int64_t channels = shape[3];
  constexpr int64_t kMaxWeights = int64_t{1} << 26;
  if (channels * multiplier * channels > kMaxWeights)
    return s.refuse("so many channels with a multiplier are not supported");
  Weights weights{.name = {}, .out_channels = channels * multiplier, .in_channels = channels};
  weights.values.assign(static_cast<size_t>(weights.out_channels * channels), 0);
  for (int64_t o = 0; o < weights.out_channels; ++o)
    weights.values[static_cast<size_t>(o * channels + o / multiplier)] = 1;
  Epilogue same = store_only({}, c.ifm.type);
  same.scaled = true;
  CARINA_TRY(const WeightsId id, add_weights(s, std::move(weights), same));
  const View out = s.new_tensor("repeated", {shape[0], shape[1], shape[2], channels * multiplier}, c.ifm.type);
  Operand ifm = c.ifm;
  ifm.zero_point = 0;
  CARINA_CHECKED(emit_window(
      s, {.kind = StepKind::kConv, .ifm = ifm, .ofm = out, .kernel = {}, .padding = {}, .weights = id}, same));
  c.ifm.view = out;
  return {};
}

}  // namespace

Result<void> select_depthwise(Selection& s) {
  CARINA_TRY(Convolution c, read_convolution(s, 0));
  bring_channels(s, c);
  const int64_t in_channels = c.weight_shape[2], multiplier = c.weight_shape[3], channels = in_channels * multiplier;
  CARINA_TRY(std::vector<int64_t> biases, biases_of(s, s.input(2), channels));
  c.weights = channels_first(c.weights, c.kernel.taps(), channels);
  pad_in_memory(s, c);
  CARINA_CHECKED(spread_taps(s, c, channels, 1));
  if (multiplier > 1 && in_channels > 1) CARINA_CHECKED(repeat_channels(s, c, multiplier));
  const Epilogue epilogue = follow_convolution(s);
  CARINA_TRY(const WeightsId weights, add_weights(s,
                                                  {.name = {},
                                                   .out_channels = channels,
                                                   .height = c.kernel.height,
                                                   .width = c.kernel.width,
                                                   .in_channels = 1,
                                                   .values = std::move(c.weights),
                                                   .biases = std::move(biases)},
                                                  epilogue));
  // One input channel for all is not depthwise to the NPU.
  const bool shared = in_channels == 1 && multiplier > 1;
  return finish(s, shared ? StepKind::kConv : StepKind::kDepthwise, c, weights, epilogue);
}

namespace {

// The taps of one output phase along an axis: outputs o with (o + shift) % stride == phase read taps phase, phase +
// stride, ...
struct Phase {
  int64_t first_output = 0;
  int64_t outputs = 0;
  std::vector<int64_t> taps;  // in the order of growing input positions
  int64_t first_input = 0;    // that output `first_output` reads with taps[0]; may be negative
};

std::vector<Phase> phases_of(int64_t stride, int64_t kernel, int64_t out_pad, int64_t outputs) {
  // out[i*stride + k + out_pad] += in[i] * w[k], so output o reads tap k from input (o - out_pad - k) / stride.
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
  std::vector<int16_t> weights;
  for (int64_t o = 0; o < out; ++o) {
    for (const int64_t ky : y.taps) {
      for (const int64_t kx : x.taps) {
        const auto* from =
            &c.weights[static_cast<size_t>(((o * c.weight_shape[1] + ky) * c.weight_shape[2] + kx) * in)];
        weights.insert(weights.end(), from, from + in);
      }
    }
  }
  return weights;
}

Result<void> emit_phase(Selection& s, const Convolution& c, const std::vector<int64_t>& biases, const View& out,
                        const Epilogue& epilogue, Phase y, Phase x) {
  if (reads_nothing(y, c.ifm.view.axes[1].size) || reads_nothing(x, c.ifm.view.axes[2].size)) {  // nothing but the bias
    y.taps.clear();
    x.taps.clear();
    y.first_input = x.first_input = 0;
  }
  const auto count = [](const Phase& p) { return std::max<int64_t>(static_cast<int64_t>(p.taps.size()), 1); };
  const Slice rows = slice_of(y, c.ifm.view.axes[1].size), columns = slice_of(x, c.ifm.view.axes[2].size);
  Convolution part = c;
  part.kernel = {.height = count(y), .width = count(x)};
  part.padding = {.top = rows.before, .bottom = rows.after, .left = columns.before, .right = columns.after};
  part.ifm.view = sliced_axis(sliced_axis(c.ifm.view, 1, rows.start, rows.size), 2, columns.start, columns.size);
  pad_in_memory(s, part);
  CARINA_TRY(const WeightsId weights, add_weights(s,
                                                  {.name = {},
                                                   .out_channels = c.weight_shape[0],
                                                   .height = part.kernel.height,
                                                   .width = part.kernel.width,
                                                   .in_channels = c.weight_shape[3],
                                                   .values = phase_weights(c, y, x),
                                                   .biases = biases},
                                                  epilogue));
  const int64_t stride_y = c.kernel.stride_y, stride_x = c.kernel.stride_x;
  const View ofm =
      stepped_axis(stepped_axis(out, 1, y.first_output, stride_y, y.outputs), 2, x.first_output, stride_x, x.outputs);
  return emit_window(s,
                     {.kind = StepKind::kConv,
                      .ifm = part.ifm,
                      .ofm = ofm,
                      .kernel = part.kernel,
                      .padding = part.padding,
                      .weights = weights},
                     epilogue);
}

}  // namespace

// Each phase of the stride is an ordinary convolution with some of the taps, whose outputs stand `stride` apart.
Result<void> select_transpose_conv(Selection& s) {
  CARINA_CHECKED(check_types(s));
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
  const Epilogue epilogue = follow_convolution(s);
  const Shape shape = s.shape(s.output());
  const View out = s.open(epilogue.value, shape);
  for (const Phase& y : phases_of(stride[0], c.kernel.height, out_pad[0], shape[1])) {
    for (const Phase& x : phases_of(stride[1], c.kernel.width, out_pad[2], shape[2]))
      CARINA_CHECKED(emit_phase(s, c, biases, out, epilogue, y, x));
  }
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
