#include "simulate/occupancy_internal.h"

#include <algorithm>

#include "facts/npu_targets.h"

namespace carina::simulate {

namespace {

constexpr size_t kGranuleBytes = npu::kBaseAlignmentBytes;

// The runs of bytes that hold the elements of a map, row by row.
template <typename Body>
void for_each_range(const CheckedMap& map, const Body& body) {
  const auto pixel = static_cast<size_t>(map.pixel_stride());
  const auto depth = static_cast<size_t>(map.box().depth);
  const auto element = static_cast<size_t>(map.type().bytes);
  const size_t groups = map.brick() ? (depth + npu::kBrickDepth - 1) / npu::kBrickDepth : 1;
  const size_t run = map.brick() ? pixel : depth * element;
  for (int32_t y = 0; y < map.box().height; ++y) {
    for (const RowPart& part : map.row(y)) {
      for (size_t group = 0; group < groups && part.begin < part.end; ++group) {
        const std::byte* first = part.data + static_cast<int64_t>(group) * map.brick_stride();
        const auto columns = static_cast<size_t>(part.end - part.begin);
        if (run == pixel) {
          body(HostRange{.begin = first, .end = first + columns * pixel});
          continue;
        }
        for (size_t x = 0; x < columns; ++x)
          body(HostRange{.begin = first + x * pixel, .end = first + x * pixel + run});
      }
    }
  }
}

}  // namespace

Occupancy::Occupancy(const Memory& memory) {
  for (size_t r = 0; r < memory.regions.size(); ++r) {
    const std::span<std::byte> bytes = memory.regions[r];
    region_of_[r] = -1;
    if (bytes.empty()) continue;
    const bool known = std::ranges::find(regions_, bytes.data(), &Region::begin) != regions_.end();
    if (known) continue;
    region_of_[r] = static_cast<int>(regions_.size());
    regions_.push_back({.begin = bytes.data(), .end = bytes.data() + bytes.size()});
  }
}

std::span<Occupancy::Granule> Occupancy::granules_of(const HostRange& range, Region*& region) {
  if (range.empty()) return {};
  const auto holds = [&](const Region& r) { return range.begin >= r.begin && range.end <= r.end; };
  const auto found = std::ranges::find_if(regions_, holds);
  if (found == regions_.end()) return {};
  region = &*found;
  if (region->granules.empty())
    region->granules.resize((static_cast<size_t>(region->end - region->begin) + kGranuleBytes - 1) / kGranuleBytes);
  const auto first = static_cast<size_t>(range.begin - region->begin) / kGranuleBytes;
  const auto last = (static_cast<size_t>(range.end - region->begin) + kGranuleBytes - 1) / kGranuleBytes;
  return std::span(region->granules).subspan(first, last - first);
}

void Occupancy::read(const HostRange& range) {
  Region* region = nullptr;
  for (Granule& granule : granules_of(range, region)) {
    if (granule.since == kNever) granule.since = 0;
    granule.last_read = operation_;
  }
}

void Occupancy::hold(Region& region, int32_t from, int32_t to) {
  if (to < from) return;
  if (region.change.size() <= static_cast<size_t>(to) + 1) region.change.resize(static_cast<size_t>(to) + 2);
  ++region.change[static_cast<size_t>(from)];
  --region.change[static_cast<size_t>(to) + 1];
}

// What was read before is over; what was only written is written on.
void Occupancy::write(const HostRange& range) {
  Region* region = nullptr;
  for (Granule& granule : granules_of(range, region)) {
    region->written = true;
    if (granule.since != kNever && granule.last_read == kNever) continue;
    if (granule.since != kNever) hold(*region, granule.since, std::min(granule.last_read, operation_ - 1));
    granule = {.since = operation_};
  }
}

void Occupancy::read(const CheckedMap& map) {
  for_each_range(map, [&](const HostRange& range) { read(range); });
}

void Occupancy::write(const CheckedMap& map) {
  for_each_range(map, [&](const HostRange& range) { write(range); });
}

void Occupancy::kernel(const Prepared& prepared) {
  read(prepared.work.ifm);
  if (prepared.op.reads_ifm2()) read(prepared.work.ifm2);
  for (const HostRange& range : prepared.weight_ranges) read(range);
  for (const HostRange& range : prepared.scale_ranges) read(range);
  if (prepared.op.acc_output == AccOutput::kWrite) write(prepared.work.ofm);
  ++operation_;
}

void Occupancy::dma(const DmaEffect& effect) {
  read(effect.source);
  read(effect.index);
  write(effect.destination);
  ++operation_;
}

std::array<std::vector<uint64_t>, 8> Occupancy::take() && {
  const auto operations = static_cast<size_t>(operation_);
  for (Region& region : regions_) {
    for (const Granule& granule : region.granules) {
      if (granule.since != kNever)
        hold(region, granule.since, granule.last_read == kNever ? operation_ - 1 : granule.last_read);
    }
  }
  std::array<std::vector<uint64_t>, 8> bytes;
  for (size_t r = 0; r < bytes.size(); ++r) {
    bytes[r].resize(operations);
    if (region_of_[r] < 0 || !regions_[static_cast<size_t>(region_of_[r])].written) continue;
    const std::vector<int64_t>& change = regions_[static_cast<size_t>(region_of_[r])].change;
    int64_t held = 0;
    for (size_t i = 0; i < operations && i < change.size(); ++i) {
      held += change[i];
      bytes[r][i] = static_cast<uint64_t>(held) * kGranuleBytes;
    }
  }
  return bytes;
}

}  // namespace carina::simulate
