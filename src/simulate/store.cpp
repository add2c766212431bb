#include "simulate/store.h"

#include <algorithm>

#include "simulate/rows.h"

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

// (row, column, channel) of the stored tensor. Source: facts/ethosu 3.4.
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

}  // namespace

void store_row(const Work& work, int32_t oy, const std::byte* values, int64_t pixel_bytes) {
  const Operation& op = *work.op;
  const int es = op.ofm.type.bytes;
  if (op.transpose == Transpose::kHwc && (op.reverse == Reverse::kNone || op.reverse == Reverse::kH)) {
    write_row(work.ofm, reversed(op, {.y = oy, .x = 0, .c = 0}).y, values, pixel_bytes);
    return;
  }
  for (int32_t x = 0; x < op.ofm_extent.width; ++x) {
    for (int32_t c = 0; c < op.ofm_extent.depth; ++c) {
      const Position p = transposed(op.transpose, reversed(op, {.y = oy, .x = x, .c = c}));
      if (std::byte* to = element_at(work.ofm, p.y, p.x, p.c)) {
        std::memcpy(to, values + x * pixel_bytes + int64_t{c} * es, static_cast<size_t>(es));
      }
    }
  }
}

void store_row(const Work& work, int32_t oy, std::span<const int64_t> values) {
  const int es = work.op->ofm.type.bytes;
  std::vector<std::byte> narrow(values.size() * static_cast<size_t>(es));
  for (size_t i = 0; i < values.size(); ++i) store_element(narrow.data() + i * static_cast<size_t>(es), values[i], es);
  store_row(work, oy, narrow.data(), int64_t{work.op->ofm_extent.depth} * es);
}

}  // namespace carina::simulate
