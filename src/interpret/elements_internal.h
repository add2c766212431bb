#pragma once

#include <cstdint>

#include "carina/dtype.h"
#include "tensor/float_formats.h"

// Element types of kernels.
namespace carina::interpret {

// An element type for kernels: its storage type, its compute type, and the conversions between them.
template <DType D, typename S, typename C = S>
struct Plain {
  static constexpr DType kDType = D;
  static constexpr bool kIsFloat = std::is_floating_point_v<C>;
  using Storage = S;
  using Compute = C;
  static C load(S stored) { return static_cast<C>(stored); }
  static S store(C value) { return static_cast<S>(value); }
};
using Bool = Plain<DType::kBool, uint8_t>;
using I4 = Plain<DType::kInt4, int8_t, int32_t>;
using I8 = Plain<DType::kInt8, int8_t, int32_t>;
using I16 = Plain<DType::kInt16, int16_t, int32_t>;
using I32 = Plain<DType::kInt32, int32_t>;
using I48 = Plain<DType::kInt48, int64_t>;
using ShapeElement = Plain<DType::kShape, int64_t>;
using F32 = Plain<DType::kFp32, float>;

// A narrow float. It is computed in fp32 and rounded once when it is stored.
template <DType D, typename S, float (*Load)(S), S (*Store)(float)>
struct Narrow {
  static constexpr DType kDType = D;
  static constexpr bool kIsFloat = true;
  using Storage = S;
  using Compute = float;
  static float load(S stored) { return Load(stored); }
  static S store(float value) { return Store(value); }
};
using F16 = Narrow<DType::kFp16, uint16_t, &fp16_to_fp32, &fp32_to_fp16>;
using BF16 = Narrow<DType::kBf16, uint16_t, &bf16_to_fp32, &fp32_to_bf16>;
using E4M3 = Narrow<DType::kFp8E4M3, uint8_t, &fp8e4m3_to_fp32, &fp32_to_fp8e4m3>;
using E5M2 = Narrow<DType::kFp8E5M2, uint8_t, &fp8e5m2_to_fp32, &fp32_to_fp8e5m2>;
using E2M3 = Narrow<DType::kFp6E2M3, uint8_t, &fp6e2m3_to_fp32, &fp32_to_fp6e2m3>;
using E3M2 = Narrow<DType::kFp6E3M2, uint8_t, &fp6e3m2_to_fp32, &fp32_to_fp6e3m2>;
using E2M1 = Narrow<DType::kFp4E2M1, uint8_t, &fp4e2m1_to_fp32, &fp32_to_fp4e2m1>;
using E8M0 = Narrow<DType::kFp8UE8M0, uint8_t, &fp8ue8m0_to_fp32, &fp32_to_fp8ue8m0>;

}  // namespace carina::interpret
