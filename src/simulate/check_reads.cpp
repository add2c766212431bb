#include <fmt/format.h>

#include <algorithm>

#include "simulate/checker_internal.h"
#include "simulate/kernels/work.h"

namespace carina::simulate {

namespace {

// The input positions along one axis that some output position reads, in the memory's own (not upscaled) coordinates.
std::vector<bool> touched(int32_t outputs, int32_t stride, int32_t pad, int32_t taps, int32_t dilation, int32_t extent,
                          int32_t size, Upscale upscale) {
  std::vector<bool> positions(static_cast<size_t>(size));
  for (int32_t o = 0; o < outputs; ++o) {
    for (int32_t k = 0; k < taps; ++k) {
      const int64_t i = int64_t{o} * stride - pad + int64_t{k} * dilation;
      if (i < 0 || i >= extent || (upscale == Upscale::kZeros && i % 2 != 0)) continue;
      const auto at = static_cast<size_t>(upscale == Upscale::kNone ? i : i / 2);
      if (at < positions.size()) positions[at] = true;
    }
  }
  return positions;
}

std::vector<bool> all(int32_t size) {
  return std::vector<bool>(static_cast<size_t>(std::max(0, size)), true);
}

template <typename Body>
void for_each_run(const CheckedMap& map, int32_t y, int32_t x, const RowPart& part, const Body& body) {
  const std::byte* pixel = part.data + int64_t{x - part.begin} * map.pixel_stride();
  const auto es = static_cast<size_t>(map.type().bytes);
  const auto depth = static_cast<size_t>(map.box().depth);
  (void)y;
  if (!map.brick()) return body(std::span(pixel, depth * es));
  for (size_t c = 0; c < depth; c += 16)
    body(std::span(pixel + static_cast<int64_t>(c / 16) * map.brick_stride(), std::min<size_t>(16, depth - c) * es));
}

}  // namespace

void Checker::check_map(const Operation& op, const CheckedMap& map, const std::vector<bool>& rows,
                        const std::vector<bool>& columns, const char* role, const MemoryMap& memory) {
  for (int32_t y = 0; y < map.box().height; ++y) {
    if (!rows[static_cast<size_t>(y)]) continue;
    for (const RowPart& part : map.row(y)) {
      for (int32_t x = part.begin; x < part.end; ++x) {
        if (!columns[static_cast<size_t>(x)]) continue;
        const std::byte* bad = nullptr;
        for_each_run(map, y, x, part, [&](std::span<const std::byte> bytes) {
          if (bad == nullptr) bad = shadow_.first_undefined(bytes);
        });
        if (bad != nullptr)
          return find(op, fmt::format("{} reads memory that was never written", role),
                      fmt::format("{}, row {}, column {}", address_text(bad, memory), y, x));
      }
    }
  }
}

void Checker::check_reads(const Prepared& prepared, const MemoryMap& memory) {
  const Operation& op = prepared.op;
  const CheckedMap& ifm = prepared.work.ifm;
  if (ifm.box().depth > 0 && op.ifm.storage != Storage::kChained) {
    const bool windowed = op.kind != OperationKind::kElementwise && op.kind != OperationKind::kResize;
    const Kernel& k = op.kernel;
    const Extent& extent = prepared.work.ifm_extent;
    const auto rows = windowed ? touched(op.ofm_extent.height, k.stride_y, op.padding.top, k.height, k.dilation_y,
                                         extent.height, ifm.box().height, op.upscale)
                               : all(ifm.box().height);
    const auto columns = windowed ? touched(op.ofm_extent.width, k.stride_x, op.padding.left, k.width, k.dilation_x,
                                            extent.width, ifm.box().width, op.upscale)
                                  : all(ifm.box().width);
    check_map(op, ifm, rows, columns, "IFM", memory);
  }
  if (op.reads_ifm2() && op.ifm2.storage != Storage::kChained) {
    check_map(op, prepared.work.ifm2, all(prepared.work.ifm2.box().height), all(prepared.work.ifm2.box().width), "IFM2",
              memory);
  }
  const auto check_range = [&](const HostRange& range, const char* role) {
    if (range.empty()) return;
    if (const std::byte* bad = shadow_.first_undefined({range.begin, range.end}))
      find(op, fmt::format("{} reads memory that was never written", role), address_text(bad, memory));
  };
  for (const HostRange& range : prepared.weight_ranges) check_range(range, "the weight stream");
  for (const HostRange& range : prepared.scale_ranges) check_range(range, "the scale table");
  check_range(prepared.lut_range, "the lookup table");
}

void Checker::note_writes(const Prepared& prepared) {
  const CheckedMap& ofm = prepared.work.ofm;
  if (prepared.op.acc_output != AccOutput::kWrite || prepared.op.ofm.storage == Storage::kChained) return;
  for (int32_t y = 0; y < ofm.box().height; ++y) {
    for (const RowPart& part : ofm.row(y)) {
      for (int32_t x = part.begin; x < part.end; ++x) {
        for_each_run(ofm, y, x, part, [&](std::span<const std::byte> bytes) { shadow_.mark(bytes, true); });
      }
    }
  }
}

}  // namespace carina::simulate
