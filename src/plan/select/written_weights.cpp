#include <algorithm>
#include <array>
#include <limits>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/cost.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"
#include "plan/select/matmul_internal.h"
#include "plan/select/weight_stream_internal.h"
#include "plan/select/weights_internal.h"

// MATMUL of two activations as convolutions whose weights are the second matrix. Pools with a lookup table write it
// into a stream of weights; a constant tap beside it corrects for what a stream can hold: with w = b + 1 for every b,
// sum (a - za)(b - zb) = sum (a - za) w + sum (a - za)(-1 - zb).
namespace carina::plan {
namespace {

// Convolutions of one part of the output channels.
struct Part {
  int64_t first = 0;
  int64_t channels = 1;
  Step step = {};
  std::vector<WeightStream> streams = {};  // per core
};

// Weights of the constant taps, which read the same elements as the tap of the matrix.
std::vector<int> constant_taps(int64_t zero_point) {
  const auto weight = static_cast<int>(-1 - zero_point);
  if (weight >= kMinStreamWeight) return {weight};
  return {weight / 2, weight - weight / 2};
}

int64_t taps_of(const Matrices& m) {
  return static_cast<int64_t>(constant_taps(m.b.zero_point).size()) + 1;
}

// One row of pixels, read once for each tap.
Step convolution(const Matrices& m, int64_t channels) {
  const int64_t rows = m.a.view.axes[1].size, taps = taps_of(m);
  return {.kind = StepKind::kConv,
          .ofm = {.width = rows, .depth = channels},
          .ifm = {.height = taps,
                  .width = rows,
                  .depth = m.a.view.axes[2].size,
                  .type = m.a.type,
                  .zero_point = m.a.zero_point},
          .second = SecondOperand::kWeightStream,
          .kernel = {.height = taps},
          .per_channel = true,
          .name = {}};
}

// Each block of channels is written by pools of its own.
std::optional<BlockConfig> best_block(const Selection& s, const Step& step) {
  constexpr int64_t kPoolCycles = 200, kPoolChannels = 8;
  std::optional<BlockConfig> best;
  double fewest = std::numeric_limits<double>::max();
  for (const BlockConfig& block : s.family().legal_blocks(step, s.target())) {
    const int64_t pools = ceil_div(step.ofm.depth, block.depth) * ceil_div(step.ifm.depth, kPoolChannels);
    const double cycles =
        cost_of(step, block, s.family(), s.target()).npu_cycles + static_cast<double>(pools * kPoolCycles);
    if (cycles > fewest || (cycles == fewest && block.depth <= best->depth)) continue;
    best = block;
    fewest = cycles;
  }
  return best;
}

Weights shape_of(const Matrices& m) {
  return {.name = {},
          .out_channels = m.out.axes[2].size,
          .height = taps_of(m),
          .width = 1,
          .in_channels = m.a.view.axes[2].size};
}

std::optional<Part> part_of(const Selection& s, const Matrices& m, int64_t first, int64_t channels) {
  Part part{.first = first, .channels = channels, .step = convolution(m, channels)};
  const auto block = best_block(s, part.step);
  if (!block) return std::nullopt;
  part.step.stream_block_depth = block->depth;
  const npu::WeightTraversal order = s.family().traversal(part.step, *block, shape_of(m), s.target());
  for (int core = 0; core < order.cores; ++core) {
    const WeightStream stream = weight_stream(order, core);
    if (stream.payload_bytes() > kMaxStreamWeights || stream.channels < 1) return std::nullopt;
    part.streams.push_back(stream);
  }
  return part;
}

// As few parts as streams allow; none if no stream holds even a few channels.
std::vector<Part> parts_of(const Selection& s, const Matrices& m) {
  const int64_t channels = m.out.axes[2].size;
  constexpr int64_t kGranule = 16;
  for (int64_t count = 1;; ++count) {
    const int64_t each = round_up(ceil_div(channels, count), kGranule);
    std::vector<Part> parts;
    for (int64_t first = 0; first < channels; first += each) {
      auto part = part_of(s, m, first, std::min(each, channels - first));
      if (!part) break;
      parts.push_back(*std::move(part));
    }
    if (!parts.empty() && parts.back().first + parts.back().channels == channels) return parts;
    if (each == kGranule) return {};
  }
}

// The streams of one part stand after each other in a tensor.
struct Streams {
  View whole = {};  // [core, byte]
  [[nodiscard]] View of(size_t core) const { return at(whole, static_cast<int64_t>(core)); }
};

Streams new_streams(Selection& s, const Part& part) {
  int64_t bytes = 0;
  for (const WeightStream& stream : part.streams) bytes = std::max(bytes, stream.bytes());
  return {.whole = s.new_tensor("weight stream", {static_cast<int64_t>(part.streams.size()), bytes}, kSigned8)};
}

int64_t as_signed(std::byte byte) {
  return static_cast<int8_t>(byte);
}

// Everything in a stream that no product changes: what pads it, the constant taps, its ends.
void write_constants(Selection& s, const Matrices& m, const Part& part, const Streams& streams) {
  const std::vector<int> constants = constant_taps(m.b.zero_point);
  emit_fill(s, streams.whole, m.b, as_signed(stream_byte(0)));
  for (size_t core = 0; core < part.streams.size(); ++core) {
    const WeightStream& stream = part.streams[core];
    const View bytes = streams.of(core);
    const View matrix{.axes = {{part.channels, stream.depth}, {stream.depth, 1}}};
    for (size_t tap = 0; tap < constants.size(); ++tap) {
      for (const StreamPart& stream_part : parts_of_tap(stream, static_cast<int64_t>(tap), bytes, matrix))
        emit_fill(s, stream_part.destination, {.view = stream_part.destination, .type = kSigned8},
                  as_signed(stream_byte(constants[tap])));
    }
    const auto start = stream_start(stream, constants.front());
    const TensorId head = s.new_constant("stream start", start, {kStreamStartBytes}, 1);
    emit_copy(s, sliced_axis(bytes, 0, 0, kStreamStartBytes), dense_view(head, {kStreamStartBytes}), kSigned8);
    const View end = sliced_axis(bytes, 0, stream.bytes() - kStreamEndBytes, kStreamEndBytes);
    emit_fill(s, end, {.view = end, .type = kSigned8}, -1);
  }
}

TensorId table_of_bytes(Selection& s) {
  std::array<std::byte, 256> table{};
  for (int b = -128; b < 128; ++b) table[static_cast<size_t>(b + 128)] = stream_byte(b + 1);
  return s.new_constant("stream bytes", table, {static_cast<int64_t>(table.size())}, 1);
}

// The matrix of batch `n`, [out, in] from the part's first channel, into the streams.
void write_matrix(Selection& s, const Operand& matrix, const Part& part, const Streams& streams) {
  Epilogue look_up = store_only({}, kSigned8);
  look_up.activation.table = table_of_bytes(s);
  for (size_t core = 0; core < part.streams.size(); ++core) {
    const WeightStream& stream = part.streams[core];
    const View from = sliced_axis(matrix.view, 0, part.first, part.channels);
    for (const StreamPart& stream_part : parts_of_tap(stream, stream.taps - 1, streams.of(core), from))
      emit_requantize(s, stream_part.destination, {.view = stream_part.matrix, .type = kSigned8}, look_up);
  }
}

void convolve(Selection& s, const View& a, const View& out, const Part& part, const Streams& streams,
              const Epilogue& epilogue, WeightsId scales) {
  Step step = part.step;
  step.ifm.tensor = a.tensor;
  step.ifm.offset = a.offset;
  step.ifm.stride_x = a.axes[0].stride;
  const View result = sliced_axis(out, 1, part.first, part.channels);
  step.ofm.tensor = result.tensor;
  step.ofm.offset = result.offset;
  step.ofm.stride_x = result.axes[0].stride;
  step.ofm.type = epilogue.type;
  step.ofm.zero_point = epilogue.zero_point;
  step.ifm2 = {.tensor = streams.whole.tensor,
               .height = streams.whole.axes[0].size,
               .depth = streams.whole.axes[1].size,
               .stride_y = streams.whole.axes[0].stride,
               .type = kSigned8};
  step.weights = scales;
  step.first_channel = part.first;
  step.scaling = epilogue.scaling();
  step.activation = epilogue.activation;
  s.push(std::move(step));
}

}  // namespace

bool takes_written_weights(Selection& s, const Matrices& m) {
  const int64_t rows = m.a.view.axes[1].size, depth = m.a.view.axes[2].size;
  constexpr int64_t kMaxDepth = int64_t{1} << 14;  // so that sums fit 32 bits
  return s.family().abilities.written_weights && m.a.type == kSigned8 && m.b.type == kSigned8 &&
         depth >= kMinStreamDepth && depth <= kMaxDepth && rows <= npu::kMaxAxis && !parts_of(s, m).empty();
}

double cycles_by_convolutions(const Selection& s, const Matrices& m) {
  // A pool with a table writes an element of the matrix in about a cycle.
  const int64_t batches = m.out.axes[0].size;
  auto cycles = static_cast<double>(m.b.view.elements());
  for (const Part& part : parts_of(s, m)) cycles += static_cast<double>(batches) * cycles_of(s, part.step);
  return cycles;
}

Result<void> multiply_by_convolutions(Selection& s, const Matrices& m, const Epilogue& epilogue) {
  const Operand a = with_dense_channels(s, m.a);
  Operand b = m.b;  // [N,W,C]
  b.view = permuted(m.b.view, std::array<int64_t, 3>{0, 2, 1});
  b = with_dense_channels(s, b);
  const Axis& columns = m.out.axes[2];
  const bool in_place = columns.size == 1 || columns.stride == 1;
  const View out = in_place ? m.out : s.new_tensor("product", m.out.shape(), epilogue.type);
  CARINA_TRY(const WeightsId scales, add_weights(s, shape_of(m), epilogue));
  for (const Part& part : parts_of(s, m)) {
    const Streams streams = new_streams(s, part);
    write_constants(s, {.a = a, .b = b}, part, streams);
    for (int64_t n = 0; n < out.axes[0].size; ++n) {
      Operand matrix = b;
      matrix.view = at(b.view, n);
      write_matrix(s, matrix, part, streams);
      convolve(s, at(a.view, n), at(out, n), part, streams, epilogue, scales);
    }
  }
  if (!in_place) emit_copy(s, m.out, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
