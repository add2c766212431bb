// Convolutions of floats, on the operators that the interpreter uses. The operators take pixels (channels last); an
// image in planes is converted to pixels before and back after. A batch norm after the convolution becomes a part of
// its weights and bias, a clamp a part of the operator.
//   Example: weights [8, 3, 3, 3] of PyTorch become [8, 3, 3, 3] with the channels last, times the scale of the batch
//   norm of each of the 8 channels.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "accelerate/step_internal.h"
#include "kernels/depthwise_pair.h"
#include "kernels/micro/microkernels.h"
#include "tensor/finite.h"

namespace carina::accelerate {

namespace {

using kernels::ConvGeometry;
using kernels::Operator;

constexpr int64_t kGrain = 16 * 1024;  // elements per additional thread

// out[c][r] = in[r][c].
void transpose(Workers& workers, const float* in, int64_t rows, int64_t columns, float* out) {
  constexpr int64_t kTile = kernels::kTransposeTile;
  kernels::split(workers, columns, std::max(kTile, kGrain / rows), [&](int64_t begin, int64_t end) {
    if (rows >= kTile && end - begin >= kTile) {
      return kernels::transpose(kernels::Transpose<uint32_t>{.in = reinterpret_cast<const uint32_t*>(in + begin),
                                                             .in_stride = columns,
                                                             .out = reinterpret_cast<uint32_t*>(out + begin * rows),
                                                             .out_stride = rows,
                                                             .rows = rows,
                                                             .columns = end - begin});
    }
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t r = 0; r < rows; ++r) out[c * rows + r] = in[r * columns + c];
    }
  });
}

// Channels [first, first + count) of an image, which an operator has side by side as pixels [N, P, count].
struct Channels {
  const Image& image;
  int64_t first, count;

  [[nodiscard]] int64_t elements() const { return image.batch * image.pixels * count; }
  [[nodiscard]] bool in_place() const { return image.layout == ImageLayout::kPixels && count == image.channels; }
};

// Writes pixels with the channels in `list`, which may repeat.
void gather_list(Workers& workers, const float* in, const Image& image, std::span<const int64_t> list, float* out) {
  const bool planes = image.layout == ImageLayout::kPlanes;
  const int64_t pixel_step = planes ? 1 : image.channels, channel_step = planes ? image.pixels : 1;
  const auto width = std::ssize(list);
  kernels::split(workers, image.batch * image.pixels, 1 + kGrain / width, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const float* from = in + p / image.pixels * image.channels * image.pixels + p % image.pixels * pixel_step;
      float* const to = out + p * width;
      for (size_t i = 0; i < list.size(); ++i) to[i] = from[list[i] * channel_step];
    }
  });
}

void gather_pixels(Workers& workers, const float* in, const Channels& c, float* out) {
  const Image& image = c.image;
  if (image.layout == ImageLayout::kPlanes) {
    for (int64_t n = 0; n < image.batch; ++n)
      transpose(workers, in + (n * image.channels + c.first) * image.pixels, c.count, image.pixels,
                out + n * c.count * image.pixels);
    return;
  }
  for (int64_t p = 0; p < image.batch * image.pixels; ++p)
    std::memcpy(out + p * c.count, in + p * image.channels + c.first, static_cast<size_t>(c.count) * sizeof(float));
}

void scatter_pixels(Workers& workers, const float* in, const Channels& c, float* out) {
  const Image& image = c.image;
  if (image.layout == ImageLayout::kPlanes) {
    for (int64_t n = 0; n < image.batch; ++n)
      transpose(workers, in + n * c.count * image.pixels, image.pixels, c.count,
                out + (n * image.channels + c.first) * image.pixels);
    return;
  }
  for (int64_t p = 0; p < image.batch * image.pixels; ++p)
    std::memcpy(out + p * image.channels + c.first, in + p * c.count, static_cast<size_t>(c.count) * sizeof(float));
}

// The operators of a convolution's groups, and the images that they read and write. With a `list`, there is one
// operator that reads these channels of the image.
class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(const EValue* in, EValue* out, std::vector<int64_t> list, std::vector<Operator> groups)
      : in_(in),
        out_(out),
        from_(*image_of(*in)),
        to_(*image_of(*out)),
        list_(std::move(list)),
        groups_(std::move(groups)) {
    for (const Operator& group : groups_) operator_bytes_ = std::max(operator_bytes_, group.scratch_bytes);
  }

  [[nodiscard]] size_t scratch_bytes() const override {
    return (groups_.size() > 1 ? bytes_of(std::ssize(whole())) : 0) + pixel_bytes() + bytes_of(written(0).elements()) +
           operator_bytes_;
  }

  Error run(Workers& workers, std::byte* scratch) override {
    const auto* in = in_->tensor.as<const float>();
    auto* const out = out_->tensor.as<float>();
    // A planned output may have the memory of the input, which no other call reads later.
    const bool collides = overlap(in_->tensor, out_->tensor);
    if (collides && groups_.size() > 1) {
      std::ranges::copy(whole(), reinterpret_cast<float*>(scratch));
      in = reinterpret_cast<const float*>(scratch);
      scratch += bytes_of(std::ssize(whole()));
    }
    for (size_t group = 0; group < groups_.size(); ++group) {
      const Channels to = written(group);
      const bool reads_in_place = list_.empty() && read(group).in_place();
      const bool direct = to.in_place() && !(reads_in_place && collides);
      auto* const pixels = reinterpret_cast<float*>(scratch);
      auto* const results = direct ? out : reinterpret_cast<float*>(scratch + pixel_bytes());
      if (!list_.empty())
        gather_list(workers, in, from_, list_, pixels);
      else if (!reads_in_place)
        gather_pixels(workers, in, read(group), pixels);
      const auto* operand = reinterpret_cast<const std::byte*>(reads_in_place ? in : pixels);
      groups_[group].run({.in = {&operand, 1},
                          .out = reinterpret_cast<std::byte*>(results),
                          .scratch = scratch + pixel_bytes() + bytes_of(to.elements()),
                          .workers = workers});
      if (!direct) scatter_pixels(workers, results, to, out);
    }
    return Error::kOk;
  }

 private:
  [[nodiscard]] std::span<const float> whole() const { return {in_->tensor.as<const float>(), in_->tensor.elements()}; }
  [[nodiscard]] Channels read(size_t group) const {
    const int64_t count = from_.channels / std::ssize(groups_);
    return {.image = from_, .first = static_cast<int64_t>(group) * count, .count = count};
  }
  [[nodiscard]] Channels written(size_t group) const {
    const int64_t count = to_.channels / std::ssize(groups_);
    return {.image = to_, .first = static_cast<int64_t>(group) * count, .count = count};
  }
  [[nodiscard]] static size_t bytes_of(int64_t elements) {
    return round_up(static_cast<size_t>(elements) * sizeof(float), kernels::kScratchAlignment);
  }
  // Of the pixels that an operator reads.
  [[nodiscard]] size_t pixel_bytes() const {
    return bytes_of(list_.empty() ? read(0).elements() : from_.batch * from_.pixels * std::ssize(list_));
  }

  const EValue* in_;
  EValue* out_;
  Image from_, to_;
  std::vector<int64_t> list_;
  std::vector<Operator> groups_;
  size_t operator_bytes_ = 0;
};

// --- the parameters of a call: (input, weight, bias or None, stride, padding, dilation, transposed, output_padding,
// groups, out)

struct Call {
  Arguments arguments;
  Image in, out;
  int64_t groups;
  bool transposed;
  std::array<int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  [[nodiscard]] int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  [[nodiscard]] int64_t group_in() const { return in.channels / groups; }
  [[nodiscard]] int64_t group_out() const { return out.channels / groups; }
  // Groups of few channels are computed like a depthwise convolution, whose lanes are the outputs of all groups.
  [[nodiscard]] bool is_depthwise() const {
    constexpr int64_t kFew = 8;
    return !transposed && groups > 1 && (group_in() == 1 || (group_in() <= kFew && group_out() <= kFew));
  }
  // The inputs of a depthwise convolution: for each of the group's inputs, that of every output.
  //   Example: 4 channels in 2 groups, 6 outputs: 0 0 0 2 2 2 and 1 1 1 3 3 3.
  [[nodiscard]] std::vector<int64_t> list() const {
    std::vector<int64_t> channels;
    if (!is_depthwise() || (group_in() == 1 && group_out() == 1)) return channels;
    for (int64_t i = 0; i < group_in(); ++i) {
      for (int64_t o = 0; o < out.channels; ++o) channels.push_back(o / group_out() * group_in() + i);
    }
    return channels;
  }
  [[nodiscard]] std::span<const float> weights() const {
    const Tensor& weight = arguments[1]->tensor;
    return {weight.as<const float>(), weight.elements()};
  }
};

constexpr int64_t kMaxSize = 1 << 20;

// Reads a list of the window, one entry per spatial axis or one for all.
bool read_list(const EValue& list, size_t axes, int64_t min, std::array<int64_t, 3>& to) {
  if (list.kind != EValue::Kind::kIntList || (list.integers.size() != 1 && list.integers.size() != axes)) return false;
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t value = list.integers[list.integers.size() == 1 ? 0 : axis];
    if (value < min || value >= kMaxSize) return false;
    to[3 - axes + axis] = value;
  }
  return true;
}

// Returns whether the size of an output follows from the other sizes. For a transposed convolution, the output's
// padding may add some elements.
bool fits(const Call& call, size_t axis) {
  const int64_t in = call.in.sizes[axis], out = call.out.sizes[axis], stride = call.stride[axis];
  const int64_t reach = call.dilation[axis] * (call.kernel[axis] - 1) + 1, pads = 2 * call.padding[axis];
  if (!call.transposed) return in + pads >= reach && out == (in + pads - reach) / stride + 1;
  const int64_t least = (in - 1) * stride - pads + reach;
  return out >= least && out < least + std::max(stride, call.dilation[axis]);
}

bool is_bias(const EValue& bias, int64_t channels) {
  return bias.is_none() ||
         (is_plain(bias) && is_constant(bias) && static_cast<int64_t>(bias.tensor.elements()) == channels);
}

std::optional<Call> read_call(Arguments arguments, const Tail& tail) {
  if (arguments.size() < 10 || tail.out == nullptr || tail.out->tensor.read_only) return std::nullopt;
  const EValue &in = *arguments[0], &weight = *arguments[1];
  const auto from = image_of(in), to = image_of(*tail.out);
  if (!from || !to || !is_plain(weight) || !is_constant(weight) || weight.tensor.rank() != in.tensor.rank() ||
      tail.out->tensor.rank() != in.tensor.rank() || from->batch != to->batch)
    return std::nullopt;
  Call call{.arguments = arguments,
            .in = *from,
            .out = *to,
            .groups = arguments[8]->to_int(),
            .transposed = arguments[6]->to_int() != 0};
  const size_t axes = in.tensor.rank() - 2;
  const auto shape = weight.tensor.sizes();
  for (size_t axis = 0; axis < axes; ++axis) call.kernel[3 - axes + axis] = shape[axis + 2];
  if (!read_list(*arguments[3], axes, 1, call.stride) || !read_list(*arguments[4], axes, 0, call.padding) ||
      !read_list(*arguments[5], axes, 1, call.dilation))
    return std::nullopt;
  if (call.groups < 1 || from->channels % call.groups != 0 || to->channels % call.groups != 0 || call.taps() == 0 ||
      shape[0] != (call.transposed ? from->channels : to->channels) ||
      shape[1] != (call.transposed ? call.group_out() : call.group_in()) || !is_bias(*arguments[2], to->channels))
    return std::nullopt;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (call.kernel[axis] >= kMaxSize || !fits(call, axis)) return std::nullopt;
  }
  return call;
}

// The factor of each output channel and what is added, from the bias and the batch norm after the convolution.
struct Factors {
  std::vector<double> scale;
  std::vector<float> bias;
};

Factors factors_of(const EValue& bias, Arguments norm, int64_t channels) {
  Factors factors{.scale = std::vector<double>(static_cast<size_t>(channels), 1.0), .bias = {}};
  const auto entry = [](const EValue* value, size_t c, double otherwise) {
    return value->is_none() ? otherwise : static_cast<double>(value->tensor.as<const float>()[c]);
  };
  for (size_t c = 0; c < factors.scale.size(); ++c) {
    double shift = entry(&bias, c, 0);
    if (!norm.empty()) {
      factors.scale[c] = entry(norm[1], c, 1) / std::sqrt(entry(norm[4], c, 1) + norm[6]->to_double());
      shift = (shift - entry(norm[3], c, 0)) * factors.scale[c] + entry(norm[2], c, 0);
    }
    factors.bias.push_back(static_cast<float>(shift));
  }
  return factors;
}

float scaled(float weight, double scale) {
  return static_cast<float>(static_cast<double>(weight) * scale);
}

// The weights of output channels [first, first + count) as [O, taps, I], or of a depthwise convolution as [taps, I, O].
MutableTensor weights_of(const Call& call, const Factors& factors, int64_t first, int64_t count) {
  const int64_t taps = call.taps(), inputs = call.group_in();
  MutableTensor packed(DType::kFp32, Shape{count * taps * inputs});
  const auto to = packed.values<float>();
  const std::span<const float> from = call.weights();
  for (int64_t o = 0; o < count; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        // A transposed convolution has its weights as [I, O, taps].
        const int64_t at = call.transposed ? ((first / call.group_out() * inputs + i) * call.group_out() + o) * taps + t
                                           : ((first + o) * inputs + i) * taps + t;
        const int64_t place = call.is_depthwise() ? (t * inputs + i) * count + o : (o * taps + t) * inputs + i;
        to[static_cast<size_t>(place)] =
            scaled(from[static_cast<size_t>(at)], factors.scale[static_cast<size_t>(first + o)]);
      }
    }
  }
  return packed;
}

ConvGeometry geometry_of(const Call& call) {
  const bool depthwise = call.is_depthwise();
  return {.batch = call.in.batch,
          .in = call.in.sizes,
          .out = call.out.sizes,
          .kernel = call.kernel,
          .stride = call.stride,
          .dilation = call.dilation,
          .pad = call.padding,
          .ic = depthwise ? call.out.channels * call.group_in() : call.group_in(),
          .oc = depthwise ? call.out.channels : call.group_out(),
          .multiplier = depthwise ? 1 : 0,
          .bias_count = depthwise ? call.out.channels : call.group_out()};
}

struct Parameters {
  Call call;
  Factors factors;
  Bounds bounds;
  int threads;

  // The operator of the output channels from `first` on. `weights` and the factors outlive the result.
  [[nodiscard]] kernels::ConvF32 convolution(int64_t first) const {
    const ConvGeometry geometry = geometry_of(call);
    return {.geometry = geometry,
            .weights = weights_of(call, factors, first, geometry.oc).freeze(),
            .bias = std::span(factors.bias).subspan(static_cast<size_t>(first), static_cast<size_t>(geometry.oc)),
            .bounds = bounds,
            .threads = threads};
  }
  [[nodiscard]] std::optional<Operator> transposed(int64_t first) const {
    if (call.kernel[0] != 1 || call.in.sizes[0] != 1 || call.dilation != std::array<int64_t, 3>{1, 1, 1})
      return std::nullopt;
    const auto axis = [&](size_t at) {
      return kernels::TransposedAxis{.in = call.in.sizes[at],
                                     .out = call.out.sizes[at],
                                     .kernel = call.kernel[at],
                                     .stride = call.stride[at],
                                     .pad = -call.padding[at]};
    };
    const carina::Tensor weights = weights_of(call, factors, first, call.group_out()).freeze();
    return kernels::transposed_f32(
        {.geometry = {.batch = call.in.batch,
                      .ic = call.group_in(),
                      .oc = call.group_out(),
                      .axes = {axis(1), axis(2)},
                      .bias_count = call.group_out()},
         .weights = weights.values<float>(),
         .bias = std::span(factors.bias).subspan(static_cast<size_t>(first), static_cast<size_t>(call.group_out())),
         .bounds = bounds,
         .threads = threads});
  }
  [[nodiscard]] std::optional<Operator> group(int64_t first) const {
    if (call.transposed) return transposed(first);
    return call.is_depthwise() ? kernels::depthwise_f32(convolution(first)) : kernels::dense_f32(convolution(first));
  }
};

std::optional<Parameters> parameters_of(Arguments arguments, const Tail& tail, int threads) {
  const auto call = read_call(arguments, tail);
  if (!call) return std::nullopt;
  return Parameters{.call = *call,
                    .factors = factors_of(*arguments[2], tail.batch_norm, call->out.channels),
                    .bounds = tail.bounds,
                    .threads = threads};
}

}  // namespace

std::unique_ptr<Step> make_convolution(Arguments arguments, const Tail& tail, int threads) {
  const auto parameters = parameters_of(arguments, tail, threads);
  if (!parameters) return nullptr;
  const Call& call = parameters->call;
  std::vector<Operator> groups;
  for (int64_t group = 0; group < (call.is_depthwise() ? 1 : call.groups); ++group) {
    auto op = parameters->group(group * call.group_out());
    if (!op) return nullptr;
    groups.push_back(*std::move(op));
  }
  leave_packed(arguments[1]->tensor);
  return std::make_unique<ConvolutionStep>(arguments[0], tail.out, call.list(), std::move(groups));
}

std::unique_ptr<Step> make_convolution_pair(const ConvolutionCall& first, const ConvolutionCall& second, int threads) {
  const auto a = parameters_of(first.arguments, first.tail, threads);
  const auto b = parameters_of(second.arguments, second.tail, threads);
  if (!a || !b || a->call.groups != 1 || a->call.transposed || !b->call.is_depthwise() || b->call.group_out() != 1 ||
      b->call.group_in() != 1)
    return nullptr;
  auto op = kernels::depthwise_pair_f32({.pointwise = a->convolution(0), .depthwise = b->convolution(0)});
  if (!op) return nullptr;
  leave_packed(first.arguments[1]->tensor);
  std::vector<Operator> groups;
  groups.push_back(*std::move(op));
  return std::make_unique<ConvolutionStep>(first.arguments[0], second.tail.out, std::vector<int64_t>(),
                                           std::move(groups));
}

}  // namespace carina::accelerate
