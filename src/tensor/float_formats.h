#pragma once

#include <bit>
#include <cstdint>

namespace carina {

// Conversions between fp32 and the bit patterns of narrow float formats. They round to nearest, ties to even, and keep
// subnormals. fp8e4m3 is OCP E4M3FN (no infinity, NaN 0x7F); fp8e5m2 is OCP E5M2 (IEEE-like). Source: IEEE 754, OCP
// 8-bit FP rev 1.0, TOSA 1.0 section 1.9.
float fp16_to_fp32(uint16_t bits);
uint16_t fp32_to_fp16(float value);
inline float bf16_to_fp32(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}
uint16_t fp32_to_bf16(float value);
float fp8e4m3_to_fp32(uint8_t bits);
uint8_t fp32_to_fp8e4m3(float value);  // overflow gives NaN
float fp8e5m2_to_fp32(uint8_t bits);
uint8_t fp32_to_fp8e5m2(float value);  // overflow gives infinity

// The formats of MXFP, in the low bits of a byte. fp6 and fp4 have neither infinity nor NaN: overflow gives the largest
// value, NaN gives 0. fp8ue8m0 is an unsigned power of two, 2^-127 to 2^127, or NaN (0xFF). Source: OCP Microscaling
// Formats rev 1.0.
float fp6e2m3_to_fp32(uint8_t bits);
uint8_t fp32_to_fp6e2m3(float value);
float fp6e3m2_to_fp32(uint8_t bits);
uint8_t fp32_to_fp6e3m2(float value);
float fp4e2m1_to_fp32(uint8_t bits);
uint8_t fp32_to_fp4e2m1(float value);
float fp8ue8m0_to_fp32(uint8_t bits);
uint8_t fp32_to_fp8ue8m0(float value);  // the smallest power of two that is not below the value, at most 2^127

}  // namespace carina
