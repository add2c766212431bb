// Steps for layer norm, group norm and batch norm of floats.
#include <cmath>
#include <vector>

#include "accelerate/step_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::accelerate {

namespace {

constexpr int64_t kGrainOfNorms = 8 * 1024;  // elements that are worth another thread

// The operands of a norm whose rows of `count` elements are contiguous. Entries of scale and shift are for `per_weight`
// elements each; a row of group norm begins at its group's entries.
struct Norm {
  const EValue *in, *scale, *shift;  // scale and shift may be None
  double eps;
  EValue *out, *mean, *deviation;
  int64_t count, per_weight, groups = 1;

  [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(in->tensor.elements()) / count; }
};

class NormStep final : public Step {
 public:
  explicit NormStep(const Norm& norm) : norm_(norm) {}

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    const auto& n = norm_;
    kernels::split(workers, n.rows(), 1 + kGrainOfNorms / n.count, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t entry = row % n.groups * (n.count / n.per_weight), at = row * n.count;
        const auto entries = [&](const EValue& value) {
          return value.is_none() ? nullptr : value.tensor.as<const float>() + (n.groups == 1 ? 0 : entry);
        };
        const kernels::RowStatistics statistics = kernels::normalize_row({.in = n.in->tensor.as<const float>() + at,
                                                                          .out = n.out->tensor.as<float>() + at,
                                                                          .count = n.count,
                                                                          .per_weight = n.per_weight,
                                                                          .scale = entries(*n.scale),
                                                                          .shift = entries(*n.shift),
                                                                          .eps = n.eps});
        n.mean->tensor.as<float>()[row] = static_cast<float>(statistics.mean);
        n.deviation->tensor.as<float>()[row] = static_cast<float>(statistics.inverse_deviation);
      }
    });
    return Error::kOk;
  }

 private:
  Norm norm_;
};

bool is_writable(const EValue& value, int64_t elements) {
  return is_plain(value) && !value.tensor.read_only && !value.tensor.resizable &&
         static_cast<int64_t>(value.tensor.elements()) >= elements;
}

bool has_entries(const EValue& value, int64_t entries) {
  return value.is_none() || (is_plain(value) && static_cast<int64_t>(value.tensor.elements()) == entries);
}

std::unique_ptr<Step> make_step(const Norm& norm, int64_t entries) {
  const bool sizes_agree = std::ranges::equal(norm.in->tensor.sizes(), norm.out->tensor.sizes());
  if (norm.count == 0 || norm.in->tensor.elements() == 0 || !sizes_agree || !has_entries(*norm.scale, entries) ||
      !has_entries(*norm.shift, entries) || !is_writable(*norm.out, 0) || !is_writable(*norm.mean, norm.rows()) ||
      !is_writable(*norm.deviation, norm.rows()))
    return nullptr;
  return std::make_unique<NormStep>(norm);
}

}  // namespace

// (input, normalized_shape, weight or None, bias or None, eps, out, mean, inverse deviation)
std::unique_ptr<Step> make_layer_norm(Arguments arguments) {
  if (arguments.size() < 8 || !is_plain(*arguments[0]) || arguments[1]->kind != EValue::Kind::kIntList ||
      !is_number(*arguments[4]))
    return nullptr;
  const auto shape = arguments[1]->integers;
  const auto sizes = arguments[0]->tensor.sizes();
  if (shape.empty() || shape.size() > sizes.size() || !std::ranges::equal(shape, sizes.last(shape.size())))
    return nullptr;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return make_step({.in = arguments[0],
                    .scale = arguments[2],
                    .shift = arguments[3],
                    .eps = arguments[4]->to_double(),
                    .out = arguments[5],
                    .mean = arguments[6],
                    .deviation = arguments[7],
                    .count = count,
                    .per_weight = 1},
                   count);
}

// (input, weight or None, bias or None, N, C, HxW, groups, eps, out, mean, inverse deviation)
std::unique_ptr<Step> make_group_norm(Arguments arguments) {
  if (arguments.size() < 11 || !is_plain(*arguments[0]) || arguments[6]->kind != EValue::Kind::kInt ||
      !is_number(*arguments[7]) || arguments[0]->tensor.rank() < 2)
    return nullptr;
  const auto sizes = arguments[0]->tensor.sizes();
  const int64_t groups = arguments[6]->integer, channels = sizes[1];
  const int64_t pixels =
      static_cast<int64_t>(arguments[0]->tensor.elements()) / std::max<int64_t>(1, sizes[0] * channels);
  if (groups < 1 || channels % groups != 0) return nullptr;
  return make_step({.in = arguments[0],
                    .scale = arguments[1],
                    .shift = arguments[2],
                    .eps = arguments[7]->to_double(),
                    .out = arguments[8],
                    .mean = arguments[9],
                    .deviation = arguments[10],
                    .count = channels / groups * pixels,
                    .per_weight = pixels,
                    .groups = groups},
                   channels);
}

namespace {

// What a batch norm needs besides its input. The moments are those of training, or computed from the input; then they
// are also written.
struct BatchNorm {
  const EValue *in, *weight, *bias;
  const EValue *mean = nullptr, *variance = nullptr;
  double eps;
  EValue *out, *save_mean = nullptr, *save_inverse = nullptr;
  Image image = {};
};

// The arithmetic of the runtime's kernel: (x - mean) * scale + shift in floats, and moments in doubles, whose sums are
// in another order.
class BatchNormStep final : public Step {
 public:
  explicit BatchNormStep(const BatchNorm& norm) : norm_(norm) {}
  [[nodiscard]] size_t scratch_bytes() const override {
    return 3 * static_cast<size_t>(norm_.image.channels) * sizeof(float);
  }

  Error run(Workers& workers, std::byte* scratch) override {
    const int64_t channels = norm_.image.channels, pixels = norm_.image.pixels;
    auto* mean = reinterpret_cast<float*>(scratch);
    float *scale = mean + channels, *shift = scale + channels;
    kernels::split(workers, channels, norm_.mean != nullptr ? channels : 1 + kGrainOfNorms / pixels,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t c = begin; c < end; ++c) find_factors(c, mean[c], scale[c], shift[c]);
                   });
    const auto* in = norm_.in->tensor.as<const float>();
    auto* out = norm_.out->tensor.as<float>();
    if (norm_.image.layout == ImageLayout::kPlanes) {
      kernels::split(workers, norm_.image.batch * channels, 1 + kGrainOfNorms / pixels,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t plane = begin; plane < end; ++plane) {
                         const int64_t at = plane * pixels, c = plane % channels;
                         kernels::affine_f32({.in = in + at,
                                              .out = out + at,
                                              .count = pixels,
                                              .mean = mean + c,
                                              .scale = scale + c,
                                              .shift = shift + c,
                                              .repeats = true});
                       }
                     });
    } else {
      kernels::split(workers, norm_.image.batch * pixels, 1 + kGrainOfNorms / channels,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t pixel = begin; pixel < end; ++pixel)
                         kernels::affine_f32({.in = in + pixel * channels,
                                              .out = out + pixel * channels,
                                              .count = channels,
                                              .mean = mean,
                                              .scale = scale,
                                              .shift = shift,
                                              .repeats = false});
                     });
    }
    return Error::kOk;
  }

 private:
  void find_factors(int64_t c, float& mean, float& scale, float& shift) const {
    const auto entry = [&](const EValue& value, double otherwise) {
      return value.is_none() ? otherwise : static_cast<double>(value.tensor.as<const float>()[c]);
    };
    kernels::RowStatistics moments{};
    if (norm_.mean != nullptr) {
      moments = {.mean = entry(*norm_.mean, 0),
                 .inverse_deviation = 1 / std::sqrt(entry(*norm_.variance, 0) + norm_.eps)};
    } else {
      moments = moments_of(c);
      norm_.save_mean->tensor.as<float>()[c] = static_cast<float>(moments.mean);
      norm_.save_inverse->tensor.as<float>()[c] = static_cast<float>(moments.inverse_deviation);
    }
    mean = static_cast<float>(moments.mean);
    scale = static_cast<float>(moments.inverse_deviation * entry(*norm_.weight, 1));
    shift = static_cast<float>(entry(*norm_.bias, 0));
  }

  [[nodiscard]] kernels::RowStatistics moments_of(int64_t c) const {
    const auto [batch, channels, pixels, layout, sizes] = norm_.image;
    const auto count = static_cast<double>(batch * pixels);
    const auto plane = [&, first = c, step = channels, each = pixels](int64_t n) {
      return norm_.in->tensor.as<const float>() + (n * step + first) * each;
    };
    double sum = 0, squares = 0;
    for (int64_t n = 0; n < batch; ++n) sum += kernels::sum_of(plane(n), pixels);
    const double mean = sum / count;
    for (int64_t n = 0; n < batch; ++n) squares += kernels::squares_of(plane(n), pixels, mean);
    return {.mean = mean, .inverse_deviation = 1 / std::sqrt(squares / count + norm_.eps)};
  }

  BatchNorm norm_;
};

std::unique_ptr<Step> make_step(BatchNorm norm) {
  const auto image = image_of(*norm.in);
  if (!image || !is_fixed(*norm.out) || norm.out->tensor.read_only || !same_layout(norm.in->tensor, norm.out->tensor) ||
      !has_entries(*norm.weight, image->channels) || !has_entries(*norm.bias, image->channels))
    return nullptr;
  norm.image = *image;
  if (norm.mean == nullptr) {
    if (image->layout != ImageLayout::kPlanes || !is_writable(*norm.save_mean, image->channels) ||
        !is_writable(*norm.save_inverse, image->channels))
      return nullptr;
  } else if (norm.mean->is_none() || norm.variance->is_none() || !has_entries(*norm.mean, image->channels) ||
             !has_entries(*norm.variance, image->channels)) {
    return nullptr;
  }
  return std::make_unique<BatchNormStep>(norm);
}

}  // namespace

// (input, weight or None, bias or None, running mean, running variance, momentum, eps, out, two empty outputs)
std::unique_ptr<Step> make_batch_norm(Arguments arguments) {
  if (arguments.size() < 10 || !is_number(*arguments[6])) return nullptr;
  for (const size_t unused : {size_t{8}, size_t{9}}) {
    if (!arguments[unused]->is_tensor() || arguments[unused]->tensor.resizable) return nullptr;
  }
  return make_step({.in = arguments[0],
                    .weight = arguments[1],
                    .bias = arguments[2],
                    .mean = arguments[3],
                    .variance = arguments[4],
                    .eps = arguments[6]->to_double(),
                    .out = arguments[7]});
}

// (input, weight or None, bias or None, training, momentum, eps, out, mean, inverse deviation): moments of the batch
std::unique_ptr<Step> make_batch_norm_of_batch(Arguments arguments) {
  if (arguments.size() < 9 || !is_number(*arguments[5])) return nullptr;
  return make_step({.in = arguments[0],
                    .weight = arguments[1],
                    .bias = arguments[2],
                    .eps = arguments[5]->to_double(),
                    .out = arguments[6],
                    .save_mean = arguments[7],
                    .save_inverse = arguments[8]});
}

}  // namespace carina::accelerate
