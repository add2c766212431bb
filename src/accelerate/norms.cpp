// Steps for layer norm and group norm of floats.

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

bool is_number(const EValue& value) {
  return value.kind == EValue::Kind::kInt || value.kind == EValue::Kind::kDouble;
}

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

}  // namespace carina::accelerate
