#include "normalize/resampling.h"

#include <cmath>
#include <numeric>

namespace carina::normalize {
namespace {

// estimate(128): up to this scale, weights have 8 bits on every NPU. Above it, a product with a matrix is not more
// expensive.
constexpr int64_t kLargestScale = 128;
// Source: TOSA 1.0, RESIZE.
constexpr int64_t kLargestStep = 16;  // input elements per output element
constexpr int64_t kLargestSize = 16384;

struct Ratio {
  int64_t up;
  int64_t down;
};

// The exact ratio down / up whose float value is the scale.
std::optional<Ratio> ratio_of(const Resampling& axis) {
  for (int64_t up = 1; up <= kLargestScale; ++up) {
    const auto down = static_cast<int64_t>(std::lround(static_cast<double>(axis.scale) * static_cast<double>(up)));
    if (down >= 1 && static_cast<float>(static_cast<double>(down) / static_cast<double>(up)) == axis.scale)
      return Ratio{.up = up, .down = down};
  }
  return std::nullopt;
}

Fraction reduced(Fraction f) {
  const int64_t common = std::gcd(std::gcd(f.scale, f.step), f.offset);
  return {.scale = f.scale / common, .step = f.step / common, .offset = f.offset / common};
}

std::optional<Fraction> exact_fraction(const ir::Attributes& attributes, const Resampling& axis) {
  if (axis.in == 1) return Fraction{.scale = axis.out, .step = 1, .offset = 0};
  if (attributes.get<bool>("align_corners"))
    return axis.out == 1 ? Fraction{.scale = 1, .step = 1, .offset = 0}
                         : reduced({.scale = axis.out - 1, .step = axis.in - 1, .offset = 0});
  const std::optional<Ratio> ratio = ratio_of(axis);
  if (!ratio) return std::nullopt;
  return reduced({.scale = 2 * ratio->up, .step = 2 * ratio->down, .offset = ratio->down - ratio->up});
}

}  // namespace

double given_factor(const ir::Attributes& attributes, size_t index, size_t axes) {
  const auto number = [&](std::string_view name) {
    return attributes.find(name) == nullptr || attributes.is_none(name) ? 0.0 : attributes.number(name);
  };
  if (axes == 1 && attributes.find("scales") != nullptr) return number("scales");
  if (attributes.find("scales_w") != nullptr) {
    constexpr std::string_view kNames[] = {"scales_w", "scales_h", "scales_d"};
    return number(kNames[axes - 1 - index]);
  }
  const ir::Attribute* factors = attributes.find("scale_factors");
  const auto* list = factors == nullptr ? nullptr : std::get_if<std::vector<double>>(factors);
  return list == nullptr || list->size() <= index ? 0.0 : (*list)[index];
}

Resampling resampling_of(const ir::Attributes& attributes, const Shape& from, const Shape& to, size_t index) {
  const double factor = given_factor(attributes, index, from.rank() - 2);
  Resampling axis{.in = from[2 + index], .out = to[2 + index], .scale = 0};
  axis.scale =
      factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(axis.in) / static_cast<float>(axis.out);
  return axis;
}

std::optional<Fraction> fraction_of(const ir::Attributes& attributes, const Shape& from, const Shape& to,
                                    size_t index) {
  const Resampling axis = resampling_of(attributes, from, to, index);
  if (axis.in >= kLargestSize || axis.out >= kLargestSize) return std::nullopt;
  const std::optional<Fraction> f = exact_fraction(attributes, axis);
  if (!f || f->scale > kLargestScale || f->step >= kLargestStep * f->scale) return std::nullopt;
  const int64_t border = (axis.out - 1) * f->step - (axis.in - 1) * f->scale + f->offset;
  const auto fits = [&](int64_t min, int64_t value, int64_t after) {
    return value >= min * f->scale && value < after * f->scale;
  };
  return fits(-1, f->offset, kLargestStep) && fits(-kLargestStep, border, 1) ? f : std::nullopt;
}

}  // namespace carina::normalize
