#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/norm_internal.h"

namespace carina::runtime {

namespace {

// The walk over the elements of one channel, in the input and the output. Channels are `steps` apart.
struct ChannelWalk {
  Walk<2> elements;
  std::array<int64_t, 2> steps;

  ChannelWalk(const Tensor& in, const Tensor& out) {
    const Layout from = layout_of(in), to = layout_of(out);
    for (size_t i = 0; i < from.rank; ++i) {
      if (i != 1) elements.add_axis(from.sizes[i], {from.strides[i], to.strides[i]});
    }
    merge_axes(elements);
    steps = {from.strides[1], to.strides[1]};
  }
};

// What a batch norm does to the elements of a channel: (x - mean) * scale + shift.
struct Affine {
  double mean, scale, shift;
};

// Floats, in float arithmetic as PyTorch's kernel has it. A Cortex-M computes doubles in software.
void write_floats(const float* in, float* out, Walk<2> walk, const Affine& affine) {
  const auto mean = static_cast<float>(affine.mean), scale = static_cast<float>(affine.scale),
             shift = static_cast<float>(affine.shift);
  int64_t length = 1;
  std::array<int64_t, 2> step{};
  if (walk.rank > 0) {
    const size_t inner = --walk.rank;
    length = walk.sizes[inner];
    step = {walk.strides[0][inner], walk.strides[1][inner]};
  }
  const int64_t rows = walk.count();
  for (int64_t row = 0; row < rows; ++row, walk.next()) {
    const float* from = in + walk.at[0];
    float* to = out + walk.at[1];
    if (step[0] == 1 && step[1] == 1) {
      for (int64_t i = 0; i < length; ++i) to[i] = (from[i] - mean) * scale + shift;
    } else {
      for (int64_t i = 0; i < length; ++i) to[i * step[1]] = (from[i * step[0]] - mean) * scale + shift;
    }
  }
}

void write_channel(const Tensor& in, const Tensor& out, const ChannelWalk& channels, int64_t c, const Affine& affine) {
  const int64_t from = c * channels.steps[0], to = c * channels.steps[1];
  if (in.type == PteScalarType::kFloat && out.type == PteScalarType::kFloat)
    return write_floats(in.as<const float>() + from, out.as<float>() + to, channels.elements, affine);
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  Walk<2> walk = channels.elements;
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next())
    write(to + walk.at[1], (read(from + walk.at[0]) - affine.mean) * affine.scale + affine.shift);
}

}  // namespace

// (input, weight or None, bias or None, running mean, running variance, momentum, eps, out, two empty outputs)
Error batch_norm_no_training(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor* weight = call.optional_tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const Tensor& mean = call.tensor(3);
  const Tensor& variance = call.tensor(4);
  const double eps = call.number(6);
  const Tensor& out = call.out(7);
  call.require(in.rank() >= 2 && takes_sizes_of(out, in));
  call.support(is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const int64_t channels = in.sizes()[1];
  call.require(has_elements(weight, channels) && has_elements(bias, channels) && has_elements(&mean, channels) &&
               has_elements(&variance, channels));
  for (const size_t unused : {size_t{8}, size_t{9}}) {  // saved mean and deviation, which are empty here
    if (const Tensor& moments = call.out(unused); moments.resizable) call.fit(moments, {0});
  }
  CARINA_RT_TRY(call.error());
  const ChannelWalk walk(in, out);
  const int64_t count = walk.elements.count();
  for (int64_t c = 0; count > 0 && c < channels; ++c) {
    const double inverse = 1 / std::sqrt(Numbers::reader(variance)(c) + eps);
    write_channel(in, out, walk, c,
                  {.mean = Numbers::reader(mean)(c),
                   .scale = inverse * (weight == nullptr ? 1 : Numbers::reader(*weight)(c)),
                   .shift = bias == nullptr ? 0 : Numbers::reader(*bias)(c)});
  }
  return Error::kOk;
}

namespace {

// Mean and (uncorrected) variance of a channel of the input.
struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(const Numbers::Reader& read, Walk<2> walk, int64_t first) {
  const int64_t count = walk.count();
  const Walk<2> start = walk;
  Moments moments;
  for (int64_t i = 0; i < count; ++i, walk.next()) moments.mean += read(first + walk.at[0]);
  moments.mean /= static_cast<double>(count);
  walk = start;
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    const double gap = read(first + walk.at[0]) - moments.mean;
    moments.variance += gap * gap;
  }
  moments.variance /= static_cast<double>(count);
  return moments;
}

// The arguments of a batch norm, for both overloads.
struct BatchNorm {
  const Tensor& in;
  const Tensor* weight;
  const Tensor* bias;
  const Tensor* running_mean;  // nullptr: uses the moments of the batch and does not store them
  const Tensor* running_variance;
  double momentum, eps;
  const Tensor &out, &save_mean, &save_inverse;
};

Error normalize_batch(Call& call, const BatchNorm& norm, bool training) {
  call.fit_like(norm.out, norm.in);
  call.require(norm.in.rank() >= 2);
  call.support(is_floating(norm.in.type) && norm.in.type == norm.out.type);
  CARINA_RT_TRY(call.error());
  const int64_t channels = norm.in.sizes()[1];
  call.require(has_elements(norm.weight, channels) && has_elements(norm.bias, channels) &&
               has_elements(norm.running_mean, channels) && has_elements(norm.running_variance, channels));
  call.fit(norm.save_mean, {training ? channels : 0});
  call.fit(norm.save_inverse, {training ? channels : 0});
  CARINA_RT_TRY(call.error());
  const ChannelWalk walk(norm.in, norm.out);
  const int64_t count = walk.elements.count();
  for (int64_t c = 0; count > 0 && c < channels; ++c) {
    Moments moments;
    if (training) {
      moments = moments_of(Numbers::reader(norm.in), walk.elements, c * walk.steps[0]);
    } else {
      moments = {Numbers::reader(*norm.running_mean)(c), Numbers::reader(*norm.running_variance)(c)};
    }
    const double inverse = 1 / std::sqrt(moments.variance + norm.eps);
    if (training) {
      Numbers::writer(norm.save_mean)(c, moments.mean);
      Numbers::writer(norm.save_inverse)(c, inverse);
    }
    if (training && norm.running_mean != nullptr) {
      const double corrected = moments.variance * static_cast<double>(count) / static_cast<double>(count - 1);
      const auto update = [&](const Tensor& kept, double now) {
        Numbers::writer(kept)(c, (1 - norm.momentum) * Numbers::reader(kept)(c) + norm.momentum * now);
      };
      update(*norm.running_mean, moments.mean);
      update(*norm.running_variance, corrected);
    }
    write_channel(norm.in, norm.out, walk, c,
                  {.mean = moments.mean,
                   .scale = inverse * (norm.weight == nullptr ? 1 : Numbers::reader(*norm.weight)(c)),
                   .shift = norm.bias == nullptr ? 0 : Numbers::reader(*norm.bias)(c)});
  }
  return Error::kOk;
}

}  // namespace

// (input, weight or None, bias or None, running mean, running variance, training, momentum, eps, out, mean, inverse
// deviation). With `training`, uses the moments of the batch and updates the running ones.
Error batch_norm_legit(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const bool training = call.flag(5);
  const Tensor* mean = training ? &call.out(3) : &call.tensor(3);
  const Tensor* variance = training ? &call.out(4) : &call.tensor(4);
  const BatchNorm norm{.in = call.tensor(0),
                       .weight = call.optional_tensor(1),
                       .bias = call.optional_tensor(2),
                       .running_mean = mean,
                       .running_variance = variance,
                       .momentum = call.number(6),
                       .eps = call.number(7),
                       .out = call.out(8),
                       .save_mean = call.out(9),
                       .save_inverse = call.out(10)};
  CARINA_RT_TRY(call.error());
  return normalize_batch(call, norm, training);
}

// (input, weight or None, bias or None, training, momentum, eps, out, mean, inverse deviation). Always uses the moments
// of the batch, whatever `training` is.
Error batch_norm_legit_no_stats(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  static_cast<void>(call.flag(3));
  const BatchNorm norm{.in = call.tensor(0),
                       .weight = call.optional_tensor(1),
                       .bias = call.optional_tensor(2),
                       .running_mean = nullptr,
                       .running_variance = nullptr,
                       .momentum = call.number(4),
                       .eps = call.number(5),
                       .out = call.out(6),
                       .save_mean = call.out(7),
                       .save_inverse = call.out(8)};
  CARINA_RT_TRY(call.error());
  return normalize_batch(call, norm, true);
}

}  // namespace carina::runtime
