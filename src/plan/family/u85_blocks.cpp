#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "carina/check.h"
#include "plan/family/u85_internal.h"

// The blocks that fit the internal memories. Source: the public mirror of Vela's regor (ethos_u85.cpp). The facts are
// in ethosu.md 6.3 and 6.4.
namespace carina::plan {
namespace {

constexpr int kAccDepthGranule = 16;  // channels of accumulators
constexpr int kBitsPerAllocation = 128;
constexpr int kMaxResizeBlockDepth = 16;

struct Requirements {
  const Step& op;
  const npu::AcceleratorConfig& npu;
  int ifm_bits;
  int acc_bits;
  npu::OfmUblock ublock;
  npu::WeightOrder order;
  npu::WeightSparsity sparsity;
  int64_t ifm_block_depth;  // of operations that sum over the input's channels; 0: the depth of the OFM block
  const npu::U85IfmAllocation* allocation;  // of the microblock; nullptr: none
};

bool is_null_pool(const Step& op) {
  return op.kind == StepKind::kPool && op.pool == npu::PoolingMode::NONE;
}
// A pool that only passes on accumulators reads a dummy IFM of bytes.
int ifm_bits_of(const Step& op) {
  return is_null_pool(op) ? 8 : op.ifm.type.bits;
}

// The possible orders of the weights, of all weights or of two of four.
struct WeightForm {
  npu::WeightOrder order = npu::WeightOrder::DEPTH_FIRST;
  npu::WeightSparsity sparsity = npu::WeightSparsity::NONE;
};
std::vector<WeightForm> forms_of(const Step& op) {
  using enum npu::WeightOrder;
  if (op.kind != StepKind::kConv || op.multiplies_second) return {{.order = DEPTH_FIRST}};
  std::vector<WeightForm> forms{{.order = DEPTH_FIRST}, {.order = PART_KERNEL_FIRST}};
  if (op.sparse_weights) {
    constexpr auto kSparse = npu::WeightSparsity::SPARSE_2_4;
    forms.insert(forms.end(),
                 {{.order = DEPTH_FIRST, .sparsity = kSparse}, {.order = PART_KERNEL_FIRST, .sparsity = kSparse}});
  }
  return forms;
}

bool may_use(const Step& op, npu::Microblock ublock, npu::WeightOrder order, const npu::AcceleratorConfig& npu) {
  const auto row = std::ranges::find_if(npu::kU85UblockUse, [&](const npu::U85UblockUse& use) {
    return use.macs_per_cycle == npu.macs_per_cycle && use.microblock == ublock;
  });
  if (row == npu::kU85UblockUse.end()) return false;
  const int bits = ifm_bits_of(op);
  const uint16_t ops = bits == 8 ? row->ops_ifm8 : bits == 16 ? row->ops_ifm16 : row->ops_ifm32;
  if ((ops & npu::u85_op_bit(u85::op_class(op))) == 0) return false;
  // Small parts: the deep microblock supports only convolutions with 1x1 kernels, depth first.
  const bool deep = npu.macs_per_cycle <= 256 &&
                    (ublock == npu::Microblock::U1X1 || (npu.macs_per_cycle == 256 && ublock == npu::Microblock::U1X2));
  const bool convolves = op.kind == StepKind::kConv && !op.multiplies_second;
  return !deep || !convolves || (op.kernel.taps() == 1 && order == npu::WeightOrder::DEPTH_FIRST);
}

npu::OfmUblock ublock_of(npu::Microblock code, const npu::AcceleratorConfig& npu) {
  for (int i = 0; i < npu.ofm_ublock_count; ++i) {
    if (npu.ofm_ublocks[static_cast<size_t>(i)].code == code) return npu.ofm_ublocks[static_cast<size_t>(i)];
  }
  return npu.ofm_ublocks[0];
}

const npu::U85IfmAllocation* allocation_of(const npu::OfmUblock& ublock, const npu::AcceleratorConfig& npu) {
  const auto row = std::ranges::find_if(npu::kU85IfmAllocation, [&](const npu::U85IfmAllocation& a) {
    return a.macs_per_cycle == npu.macs_per_cycle && a.microblock == ublock.code;
  });
  return row == npu::kU85IfmAllocation.end() ? nullptr : &*row;
}

Requirements requirements_of(const Step& op, const npu::OfmUblock& ublock, const WeightForm& form,
                             const Target& target) {
  const npu::AcceleratorConfig& npu = target.accelerator;
  const int bits = ifm_bits_of(op);
  const int depth = op.sums_over_depth() ? npu::ifm_block_depth({.accelerator = &npu,
                                                                 .order = form.order,
                                                                 .ifm_bits = bits,
                                                                 .microblock = ublock.code,
                                                                 .sparsity = form.sparsity})
                                         : 0;
  return {.op = op,
          .npu = npu,
          .ifm_bits = bits,
          .acc_bits = op.acc == AccWidth::kWide ? 64 : 32,  // 48 bits take the space of 64
          .ublock = ublock,
          .order = form.order,
          .sparsity = form.sparsity,
          .ifm_block_depth = depth,
          .allocation = allocation_of(ublock, npu)};
}

int64_t ifm_block_depth(const Requirements& r, int64_t ofm_block_depth) {
  return r.ifm_block_depth > 0 ? r.ifm_block_depth : ofm_block_depth;
}

// The allocation unit of the IFM memory for blocks of this depth.
npu::Block3 allocation_unit(const Requirements& r, int64_t depth) {
  CARINA_CHECK(r.allocation != nullptr, "a microblock without allocation units");
  const int64_t bits = depth * r.ifm_bits;
  npu::Block3 unit = r.allocation->units[bits > 2 * kBitsPerAllocation ? 2 : bits > kBitsPerAllocation ? 1 : 0];
  unit.depth *= kBitsPerAllocation / r.ifm_bits;
  return unit;
}

npu::Block3 ifm_block(const Requirements& r, const BlockConfig& b) {
  if (r.op.kind == StepKind::kElementwise || r.op.kind == StepKind::kResize || is_null_pool(r.op))
    return {
        .height = static_cast<int>(b.height), .width = static_cast<int>(b.width), .depth = static_cast<int>(b.depth)};
  const int64_t depth = ifm_block_depth(r, b.depth);
  const npu::Block3 unit = allocation_unit(r, depth);
  const Kernel& k = r.op.kernel;
  const auto along = [](int64_t size, int64_t stride, int64_t extent, int granule) {
    return static_cast<int>(
        round_up<int64_t>((size - 1) * stride + std::min<int64_t>(extent, npu::kSubkernelSize), granule));
  };
  return {.height = along(b.height, k.stride_y, k.extent_h(), unit.height),
          .width = along(b.width, k.stride_x, k.extent_w(), unit.width),
          .depth = static_cast<int>(round_up<int64_t>(depth, unit.depth))};
}

int64_t acc_bytes(const Requirements& r, const BlockConfig& b) {
  return b.height * b.width * round_up<int64_t>(b.depth, kAccDepthGranule) * r.acc_bits / 8;
}

// Convolutions read and accumulate `buffers` blocks at a time.
bool fits_convolution(const Requirements& r, const BlockConfig& b, int buffers) {
  const npu::Block3 in = ifm_block(r, b);
  const int64_t depth = round_up<int64_t>(std::min<int64_t>(in.depth, r.op.ifm.depth),
                                          allocation_unit(r, ifm_block_depth(r, b.depth)).depth);
  return buffers * int64_t{in.height} * in.width * depth * r.ifm_bits / 8 <= r.npu.u85.ifm_bytes &&
         buffers * acc_bytes(r, b) <= r.npu.u85.accumulator_bytes;
}

// Pools and depthwise kernels prefetch `rows` granules of rows if there are several blocks.
bool fits_window(const Requirements& r, const BlockConfig& b, int rows) {
  const npu::Block3 in = ifm_block(r, b);
  const FeatureMap& ofm = r.op.ofm;
  int64_t elements = int64_t{in.height} * in.width * in.depth;
  if (b.height < ofm.height || b.width < ofm.width || b.depth < ofm.depth) {
    BlockConfig row = b;
    row.height = r.ublock.block.height;
    const npu::Block3 ahead = ifm_block(r, row);
    elements += rows * int64_t{ahead.height} * ahead.width * ahead.depth;
  }
  return elements * r.ifm_bits / 8 <= r.npu.u85.ifm_bytes && acc_bytes(r, b) <= r.npu.u85.accumulator_bytes;
}

// Elementwise operations use the output buffer. Repeated operands are in a chaining buffer.
bool fits_elementwise(const Requirements& r, const BlockConfig& b) {
  const int bytes = std::max({r.ifm_bits, int{r.op.ofm.type.bits}}) / 8;
  if (b.height * b.width * b.depth * bytes > r.npu.u85.output_buffer_bytes) return false;
  const bool in_depth = r.op.broadcast.depth || r.op.first_broadcast.depth;
  const bool in_height = r.op.broadcast.height || r.op.first_broadcast.height;
  if (!in_depth && !in_height) return true;
  const int64_t bricks = r.npu.u85.chaining_buffer_bytes / npu::kChainingBuffers / (npu::kBrickDepth * bytes);
  const npu::Block3& u = r.ublock.block;
  if (b.width == u.width && (in_depth ? b.height == u.height : b.depth <= npu::kBrickDepth)) return true;
  return b.width * (in_depth ? b.height : u.height * ceil_div<int64_t>(b.depth, npu::kBrickDepth)) <= bricks;
}

// RESIZE keeps a row of the input in a chaining buffer.
int64_t max_resize_width(const Requirements& r) {
  const int64_t bricks = r.npu.u85.chaining_buffer_bytes / npu::kChainingBuffers / (npu::kBrickDepth * r.ifm_bits / 8);
  const ResizeAxis& x = r.op.resize.x;
  return std::clamp<int64_t>(ceil_div((bricks - 2) * x.scale + 1, x.step), 1,
                             npu::limits_of(r.npu.product).max_ofm_block.width);
}

bool fits(const Requirements& r, const BlockConfig& b, bool tight) {
  switch (u85::op_class(r.op)) {
    case npu::U85OpClass::kElementwise:
      return fits_elementwise(r, b);
    case npu::U85OpClass::kResize:
      return true;
    case npu::U85OpClass::kConv:
    case npu::U85OpClass::kMatmul:
    case npu::U85OpClass::kFullyConnected:
      return fits_convolution(r, b, tight ? 1 : 2);
    case npu::U85OpClass::kDepthwise:
    case npu::U85OpClass::kPool:
    case npu::U85OpClass::kReduceSum:
    case npu::U85OpClass::kReduceMinMax:
    case npu::U85OpClass::kArgmax:
      return fits_window(r, b, tight ? 0 : 1);
  }
  CARINA_UNREACHABLE("operation", u85::op_class(r.op));
}

struct Range {
  int64_t step;
  int64_t end;  // the last size
};
struct SearchSpace {
  Range height, width, depth;
};
SearchSpace search_space(const Requirements& r, const npu::Block3& max) {
  const npu::Block3& u = r.ublock.block;
  const FeatureMap& ofm = r.op.ofm;
  const auto range = [](int64_t size, int limit, int64_t step) {
    return Range{.step = step, .end = round_up(std::min<int64_t>(size, limit), step)};
  };
  const int64_t depth_step = std::max(u.depth, kAccDepthGranule);
  SearchSpace space{.height = range(ofm.height, max.height, u.height),
                    .width = range(ofm.width, max.width, u.width),
                    .depth = range(ofm.depth, max.depth, depth_step)};
  if (r.op.kind != StepKind::kResize) return space;
  const int64_t width = std::min(max_resize_width(r), space.width.end);
  space.height = {.step = 1, .end = 1};
  space.width =
      width < u.width ? Range{.step = width, .end = width} : Range{.step = u.width, .end = width / u.width * u.width};
  space.depth = {.step = kMaxResizeBlockDepth, .end = kMaxResizeBlockDepth};
  return space;
}

// Of all sizes that divide an axis into the same number of blocks, only the smallest is needed.
bool is_needed(int64_t whole, int64_t size, const Range& range) {
  return size == range.step || ceil_div(whole, size) != ceil_div(whole, size - range.step);
}

void collect(const Requirements& r, const SearchSpace& space, bool tight, std::vector<BlockConfig>& blocks) {
  const FeatureMap& ofm = r.op.ofm;
  for (int64_t depth = space.depth.step; depth <= space.depth.end; depth += space.depth.step) {
    if (!is_needed(ofm.depth, depth, space.depth)) continue;
    for (int64_t height = space.height.step; height <= space.height.end; height += space.height.step) {
      if (!is_needed(ofm.height, height, space.height)) continue;
      for (int64_t width = space.width.step; width <= space.width.end; width += space.width.step) {
        if (!is_needed(ofm.width, width, space.width)) continue;
        const BlockConfig b{.height = height,
                            .width = width,
                            .depth = depth,
                            .order = r.order,
                            .ublock = r.ublock.code,
                            .sparsity = r.sparsity};
        if (!fits(r, b, tight)) break;
        blocks.push_back(b);
      }
    }
  }
}

void collect(const Requirements& r, std::vector<BlockConfig>& blocks) {
  const SearchSpace space = search_space(r, npu::limits_of(r.npu.product).max_ofm_block);
  const size_t before = blocks.size();
  collect(r, space, false, blocks);
  if (blocks.size() == before) collect(r, space, true, blocks);
}

}  // namespace

npu::U85OpClass u85::op_class(const Step& op) {
  using enum npu::U85OpClass;
  switch (op.kind) {
    case StepKind::kConv:
      return op.multiplies_second ? kMatmul : kConv;
    case StepKind::kDepthwise:
      return kDepthwise;
    case StepKind::kElementwise:
      return kElementwise;
    case StepKind::kResize:
      return kResize;
    case StepKind::kPool:
      break;
    case StepKind::kDma:
      CARINA_UNREACHABLE("operation", op.kind);
  }
  switch (op.pool) {
    case npu::PoolingMode::REDUCE_SUM:
      return kReduceSum;
    case npu::PoolingMode::ARGMAX_X:
    case npu::PoolingMode::ARGMAX_Y:
      return kArgmax;
    case npu::PoolingMode::MAX:
    case npu::PoolingMode::MIN:
      return op.ifm.type.bits == 32 ? kReduceMinMax : kPool;
    case npu::PoolingMode::AVERAGE:
    case npu::PoolingMode::SUM:
    case npu::PoolingMode::NONE:
      return kPool;
  }
  CARINA_UNREACHABLE("pooling mode", op.pool);
}

npu::Block3 u85::input_block(const Step& subop, const BlockConfig& block, const Target& target) {
  const WeightForm form{.order = block.order, .sparsity = block.sparsity};
  return ifm_block(requirements_of(subop, ublock_of(block.ublock, target.accelerator), form, target), block);
}

std::vector<BlockConfig> u85::legal_blocks(const Step& subop, const Target& target) {
  const npu::AcceleratorConfig& npu = target.accelerator;
  std::vector<BlockConfig> blocks;
  for (const WeightForm& form : forms_of(subop)) {
    for (int i = 0; i < npu.ofm_ublock_count; ++i) {
      const npu::OfmUblock& ublock = npu.ofm_ublocks[static_cast<size_t>(i)];
      if (may_use(subop, ublock.code, form.order, npu)) collect(requirements_of(subop, ublock, form, target), blocks);
    }
  }
  return blocks;
}

}  // namespace carina::plan
