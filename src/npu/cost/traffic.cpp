#include "npu/cost/traffic.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::npu {
namespace {

constexpr int64_t kMaxBeatBytes = 16;
using ByResidue = std::array<int64_t, kMaxBeatBytes>;

// One block's reads through one sub-kernel, which starts `offset` elements after the window.
int64_t block_reads(const WindowAxis& a, int64_t block, int64_t offset, int64_t extent) {
  const int64_t first = block * a.block;
  const int64_t outputs = std::min(a.block, a.ofm - first);
  const int64_t begin = first * a.stride - a.padding + offset;
  const int64_t end = begin + (outputs - 1) * a.stride + extent;
  const int64_t clipped_begin = std::max<int64_t>(begin, 0) / a.upscale;
  const int64_t clipped_end = std::min(ceil_div(std::max<int64_t>(end, 0), a.upscale), a.ifm);
  return std::max<int64_t>(clipped_end - clipped_begin, 0);
}

int64_t sub_kernel_reads(const WindowAxis& a, int64_t offset, int64_t extent) {
  const int64_t blocks = ceil_div(a.ofm, a.block);
  const int64_t step = a.block * a.stride;
  // Blocks [inner, outer) lie inside the IFM as a whole, so all of them read the same number of elements.
  int64_t inner = std::clamp<int64_t>(ceil_div(std::max<int64_t>(a.padding - offset, 0), step), 0, blocks);
  const int64_t last = a.ifm * a.upscale - extent - (a.block - 1) * a.stride + a.padding - offset;
  int64_t outer = std::clamp<int64_t>(last < 0 ? 0 : last / step + 1, inner, std::max(inner, blocks - 1));
  if (step % a.upscale != 0) outer = inner;
  int64_t total = outer > inner ? (outer - inner) * block_reads(a, inner, offset, extent) : 0;
  for (int64_t block = 0; block < inner; ++block) total += block_reads(a, block, offset, extent);
  for (int64_t block = outer; block < blocks; ++block) total += block_reads(a, block, offset, extent);
  return total;
}

// How many of `count` positions, `stride` bytes apart, have each residue modulo the beat.
ByResidue residues(int64_t count, int64_t stride, int64_t beat) {
  ByResidue out{};
  for (int64_t i = 0; i < std::min(count, beat); ++i)
    out[static_cast<size_t>(i * stride & (beat - 1))] += (count - i + beat - 1) / beat;
  return out;
}

int64_t beats_of(int64_t residue, int64_t bytes, int64_t beat) {
  return bytes == 0 ? 0 : ceil_div(residue + bytes, beat);
}

}  // namespace

int64_t window_reads(const WindowAxis& a) {
  int64_t total = 0;
  for (int64_t tap = 0; tap < a.taps; tap += a.sub_kernel) {
    const int64_t taps = std::min(a.sub_kernel, a.taps - tap);
    total += sub_kernel_reads(a, tap * a.dilation, (taps - 1) * a.dilation + 1);
  }
  return total;
}

int64_t written_bytes(const WrittenMap& map) {
  if (map.bricks) return map.height * map.width * round_up<int64_t>(map.depth, kBrickDepth) * map.element_bytes;
  const int64_t beat = map.beat_bytes;
  const int64_t full_runs = map.depth / kBrickDepth;
  const int64_t run = kBrickDepth * map.element_bytes, rest = map.depth % kBrickDepth * map.element_bytes;
  const ByResidue rows = residues(map.height, map.stride_y, beat), columns = residues(map.width, map.stride_x, beat);
  int64_t beats = 0;
  for (size_t y = 0; y < static_cast<size_t>(beat); ++y) {
    if (rows[y] == 0) continue;
    for (size_t x = 0; x < static_cast<size_t>(beat); ++x) {
      if (columns[x] == 0) continue;
      const int64_t residue = (map.address + static_cast<int64_t>(y + x)) & (beat - 1);
      beats += rows[y] * columns[x] * (full_runs * beats_of(residue, run, beat) + beats_of(residue, rest, beat));
    }
  }
  return beats * beat;
}

}  // namespace carina::npu
