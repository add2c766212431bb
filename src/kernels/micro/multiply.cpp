#include "kernels/micro/dot_targets_internal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/multiply.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// Multiplies int8 matrices in one of two ways, with equal results:
// - quads (AVX-512 VNNI): an instruction adds four products of unsigned by signed bytes. B is stored as value + 128.
// The surplus, 128 times the row sum of A, is subtracted at the end.
// - pairs (all other targets): an instruction adds two products of 16-bit integers. Every x86 since SSE2 has it; other
// processors use plain code.

#include "kernels/micro/byte_vectors_inl.h"

HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3_DL
inline constexpr bool kQuads = true;
#else
inline constexpr bool kQuads = false;
#endif
inline constexpr int64_t kStep = kQuads ? 4 : 2;
using AElement = std::conditional_t<kQuads, int8_t, int16_t>;
inline constexpr int32_t kOffset = 128;

void matrix_format_here(MatrixFormat& format) {
  format = {.k_step = kStep, .a_bytes = sizeof(AElement)};
}

// Element (k, lane) of a panel is at [k / step][lane][k % step].
template <typename B>
void pack_panels(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, B* panels, int offset) {
  const int64_t steps = (k + kStep - 1) / kStep;
  for (int64_t panel = 0; panel < padded(n) / kLanes; ++panel) {
    const int64_t lanes = std::min(kLanes, n - panel * kLanes);
    const int8_t* from = b + panel * kLanes * stride_n;
    B* out = panels + panel * steps * kStep * kLanes;
    std::fill_n(out, steps * kStep * kLanes, static_cast<B>(offset));
    constexpr int64_t kBlock = 16;  // number of steps whose columns stay in the cache
    for (int64_t begin = 0; begin < k; begin += kBlock * kStep) {
      const int64_t end = std::min(k, begin + kBlock * kStep);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int8_t* in = from + lane * stride_n;
        for (int64_t at = begin; at < end; ++at)
          out[(at / kStep * kLanes + lane) * kStep + at % kStep] = static_cast<B>(in[at * stride_k] + offset);
      }
    }
  }
}

void pack_matrix_here(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, std::byte* panels) {
  if constexpr (kQuads) {
    pack_panels(b, stride_k, stride_n, k, n, reinterpret_cast<uint8_t*>(panels), kOffset);
  } else {
    pack_panels(b, stride_k, stride_n, k, n, reinterpret_cast<int16_t*>(panels), 0);
  }
}

// Converts N elements.
template <size_t N>
HWY_INLINE void pack_vector(const int8_t* in, AElement* out) {
  if constexpr (kQuads) {
    std::memcpy(out, in, N);
  } else {
    const hn::CappedTag<int16_t, N> d;
    const hn::Rebind<int8_t, decltype(d)> narrow;
    constexpr size_t kLength = hn::MaxLanes(d);
    for (size_t i = 0; i < N; i += kLength) hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, in + i)), d, out + i);
  }
}

// Converts `count` elements, at least N: the last ones together with some before them.
template <size_t N>
HWY_INLINE void pack_vectors(const int8_t* in, int64_t count, AElement* out) {
  constexpr auto kLength = static_cast<int64_t>(N);
  int64_t i = 0;
  for (; i + kLength <= count; i += kLength) pack_vector<N>(in + i, out + i);
  if (i < count) pack_vector<N>(in + count - kLength, out + count - kLength);
}

void pack_row_here(const int8_t* in, int64_t count, std::byte* out) {
  auto* row = reinterpret_cast<AElement*>(out);
  if (count >= 16) return pack_vectors<16>(in, count, row);
  if (count >= 8) return pack_vectors<8>(in, count, row);
  if (count >= 4) return pack_vectors<4>(in, count, row);
  for (int64_t i = 0; i < count; ++i) row[i] = in[i];
}

void pack_parts_here(const PackedPart* parts, size_t count) {
  for (size_t i = 0; i < count; ++i) pack_row_here(parts[i].in, parts[i].count, parts[i].out);
}

#if HWY_TARGET == HWY_AVX3_DL

// The sum of one row, computed as 64 products with 1 per step.
int32_t row_sum(const int8_t* row, int64_t k) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_setzero_si512();
  int64_t i = 0;
  for (; i + 64 <= k; i += 64) sums = _mm512_dpbusd_epi32(sums, ones, _mm512_loadu_si512(row + i));
  if (i < k) {
    const __mmask64 rest = ~uint64_t{0} >> (64 - (k - i));
    sums = _mm512_dpbusd_epi32(sums, ones, _mm512_maskz_loadu_epi8(rest, row + i));
  }
  return _mm512_reduce_add_epi32(sums);
}

#else

int32_t row_sum(const AElement* row, int64_t k) {
  int32_t sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += row[i];
  return sum;
}

#endif

void row_sums_here(const std::byte* a, size_t row_bytes, int64_t rows, int64_t k, int32_t* sums) {
  for (int64_t r = 0; r < rows; ++r)
    sums[r] = row_sum(reinterpret_cast<const AElement*>(a + static_cast<size_t>(r) * row_bytes), k);
}

// The sum of the bytes and the sum of their magnitudes.
void byte_sums_here(const int8_t* in, int64_t count, ByteSums& sums) {
  int64_t sum = 0;
  int64_t magnitude = 0;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<int8_t> d8;
  const hn::RebindToUnsigned<decltype(d8)> u8;
  const hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<decltype(u8)>>> u64;
  const auto wide = static_cast<int64_t>(hn::Lanes(d8));
  auto raised = hn::Zero(u64);
  auto magnitudes = hn::Zero(u64);
  for (; i + wide <= count; i += wide) {
    const auto v = hn::LoadU(d8, in + i);
    raised = hn::Add(raised, hn::SumsOf8(hn::Xor(hn::BitCast(u8, v), hn::Set(u8, uint8_t{128}))));
    // |-128| wraps to the bits of 128, which is correct as unsigned
    magnitudes = hn::Add(magnitudes, hn::SumsOf8(hn::BitCast(u8, hn::Abs(v))));
  }
  sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(u64, raised))) - kOffset * i;
  magnitude = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(u64, magnitudes)));
#endif
  for (; i < count; ++i) {
    sum += in[i];
    magnitude += in[i] < 0 ? -in[i] : in[i];
  }
  sums = {.sum = sum, .magnitude = magnitude};
}

// The result that a kernel makes of the sums of a tile.
enum class Output : uint8_t { kSums, kRescaled, kRequantized };

#if HWY_TARGET == HWY_AVX3_DL

template <ByteRule kRule, int kRows, int kPanels>
HWY_INLINE void write_bytes(__m512i (&sums)[kRows][kPanels], const MatrixJob& job, int64_t row) {
  using W = Bytes64;
  HWY_UNROLL(4)
  for (int p = 0; p < kPanels; ++p) {
    const EpilogueVector<W> epilogue(*job.epilogue, job.first_channel + p * kLanes);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) sums[r][p] = epilogue.template scaled<kRule>(sums[r][p]);
  }
  // packed_bytes() interleaves the panels by fours. This permutation makes them consecutive.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __mmask64 mask = first_bytes<W>(job.channels);
  const auto panel = [&](int r, int p) HWY_ATTR { return p < kPanels ? sums[r][p] : _mm512_setzero_si512(); };
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    const __m512i bytes = packed_bytes<W>(*job.epilogue, panel(r, 0), panel(r, 1), panel(r, 2), panel(r, 3));
    W::store(mask, job.out + (row + r) * job.out_stride, _mm512_permutexvar_epi32(order, bytes));
  }
}

// Adds the products of four unsigned bytes with four signed bytes to each sum. It is in assembly, because GCC 12 adds
// two copies and a store of each sum per step if the intrinsic is used in a loop over a tile.
HWY_INLINE void add_products(__m512i& sum, __m512i u, __m512i s) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "v"(s));
}

// Stores the sums of a tile to `out`.
template <int kRows, int kPanels>
HWY_NOINLINE void sum_tile(const MatrixJob& job, int64_t row, int32_t taken_off, __m512i (&out)[kRows][kPanels]) {
  const int64_t steps = (job.k + kStep - 1) / kStep;
  const size_t panel_bytes = static_cast<size_t>(steps) * kLanes * 4;
  const std::byte* a = job.a + static_cast<size_t>(row) * job.row_bytes;
  __m512i sums[kRows][kPanels];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int p = 0; p < kPanels; ++p) sums[r][p] = _mm512_setzero_si512();
  }
  for (int64_t step = 0; step < steps; ++step) {
    __m512i b[kPanels];
    HWY_UNROLL(4)
    for (int p = 0; p < kPanels; ++p)
      b[p] = _mm512_load_si512(job.panels + static_cast<size_t>(p) * panel_bytes + step * 64);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      int32_t four = 0;
      std::memcpy(&four, a + static_cast<size_t>(r) * job.row_bytes + step * 4, 4);
      const __m512i x = _mm512_set1_epi32(four);
      HWY_UNROLL(4)
      for (int p = 0; p < kPanels; ++p) add_products(sums[r][p], b[p], x);
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    const __m512i surplus = _mm512_set1_epi32(
        static_cast<int32_t>(static_cast<uint32_t>(taken_off) * static_cast<uint32_t>(job.sums[row + r])));
    HWY_UNROLL(4)
    for (int p = 0; p < kPanels; ++p) out[r][p] = _mm512_sub_epi32(sums[r][p], surplus);
  }
}

template <int kRows, int kPanels, Output kOutput>
void multiply_tile(const MatrixJob& job, int64_t row) {
  __m512i sums[kRows][kPanels];
  sum_tile(job, row, kOutput == Output::kSums ? kOffset : kOffset + job.weight_zp, sums);
  if constexpr (kOutput == Output::kRescaled) return write_bytes<ByteRule::kRescale>(sums, job, row);
  if constexpr (kOutput == Output::kRequantized) return write_bytes<ByteRule::kRequantize>(sums, job, row);
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int p = 0; p < kPanels; ++p) _mm512_storeu_si512(job.c + (row + r) * job.c_stride + p * kLanes, sums[r][p]);
  }
}

#elif HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

template <int kRows, int kPanels, Output>
void multiply_tile(const MatrixJob& job, int64_t row) {
  const hn::ScalableTag<int32_t> d32;
  const hn::ScalableTag<int16_t> d16;
  constexpr int kVectors = kPanels * static_cast<int>(kLanes) / static_cast<int>(HWY_LANES(int32_t));
  constexpr int kOfPanel = kVectors / kPanels;
  constexpr int64_t kWide = HWY_LANES(int32_t);
  const int64_t steps = (job.k + kStep - 1) / kStep;
  const auto* panels = reinterpret_cast<const int16_t*>(job.panels);
  const int64_t panel_elements = steps * kLanes * kStep;
  const std::byte* a = job.a + static_cast<size_t>(row) * job.row_bytes;
  hn::Vec<decltype(d32)> sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d32);
  }
  for (int64_t step = 0; step < steps; ++step) {
    hn::Vec<decltype(d16)> b[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      b[v] =
          hn::Load(d16, panels + v / kOfPanel * panel_elements + step * kLanes * kStep + v % kOfPanel * kWide * kStep);
    }
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      int32_t two = 0;
      std::memcpy(&two, a + static_cast<size_t>(r) * job.row_bytes + step * 4, 4);
      const auto x = hn::BitCast(d16, hn::Set(d32, two));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        auto unused = hn::Zero(d32);  // on x86 all products are added to the first sum
        sums[r][v] = hn::ReorderWidenMulAccumulate(d32, x, b[v], sums[r][v], unused);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d32, job.c + (row + r) * job.c_stride + v * kWide);
  }
}

#else

template <int kRows, int kPanels, Output>
void multiply_tile(const MatrixJob& job, int64_t row) {
  const int64_t steps = (job.k + kStep - 1) / kStep;
  const auto* panels = reinterpret_cast<const int16_t*>(job.panels);
  for (int r = 0; r < kRows; ++r) {
    const auto* a = reinterpret_cast<const int16_t*>(job.a + static_cast<size_t>(row + r) * job.row_bytes);
    for (int p = 0; p < kPanels; ++p) {
      uint32_t sums[kLanes] = {};
      for (int64_t step = 0; step < steps; ++step) {
        const int16_t* b = panels + (p * steps + step) * kLanes * kStep;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          sums[lane] += static_cast<uint32_t>(a[2 * step] * b[2 * lane] + a[2 * step + 1] * b[2 * lane + 1]);
        }
      }
      std::memcpy(job.c + (row + r) * job.c_stride + p * kLanes, sums, sizeof(sums));
    }
  }
}

#endif

// Computes tiles of kRows x kPanels sums, as high as the registers allow.
template <int kRows, int kPanels, Output kOutput>
void multiply_rows(const MatrixJob& job) {
  constexpr int kHalf = kRows / 2;
  int64_t row = 0;
  for (; row + kRows <= job.rows; row += kRows) multiply_tile<kRows, kPanels, kOutput>(job, row);
  for (; row + kHalf <= job.rows; row += kHalf) multiply_tile<kHalf, kPanels, kOutput>(job, row);
  for (; row < job.rows; ++row) multiply_tile<1, kPanels, kOutput>(job, row);
}

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
template <Output kOutput>
void multiply_panels(const MatrixJob& job) {
  switch (job.panel_count) {
    case 1:
      return multiply_rows<12, 1, kOutput>(job);
    case 2:
      return multiply_rows<10, 2, kOutput>(job);
    case 3:
      return multiply_rows<8, 3, kOutput>(job);
    case 4:
      return multiply_rows<6, 4, kOutput>(job);
    default:
      CARINA_UNREACHABLE("panels", job.panel_count);
  }
}
void multiply_here(const MatrixJob& job) {
  multiply_panels<Output::kSums>(job);
}
#else
// The sums of one panel fill the registers.
void multiply_here(const MatrixJob& job) {
  constexpr int kRows = HWY_LANES(int32_t) >= 8 ? 6 : 2;
  MatrixJob one = job;
  one.panel_count = 1;
  for (int64_t p = 0; p < job.panel_count; ++p) {
    multiply_rows<kRows, 1, Output::kSums>(one);
    one.panels += static_cast<size_t>((job.k + kStep - 1) / kStep) * kLanes * kStep * sizeof(AElement);
    one.c += kLanes;
  }
}
#endif

#if HWY_TARGET == HWY_AVX3_DL
void makes_bytes_here(bool& answer) {
  answer = true;
}
void multiply_to_bytes_here(const MatrixJob& job) {
  if (job.epilogue->rule == ByteRule::kRescale) return multiply_panels<Output::kRescaled>(job);
  multiply_panels<Output::kRequantized>(job);
}
#else
void makes_bytes_here(bool& answer) {
  answer = false;
}
void multiply_to_bytes_here(const MatrixJob& job) {
  CARINA_UNREACHABLE("bytes of sums on a target without them, panels", job.panel_count);
}
#endif

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(matrix_format_here);
HWY_EXPORT(pack_matrix_here);
HWY_EXPORT(pack_row_here);
HWY_EXPORT(pack_parts_here);
HWY_EXPORT(row_sums_here);
HWY_EXPORT(byte_sums_here);
HWY_EXPORT(multiply_here);
HWY_EXPORT(makes_bytes_here);
HWY_EXPORT(multiply_to_bytes_here);

MatrixFormat matrix_format() {
  MatrixFormat format{};
  HWY_DYNAMIC_DISPATCH(matrix_format_here)(format);
  return format;
}

bool matrix_needs_sums() {
  return matrix_format().a_bytes == 1;
}

void pack_matrix(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, std::byte* panels) {
  HWY_DYNAMIC_DISPATCH(pack_matrix_here)(b, stride_k, stride_n, k, n, panels);
}

void pack_row(const int8_t* in, int64_t count, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(pack_row_here)(in, count, out);
}

void pack_parts(std::span<const PackedPart> parts) {
  HWY_DYNAMIC_DISPATCH(pack_parts_here)(parts.data(), parts.size());
}

void row_sums(const std::byte* a, size_t row_bytes, int64_t rows, int64_t k, int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(row_sums_here)(a, row_bytes, rows, k, sums);
}

ByteSums byte_sums(const int8_t* in, int64_t count) {
  ByteSums sums;
  HWY_DYNAMIC_DISPATCH(byte_sums_here)(in, count, sums);
  return sums;
}

void multiply(const MatrixJob& job) {
  HWY_DYNAMIC_DISPATCH(multiply_here)(job);
}

bool kernels_make_bytes() {
  bool answer = false;
  HWY_DYNAMIC_DISPATCH(makes_bytes_here)(answer);
  return answer;
}

void multiply_to_bytes(const MatrixJob& job) {
  HWY_DYNAMIC_DISPATCH(multiply_to_bytes_here)(job);
}

}  // namespace carina::kernels
#endif
