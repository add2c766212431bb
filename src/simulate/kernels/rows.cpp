#include "simulate/kernels/rows.h"

#include <algorithm>
#include <array>

#include "simulate/kernels/lanes_internal.h"
#include "simulate/vectors/kernels.h"

namespace carina::simulate {

namespace {

constexpr int32_t kBrick = 16;

// Elements of 8 bytes hold 48 bits.
template <typename S>
int64_t element(const std::byte* p) {
  if constexpr (sizeof(S) == 8) return static_cast<int64_t>(load<uint64_t>(p) << 16) >> 16;
  return static_cast<int64_t>(load<S>(p));
}

void widen_brick(const int8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t stride) {
  widen_brick_s8(in, pixels, zero_point, out, stride);
}
void widen_brick(const uint8_t* in, size_t pixels, int16_t zero_point, int16_t* out, size_t stride) {
  widen_brick_u8(in, pixels, zero_point, out, stride);
}

// What makes unsigned bytes of bytes.
template <typename S>
constexpr uint8_t kFlips = std::is_signed_v<S> ? 128 : 0;

// Pixels of less than eight bytes that follow each other. Eight bytes are moved, of which the next pixel takes over
// what is its own: pixels of `out` are no nearer to each other.
template <typename S>
void flip_pixels(const std::byte* in, size_t pixels, size_t depth, uint8_t* out, size_t pixel_elems) {
  constexpr uint64_t kEight = kFlips<S> * uint64_t{0x0101010101010101};
  for (; pixels * depth >= sizeof kEight; --pixels, in += depth, out += pixel_elems) {
    const uint64_t moved = load<uint64_t>(in) ^ kEight;
    std::memcpy(out, &moved, sizeof moved);
  }
  for (; pixels > 0; --pixels, in += depth, out += pixel_elems) {
    for (size_t c = 0; c < depth; ++c) out[c] = static_cast<uint8_t>(std::to_integer<uint8_t>(in[c]) ^ kFlips<S>);
  }
}

// `count` elements of type S that follow each other in memory, minus the zero point.
template <typename S, typename T>
void convert(const std::byte* p, int32_t count, int32_t zero_point, T* out) {
  if constexpr (std::is_same_v<T, uint8_t> && sizeof(S) == 1)
    return flip(p, static_cast<size_t>(count), kFlips<S>, out);
  if constexpr (std::is_same_v<T, int16_t> && sizeof(S) == 1) {
    if constexpr (std::is_signed_v<S>) {
      widen_s8(reinterpret_cast<const int8_t*>(p), static_cast<size_t>(count), static_cast<int16_t>(zero_point), out);
    } else {
      widen_u8(reinterpret_cast<const uint8_t*>(p), static_cast<size_t>(count), static_cast<int16_t>(zero_point), out);
    }
  } else {
    in_lanes(static_cast<size_t>(count), [&](size_t i, auto lanes) {
      std::array<T, lanes> values;
      for (size_t lane = 0; lane < lanes; ++lane)
        values[lane] = static_cast<T>(element<S>(p + (i + lane) * sizeof(S)) - zero_point);
      std::ranges::copy(values, out + i);
    });
  }
}

template <typename S, typename T>
void read_part(const CheckedMap& map, const RowPart& part, int32_t x0, int32_t x1, int32_t depth, int32_t zero_point,
               T* out, int64_t pixel_elems) {
  const int32_t from = std::max(x0, part.begin);
  const int32_t to = std::min(x1, part.end);
  if constexpr (sizeof(T) <= 2 && sizeof(S) == 1) {
    // Whole bricks of a row follow each other; the buffer has room for the channels that pad the last one, but memory
    // may end.
    if (map.brick() && from < to) {
      const int32_t whole = depth / kBrick * kBrick;
      const std::byte* pixel = part.data + int64_t{from - part.begin} * kBrick;
      T* row = out + int64_t{from - x0} * pixel_elems;
      for (int32_t c = 0; c < whole; c += kBrick) {
        const auto* brick = reinterpret_cast<const S*>(pixel + c / kBrick * map.brick_stride());
        const auto pixels = static_cast<size_t>(to - from), stride = static_cast<size_t>(pixel_elems);
        if constexpr (sizeof(T) == 1) {
          flip_brick(reinterpret_cast<const std::byte*>(brick), pixels, kFlips<S>, row + c, stride);
        } else {
          widen_brick(brick, pixels, static_cast<int16_t>(zero_point), row + c, stride);
        }
      }
      if (whole == depth) return;
      pixel += whole / kBrick * map.brick_stride();
      for (int32_t x = from; x < to; ++x, pixel += kBrick, row += pixel_elems)
        convert<S, T>(pixel, depth - whole, zero_point, row + whole);
      return;
    }
  }
  if constexpr (std::is_same_v<T, uint8_t> && sizeof(S) == 1) {
    if (!map.brick() && depth < 8 && map.pixel_stride() == depth && from < to) {
      return flip_pixels<S>(part.data + int64_t{from - part.begin} * depth, static_cast<size_t>(to - from),
                            static_cast<size_t>(depth), out + int64_t{from - x0} * pixel_elems,
                            static_cast<size_t>(pixel_elems));
    }
  }
  for (int32_t x = from; x < to; ++x) {
    const std::byte* pixel = part.data + int64_t{x - part.begin} * map.pixel_stride();
    T* row = out + int64_t{x - x0} * pixel_elems;
    if (!map.brick()) {
      convert<S, T>(pixel, depth, zero_point, row);
      continue;
    }
    for (int32_t c = 0; c < depth; c += kBrick) {
      convert<S, T>(pixel + c / kBrick * map.brick_stride(), std::min(kBrick, depth - c), zero_point, row + c);
    }
  }
}

template <typename S, typename T>
void read_row_as(const CheckedMap& map, int32_t y, int32_t x0, int32_t x1, int32_t depth, int32_t zero_point, T* out,
                 int64_t pixel_elems) {
  for (const RowPart& part : map.row(y)) {
    // Whole rows of packed pixels need no loop over columns.
    if (!map.brick() && map.pixel_stride() == int64_t{depth} * map.type().bytes && pixel_elems == depth &&
        part.begin <= x0 && x1 <= part.end && x0 < x1) {
      convert<S, T>(part.data + int64_t{x0 - part.begin} * map.pixel_stride(), (x1 - x0) * depth, zero_point, out);
      return;
    }
    read_part<S, T>(map, part, x0, x1, depth, zero_point, out, pixel_elems);
  }
}

}  // namespace

template <typename T>
void read_row(const CheckedMap& map, int32_t y, int32_t x0, int32_t x1, int32_t depth, int32_t zero_point, T* out,
              int64_t pixel_elems) {
  const auto read = [&]<typename S>() { read_row_as<S, T>(map, y, x0, x1, depth, zero_point, out, pixel_elems); };
  switch (map.type().bytes) {
    case 1:
      map.type().is_signed ? read.template operator()<int8_t>() : read.template operator()<uint8_t>();
      break;
    case 2:
      map.type().is_signed ? read.template operator()<int16_t>() : read.template operator()<uint16_t>();
      break;
    case 4:
      map.type().is_signed ? read.template operator()<int32_t>() : read.template operator()<uint32_t>();
      break;
    default:
      read.template operator()<int64_t>();
      break;
  }
}
template void read_row<uint8_t>(const CheckedMap&, int32_t, int32_t, int32_t, int32_t, int32_t, uint8_t*, int64_t);
template void read_row<int16_t>(const CheckedMap&, int32_t, int32_t, int32_t, int32_t, int32_t, int16_t*, int64_t);
template void read_row<int32_t>(const CheckedMap&, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t*, int64_t);
template void read_row<int64_t>(const CheckedMap&, int32_t, int32_t, int32_t, int32_t, int32_t, int64_t*, int64_t);

void write_row(const CheckedMap& map, int32_t y, int32_t x0, int32_t x1, const std::byte* values, int64_t pixel_bytes) {
  const int32_t depth = map.box().depth;
  const int32_t es = map.type().bytes;
  const auto whole = static_cast<size_t>(depth) * static_cast<size_t>(es);
  for (const RowPart& part : map.row(y)) {
    const int32_t begin = std::max(x0, part.begin), end = std::min(x1, part.end);
    if (begin >= end) continue;
    std::byte* to = part.data + int64_t{begin - part.begin} * map.pixel_stride();
    const std::byte* from = values + int64_t{begin - x0} * pixel_bytes;
    if (!map.brick()) {
      if (map.pixel_stride() == pixel_bytes && static_cast<int64_t>(whole) == pixel_bytes) {
        std::memcpy(to, from, whole * static_cast<size_t>(end - begin));
        continue;
      }
      for (int32_t x = begin; x < end; ++x, from += pixel_bytes, to += map.pixel_stride()) std::memcpy(to, from, whole);
      continue;
    }
    for (int32_t c = 0; c < depth; c += kBrick) {
      std::byte* pixel = to + c / kBrick * map.brick_stride();
      const std::byte* source = from + int64_t{c} * es;
      const int32_t channels = std::min(kBrick, depth - c);
      if (channels == kBrick && es == 1) {  // the common case has a fixed size
        for (int32_t x = begin; x < end; ++x, source += pixel_bytes, pixel += kBrick)
          std::memcpy(pixel, source, kBrick);
        continue;
      }
      const auto bytes = static_cast<size_t>(channels) * static_cast<size_t>(es);
      for (int32_t x = begin; x < end; ++x, source += pixel_bytes, pixel += map.pixel_stride())
        std::memcpy(pixel, source, bytes);
    }
  }
}

std::byte* element_at(const CheckedMap& map, int32_t y, int32_t x, int32_t c) {
  for (const RowPart& part : map.row(y)) {
    if (x < part.begin || x >= part.end) continue;
    std::byte* pixel = part.data + int64_t{x - part.begin} * map.pixel_stride();
    if (!map.brick()) return pixel + int64_t{c} * map.type().bytes;
    return pixel + c / kBrick * map.brick_stride() + int64_t{c % kBrick} * map.type().bytes;
  }
  return nullptr;
}

}  // namespace carina::simulate
