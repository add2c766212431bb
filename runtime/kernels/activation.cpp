#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/float_functions.h"
#include "runtime/kernels/float_vectors_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

// A NaN is returned unchanged.
template <typename T>
T limited(T value, T low, T high) {
  return value < low ? (low < high ? low : high) : value > high ? high : value;
}

template <typename T>
struct Limited {
  T low, high;
  T operator()(T value) const { return limited(value, low, high); }
};

#if defined(CARINA_MVE_FLOATS)
// Integers in the order of the floats with these bits; -0 is before 0.
int32_t place_of(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits ^ (bits < 0 ? INT32_MAX : 0);
}

// Compares places, because comparisons of floats take subnormal numbers as 0.
template <>
struct Limited<float> {
  float low, high;
  float operator()(float value) const { return limited(value, low, high); }
  void map_row(const float* from, float* to, size_t count) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const int32_t first = place_of(-kInfinity), last = place_of(kInfinity);  // NaN is not between them
    // Places below the lower limit begin at `first`, those above the upper limit at `next`. Zeros are equal.
    const int32_t least = low > -kInfinity ? place_of(low == 0 ? -0.0F : low) : first;
    const int32_t next = high < kInfinity ? place_of(high == 0 ? 0.0F : high) + 1 : last;
    const auto below = static_cast<uint32_t>(least) - static_cast<uint32_t>(first);
    const uint32_t above = high < kInfinity ? static_cast<uint32_t>(last) + 1 - static_cast<uint32_t>(next) : 0;
    const auto lowest = vdupq_n_f32(low < high ? low : high), highest = vdupq_n_f32(high);
    map_fours(from, to, count, [&](FourFloats values) __attribute__((always_inline)) {
      const int32x4_t bits = vreinterpretq_s32_f32(values.lanes);
      const uint32x4_t signs = vreinterpretq_u32_s32(vshrq_n_s32(bits, 31));
      const uint32x4_t places = veorq_u32(vreinterpretq_u32_s32(bits), vshrq_n_u32(signs, 1));
      const float32x4_t raised =
          vpselq_f32(values.lanes, lowest, vcmpcsq_n_u32(vsubq_n_u32(places, static_cast<uint32_t>(first)), below));
      return FourFloats{
          vpselq_f32(raised, highest, vcmpcsq_n_u32(vsubq_n_u32(places, static_cast<uint32_t>(next)), above))};
    });
  }
};
#elif defined(CARINA_FLOAT_VECTORS)
template <>
struct Limited<float> {
  float low, high;
  float operator()(float value) const { return limited(value, low, high); }
  void map_row(const float* from, float* to, size_t count) const {
    const FourFloats::Lanes lowest = FourFloats::Lanes{} + (low < high ? low : high);
    const FourFloats::Lanes highest = FourFloats::Lanes{} + high;
    map_fours(from, to, count, [&](FourFloats x) {
      return FourFloats{x.lanes < low ? lowest : x.lanes > high ? highest : x.lanes};
    });
  }
};
#endif

// Clamps with scalar limits in the domain of the computation. None: no limit. If the tensors are integers, limits are
// converted to the output's type: for uint8, -1 becomes 255, as in PyTorch.
struct Clamp {
  const EValue& low;
  const EValue& high;
  PteScalarType type;

  template <typename T>
  [[nodiscard]] auto in() const {
    using Limits = std::numeric_limits<T>;
    const T min = Limits::has_infinity ? -Limits::infinity() : Limits::min();
    const T max = Limits::has_infinity ? Limits::infinity() : Limits::max();
    return Limited<T>{.low = low.is_none() ? min : own<T>(low), .high = high.is_none() ? max : own<T>(high)};
  }

 private:
  template <typename T>
  [[nodiscard]] T own(const EValue& limit) const {
    if constexpr (std::numeric_limits<T>::has_infinity) return scalar_in<T>(limit);
    return static_cast<T>(wrapped_to(type, scalar_in<int64_t>(limit)));
  }
};

}  // namespace

// (a, out)
Error relu(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(1);
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, Clamp{.low = EValue(int64_t{0}), .high = EValue(), .type = out.type});
}

// (a, min, max, out); either limit may be None
Error clamp(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  static_cast<void>(call.number_or(1, 0));
  static_cast<void>(call.number_or(2, 0));
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, Clamp{.low = *arguments[1], .high = *arguments[2], .type = out.type});
}

// (a, min: tensor, max: tensor, out); either limit may be None
Error clamp_tensor(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor* low = call.optional_tensor(1);
  const Tensor* high = call.optional_tensor(2);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  const Tensor* current = &in;
  if (low != nullptr) {
    CARINA_RT_TRY(map_binary(*current, *low, out, [](auto a, auto b) { return a < b || b != b ? b : a; }));
    current = &out;
  }
  if (high == nullptr) return current == &out ? Error::kOk : map_unary(in, out, [](auto a) { return a; });
  return map_binary(*current, *high, out, [](auto a, auto b) { return a > b || b != b ? b : a; });
}

// (a, negative_slope, out)
Error leaky_relu(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const double slope = call.number(1);
  const Tensor& out = call.out(2);
  call.support(is_floating(in.type));
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, [slope](auto a) {
    using T = decltype(a);
    return a > 0 ? a : static_cast<T>(a * static_cast<T>(slope));
  });
}

// (a, alpha, scale, input_scale, out)
Error elu(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const double alpha = call.number(1);
  const double scale = call.number(2);
  const double input_scale = call.number(3);
  const Tensor& out = call.out(4);
  call.support(is_floating(in.type));
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, [=](auto a) {
    const auto x = static_cast<double>(a);
    return static_cast<decltype(a)>(x > 0 ? x * scale : std::expm1(x * input_scale) * alpha * scale);
  });
}

// (a, approximate: "none" or "tanh", out)
Error gelu(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::string_view approximate = call.text(1);
  const Tensor& out = call.out(2);
  call.support(is_floating(in.type) && (approximate == "none" || approximate == "tanh"));
  CARINA_RT_TRY(call.error());
  if (approximate == "tanh") return map_unary(in, out, FloatFunction<TanhGeluFunction>{});
  return map_unary(in, out, FloatFunction<GeluFunction>{});
}

// (a, dim, out): first half along the dimension * sigmoid(second half)
Error glu(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  const Tensor& out = call.out(2);
  call.support(is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Extents sizes = from.sizes;
  sizes[axis] /= 2;
  call.require(from.sizes[axis] % 2 == 0);
  call.fit(out, std::span(sizes.data(), from.rank));
  CARINA_RT_TRY(call.error());
  const int64_t half = sizes[axis] * from.strides[axis];
  Walk<2> walk{
      .rank = from.rank, .sizes = sizes, .strides = {from.strides, layout_of(out).strides}, .at = {}, .index = {}};
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next())
    write(walk.at[1], read(walk.at[0]) / (1 + std::exp(-read(walk.at[0] + half))));
  return Error::kOk;
}

// (a, eps: number or None, out)
Error logit(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const double eps = call.number_or(1, -1);
  const Tensor& out = call.out(2);
  call.support(is_floating(out.type));
  CARINA_RT_TRY(call.error());
  return map_unary(in, out, [eps](auto a) {
    const auto x = static_cast<double>(a);
    const double p = eps < 0 ? x : limited(x, eps, 1 - eps);
    return static_cast<std::conditional_t<std::is_same_v<decltype(a), int64_t>, double, decltype(a)>>(
        std::log(p / (1 - p)));
  });
}

}  // namespace carina::runtime
