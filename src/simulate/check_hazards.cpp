#include <fmt/format.h>

#include <algorithm>

#include "simulate/checker_internal.h"
#include "simulate/kernels/work.h"

// Finds operations that may read bytes before another one has written them: missing waits between kernels and
// transfers, and a block dependency (BLOCKDEP) that is larger than the blocks' overlap allows.
//   Example: with BLOCKDEP 3, the next kernel may start when three blocks of this one are left. Its first blocks must
//   not read the bytes of those three.
namespace carina::simulate {

namespace {

constexpr int kMaxFindings = 200;

// A box of elements of a map.
struct Box {
  int32_t y0, y1, x0, x1, c0, c1;
};

void append_bytes(const CheckedMap& map, const Box& box, std::vector<HostRange>& out) {
  const int es = map.type().bytes;
  const int32_t y1 = std::min(box.y1, map.box().height);
  const int32_t c1 = std::min(box.c1, map.box().depth);
  for (int32_t y = std::max(0, box.y0); y < y1; ++y) {
    for (const RowPart& part : map.row(y)) {
      const int32_t x0 = std::max(box.x0, part.begin);
      const int32_t x1 = std::min(box.x1, part.end);
      if (x0 >= x1 || box.c0 >= c1) continue;
      const std::byte* first = part.data + int64_t{x0 - part.begin} * map.pixel_stride();
      const std::byte* last = part.data + int64_t{x1 - 1 - part.begin} * map.pixel_stride();
      if (!map.brick()) {
        if (box.c0 == 0 && map.pixel_stride() == int64_t{c1} * es) {  // packed: one run
          out.push_back({.begin = first, .end = last + int64_t{c1} * es});
          continue;
        }
        for (int32_t x = x0; x < x1; ++x, first += map.pixel_stride()) {
          out.push_back({.begin = first + int64_t{box.c0} * es, .end = first + int64_t{c1} * es});
        }
        continue;
      }
      for (int32_t c = box.c0 / 16 * 16; c < c1; c += 16) {
        const int64_t brick = c / 16 * map.brick_stride();
        out.push_back({.begin = first + brick, .end = last + brick + int64_t{std::min(16, c1 - c)} * es});
      }
    }
  }
}

HostRange hull(const std::vector<HostRange>& ranges) {
  HostRange all;
  for (const HostRange& r : ranges) {
    all.begin = all.begin == nullptr ? r.begin : std::min(all.begin, r.begin);
    all.end = std::max(all.end, r.end);
  }
  return all;
}

bool overlap_any(const std::vector<HostRange>& a, const std::vector<HostRange>& b) {
  if (!hull(a).overlaps(hull(b))) return false;
  return std::ranges::any_of(
      a, [&](const HostRange& x) { return std::ranges::any_of(b, [&](const HostRange& y) { return x.overlaps(y); }); });
}

// OFM blocks in the order of execution: depth fastest, then width, then height.
struct BlockGrid {
  int32_t nz, nx, ny;
  Extent block;
  explicit BlockGrid(const Operation& op)
      : nz((op.ofm_extent.depth + op.block.depth - 1) / op.block.depth),
        nx((op.ofm_extent.width + op.block.width - 1) / op.block.width),
        ny((op.ofm_extent.height + op.block.height - 1) / op.block.height),
        block(op.block) {}
  [[nodiscard]] int64_t count() const { return int64_t{nz} * nx * ny; }
  [[nodiscard]] Box at(int64_t i) const {
    const auto z = static_cast<int32_t>(i % nz);
    const auto x = static_cast<int32_t>(i / nz % nx);
    const auto y = static_cast<int32_t>(i / nz / nx);
    return {.y0 = y * block.height,
            .y1 = (y + 1) * block.height,
            .x0 = x * block.width,
            .x1 = (x + 1) * block.width,
            .c0 = z * block.depth,
            .c1 = (z + 1) * block.depth};
  }
};

Box input_box(const Operation& op, const Box& o) {
  if (op.kind == OperationKind::kElementwise) return o;
  const Kernel& k = op.kernel;
  const int up = op.upscale == Upscale::kNone ? 1 : 2;
  const bool all_channels =
      op.kind == OperationKind::kConvolution || (op.kind == OperationKind::kPool && op.pool == PoolMode::kReduceSum);
  const int32_t y1 = std::min(o.y1, op.ofm_extent.height) - 1;
  const int32_t x1 = std::min(o.x1, op.ofm_extent.width) - 1;
  return {.y0 = std::max(0, o.y0 * k.stride_y - op.padding.top) / up,
          .y1 = (y1 * k.stride_y - op.padding.top + k.extent_h + up - 1) / up,
          .x0 = std::max(0, o.x0 * k.stride_x - op.padding.left) / up,
          .x1 = (x1 * k.stride_x - op.padding.left + k.extent_w + up - 1) / up,
          .c0 = all_channels ? 0 : o.c0,
          .c1 = all_channels ? op.ifm_depth : o.c1};
}

Box broadcast_box(Box box, const Broadcast& b) {
  if (b.h) box.y0 = 0, box.y1 = 1;
  if (b.w) box.x0 = 0, box.x1 = 1;
  if (b.c) box.c0 = 0, box.c1 = 1;
  return box;
}

}  // namespace

Checker::Checker(const npu::AcceleratorConfig& accelerator, const Memory& memory, std::span<const std::byte> internal)
    : accelerator_(accelerator), internal_(internal), shadow_(memory, internal) {}

void Checker::find(const Operation& op, std::string what, std::string got) {
  if (findings_.size() >= kMaxFindings) return;
  findings_.push_back(
      {.where = fmt::format("command {} at word 0x{:x} ({})", op.command_index, op.word_offset, op.name),
       .what = std::move(what),
       .expected = {},
       .got = std::move(got),
       .hint = {},
       .severity = Severity::kWarning});
}

std::string Checker::address_text(const std::byte* address, const MemoryMap& memory) const {
  for (int r = 0; r < 8; ++r) {
    const std::span<std::byte> region = memory.region(r);
    if (address >= region.data() && address < region.data() + region.size())
      return fmt::format("0x{:x} of region {}", address - region.data(), r);
  }
  if (address >= internal_.data() && address < internal_.data() + internal_.size())
    return fmt::format("0x{:x} of internal memory", address - internal_.data());
  return "a chaining buffer";
}

std::vector<Checker::Access> Checker::accesses_of(const Prepared& prepared) {
  std::vector<Access> accesses;
  const Operation& op = prepared.op;
  const auto add_map = [&](const CheckedMap& map, bool writes, const char* role) {
    for (const HostRange& range : map.ranges()) {
      if (!range.empty()) accesses.push_back({.range = range, .writes = writes, .role = role});
    }
  };
  if (op.ifm.storage != Storage::kChained) add_map(prepared.work.ifm, false, "IFM");
  if (op.ifm2.storage != Storage::kChained) add_map(prepared.work.ifm2, false, "IFM2");
  if (op.ofm.storage != Storage::kChained) add_map(prepared.work.ofm, true, "OFM");
  for (const HostRange& range : prepared.weight_ranges) accesses.push_back({.range = range, .role = "weights"});
  for (const HostRange& range : prepared.scale_ranges) accesses.push_back({.range = range, .role = "scales"});
  accesses.push_back({.range = prepared.lut_range, .role = "lookup table"});
  std::erase_if(accesses, [](const Access& a) { return a.range.empty(); });
  return accesses;
}

void Checker::check_waits(const Operation& op, const std::vector<Access>& accesses,
                          const std::deque<Outstanding>& outstanding, const char* missing, const MemoryMap& memory) {
  for (const Outstanding& other : outstanding) {
    for (const Access& theirs : other.accesses) {
      for (const Access& ours : accesses) {
        if ((!ours.writes && !theirs.writes) || !ours.range.overlaps(theirs.range)) continue;
        return find(
            op,
            fmt::format("{} {} what {} {} and may still be doing: {} is missing", ours.role,
                        ours.writes ? "overwrites" : "reads", other.name, theirs.writes ? "writes" : "reads", missing),
            address_text(std::max(ours.range.begin, theirs.range.begin), memory));
      }
    }
  }
}

std::vector<Checker::Job> Checker::last_writes(const Prepared& prepared, int count) const {
  const BlockGrid grid(prepared.op);
  std::vector<Job> jobs;
  for (int64_t i = grid.count() - 1; i >= 0 && static_cast<int>(jobs.size()) < count; --i)
    append_bytes(prepared.work.ofm, grid.at(i), jobs.emplace_back().bytes);
  return jobs;
}

// An OFM block has one job per pass over the input channels.
std::vector<Checker::Job> Checker::first_reads(const Prepared& prepared, int count) const {
  const Operation& op = prepared.op;
  const bool sums =
      op.kind == OperationKind::kConvolution || (op.kind == OperationKind::kPool && op.pool == PoolMode::kReduceSum);
  const int32_t step = sums ? std::max(1, ifm_block_depth(op, accelerator_)) : op.ifm_depth;
  const int64_t parts = sums ? (op.ifm_depth + step - 1) / step : 1;
  const BlockGrid grid(op);
  std::vector<Job> jobs;
  for (int64_t i = 0; i < grid.count() * parts && static_cast<int>(jobs.size()) < count; ++i) {
    std::vector<HostRange>& bytes = jobs.emplace_back().bytes;
    const Box box = grid.at(i / parts);
    const auto c0 = static_cast<int32_t>(i % parts) * step;
    const bool ifm =
        op.ifm.storage != Storage::kChained && !op.ifm_broadcast.scalar && prepared.work.ifm.box().depth != 0;
    if (op.kind == OperationKind::kResize && ifm) {
      append_bytes(prepared.work.ifm, {.y0 = 0, .y1 = 1 << 17, .x0 = 0, .x1 = 1 << 17, .c0 = box.c0, .c1 = box.c1},
                   bytes);
    } else if (ifm) {
      Box input = broadcast_box(input_box(op, box), op.ifm_broadcast);
      if (sums) input.c0 = c0, input.c1 = std::min(op.ifm_depth, c0 + step);
      append_bytes(prepared.work.ifm, input, bytes);
    }
    if (!op.reads_ifm2() || op.ifm2.storage == Storage::kChained) continue;
    const Box second = op.weight_source == WeightSource::kIfm2  ? Box{0, 1, box.c0, box.c1, 0, op.ifm_depth}
                       : op.kind == OperationKind::kElementwise ? broadcast_box(box, op.ifm2_broadcast)
                                                                : box;
    append_bytes(prepared.work.ifm2, second, bytes);
  }
  return jobs;
}

// With BLOCKDEP b, block i of this operation may start while blocks last-j of the previous one are unfinished, for i +
// j < b.
void Checker::check_block_dependency(const Prepared& prepared, const MemoryMap& memory) {
  const Operation& op = prepared.op;
  const int dependency = op.blockdep;
  if (first_ || dependency == 0 || last_jobs_.empty()) return;
  const std::vector<Job> reads = first_reads(prepared, dependency);
  for (size_t i = 0; i < reads.size(); ++i) {
    for (size_t j = 0; j < last_jobs_.size(); ++j) {
      if (!last_moved_ && static_cast<int>(i + j) >= dependency) continue;
      if (!overlap_any(reads[i].bytes, last_jobs_[j].bytes)) continue;
      return find(
          op,
          fmt::format(
              "BLOCKDEP {} lets block {} read what block {} from the end of the previous operation has not written",
              dependency, i, j),
          address_text(reads[i].bytes.front().begin, memory));
    }
  }
}

void Checker::kernel(const Prepared& prepared, const MemoryMap& memory) {
  const Operation& op = prepared.op;
  check_alignment(op);
  check_block(op);
  if (accelerator_.product != npu::Product::kU85) check_shram(op);
  check_reads(prepared, memory);
  std::vector<Access> accesses = accesses_of(prepared);
  check_waits(op, accesses, dmas_, "NPU_OP_DMA_WAIT", memory);
  check_block_dependency(prepared, memory);
  note_writes(prepared);
  const npu::ProductLimits& limits = npu::limits_of(accelerator_.product);
  last_moved_ = op.transpose != Transpose::kHwc || op.reverse != Reverse::kNone;
  const bool writes_memory = op.acc_output == AccOutput::kWrite && op.ofm.storage != Storage::kChained;
  last_jobs_ = writes_memory ? last_writes(prepared, last_moved_ ? 64 : limits.max_blockdep) : std::vector<Job>{};
  if (writes_memory && last_moved_) {
    last_jobs_.assign(1, Job{});
    for (const HostRange& range : prepared.work.ofm.ranges()) {
      if (!range.empty()) last_jobs_[0].bytes.push_back(range);
    }
  }
  first_ = false;
  kernels_.push_back(
      {.name = fmt::format("command {} ({})", op.command_index, op.name), .accesses = std::move(accesses)});
  wait_kernels(limits.max_outstanding_kernels);
}

void Checker::dma(const Operation& op, const DmaEffect& effect, const MemoryMap& memory) {
  std::vector<Access> accesses = {{.range = effect.source, .writes = false, .role = "DMA source"},
                                  {.range = effect.destination, .writes = true, .role = "DMA destination"},
                                  {.range = effect.index, .writes = false, .role = "DMA index"}};
  std::erase_if(accesses, [](const Access& a) { return a.range.empty(); });
  check_waits(op, accesses, kernels_, "NPU_OP_KERNEL_WAIT", memory);
  const std::span<const std::byte> from(effect.source.begin, effect.source.end);
  const std::span<const std::byte> to(effect.destination.begin, effect.destination.end);
  if (from.size() == to.size() && from.size() == effect.bytes) {
    shadow_.copy(from, to);
  } else {
    shadow_.mark(to, true);  // rows with gaps, or indices: the bytes between are not tracked
  }
  dmas_.push_back({.name = fmt::format("command {} (DMA)", op.command_index), .accesses = std::move(accesses)});
  wait_dmas(npu::limits_of(accelerator_.product).max_outstanding_dmas);
}

void Checker::wait_kernels(int outstanding) {
  while (static_cast<int>(kernels_.size()) > outstanding) kernels_.pop_front();
  if (outstanding == 0) last_jobs_.clear();
}

void Checker::wait_dmas(int outstanding) {
  while (static_cast<int>(dmas_.size()) > outstanding) dmas_.pop_front();
}

void Checker::overflow(const Operation& op) {
  find(op, fmt::format("an accumulator does not fit its {} bits", op.acc_bits), "see ACC_FORMAT and the weights");
}

}  // namespace carina::simulate
