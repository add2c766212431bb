#include "kernels/micro/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro/multiply_f32.cpp"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each target
#include "hwy/highway.h"
#include "kernels/micro/clamp_inl.h"
#include "kernels/micro/extremes_inl.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "carina/check.h"
#include "kernels/micro/microkernels.h"

// C = epilogue(A x B) in fp32, in tiles of rows x vectors of columns whose sums stay in registers.
//   Each output is one chain of fused multiply-adds in the order of the depth, so every target gives equal bits.
//   Example: depth 3: c = fma(a2, b2, fma(a1, b1, fma(a0, b0, 0))).
HWY_BEFORE_NAMESPACE();
namespace carina::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kSees>
void epilogue_rows(const EpilogueF32& job) {
  const hn::ScalableTag<float> d;
  const auto wide = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  auto min = hn::Set(d, std::numeric_limits<float>::infinity()), max = hn::Neg(min);
  auto not_numbers = hn::IsNaN(min);
  for (int64_t r = 0; r < job.rows; ++r) {
    const float* in = job.in + r * job.in_stride;
    float* out = job.out + r * job.out_stride;
    int64_t c = 0;
    for (; c + wide <= job.channels; c += wide) {
      const auto value = clamp_vector(hn::Add(hn::LoadU(d, in + c), hn::LoadU(d, job.column + c)), low, high);
      if constexpr (kSees) see(value, min, max, not_numbers);
      hn::StoreU(value, d, out + c);
    }
    for (; c < job.channels; ++c) {
      out[c] = clamp_one(in[c] + job.column[c], job.low, job.high);
      if constexpr (kSees) job.extremes->add(seen(out[c]));
    }
  }
  if constexpr (kSees) job.extremes->add(seen(d, min, max, not_numbers));
}

void epilogue_here(const EpilogueF32& job) {
  job.extremes == nullptr ? epilogue_rows<false>(job) : epilogue_rows<true>(job);
}

// The part of a product that is computed in one call: rows from `row` on, depth [begin, end). If `begin` is not 0, sums
// continue from the values in C, so each output is still one chain of additions.
struct Part {
  int64_t row;
  int64_t begin;
  int64_t end;
  // Prefetch hint: the weights that are read after this depth. For each kLanes steps, a tile prefetches the lines
  // [first_line, last_line).
  const float* ahead = nullptr;
  int64_t first_line = 0;
  int64_t last_line = 0;
};

// The minimum and maximum of the written outputs of one job, by lane.
struct Running {
  float min[kLanes];
  float max[kLanes];
  bool numbers = true;

  Running() {
    std::fill_n(min, kLanes, std::numeric_limits<float>::infinity());
    std::fill_n(max, kLanes, -std::numeric_limits<float>::infinity());
  }
  [[nodiscard]] Extremes all() const {
    return {.min = *std::min_element(min, min + kLanes) + 0.0F,
            .max = *std::max_element(max, max + kLanes) + 0.0F,
            .numbers = numbers};
  }
};

// Targets without a vector FMA call the C library's fma(), which is slow there but exact everywhere.
#if HWY_NATIVE_FMA && !HWY_HAVE_SCALABLE

// Writes the results of a tile's sums, one vector of columns per step. Some lanes of the last vector may be unused.
template <bool kSees, int kRows, int kVectors, typename V>
HWY_INLINE void epilogue_tile(const EpilogueF32& job, int64_t row, const V (&sums)[kRows][kVectors], Running& running) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kWide = HWY_LANES(float);
  const V low = hn::Set(d, job.low), high = hn::Set(d, job.high);
  V min = hn::LoadU(d, running.min), max = hn::LoadU(d, running.max);
  auto not_numbers = hn::IsNaN(low);
  HWY_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = job.channels - v * kWide;
    if (left <= 0) break;
    const V bias = hn::LoadU(d, job.column + v * kWide);
    const auto inside = hn::FirstN(d, static_cast<size_t>(left));
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      const V value = clamp_vector(hn::Add(sums[r][v], bias), low, high);
      float* out = job.out + (row + r) * job.out_stride + v * kWide;
      if (left >= kWide) {
        if constexpr (kSees) see(value, min, max, not_numbers);
        job.streams ? hn::Stream(value, d, out) : hn::StoreU(value, d, out);
      } else {
        if constexpr (kSees) {
          min = hn::IfThenElse(inside, hn::Min(value, min), min);
          max = hn::IfThenElse(inside, hn::Max(value, max), max);
          not_numbers = hn::Or(not_numbers, hn::And(inside, hn::IsNaN(value)));
        }
        // On some targets a masked store writes all lanes. It would then overwrite columns of another thread, or memory
        // after the tensor. The lanes go through this buffer instead.
        HWY_ALIGN float lanes[kWide];
        hn::Store(value, d, lanes);
        std::memcpy(out, lanes, static_cast<size_t>(left) * sizeof(float));
      }
    }
  }
  if constexpr (kSees) {
    hn::StoreU(min, d, running.min);
    hn::StoreU(max, d, running.max);
    running.numbers = running.numbers && hn::AllFalse(d, not_numbers);
  }
}

// Prefetches what later tiles read. It is called once per kLanes steps of a tile; `k` is the first of them. The
// hardware does not prefetch these addresses, because they are not adjacent to those of this tile: the rows below, and
// the weights of the next depth or the next columns.
template <int kRows>
HWY_INLINE void fetch_ahead(const MatrixJobF32& job, const Part& part, int64_t k) {
  if (job.rows_are_far) {
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) __builtin_prefetch(job.a + (part.row + kRows + r) * job.row_stride + k, 0, 3);
  }
  for (int64_t line = part.first_line; line < part.last_line; ++line)
    __builtin_prefetch(part.ahead + (line / kLanes * job.k + k - part.begin + line % kLanes) * kLanes, 0, 2);
}

template <int kRows, int kPanels>
HWY_NOINLINE void multiply_tile(const MatrixJobF32& job, const Part& part, Running& running) {
  const hn::ScalableTag<float> d;
  constexpr int kWide = static_cast<int>(HWY_LANES(float));
  constexpr int kOfPanel = static_cast<int>(kLanes) / kWide;
  constexpr int kVectors = kPanels * kOfPanel;
  const float* a = job.a + part.row * job.row_stride;
  float* c = job.c + part.row * job.c_stride;
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = part.begin == 0 ? hn::Zero(d) : hn::LoadU(d, c + r * job.c_stride + v * kWide);
  }
  const bool fetches = job.rows_are_far || part.first_line < part.last_line;
  const int64_t steps = fetches ? kLanes : part.end - part.begin;
  for (int64_t from = part.begin; from < part.end; from += steps) {
    if (fetches) fetch_ahead<kRows>(job, part, from);
    const int64_t to = std::min(from + steps, part.end);
    for (int64_t k = from; k < to; ++k) {
      hn::Vec<decltype(d)> b[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v)
        b[v] = hn::LoadU(d, job.panels + (v / kOfPanel * job.k + k) * kLanes + v % kOfPanel * kWide);
      HWY_UNROLL(16)
      for (int r = 0; r < kRows; ++r) {
        const auto x = hn::Set(d, a[r * job.row_stride + k]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
      }
    }
  }
  if (job.epilogue != nullptr && part.end == job.k) {
    if (job.epilogue->extremes == nullptr) return epilogue_tile<false>(*job.epilogue, part.row, sums, running);
    return epilogue_tile<true>(*job.epilogue, part.row, sums, running);
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * job.c_stride + v * kWide);
  }
}

#else

template <int kRows, int kPanels>
void multiply_tile(const MatrixJobF32& job, const Part& part, Running& running) {
  for (int r = 0; r < kRows; ++r) {
    const float* a = job.a + (part.row + r) * job.row_stride;
    for (int p = 0; p < kPanels; ++p) {
      float* c = job.c + (part.row + r) * job.c_stride + p * kLanes;
      float sums[kLanes] = {};
      if (part.begin != 0) std::memcpy(sums, c, sizeof(sums));
      for (int64_t k = part.begin; k < part.end; ++k) {
        const float* b = job.panels + (p * job.k + k) * kLanes;
        for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = std::fma(a[k], b[lane], sums[lane]);
      }
      std::memcpy(c, sums, sizeof(sums));
    }
  }
  if (job.epilogue == nullptr || part.end != job.k) return;
  EpilogueF32 epilogue = *job.epilogue;
  Extremes found;
  epilogue.in = job.c + part.row * job.c_stride;
  epilogue.in_stride = job.c_stride;
  epilogue.out += part.row * epilogue.out_stride;
  epilogue.rows = kRows;
  epilogue.channels = std::min(epilogue.channels, kPanels * kLanes);
  epilogue.extremes = &found;
  epilogue_rows<true>(epilogue);
  running.min[0] = std::min(running.min[0], found.min);
  running.max[0] = std::max(running.max[0], found.max);
  running.numbers = running.numbers && found.numbers;
}

#endif

// The heights of the tiles for the rows of a job: kRows, kRows - 1, kRows / 2 and 1. Two tiles of kRows - 1 rows are
// preferred to a tile of kRows rows and a tile of 1 row, because a tile of one row stalls on its own sums.
struct Tiles {
  int64_t lower = 0;
  int64_t whole = 0;
  int64_t half = 0;
  int64_t single = 0;

  Tiles(int64_t rows, int64_t height) {
    const int64_t lacking = (height - rows % height) % height;
    if (lacking * (height - 1) <= rows) lower = lacking;
    const int64_t left = rows - lower * (height - 1);
    whole = left / height;
    half = left % height / (height / 2);
    single = left % height % (height / 2);
  }
  [[nodiscard]] int64_t count() const { return lower + whole + half + single; }
};

template <int kRows, int kPanels>
void multiply_rows(const MatrixJobF32& job, Part part, Running& running) {
  constexpr int64_t kMinTiles = 4;  // with fewer tiles the prefetch cannot keep up
  const Tiles tiles(job.rows, kRows);
  int64_t done = 0;
  const auto run = [&]<int kHeight>(std::integral_constant<int, kHeight>, int64_t count) {
    for (int64_t tile = 0; tile < count; ++tile, part.row += kHeight) {
      if (part.ahead != nullptr && tiles.count() >= kMinTiles) {
        part.first_line = done * kPanels * kLanes / tiles.count();
        part.last_line = ++done * kPanels * kLanes / tiles.count();
      }
      multiply_tile<kHeight, kPanels>(job, part, running);
    }
  };
  run(std::integral_constant<int, kRows - 1>(), tiles.lower);
  run(std::integral_constant<int, kRows>(), tiles.whole);
  run(std::integral_constant<int, kRows / 2>(), tiles.half);
  run(std::integral_constant<int, 1>(), tiles.single);
}

// Computes one part of the depth at a time. Its chunk of the panels stays in the first-level cache for all rows. All
// chunks have about the same depth, because a short chunk loads and stores all sums for few steps.
template <int kRows, int kPanels>
void multiply_parts(const MatrixJobF32& job) {
  constexpr int64_t kDepth = 24 * 1024 / (kPanels * kLanes * static_cast<int64_t>(sizeof(float)));
  Running running;
  const int64_t chunks = std::max<int64_t>(1, (job.k + kDepth / 2) / kDepth);
  const int64_t depth = (job.k + chunks - 1) / chunks;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t begin = std::min(chunk * depth, job.k), end = std::min(begin + depth, job.k);
    if (begin == end && chunk > 0) break;
    Part part{.row = 0, .begin = begin, .end = end};
    if (job.next_panels != nullptr) part.ahead = end == job.k ? job.next_panels : job.panels + end * kLanes;
    multiply_rows<kRows, kPanels>(job, part, running);
  }
  if (job.epilogue != nullptr && job.epilogue->extremes != nullptr) job.epilogue->extremes->add(running.all());
}

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
void multiply_here(const MatrixJobF32& job) {
  switch (job.panel_count) {
    case 1:
      return multiply_parts<12, 1>(job);
    case 2:
      return multiply_parts<10, 2>(job);
    case 3:
      return multiply_parts<8, 3>(job);
    case 4:
      return multiply_parts<6, 4>(job);
    default:
      CARINA_UNREACHABLE("panels", job.panel_count);
  }
}
#else
// The sums of one panel fill the registers.
void multiply_here(const MatrixJobF32& job) {
  constexpr int kRows = HWY_LANES(float) >= 8 ? 6 : 2;
  MatrixJobF32 one = job;
  EpilogueF32 epilogue{};
  if (job.epilogue != nullptr) {
    epilogue = *job.epilogue;
    one.epilogue = &epilogue;
  }
  one.panel_count = 1;
  for (int64_t p = 0; p < job.panel_count; ++p) {
    if (job.next_panels != nullptr && p + 1 < job.panel_count) one.next_panels = one.panels + job.k * kLanes;
    if (p + 1 == job.panel_count) one.next_panels = job.next_panels;
    multiply_parts<kRows, 1>(one);
    one.rows_are_far = false;
    one.panels += job.k * kLanes;
    one.c += kLanes;
    if (one.epilogue == nullptr) continue;
    epilogue.out += kLanes;
    if (epilogue.column != nullptr) epilogue.column += kLanes;
    epilogue.channels -= kLanes;
  }
}
#endif

// Transposes four columns of four rows to rows of four lanes.
void transpose_4x4(const float* in, int64_t stride_n, float* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t lane = 0; lane < 4; ++lane) out[row * kLanes + lane] = in[row + lane * stride_n];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + stride_n), c = hn::LoadU(d, in + 2 * stride_n),
             e = hn::LoadU(d, in + 3 * stride_n);
  const auto low = hn::InterleaveLower(d, a, b), lows = hn::InterleaveLower(d, c, e);
  const auto high = hn::InterleaveUpper(d, a, b), highs = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, lows, low), d, out);
  hn::StoreU(hn::ConcatUpperUpper(d, lows, low), d, out + kLanes);
  hn::StoreU(hn::ConcatLowerLower(d, highs, high), d, out + 2 * kLanes);
  hn::StoreU(hn::ConcatUpperUpper(d, highs, high), d, out + 3 * kLanes);
#endif
}

// Packs a panel of columns whose elements are contiguous. A cache line of each column is read completely before other
// columns evict it.
void pack_columns(const float* in, int64_t stride_n, int64_t k, float* out) {
  constexpr int64_t kLine = 16, kStep = 4;
  for (int64_t begin = 0; begin < k; begin += kLine) {
    const int64_t whole = std::min(k - k % kStep, begin + kLine);
    for (int64_t lane = 0; lane < kLanes; lane += kStep) {
      for (int64_t at = begin; at < whole; at += kStep)
        transpose_4x4(in + at + lane * stride_n, stride_n, out + at * kLanes + lane);
    }
  }
  for (int64_t at = k - k % kStep; at < k; ++at) {
    for (int64_t lane = 0; lane < kLanes; ++lane) out[at * kLanes + lane] = in[at + lane * stride_n];
  }
}

void pack_here(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* panels) {
  for (int64_t panel = 0; panel < padded(n) / kLanes; ++panel) {
    float* out = panels + panel * k * kLanes;
    const int64_t columns = std::min(kLanes, n - panel * kLanes);
    const float* in = b + panel * kLanes * stride_n;
    if (stride_n == 1 && columns == kLanes) {
      for (int64_t at = 0; at < k; ++at) std::memcpy(out + at * kLanes, in + at * stride_k, kLanes * sizeof(float));
      continue;
    }
    if (stride_k == 1 && columns == kLanes) {
      pack_columns(in, stride_n, k, out);
      continue;
    }
    constexpr int64_t kBlock = 64;  // number of rows whose lines stay in the cache while columns are gathered
    for (int64_t begin = 0; begin < k; begin += kBlock) {
      const int64_t end = std::min(k, begin + kBlock);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        for (int64_t at = begin; at < end; ++at)
          out[at * kLanes + lane] = lane < columns ? in[at * stride_k + lane * stride_n] : 0.0F;
      }
    }
  }
}

}  // namespace
}  // namespace carina::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::kernels {

HWY_EXPORT(multiply_here);
HWY_EXPORT(pack_here);
HWY_EXPORT(epilogue_here);

void multiply_f32(const MatrixJobF32& job) {
  HWY_DYNAMIC_DISPATCH(multiply_here)(job);
}
void pack_matrix_f32(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* panels) {
  HWY_DYNAMIC_DISPATCH(pack_here)(b, stride_k, stride_n, k, n, panels);
}
void flush_streams() {
  hwy::FlushStream();
}
void run_epilogue_f32(const EpilogueF32& job) {
  HWY_DYNAMIC_DISPATCH(epilogue_here)(job);
}

}  // namespace carina::kernels
#endif
