// Rows of elements, quantized and dequantized. On cores with MVE, four elements are computed at a time.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "runtime/kernels/float_vectors_internal.h"
#include "runtime/kernels/quantize_internal.h"

namespace carina::runtime {

namespace {

// Zero points and limits up to this are exact as floats, and so is a sum of a zero point and a limit.
constexpr int64_t kExact = 1 << 23;
bool is_exact(int64_t value) {
  return value >= -kExact && value <= kExact;
}

#if defined(CARINA_MVE_FLOATS)

// MVE takes subnormal numbers as 0. With a scale in this range the results are those of IEEE arithmetic: the product of
// a subnormal element and the inverse scale rounds to 0, and no product of a code and the scale is subnormal.
constexpr float kMinScale = 0x1p-100F, kMaxScale = 0x1p100F;
bool fits_vectors(float scale) {
  return std::fabs(scale) >= kMinScale && std::fabs(scale) <= kMaxScale;
}

// Stores and loads of four elements, and of the first of them.
void store(int8_t* to, int32x4_t values) {
  vstrbq_s32(to, values);
}
void store(int8_t* to, int32x4_t values, mve_pred16_t lanes) {
  vstrbq_p_s32(to, values, lanes);
}
void store(uint8_t* to, int32x4_t values) {
  vstrbq_u32(to, vreinterpretq_u32_s32(values));
}
void store(uint8_t* to, int32x4_t values, mve_pred16_t lanes) {
  vstrbq_p_u32(to, vreinterpretq_u32_s32(values), lanes);
}
void store(int16_t* to, int32x4_t values) {
  vstrhq_s32(to, values);
}
void store(int16_t* to, int32x4_t values, mve_pred16_t lanes) {
  vstrhq_p_s32(to, values, lanes);
}
int32x4_t load(const int8_t* from) {
  return vldrbq_s32(from);
}
int32x4_t load(const int8_t* from, mve_pred16_t lanes) {
  return vldrbq_z_s32(from, lanes);
}
int32x4_t load(const uint8_t* from) {
  return vreinterpretq_s32_u32(vldrbq_u32(from));
}
int32x4_t load(const uint8_t* from, mve_pred16_t lanes) {
  return vreinterpretq_s32_u32(vldrbq_z_u32(from, lanes));
}
int32x4_t load(const int16_t* from) {
  return vldrhq_s32(from);
}
int32x4_t load(const int16_t* from, mve_pred16_t lanes) {
  return vldrhq_z_s32(from, lanes);
}

// NaN becomes 0, and numbers out of range the nearest int32, before the limits apply.
template <typename T>
void quantize_vectors(const float* from, T* to, size_t count, const RowCodes& codes) {
  const auto zero = static_cast<float>(static_cast<int32_t>(codes.zero_point));
  const float scale = codes.scale;  // a copy, which no store changes
  const int32x4_t low = vdupq_n_s32(static_cast<int32_t>(codes.low)),
                  high = vdupq_n_s32(static_cast<int32_t>(codes.high));
  const auto four = [&](float32x4_t values) __attribute__((always_inline)) {
    const int32x4_t code = vcvtq_s32_f32(vaddq_n_f32(vrndnq_f32(vmulq_n_f32(values, scale)), zero));
    return vminq_s32(vmaxq_s32(code, low), high);
  };
  for (; count >= 8; count -= 8, from += 8, to += 8) {
    store(to, four(vld1q_f32(from)));
    store(to + 4, four(vld1q_f32(from + 4)));
  }
  for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
    store(to, four(vld1q_z_f32(from, lanes)), lanes);
  }
}

template <typename T>
void dequantize_vectors(const T* from, float* to, size_t count, const RowCodes& codes) {
  const auto zero = static_cast<int32_t>(codes.zero_point);
  const float scale = codes.scale;
  const auto four = [&](int32x4_t code) __attribute__((always_inline)) {
    return vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(code, zero)), scale);
  };
  for (; count >= 8; count -= 8, from += 8, to += 8) {
    vst1q_f32(to, four(load(from)));
    vst1q_f32(to + 4, four(load(from + 4)));
  }
  for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
    vst1q_p_f32(to, four(load(from, lanes)), lanes);
  }
}

#endif

#if defined(CARINA_MVE_FLOATS)
template <typename T>
[[gnu::noinline]] void quantize_vectors(const float* from, T* to, size_t count, const EachCodes& codes) {
  const int32x4_t low = vdupq_n_s32(static_cast<int32_t>(codes.low)),
                  high = vdupq_n_s32(static_cast<int32_t>(codes.high));
  const float* scales = codes.scales.data();
  const int32_t* zeros = codes.zero_points.data();
  for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4, scales += 4, zeros += 4) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
    const float32x4_t scaled = vrndnq_f32(vmulq_f32(vld1q_z_f32(from, lanes), vld1q_f32(scales)));
    const int32x4_t code = vcvtq_s32_f32(vaddq_f32(scaled, vcvtq_f32_s32(vld1q_s32(zeros))));
    store(to, vminq_s32(vmaxq_s32(code, low), high), lanes);
  }
}

template <typename T>
[[gnu::noinline]] void dequantize_vectors(const T* from, float* to, size_t count, const EachCodes& codes) {
  const float* scales = codes.scales.data();
  const int32_t* zeros = codes.zero_points.data();
  for (auto left = static_cast<int32_t>(count); left > 0; left -= 4, from += 4, to += 4, scales += 4, zeros += 4) {
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(left));
    const int32x4_t code = vsubq_s32(load(from, lanes), vld1q_s32(zeros));
    vst1q_p_f32(to, vmulq_f32(vcvtq_f32_s32(code), vld1q_f32(scales)), lanes);
  }
}
#endif

// The codes of floats with limits that are floats.
struct FloatLimits {
  float low, high, of_nan;
  FloatLimits(int64_t low, int64_t high)
      : low(static_cast<float>(low)), high(static_cast<float>(high)), of_nan(std::clamp(0.0F, this->low, this->high)) {}
  template <typename T>
  [[nodiscard]] T code(float value) const {
    const float limited = value < low ? low : value > high ? high : value == value ? value : of_nan;
    return static_cast<T>(static_cast<int32_t>(limited));
  }
};

// The limits apply to floats, which have the limits' bits.
template <typename T>
void quantize_floats(const float* from, T* to, size_t count, const RowCodes& codes) {
#if defined(CARINA_MVE_FLOATS)
  if (fits_vectors(codes.scale)) return quantize_vectors(from, to, count, codes);
#endif
  const auto zero = static_cast<float>(codes.zero_point);
  const float scale = codes.scale;
  const FloatLimits limits(codes.low, codes.high);
  for (size_t i = 0; i < count; ++i) to[i] = limits.code<T>(zero + std::nearbyint(scale * from[i]));
}
template <typename T>
void quantize_floats(const float* from, T* to, size_t count, const EachCodes& codes) {
#if defined(CARINA_MVE_FLOATS)
  if (codes.fit_vectors) return quantize_vectors(from, to, count, codes);
#endif
  const FloatLimits limits(codes.low, codes.high);
  for (size_t i = 0; i < count; ++i)
    to[i] = limits.code<T>(static_cast<float>(codes.zero_points[i]) + std::nearbyint(codes.scales[i] * from[i]));
}

template <typename T>
void dequantize_floats(const T* from, float* to, size_t count, const RowCodes& codes) {
#if defined(CARINA_MVE_FLOATS)
  if (fits_vectors(codes.scale)) return dequantize_vectors(from, to, count, codes);
#endif
  const auto zero = static_cast<int32_t>(codes.zero_point);
  const float scale = codes.scale;
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i] - zero) * scale;
}

template <typename T>
void dequantize_floats(const T* from, float* to, size_t count, const EachCodes& codes) {
#if defined(CARINA_MVE_FLOATS)
  if (codes.fit_vectors) return dequantize_vectors(from, to, count, codes);
#endif
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i] - codes.zero_points[i]) * codes.scales[i];
}

// Calls function with a pointer of the tensor's element type, if it is one of the common integer types.
template <typename Function>
bool with_codes(const Tensor& tensor, size_t at, const Function& function) {
  if (tensor.type == PteScalarType::kChar) return function(tensor.as<int8_t>() + at), true;
  if (tensor.type == PteScalarType::kByte) return function(tensor.as<uint8_t>() + at), true;
  if (tensor.type == PteScalarType::kShort) return function(tensor.as<int16_t>() + at), true;
  return false;
}

template <typename T, typename Codes>
bool holds(const Codes& codes) {
  return codes.low >= std::numeric_limits<T>::min() && codes.high <= std::numeric_limits<T>::max();
}

}  // namespace

void quantize_row(const Tensor& in, size_t from, const Tensor& out, size_t to, size_t count, const RowCodes& codes) {
  if (in.type == PteScalarType::kFloat && is_exact(codes.zero_point)) {
    bool done = false;
    with_codes(out, to, [&](auto* elements) {
      if (!holds<std::remove_pointer_t<decltype(elements)>>(codes)) return;
      quantize_floats(in.as<const float>() + from, elements, count, codes);
      done = true;
    });
    if (done) return;
  }
  const NumberLoader read = number_loader(in.type);
  const IntegerStorer write = integer_storer(out.type);
  for (size_t i = 0; i < count; ++i)
    write(out.data, to + i,
          code_of(static_cast<float>(read(in.data, from + i)), codes.scale, codes.zero_point, codes.low, codes.high));
}

void dequantize_row(const Tensor& in, size_t from, const Tensor& out, size_t to, size_t count, const RowCodes& codes) {
  if (out.type == PteScalarType::kFloat && is_exact(codes.zero_point) &&
      with_codes(in, from,
                 [&](const auto* elements) { dequantize_floats(elements, out.as<float>() + to, count, codes); }))
    return;
  const IntegerLoader read = integer_loader(in.type);
  const NumberStorer write = number_storer(out.type);
  for (size_t i = 0; i < count; ++i)
    write(out.data, to + i, static_cast<double>(value_of_code(read(in.data, from + i), codes.scale, codes.zero_point)));
}

void EachCodes::set(size_t i, const RowCodes& row) {
  scales[i] = row.scale;
  zero_points[i] = static_cast<int32_t>(row.zero_point);
  low = row.low;
  high = row.high;
  are_exact = are_exact && is_exact(row.zero_point);
#if defined(CARINA_MVE_FLOATS)
  fit_vectors = fit_vectors && fits_vectors(row.scale);
#endif
}

bool quantize_each(const Tensor& in, const Tensor& out, const Columns& columns, const EachCodes& codes) {
  if (in.type != PteScalarType::kFloat || !codes.are_exact) return false;
  bool done = false;
  with_codes(out, columns.first, [&](auto* to) {
    if (!holds<std::remove_pointer_t<decltype(to)>>(codes)) return;
    const float* from = in.as<const float>() + columns.first;
    for (size_t row = 0; row < columns.rows; ++row, from += columns.step, to += columns.step)
      quantize_floats(from, to, columns.count, codes);
    done = true;
  });
  return done;
}

bool dequantize_each(const Tensor& in, const Tensor& out, const Columns& columns, const EachCodes& codes) {
  return out.type == PteScalarType::kFloat && codes.are_exact && with_codes(in, columns.first, [&](const auto* from) {
           float* to = out.as<float>() + columns.first;
           for (size_t row = 0; row < columns.rows; ++row, from += columns.step, to += columns.step)
             dequantize_floats(from, to, columns.count, codes);
         });
}

}  // namespace carina::runtime
