#include "simulate/kernels/store_internal.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulate/kernels/rows.h"

namespace carina::simulate {

namespace {

struct Position {
  int32_t y;
  int32_t x;
  int32_t c;
};

Position reversed(const Operation& op, Position p) {
  const Extent& e = op.ofm_extent;
  switch (op.reverse) {
    case Reverse::kNone:
      return p;
    case Reverse::kH:
      return {.y = e.height - 1 - p.y, .x = p.x, .c = p.c};
    case Reverse::kW:
      return {.y = p.y, .x = e.width - 1 - p.x, .c = p.c};
    case Reverse::kC:
      return {.y = p.y, .x = p.x, .c = e.depth - 1 - p.c};
  }
  return p;
}

// (row, column, channel) of the stored tensor. Source: docs/facts/ethosu.md 3.4.
Position transposed(Transpose transpose, Position p) {
  switch (transpose) {
    case Transpose::kHwc:
      return p;
    case Transpose::kWhc:
      return {.y = p.x, .x = p.y, .c = p.c};
    case Transpose::kHcw:
      return {.y = p.y, .x = p.c, .c = p.x};
    case Transpose::kWch:
      return {.y = p.x, .x = p.c, .c = p.y};
    case Transpose::kChw:
      return {.y = p.c, .x = p.y, .c = p.x};
    case Transpose::kCwh:
      return {.y = p.c, .x = p.x, .c = p.y};
  }
  return p;
}

// The offset in bytes of index `i` along one axis of the stored tensor. `unit` is 1 on this axis and 0 on the others.
int64_t offset_along(const CheckedMap& map, const Position& unit, int64_t i) {
  if (unit.y != 0) return i * map.row_stride();
  if (unit.x != 0) return i * map.pixel_stride();
  return map.brick() ? i / 16 * map.brick_stride() + i % 16 * map.type().bytes : i * map.type().bytes;
}

// Addresses of a map in one tile are sums of what each axis adds, in whatever order the axes are stored.
struct RowOffsets {
  std::vector<int64_t> columns;
  std::vector<int64_t> channels;
};
RowOffsets row_offsets(const Work& work, Columns columns) {
  const Operation& op = *work.op;
  const Position x = transposed(op.transpose, {.y = 0, .x = 1, .c = 0});
  const Position c = transposed(op.transpose, {.y = 0, .x = 0, .c = 1});
  RowOffsets offsets;
  for (int32_t i = columns.begin; i < columns.end; ++i)
    offsets.columns.push_back(offset_along(work.ofm, x, reversed(op, {.y = 0, .x = i, .c = 0}).x));
  for (int32_t i = 0; i < op.ofm_extent.depth; ++i)
    offsets.channels.push_back(offset_along(work.ofm, c, reversed(op, {.y = 0, .x = 0, .c = i}).c));
  return offsets;
}

template <size_t kBytes>
void scatter(const RowOffsets& offsets, const std::byte* values, int64_t pixel_bytes, std::byte* row) {
  for (const int64_t column : offsets.columns) {
    const std::byte* from = values;
    for (const int64_t channel : offsets.channels) {
      std::memcpy(row + column + channel, from, kBytes);
      from += kBytes;
    }
    values += pixel_bytes;
  }
}

void store_in_tile(const Work& work, int32_t oy, Columns columns, const std::byte* values, int64_t pixel_bytes,
                   std::byte* origin) {
  const Operation& op = *work.op;
  const Position y = transposed(op.transpose, {.y = 1, .x = 0, .c = 0});
  std::byte* row = origin + offset_along(work.ofm, y, reversed(op, {.y = oy, .x = 0, .c = 0}).y);
  const RowOffsets offsets = row_offsets(work, columns);
  switch (op.ofm.type.bytes) {
    case 1:
      return scatter<1>(offsets, values, pixel_bytes, row);
    case 2:
      return scatter<2>(offsets, values, pixel_bytes, row);
    case 4:
      return scatter<4>(offsets, values, pixel_bytes, row);
    default:
      return scatter<8>(offsets, values, pixel_bytes, row);
  }
}

}  // namespace

void store_row(const Work& work, int32_t oy, Columns columns, const std::byte* values, int64_t pixel_bytes) {
  const Operation& op = *work.op;
  if (op.transpose == Transpose::kHwc && (op.reverse == Reverse::kNone || op.reverse == Reverse::kH)) {
    write_row(work.ofm, reversed(op, {.y = oy, .x = 0, .c = 0}).y, columns.begin, columns.end, values, pixel_bytes);
    return;
  }
  if (std::byte* origin = work.ofm.single_tile()) return store_in_tile(work, oy, columns, values, pixel_bytes, origin);
  const int es = op.ofm.type.bytes;
  for (int32_t x = columns.begin; x < columns.end; ++x) {
    for (int32_t c = 0; c < op.ofm_extent.depth; ++c) {
      const Position p = transposed(op.transpose, reversed(op, {.y = oy, .x = x, .c = c}));
      if (std::byte* to = element_at(work.ofm, p.y, p.x, p.c)) {
        std::memcpy(to, values + (x - columns.begin) * pixel_bytes + int64_t{c} * es, static_cast<size_t>(es));
      }
    }
  }
}

void store_row(const Work& work, int32_t oy, std::span<const int64_t> values) {
  const int es = work.op->ofm.type.bytes;
  std::vector<std::byte> narrow(values.size() * static_cast<size_t>(es));
  for (size_t i = 0; i < values.size(); ++i) store_element(narrow.data() + i * static_cast<size_t>(es), values[i], es);
  const Extent& ofm = work.op->ofm_extent;
  store_row(work, oy, {.begin = 0, .end = ofm.width}, narrow.data(), int64_t{ofm.depth} * es);
}

}  // namespace carina::simulate
