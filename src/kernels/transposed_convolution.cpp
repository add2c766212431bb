// TRANSPOSE_CONV2D with constant weights as matrix products. The outputs whose positions have the same remainder by the
// stride, in both axes, read the same taps. They are a dense convolution with these taps: a phase.
//   Example, one axis: stride 2, kernel 3, inputs a b c. Even outputs read taps 0 and 2, odd outputs tap 1:
//     output  0: a*w0       1: a*w1       2: b*w0 + a*w2       3: b*w1       4: c*w0 + b*w2
// A phase multiplies a matrix of gathered inputs, one row per output pixel, with its packed weights. A kernel with k*k
// taps and stride s*s takes the k*k / (s*s) products per output that the operator needs, and the microkernels of other
// convolutions. The taps are in the order of the plain kernel, so that floats have the same bits.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/checked_math.h"
#include "kernels/convolution_internal.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/int8_product_internal.h"
#include "tensor/finite.h"

namespace carina::kernels {

namespace {

constexpr int64_t kBlockRows = 66;      // output pixels gathered at a time
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds; they take about a microsecond

// The outputs of one axis with one remainder by the stride.
struct AxisPhase {
  int64_t first;  // output position
  int64_t count;  // outputs, `stride` apart
  int64_t taps;   // at `tap`, `tap + stride`, ...; at least 1
  int64_t tap;
  int64_t base;       // the input position that the first output reads at the first tap; one less for each further tap
  bool only_padding;  // the kernel is smaller than the stride and has no tap here; `taps` is one tap of zeros
};

AxisPhase phase_of(const TransposedAxis& axis, int64_t remainder) {
  // The first output position, of those from 0 on, where (position - pad) modulo stride is `remainder`.
  const int64_t first = ((remainder + axis.pad) % axis.stride + axis.stride) % axis.stride;
  const bool has_taps = remainder < axis.kernel;
  return {.first = first,
          .count = first < axis.out ? (axis.out - 1 - first) / axis.stride + 1 : 0,
          .taps = has_taps ? (axis.kernel - remainder + axis.stride - 1) / axis.stride : 1,
          .tap = remainder,
          .base = (first - axis.pad - remainder) / axis.stride,
          .only_padding = !has_taps};
}

struct Phase {
  AxisPhase y;
  AxisPhase x;

  [[nodiscard]] int64_t taps() const { return y.taps * x.taps; }
  [[nodiscard]] bool only_padding() const { return y.only_padding || x.only_padding; }
};

// All phases that have outputs. Phases of the same rows are neighbors.
std::vector<Phase> phases_of(const TransposedGeometry& g) {
  std::vector<Phase> phases;
  for (int64_t ry = 0; ry < g.axes[0].stride; ++ry) {
    for (int64_t rx = 0; rx < g.axes[1].stride; ++rx) {
      const Phase phase{.y = phase_of(g.axes[0], ry), .x = phase_of(g.axes[1], rx)};
      if (phase.y.count > 0 && phase.x.count > 0) phases.push_back(phase);
    }
  }
  return phases;
}

// The weights of a phase [OC, taps, IC], from all weights [OC, KH, KW, IC]. `zero` is a weight that adds nothing.
template <typename T>
std::vector<T> weights_of(const TransposedGeometry& g, const Phase& phase, const T* all, T zero) {
  std::vector<T> weights(static_cast<size_t>(g.oc * phase.taps() * g.ic), zero);
  if (phase.only_padding()) return weights;
  auto to = weights.begin();
  for (int64_t oc = 0; oc < g.oc; ++oc) {
    for (int64_t j = 0; j < phase.y.taps; ++j) {
      for (int64_t i = 0; i < phase.x.taps; ++i) {
        const int64_t ky = phase.y.tap + j * g.axes[0].stride, kx = phase.x.tap + i * g.axes[1].stride;
        to = std::copy_n(all + ((oc * g.axes[0].kernel + ky) * g.axes[1].kernel + kx) * g.ic, g.ic, to);
      }
    }
  }
  return weights;
}

// Calls run(row, part, offset) for each tap of `rows` outputs of a row of outputs, from output `first` of the phase on:
// `offset` is that of the first of the tap's ic inputs, or -1 for padding.
template <typename Run>
void for_each_tap(const TransposedGeometry& g, const Phase& phase, int64_t n, int64_t output_row, int64_t first,
                  int64_t rows, const Run& run) {
  const TransposedAxis &y = g.axes[0], &x = g.axes[1];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < phase.y.taps; ++j) {
      const int64_t iy = phase.y.base + output_row - j;
      const bool in_row = iy >= 0 && iy < y.in && !phase.only_padding();
      for (int64_t i = 0; i < phase.x.taps; ++i) {
        const int64_t ix = phase.x.base + first + r - i;
        const bool inside = in_row && ix >= 0 && ix < x.in;
        run(r, j * phase.x.taps + i, inside ? ((n * y.in + iy) * x.in + ix) * g.ic : int64_t{-1});
      }
    }
  }
}

// Outputs of one phase in one row of the result, which are a matrix product.
struct Block {
  const Phase& phase;
  int64_t index;  // of the phase
  int64_t n;
  int64_t output_row;  // of the phase
  int64_t first;       // of the phase's outputs in the row
  int64_t rows;        // outputs
};

// A row of outputs of one phase.
struct PhaseRow {
  size_t phase;
  int64_t row;
};

// Returns row `number` of all phases' rows.
PhaseRow row_at(const std::vector<Phase>& phases, int64_t number) {
  size_t phase = 0;
  for (; number >= phases[phase].y.count; ++phase) number -= phases[phase].y.count;
  return {.phase = phase, .row = number};
}

// Runs `body` for all blocks, with a scratch area per thread. Nothing is allocated.
template <typename Body>
void for_each_block(const Execution& call, const TransposedGeometry& g, const std::vector<Phase>& phases,
                    size_t scratch_bytes, const Body& body) {
  int64_t count = 0, products = 0;
  for (const Phase& phase : phases) {
    count += phase.y.count;
    products = std::max(products, phase.x.count * phase.taps() * g.ic * g.oc);
  }
  split_slots(
      call.workers, g.batch * count, 1 + kGrain / (products + 1), [&](int64_t slot, int64_t begin, int64_t end) {
        std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes, kScratchAlignment);
        for (int64_t at = begin; at < end; ++at) {
          const PhaseRow row = row_at(phases, at % count);
          const Phase& phase = phases[row.phase];
          for (int64_t first = 0; first < phase.x.count; first += kBlockRows) {
            body(Block{.phase = phase,
                       .index = static_cast<int64_t>(row.phase),
                       .n = at / count,
                       .output_row = row.row,
                       .first = first,
                       .rows = std::min(kBlockRows, phase.x.count - first)},
                 scratch, slot);
          }
        }
      });
}

// The first output pixel of a block, among all pixels of the result.
int64_t pixel_of(const TransposedGeometry& g, const Block& block) {
  const int64_t oy = block.phase.y.first + block.output_row * g.axes[0].stride;
  const int64_t ox = block.phase.x.first + block.first * g.axes[1].stride;
  return (block.n * g.axes[0].out + oy) * g.axes[1].out + ox;
}

struct PhasesI8 {
  TransposedGeometry g;
  std::vector<Phase> phases;
  std::vector<Int8Product> products;
  std::vector<int8_t> padding;

  [[nodiscard]] size_t row_area() const {
    size_t bytes = 0;
    for (const Int8Product& product : products) bytes = std::max(bytes, product.row_bytes());
    return round_up(static_cast<size_t>(kBlockRows) * bytes, kScratchAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const { return row_area() + Int8Product::scratch_bytes(kBlockRows); }

  void run_block(const Execution& call, const Block& block, std::byte* scratch) const {
    const Int8Product& product = products[static_cast<size_t>(block.index)];
    const auto* in = call.input<int8_t>(0);
    const size_t row_bytes = product.row_bytes(), element = product.format().a_bytes;
    const size_t used = static_cast<size_t>(product.k()) * element;
    {
      PartPacker parts;
      for_each_tap(g, block.phase, block.n, block.output_row, block.first, block.rows,
                   [&](int64_t row, int64_t tap, int64_t offset) {
                     parts.add(
                         offset < 0 ? padding.data() : in + offset, g.ic,
                         scratch + static_cast<size_t>(row) * row_bytes + static_cast<size_t>(tap * g.ic) * element);
                   });
    }
    for (int64_t r = 0; r < block.rows; ++r)
      std::memset(scratch + static_cast<size_t>(r) * row_bytes + used, 0, row_bytes - used);
    product.run({.a = scratch,
                 .rows = block.rows,
                 .first = 0,
                 .columns = g.oc,
                 .out = call.out + static_cast<size_t>(pixel_of(g, block) * g.oc) * product.out_bytes(),
                 .out_stride = g.axes[1].stride * g.oc,
                 .scratch = scratch + row_area()});
  }

  void run(const Execution& call) const {
    for_each_block(call, g, phases, scratch_bytes(),
                   [&](const Block& block, std::byte* scratch, int64_t) { run_block(call, block, scratch); });
  }
};

struct PhasesF32 {
  TransposedGeometry g;
  std::vector<Phase> phases;
  std::vector<std::vector<float>> panels;  // by phase
  std::vector<float> bias;                 // padded
  BoundsF32 bounds;

  [[nodiscard]] int64_t longest_row() const {
    int64_t k = 0;
    for (const Phase& phase : phases) k = std::max(k, phase.taps() * g.ic);
    return k;
  }
  [[nodiscard]] size_t row_area() const {
    return round_up(static_cast<size_t>(kBlockRows * longest_row()) * sizeof(float), kScratchAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const {
    return row_area() + static_cast<size_t>(kBlockRows * kBlockColumns) * sizeof(float);
  }

  void run_block(const Execution& call, const Block& block, std::byte* scratch, int64_t slot) const {
    const auto* in = call.input<float>(0);
    auto* rows = reinterpret_cast<float*>(scratch);
    const int64_t k = block.phase.taps() * g.ic;
    for_each_tap(g, block.phase, block.n, block.output_row, block.first, block.rows,
                 [&](int64_t row, int64_t tap, int64_t offset) {
                   float* to = rows + row * k + tap * g.ic;
                   if (offset < 0)
                     std::fill_n(to, g.ic, 0.0F);
                   else
                     std::copy_n(in + offset, g.ic, to);
                 });
    const float* packed = panels[static_cast<size_t>(block.index)].data();
    for (int64_t column = 0; column < g.oc; column += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, g.oc - column);
      const EpilogueF32 epilogue{.in = nullptr,
                                 .in_stride = 0,
                                 .out = call.output<float>() + pixel_of(g, block) * g.oc + column,
                                 .out_stride = g.axes[1].stride * g.oc,
                                 .rows = block.rows,
                                 .channels = channels,
                                 .column = bias.data() + column,
                                 .low = bounds.low,
                                 .high = bounds.high,
                                 .extremes = call.extremes_of_slot(slot)};
      multiply_f32({.a = rows,
                    .row_stride = k,
                    .rows = block.rows,
                    .k = k,
                    .panels = packed + column * k,
                    .panel_count = padded(channels) / kLanes,
                    .c = reinterpret_cast<float*>(scratch + row_area()),
                    .c_stride = kBlockColumns,
                    .epilogue = &epilogue});
    }
  }

  void run(const Execution& call) const {
    for_each_block(call, g, phases, scratch_bytes(), [&](const Block& block, std::byte* scratch, int64_t slot) {
      run_block(call, block, scratch, slot);
    });
  }
};

// A stride far above the kernel has many phases that are bias only.
bool has_few_phases(const TransposedGeometry& g) {
  constexpr int64_t kMaxPhases = 256;
  return g.oc > 0 && g.ic > 0 && g.axes[0].stride <= kMaxPhases && g.axes[1].stride <= kMaxPhases &&
         g.axes[0].stride * g.axes[1].stride <= kMaxPhases;
}

}  // namespace

std::optional<Operator> transposed_i8(const TransposedI8& conv) {
  const TransposedGeometry& g = conv.geometry;
  const ConstantsI8& constants = conv.constants;
  if (!has_few_phases(g)) return std::nullopt;
  PhasesI8 kind{.g = g,
                .phases = phases_of(g),
                .products = {},
                .padding = std::vector<int8_t>(static_cast<size_t>(g.ic), static_cast<int8_t>(constants.input_zp))};
  size_t packed = 0;
  for (const Phase& phase : kind.phases) {
    const std::vector<int8_t> weights =
        weights_of(g, phase, constants.weights, static_cast<int8_t>(constants.weight_zp));
    const int64_t k = phase.taps() * g.ic;
    auto product = Int8Product::create(conv.epilogue, constants,
                                       {.weights = weights.data(), .k = k, .n = g.oc, .stride_k = 1, .stride_n = k});
    if (!product) return std::nullopt;
    packed += product->packed_bytes();
    kind.products.push_back(*std::move(product));
  }
  return operator_of(std::move(kind), conv.threads, packed);
}

std::optional<Operator> transposed_f32(const TransposedF32& conv) {
  const TransposedGeometry& g = conv.geometry;
  // Padding is multiplied as zeros here. The product is zero only for finite weights.
  if (!has_few_phases(g) || !are_finite(conv.weights)) return std::nullopt;
  PhasesF32 kind{
      .g = g, .phases = phases_of(g), .panels = {}, .bias = padded_bias(conv.bias, g.oc), .bounds = conv.bounds};
  size_t packed = 0;
  for (const Phase& phase : kind.phases) {
    const int64_t k = phase.taps() * g.ic;
    std::vector<float>& panels = kind.panels.emplace_back(static_cast<size_t>(padded(g.oc) * k));
    pack_matrix_f32(weights_of(g, phase, conv.weights.data(), 0.0F).data(), 1, k, k, g.oc, panels.data());
    packed += panels.size() * sizeof(float);
  }
  return operator_of(std::move(kind), conv.threads, packed);
}

}  // namespace carina::kernels
