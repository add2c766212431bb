#include "plan/select/convolution_internal.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// CONV2D and DEPTHWISE_CONV2D with constant weights, with the RESCALE, CLAMP and TABLE that follow. A
// preceding PAD becomes padding of the operation.
namespace carina::plan {

Result<std::vector<Epilogue>> epilogues_of(Selection& s) {
  const ir::ValueId sum = s.output();
  if (s.family().abilities.wide_elements)
    return std::vector{s.follow(sum, *element_type_of(s.value(sum).dtype), {.scale = EpilogueRules::Scale::kAny})};
  if (s.value(sum).dtype != DType::kInt48 || s.sole_user(sum).valid())
    return std::vector{s.follow(sum, kSigned32, {.scale = EpilogueRules::Scale::kAny})};
  std::vector<Epilogue> epilogues;
  for (const ir::NodeId user : s.users(sum)) {
    const ir::Node& node = s.graph()[user];
    if (node.op != ir::Op(TosaOp::RESCALE))
      return s.reject("a result of 48 bits is only supported where it is rescaled", "RESCALE",
                      std::string(node.op.name()));
    CARINA_TRY(const Rescale rescale, s.rescale_of(node));
    s.absorb(user);
    epilogues.push_back(s.follow(epilogue_of(rescale, node.outputs[0]), {}));
  }
  return epilogues;
}

Result<std::vector<Epilogue>> epilogues_of(Selection& s, const Convolution& c, const std::vector<int64_t>& biases) {
  if (auto narrow = narrow_epilogue(s, c, biases)) return std::vector{*std::move(narrow)};
  return epilogues_of(s);
}

namespace {

// Merges a preceding pad of zero points with the convolution's own padding, if each window still overlaps the input.
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

Result<Convolution> read_convolution(Selection& s, size_t kernel_axis) {
  CARINA_CHECKED(check_convolution_types(s));
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

// Makes the channels contiguous, with one copy for all readers of the input. Returns whether it copied now.
bool bring_channels(Selection& s, Convolution& c) {
  const TensorId before = c.ifm.view.tensor;
  if (s.pending_pad(s.input(0)) == nullptr) c.ifm.view = oriented(c, s.with_channels(s.input(0)).view);
  return c.ifm.view.tensor != before;
}

Shape shape_of_result(const Selection& s, const Convolution& c) {
  Shape shape = s.shape(s.output());
  if (c.turned) std::swap(shape[1], shape[2]);
  return shape;
}

// Gives the operand a layout that the NPU can read with the convolution's stride.
void lay_operand(Selection& s, Convolution& c) {
  const Shape out = shape_of_result(s, c);
  if (has_patches(c, out)) return lay_patches(s, c, out);
  const bool is_copy = bring_channels(s, c);
  fold_columns(s, c, out, is_copy);
}

// Whether a depthwise convolution only adds the elements of each window, which pools do without weights.
bool adds_windows(const Convolution& c, const std::vector<int64_t>& biases) {
  const Kernel& k = c.kernel;
  const auto all_are = [](const auto& values, int64_t wanted) {
    return std::ranges::all_of(values, [&](int64_t value) { return value == wanted; });
  };
  return c.padding == Padding{} && std::max(k.dilation_y, k.dilation_x) == 1 &&
         std::max(k.stride_y, k.stride_x) <= npu::kMaxStride && all_are(biases, 0) &&
         c.weights.visit([&](const auto& weights) { return all_are(weights, 1); });
}

// Whether a pool can scale its sums so.
bool is_scale_of_pool(const Epilogue& epilogue) {
  return epilogue.type.bits <= 16 && !epilogue.per_channel && !simplified(epilogue.scaling()).is_unit();
}

Result<void> emit_output(Selection& s, StepKind kind, const Convolution& c, const std::vector<int64_t>& biases) {
  CARINA_TRY(const std::vector<Epilogue> epilogues, epilogues_of(s, c, biases));
  const bool adds = kind == StepKind::kDepthwise && may_separate_pools(s) && adds_windows(c, biases);
  for (const Epilogue& epilogue : epilogues) {
    const View out = s.open(epilogue.value, s.shape(s.output()));
    if (adds && is_scale_of_pool(epilogue)) {
      CARINA_CHECKED(emit_pool(s,
                               {.kind = StepKind::kPool,
                                .pool = npu::PoolingMode::AVERAGE,
                                .ifm = c.ifm,
                                .ofm = oriented(c, out),
                                .kernel = c.kernel,
                                .padding = c.padding},
                               epilogue));
    } else {
      CARINA_CHECKED(emit_convolution(s, kind, c, biases, oriented(c, out), epilogue));
    }
    s.close(epilogue.value, out, epilogue.type);
  }
  return {};
}

}  // namespace

Result<void> select_convolution(Selection& s) {
  CARINA_TRY(Convolution c, read_convolution(s, 1));
  lay_tall_kernel_down(c);
  lay_operand(s, c);
  CARINA_TRY(const std::vector<int64_t> biases, biases_of(s, s.input(2), c.weight_shape[0]));
  return emit_output(s, StepKind::kConv, c, biases);
}

namespace {

// Converts weights [KH,KW,C,M] to [C*M][KH][KW].
std::vector<int16_t> channels_first(const WeightValues& values, int64_t taps, int64_t channels) {
  const std::vector<int16_t> weights = values.widened();
  std::vector<int16_t> result(weights.size());
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c)
      result[static_cast<size_t>(c * taps + tap)] = weights[static_cast<size_t>(tap * channels + c)];
  }
  return result;
}

// Repeats each channel `multiplier` times, which is the input of a depthwise kernel with a channel multiplier.
Result<void> repeat_channels(Selection& s, Convolution& c, int64_t multiplier) {
  const Shape shape = c.ifm.view.shape();
  const int64_t channels = shape[3];
  constexpr int64_t kMaxWeights = int64_t{1} << 26;
  if (channels * multiplier * channels > kMaxWeights)
    return s.reject("so many channels with a multiplier are not supported");
  Weights weights{.name = {}, .out_channels = channels * multiplier, .in_channels = channels};
  std::vector<int16_t> values(static_cast<size_t>(weights.out_channels * channels), 0);
  for (int64_t o = 0; o < weights.out_channels; ++o) values[static_cast<size_t>(o * channels + o / multiplier)] = 1;
  weights.values = values;
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
  const int64_t in_channels = c.weight_shape[2], multiplier = c.weight_shape[3], channels = in_channels * multiplier;
  // The NPU treats one input channel for all outputs as an ordinary convolution, not a depthwise one.
  const bool shared = in_channels == 1 && multiplier > 1;
  if (!shared) bring_channels(s, c);
  CARINA_TRY(const std::vector<int64_t> biases, biases_of(s, s.input(2), channels));
  c.weights = channels_first(c.weights, c.kernel.taps(), channels);
  if (multiplier > 1 && in_channels > 1) CARINA_CHECKED(repeat_channels(s, c, multiplier));
  c.weight_shape = {channels, c.kernel.height, c.kernel.width, 1};
  lay_tall_kernel_down(c);
  if (shared) {
    lay_operand(s, c);
  } else {
    lay_windows_apart(s, c, shape_of_result(s, c));
  }
  return emit_output(s, shared ? StepKind::kConv : StepKind::kDepthwise, c, biases);
}

}  // namespace carina::plan
