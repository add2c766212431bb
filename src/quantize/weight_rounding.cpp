#include "quantize/weight_rounding_internal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "base/parallel/parallel.h"
#include "quantize/vectors_internal.h"

namespace carina::quantize {

namespace {

// A symmetric matrix [size, size] in row-major order.
struct Matrix {
  size_t size;
  std::vector<double> elements;

  double& at(size_t row, size_t column) { return elements[row * size + column]; }
  [[nodiscard]] double at(size_t row, size_t column) const { return elements[row * size + column]; }
};

// Regularizes the covariance. With few patches, its off-diagonal elements are unreliable and are reduced. A small
// number is added to the diagonal, so that every input has some variance.
void regularize(Matrix& matrix, size_t patches) {
  double trace = 0;
  for (size_t i = 0; i < matrix.size; ++i) trace += matrix.at(i, i);
  const double floor = 0.01 * trace / static_cast<double>(matrix.size) + 1e-30;
  const double doubt = std::clamp(static_cast<double>(matrix.size) / (4.0 * static_cast<double>(patches)), 0.0, 1.0);
  for (size_t i = 0; i < matrix.size; ++i) {
    for (size_t j = 0; j < matrix.size; ++j) matrix.at(i, j) *= i == j ? 1 : 1 - doubt;
    matrix.at(i, i) += floor;
  }
}

// Computes in place the lower triangle L of matrix = L * L^T. The matrix must be positive definite.
void factorize(Matrix& matrix) {
  for (size_t i = 0; i < matrix.size; ++i) {
    double* const row = matrix.elements.data() + i * matrix.size;
    for (size_t j = 0; j <= i; ++j) {
      const double* const other = matrix.elements.data() + j * matrix.size;
      const double rest = row[j] - dot_product(row, other, j);
      row[j] = i == j ? std::sqrt(std::max(rest, 1e-300)) : rest / other[j];
    }
  }
}

// Returns the terms by ascending variance; the first ones are rounded last.
std::vector<size_t> order_of(const Matrix& matrix) {
  std::vector<size_t> order(matrix.size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return matrix.at(i, i); });
  return order;
}

Matrix permuted(const Matrix& matrix, const std::vector<size_t>& order) {
  Matrix result{.size = matrix.size, .elements = std::vector<double>(matrix.elements.size())};
  for (size_t i = 0; i < matrix.size; ++i) {
    for (size_t j = 0; j < matrix.size; ++j) result.at(i, j) = matrix.at(order[i], order[j]);
  }
  return result;
}

// The order and the factor for compensating the rounding errors of the weights of one block of inputs. An error e of
// the weights causes the variance |L^T e|^2 in the output. If the later terms are rounded, the best choice of term k
// makes row k of L^T e zero. Inputs of different blocks count as independent.
struct Compensation {
  size_t first;  // term of the block
  std::vector<size_t> order;
  Matrix factor;                 // L
  std::vector<double> inverses;  // of the diagonal of L
};

std::vector<Compensation> compensations_of(const InputStatistics& statistics) {
  std::vector<Compensation> all(statistics.blocks().size());
  parallel_for(all.size(), [&](size_t b) {
    Matrix matrix{.size = statistics.blocks()[b].terms, .elements = statistics.covariance(b)};
    regularize(matrix, statistics.count());
    std::vector<size_t> order = order_of(matrix);
    matrix = permuted(matrix, order);
    factorize(matrix);
    std::vector<double> inverses(matrix.size);
    for (size_t i = 0; i < matrix.size; ++i) inverses[i] = 1 / matrix.at(i, i);
    all[b] = {.first = statistics.blocks()[b].first,
              .order = std::move(order),
              .factor = std::move(matrix),
              .inverses = std::move(inverses)};
  });
  return all;
}

// The integers of a row of weights, and the variance of the error that they cause.
struct Rounded {
  std::vector<int8_t> steps;
  double variance = 0;
};

// Rounds to even, like std::nearbyint(), which is a call on processors without an instruction for it. `value` is within
// the limits of an integer type of 8 bits.
double nearest(double value) {
  constexpr double kRounding = 6755399441055744.0;  // 1.5 * 2^52
  return (value + kRounding) - kRounding;
}

// Stops, with a part of the steps, if the variance exceeds `limit`.
void round_block(std::span<const float> row, double scale, const Quantization& q, const Compensation& with,
                 double limit, Rounded& result) {
  const Matrix& factor = with.factor;
  const auto min = static_cast<double>(q.qmin), max = static_cast<double>(q.qmax), inverse = 1 / scale;
  std::vector<double> owed(factor.size, 0);  // row k of L^T e from the terms that are rounded already
  for (size_t i = factor.size; i-- > 0 && result.variance < limit;) {
    const size_t term = with.first + with.order[i];
    const double weight = row[term], wanted = weight - owed[i] * with.inverses[i];
    const double step = nearest(std::clamp(wanted * inverse, min, max));
    result.steps[term] = static_cast<int8_t>(step);
    const double error = step * scale - weight, left = owed[i] + error * factor.at(i, i);
    result.variance += left * left;
    add_scaled(error, std::span(factor.elements).subspan(i * factor.size, i), owed.data());
  }
}

using Compensations = std::span<const Compensation>;

// Gives up where the variance reaches `limit`.
Rounded round_row(std::span<const float> row, double scale, const Quantization& q, Compensations with,
                  double limit = std::numeric_limits<double>::infinity()) {
  Rounded result{.steps = std::vector<int8_t>(row.size())};
  for (const Compensation& block : with) round_block(row, scale, q, block, limit, result);
  return result;
}

// Returns how many scales to try. For few weights the scale makes a large difference; for many weights, all scales are
// similar.
size_t scales_worth_trying(size_t terms, size_t most) {
  constexpr size_t kColumns = 128;
  return std::clamp<size_t>(kColumns * kColumns / std::max<size_t>(terms, 1), 1, most);
}

// Rounds at the given scale and at others near it, and keeps the best.
Rounded best_rounding(std::span<const float> row, double& scale, const Quantization& q, Compensations with,
                      size_t max_scales) {
  constexpr double kSmallest = 0.96, kWidth = 0.24;  // relative to the given scale
  Rounded best = round_row(row, scale, q, with);
  const double given = scale;
  const size_t count = scales_worth_trying(row.size(), max_scales);
  for (size_t i = 1; i < count; ++i) {
    // Scales are stored as float32.
    const double tried =
        static_cast<float>(given * (kSmallest + kWidth * static_cast<double>(i) / static_cast<double>(count)));
    Rounded other = round_row(row, tried, q, with, best.variance);
    if (other.variance >= best.variance) continue;
    best = std::move(other);
    scale = tried;
  }
  return best;
}

}  // namespace

bool fits(const LayerStatistics& statistics, const Shape& weight) {
  const auto groups = static_cast<int64_t>(statistics.groups.size());
  if (groups == 0 || weight.rank() < 2 || weight[0] % groups != 0) return false;
  const auto terms = static_cast<size_t>(weight.elements() / std::max<int64_t>(weight[0], 1));
  return weight.elements() > 0 && std::ranges::all_of(statistics.groups, [&](const InputStatistics& s) {
           return s.terms() == terms && s.count() > 0;
         });
}

// The weights are clamped first, which is exact because the limits are integers; then adding and subtracting 1.5 * 2^23
// rounds to even. The loop has lanes, so that compilers vectorize it.
void round_channel(std::span<const float> floats, double scale, const Quantization& q, std::span<float> steps) {
  constexpr float kRounding = 12582912.0F;
  constexpr size_t kLanes = 16;
  const auto inverse = static_cast<float>(1.0 / scale);
  const auto min = static_cast<float>(q.qmin), max = static_cast<float>(q.qmax);
  const auto round = [&](float real) {
    const float wanted = real * inverse;
    const float limited = wanted < min ? min : (wanted > max ? max : wanted);
    return (limited + kRounding) - kRounding;
  };
  const size_t whole = floats.size() - floats.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) steps[i + lane] = round(floats[i + lane]);
  }
  for (size_t i = whole; i < floats.size(); ++i) steps[i] = round(floats[i]);
}

Tensor rounded_for_inputs(const Tensor& weight, Quantization& q, const LayerStatistics& statistics, size_t max_scales) {
  const auto floats = weight.values<float>();
  const auto channels = static_cast<size_t>(weight.shape[0]);
  const size_t terms = floats.size() / channels, each = channels / statistics.groups.size();
  MutableTensor result(q.dtype, weight.shape);
  const auto integers = result.values<int8_t>();
  for (size_t group = 0; group < statistics.groups.size(); ++group) {
    const std::vector<Compensation> with = compensations_of(statistics.groups[group]);
    parallel_for(each, [&](size_t in_group) {
      const size_t c = group * each + in_group;
      const std::span<const float> row = floats.subspan(c * terms, terms);
      const Rounded rounded =
          q.per_channel() ? best_rounding(row, q.scales[c], q, with, max_scales) : round_row(row, q.scale(), q, with);
      std::ranges::copy(rounded.steps, integers.begin() + static_cast<std::ptrdiff_t>(c * terms));
    });
  }
  return std::move(result).freeze();
}

namespace {

constexpr size_t kTogether = 8;  // channels whose sums are independent

// Channels are the rows of the weights [O, terms].
struct Channels {
  std::span<const float> floats;
  const ir::Value& weight;
  size_t terms;

  [[nodiscard]] double scale(size_t channel) const {
    const Quantization& q = *weight.quantization;
    return q.scales[q.per_channel() ? channel : 0];
  }
  [[nodiscard]] std::span<const float> row(size_t channel) const { return floats.subspan(channel * terms, terms); }
  void steps(size_t channel, std::span<float> to) const {
    if (weight.constant->dtype == DType::kFp32)
      return round_channel(row(channel), scale(channel), *weight.quantization, to);
    const auto integers = weight.constant->values<int8_t>().subspan(channel * terms, terms);
    std::ranges::copy(integers, to.begin());
  }
};

constexpr size_t kChunk = 64;  // terms

// Computes the contribution of each of a channel's rounding errors to the mean error. The loop has lanes, so that
// compilers vectorize it; the caller adds the results in a fixed order.
void multiply_errors(std::span<const float> steps, double scale, std::span<const float> floats,
                     std::span<const double> means, std::array<double, kChunk>& errors) {
  constexpr size_t kLanes = 8;
  const auto error = [&](size_t i) {
    return (static_cast<double>(steps[i]) * scale - static_cast<double>(floats[i])) * means[i];
  };
  const size_t whole = steps.size() - steps.size() % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) errors[i + lane] = error(i + lane);
  }
  for (size_t i = whole; i < steps.size(); ++i) errors[i] = error(i);
}

// Adds the errors of `count` channels from `first`. The sum of each channel is in the order of its terms.
void add_errors(const Channels& channels, size_t first, size_t count, std::span<const double> means,
                std::span<float> steps, std::span<double> errors) {
  const size_t terms = channels.terms;
  std::array<double, kTogether> sums{};
  std::array<std::array<double, kChunk>, kTogether> summands{};
  for (size_t t = 0; t < count; ++t) channels.steps(first + t, steps.subspan(t * terms, terms));
  for (size_t i = 0; i < terms; i += kChunk) {
    const size_t chunk = std::min(kChunk, terms - i);
    for (size_t t = 0; t < count; ++t)
      multiply_errors(steps.subspan(t * terms + i, chunk), channels.scale(first + t),
                      channels.row(first + t).subspan(i, chunk), means.subspan(i, chunk), summands[t]);
    for (size_t k = 0; k < chunk; ++k) {
      for (size_t t = 0; t < kTogether; ++t) sums[t] += summands[t][k];
    }
  }
  std::copy_n(sums.begin(), count, errors.begin() + static_cast<ptrdiff_t>(first));
}

}  // namespace

std::vector<double> mean_errors(const Tensor& floats, const ir::Value& weight, const LayerStatistics& statistics) {
  const auto count = static_cast<size_t>(floats.shape[0]);
  const Channels channels{.floats = floats.values<float>(),
                          .weight = weight,
                          .terms = static_cast<size_t>(floats.shape.elements()) / std::max<size_t>(count, 1)};
  const size_t each = count / statistics.groups.size();
  std::vector<double> errors(count, 0), means;
  std::vector<float> steps(kTogether * channels.terms);
  for (size_t c = 0; c < count;) {
    if (c % each == 0) means = statistics.groups[c / each].means();
    const size_t together = std::min(kTogether, each - c % each);
    add_errors(channels, c, together, means, steps, errors);
    c += together;
  }
  return errors;
}

}  // namespace carina::quantize
