#include <type_traits>
#include <utility>

#include "simulate/vectors/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simulate/vectors/simd_convolution.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Sums of products of convolutions, on pairs of 16 bits or quads of bytes: a tile of positions and output channels
// stays in registers while the kernel walks over the runs of the window.
//   Example: with 8 lanes of 32 bits, a tile of 6 positions x 16 channels is 12 vectors of accumulators.
HWY_BEFORE_NAMESPACE();
namespace carina::simulate::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::CappedTag<int32_t, kChannelGroup>;
using D16 = hn::Repartition<int16_t, D32>;
using V32 = hn::Vec<D32>;
using V16 = hn::Vec<D16>;

// Vectors that hold a group's accumulators.
inline constexpr size_t kVectors = kChannelGroup / hn::MaxLanes(D32());
// The tile of accumulators that stays in registers: positions x groups.
inline constexpr size_t kTileGroups = kVectors == 1 ? 4 : 1;
inline constexpr size_t kTilePixels = kVectors <= 2 ? 6 : 2;

// acc + the products of adjacent pairs.
HWY_INLINE V32 multiply_pairs(V32 acc, V16 x, V16 w) {
  const D32 d;
#if HWY_TARGET == HWY_AVX3_DL
  // Multiplies and accumulates in one instruction. In assembly because Highway 1.0.3 enables the compiler's intrinsic
  // for 256 bits only; the processor has it, or this target would not have been chosen.
  (void)d;
  asm("vpdpwssd %2, %1, %0" : "+v"(acc.raw) : "v"(x.raw), "v"(w.raw));
  return acc;
#else
  // NEON's sums stand in other lanes until they are rearranged: what is in its lane already may not be among them.
  V32 rest = hn::Zero(d);
  const V32 products = hn::ReorderWidenMulAccumulate(d, x, w, hn::Zero(d), rest);
  return hn::Add(acc, hn::RearrangeToOddPlusEven(products, rest));
#endif
}

// Weights of four bytes to each lane, as multiply_quads() takes them.
struct Quads {
#if HWY_TARGET == HWY_AVX3_DL
  V16 all;
  explicit HWY_INLINE Quads(V16 bytes) : all(bytes) {}
#else
  V16 even, odd;
  explicit HWY_INLINE Quads(V16 bytes)
      : even(hn::ShiftRight<8>(hn::ShiftLeft<8>(bytes))), odd(hn::ShiftRight<8>(bytes)) {}
#endif
};

// acc + the products of the four unsigned bytes of each lane of x with the signed ones of w.
HWY_INLINE V32 multiply_quads(V32 acc, V16 x, const Quads& w) {
#if HWY_TARGET == HWY_AVX3_DL
  asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(x.raw), "v"(w.all.raw));  // as above
  return acc;
#else
  const D16 d;
  const hn::RebindToUnsigned<D16> u;
  acc = multiply_pairs(acc, hn::And(x, hn::Set(d, 255)), w.even);
  return multiply_pairs(acc, hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(u, x))), w.odd);
#endif
}

// What a step of a kernel multiplies: pairs of 16 bits, or quads of bytes.
struct OfPairs {
  using Input = int16_t;
  using Weight = int16_t;
  using Weights = V16;
  static constexpr size_t kTogether = 2;
  static HWY_INLINE V32 multiply(V32 acc, V16 x, V16 w) { return multiply_pairs(acc, x, w); }
  static HWY_INLINE V32 start(const ConvolutionTask&, size_t) { return hn::Zero(D32()); }
};
struct OfQuads {
  using Input = uint8_t;
  using Weight = int8_t;
  using Weights = Quads;
  static constexpr size_t kTogether = 4;
  static HWY_INLINE V32 multiply(V32 acc, V16 x, const Quads& w) { return multiply_quads(acc, x, w); }
  static HWY_INLINE V32 start(const ByteConvolutionTask& task, size_t channel) {
    return hn::LoadU(D32(), task.start + channel);
  }
};

template <class Of, size_t P, size_t G>
struct Tile {
  static constexpr size_t kColumns = G * kVectors;
  V32 acc[P][kColumns];

  // NEON's vectors want a constructor that is compiled for the target: neither the implicit one is, nor std::array's.
  HWY_INLINE Tile() {}

  template <class Task, size_t... C>
  HWY_INLINE void clear(const Task& task, size_t channel, std::index_sequence<C...>) {
    constexpr size_t lanes = hn::MaxLanes(D32());
    const auto row = [&](auto& a) HWY_ATTR { ((a[C] = Of::start(task, channel + C * lanes)), ...); };
    rows([&](auto& a, size_t) HWY_ATTR { row(a); }, std::make_index_sequence<P>());
  }
  template <typename Body, size_t... I>
  HWY_INLINE void rows(const Body& body, std::index_sequence<I...>) {
    (body(acc[I], I), ...);
  }
  template <size_t... C>
  HWY_INLINE void step(const typename Of::Input* const* x, const typename Of::Weight* const* w, size_t at,
                       std::index_sequence<C...>) {
    const D16 d16;
    constexpr size_t lanes = hn::MaxLanes(D32()), together = Of::kTogether;
    const typename Of::Weights weights[kColumns] = {typename Of::Weights(
        hn::LoadU(d16, reinterpret_cast<const int16_t*>(w[C / kVectors] + at * together * kChannelGroup) +
                           (C % kVectors) * 2 * lanes))...};
    rows(
        [&](auto& a, size_t i) HWY_ATTR {
          int32_t all;
          __builtin_memcpy(&all, x[i] + at * together, sizeof(all));
          const V16 input = hn::BitCast(d16, hn::Set(D32(), all));
          ((a[C] = Of::multiply(a[C], input, weights[C])), ...);
        },
        std::make_index_sequence<P>());
  }
  template <size_t... C>
  HWY_INLINE void store(int32_t* out, size_t stride, std::index_sequence<C...>) {
    const D32 d;
    constexpr size_t lanes = hn::MaxLanes(D32());
    rows([&](auto& a, size_t i) HWY_ATTR { ((hn::StoreU(a[C], d, out + i * stride + C * lanes)), ...); },
         std::make_index_sequence<P>());
  }
};

template <class Of, size_t P, size_t G, class Task>
HWY_NOINLINE void tile(const Task& task, size_t pixel, size_t group) {
  constexpr auto columns = std::make_index_sequence<G * kVectors>();
  Tile<Of, P, G> t;
  t.clear(task, group * kChannelGroup, columns);
  const typename Of::Weight* w[G];
  const typename Of::Input* x[P];
  for (const TapRun& run : task.runs) {
    for (size_t g = 0; g < G; ++g)
      w[g] = task.weights + ((group + g) * task.steps + run.weight_steps) * Of::kTogether * kChannelGroup;
    for (size_t p = 0; p < P; ++p) x[p] = task.pixels[pixel + p] + run.offset;
    for (size_t i = 0; i < run.steps; ++i) t.step(x, w, i, columns);
  }
  const size_t stride = task.groups * kChannelGroup;
  t.store(task.acc + pixel * stride + group * kChannelGroup, stride, columns);
}

template <class Of, size_t G, class Task>
void all_pixels(const Task& task, size_t group) {
  size_t pixel = 0;
  const size_t count = task.pixels.size();
  for (; pixel + kTilePixels <= count; pixel += kTilePixels) tile<Of, kTilePixels, G>(task, pixel, group);
  for (; pixel + 2 <= count; pixel += 2) tile<Of, 2, G>(task, pixel, group);
  for (; pixel < count; ++pixel) tile<Of, 1, G>(task, pixel, group);
}

template <class Of, class Task>
void all_groups(const Task& task) {
  size_t group = 0;
  const auto take = [&](auto groups) {
    all_pixels<Of, decltype(groups)::value>(task, group);
    group += groups;
  };
  if constexpr (kTileGroups == 4) {
    // A tile of one group costs nearly as much as one of two: five are three and two.
    const auto left = [&] { return task.groups - group; };
    while (left() >= 4 && left() != 5) take(std::integral_constant<size_t, 4>());
    if (left() >= 3) take(std::integral_constant<size_t, 3>());
    if (left() == 2) take(std::integral_constant<size_t, 2>());
    if (left() == 1) take(std::integral_constant<size_t, 1>());
  } else {
    while (group < task.groups) take(std::integral_constant<size_t, kTileGroups>());
  }
}

void Convolve(const ConvolutionTask& task) {
  all_groups<OfPairs>(task);
}
void ConvolveBytes(const ByteConvolutionTask& task) {
  all_groups<OfQuads>(task);
}

void SumQuads(const int8_t* weights, size_t steps, int32_t* sums, int32_t* magnitudes) {
  const D32 d;
  const D16 d16;
  const hn::Repartition<int8_t, D32> d8;
  constexpr size_t lanes = hn::MaxLanes(D32());
  const V16 ones = hn::BitCast(d16, hn::Set(d8, 1));
  for (size_t c = 0; c < kChannelGroup; c += lanes) {
    V32 sum = hn::Zero(d), magnitude = sum;
    for (size_t i = 0; i < steps; ++i) {
      const auto bytes = hn::LoadU(d8, weights + (i * kChannelGroup + c) * 4);
      sum = multiply_quads(sum, ones, Quads(hn::BitCast(d16, bytes)));
      // The magnitude of -128 is 128 as an unsigned byte.
      magnitude = multiply_quads(magnitude, hn::BitCast(d16, hn::Abs(bytes)), Quads(ones));
    }
    hn::StoreU(sum, d, sums + c);
    hn::StoreU(magnitude, d, magnitudes + c);
  }
}

template <typename T>
HWY_INLINE V32 load_tap(const T* x) {
  const D32 d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D32>(), x));
}

// acc + x * weight of each lane: the upper halves, whatever sign x has, are multiplied by 0.
HWY_INLINE V32 multiply_lanes(V32 acc, V32 x, V32 weight) {
  const D16 d16;
  return multiply_pairs(acc, hn::BitCast(d16, x), hn::BitCast(d16, weight));
}

HWY_INLINE V32 start_of(const DepthwiseTask&, size_t) {
  return hn::Zero(D32());
}
HWY_INLINE V32 start_of(const ByteDepthwiseTask& task, size_t channel) {
  return hn::LoadU(D32(), task.start + channel);
}

template <class Task>
void all_channels(const Task& task) {
  const D32 d;
  constexpr size_t lanes = hn::MaxLanes(D32());
  constexpr size_t kTogether = 4;  // positions, so that a weight is loaded once for all of them
  const size_t count = task.pixels.size();
  for (size_t c = 0; c < task.channels; c += lanes) {
    size_t p = 0;
    for (; p + kTogether <= count; p += kTogether) {
      V32 a0 = start_of(task, c);
      V32 a1 = a0;
      V32 a2 = a0;
      V32 a3 = a0;
      const auto* x0 = task.pixels[p] + c;
      const auto* x1 = task.pixels[p + 1] + c;
      const auto* x2 = task.pixels[p + 2] + c;
      const auto* x3 = task.pixels[p + 3] + c;
      const int32_t* w = task.weights + c;
      for (const int64_t tap : task.taps) {
        const V32 weight = hn::LoadU(d, w);
        a0 = multiply_lanes(a0, load_tap(x0 + tap), weight);
        a1 = multiply_lanes(a1, load_tap(x1 + tap), weight);
        a2 = multiply_lanes(a2, load_tap(x2 + tap), weight);
        a3 = multiply_lanes(a3, load_tap(x3 + tap), weight);
        w += task.channels;
      }
      int32_t* out = task.acc + p * task.channels + c;
      hn::StoreU(a0, d, out);
      hn::StoreU(a1, d, out + task.channels);
      hn::StoreU(a2, d, out + 2 * task.channels);
      hn::StoreU(a3, d, out + 3 * task.channels);
    }
    for (; p < count; ++p) {
      V32 a = start_of(task, c);
      const int32_t* w = task.weights + c;
      for (const int64_t tap : task.taps) {
        a = multiply_lanes(a, load_tap(task.pixels[p] + c + tap), hn::LoadU(d, w));
        w += task.channels;
      }
      hn::StoreU(a, d, task.acc + p * task.channels + c);
    }
  }
}

void Depthwise(const DepthwiseTask& task) {
  all_channels(task);
}
void DepthwiseBytes(const ByteDepthwiseTask& task) {
  all_channels(task);
}

template <typename Combine>
HWY_INLINE void fold(const PoolTask& task, const Combine& combine) {
  const D32 d;
  constexpr size_t lanes = hn::MaxLanes(D32());
  for (size_t p = 0; p < task.pixels.size(); ++p) {
    for (size_t c = 0; c < task.channels; c += lanes) {
      const int16_t* x = task.pixels[p] + c;
      V32 a = load_tap(x + task.taps[0]);
      for (size_t t = 1; t < task.taps.size(); ++t) a = combine(a, load_tap(x + task.taps[t]));
      hn::StoreU(a, d, task.acc + p * task.channels + c);
    }
  }
}

void Pool(const PoolTask& task) {
  switch (task.fold) {
    case Fold::kMax:
      return fold(task, [](V32 a, V32 b) HWY_ATTR { return hn::Max(a, b); });
    case Fold::kMin:
      return fold(task, [](V32 a, V32 b) HWY_ATTR { return hn::Min(a, b); });
    case Fold::kSum:
      return fold(task, [](V32 a, V32 b) HWY_ATTR { return hn::Add(a, b); });
  }
}

}  // namespace carina::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace carina::simulate {

HWY_EXPORT(Convolve);
HWY_EXPORT(ConvolveBytes);
HWY_EXPORT(SumQuads);
HWY_EXPORT(Depthwise);
HWY_EXPORT(DepthwiseBytes);
HWY_EXPORT(Pool);

void convolve(const ConvolutionTask& task) {
  HWY_DYNAMIC_DISPATCH(Convolve)(task);
}
void convolve_bytes(const ByteConvolutionTask& task) {
  HWY_DYNAMIC_DISPATCH(ConvolveBytes)(task);
}
void sum_quads(const int8_t* weights, size_t steps, int32_t* sums, int32_t* magnitudes) {
  HWY_DYNAMIC_DISPATCH(SumQuads)(weights, steps, sums, magnitudes);
}
void depthwise(const DepthwiseTask& task) {
  HWY_DYNAMIC_DISPATCH(Depthwise)(task);
}
void depthwise_bytes(const ByteDepthwiseTask& task) {
  HWY_DYNAMIC_DISPATCH(DepthwiseBytes)(task);
}
void pool(const PoolTask& task) {
  HWY_DYNAMIC_DISPATCH(Pool)(task);
}

}  // namespace carina::simulate
#endif
