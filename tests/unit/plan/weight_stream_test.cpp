#include "plan/select/weight_stream_internal.h"

#include <gtest/gtest.h>

#include <random>

#include "networks.h"
#include "npu/weights/weight_codec.h"
#include "plan/network/target.h"

namespace carina::plan {
namespace {

// The bytes of a view of a byte tensor, in the order of the view.
void for_each(const View& view, const auto& visit) {
  std::vector<int64_t> offsets{view.offset};
  for (const Axis& axis : view.axes) {
    std::vector<int64_t> next;
    for (const int64_t base : offsets) {
      for (int64_t i = 0; i < axis.size; ++i) next.push_back(base + i * axis.stride);
    }
    offsets = std::move(next);
  }
  for (size_t i = 0; i < offsets.size(); ++i) visit(i, static_cast<size_t>(offsets[i]));
}

// The bytes that pools and transfers write: zeros, the constant taps, the start, the matrix in the last tap, the end.
std::vector<std::byte> written(const WeightStream& stream, const std::vector<int>& constants,
                               const std::vector<int16_t>& matrix, int64_t out, int64_t in) {
  std::vector<std::byte> bytes(static_cast<size_t>(stream.bytes()), stream_byte(0));
  const View destination{.axes = {{stream.bytes(), 1}}}, all{.axes = {{out, in}, {in, 1}}};
  for (int64_t tap = 0; tap < stream.taps; ++tap) {
    for (const StreamPart& part : parts_of_tap(stream, tap, destination, all)) {
      std::vector<int16_t> values;
      for_each(part.matrix, [&](size_t, size_t at) { values.push_back(matrix.at(at)); });
      for_each(part.destination, [&](size_t i, size_t at) {
        bytes.at(at) = stream_byte(tap + 1 < stream.taps ? constants[static_cast<size_t>(tap)] : values[i]);
      });
    }
  }
  std::ranges::copy(stream_start(stream, constants.front()), bytes.begin());
  std::fill(bytes.end() - kStreamEndBytes, bytes.end(), std::byte{0xFF});
  return bytes;
}

struct Shape2 {
  int out;
  int in;
};

TEST(WeightStream, decoding_gives_weights_in_convolution_order) {
  std::mt19937 random(4);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    const char* npus[] = {"ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-512"};
    const Target target = *find_target(npus[pick(0, 4)], "", "");
    const Shape2 shape{.out = pick(2, 70), .in = pick(kMinStreamDepth, 90)};
    const int taps = pick(2, 3);
    const npu::WeightTraversal order{
        .accelerator = &target.accelerator,
        .order = pick(0, 1) == 0 ? npu::WeightOrder::DEPTH_FIRST : npu::WeightOrder::PART_KERNEL_FIRST,
        .ofm_depth = shape.out,
        .ifm_depth = shape.in,
        .kernel_height = taps,
        .kernel_width = 1,
        .ofm_block_depth = 16 * pick(1, 5),
        .cores = target.accelerator.cores};
    std::vector<int> constants;
    for (int tap = 0; tap + 1 < taps; ++tap) constants.push_back(pick(kMinStreamWeight, kMaxStreamWeight));
    std::vector<int16_t> matrix(static_cast<size_t>(shape.out * shape.in));
    for (int16_t& w : matrix) w = static_cast<int16_t>(pick(kMinStreamWeight, kMaxStreamWeight));
    std::vector<int16_t> weights;  // [out][tap][in]
    for (int o = 0; o < shape.out; ++o) {
      for (int tap = 0; tap < taps; ++tap) {
        for (int i = 0; i < shape.in; ++i)
          weights.push_back(tap + 1 < taps ? static_cast<int16_t>(constants[static_cast<size_t>(tap)])
                                           : matrix[static_cast<size_t>(o * shape.in + i)]);
      }
    }
    for (int core = 0; core < order.cores; ++core) {
      const WeightStream stream = weight_stream(order, core);
      ASSERT_EQ(stream.payload_bytes(), npu::sequence_length(order, core));
      if (stream.payload_bytes() > kMaxStreamWeights) continue;
      const auto bytes = written(stream, constants, matrix, shape.out, shape.in);
      EXPECT_EQ(bytes.size() % 16, 0U);
      const auto decoded = npu::decode_swd(bytes, static_cast<size_t>(kMaxStreamWeights), "stream");
      ASSERT_TRUE(decoded.has_value()) << to_string(decoded.error());
      EXPECT_EQ(*decoded, npu::reorder(order, core, std::span<const int16_t>(weights)));
    }
  }
}

ir::Graph product_of_inputs() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {2, 40, 24}), y = b.input("y", DType::kInt8, {2, 24, 48});
  const auto zp_x = b.scalar<int8_t>(DType::kInt8, -5), zp_y = b.scalar<int8_t>(DType::kInt8, 127);
  const auto sum = b.op(TosaOp::MATMUL, {x, y, zp_x, zp_y}, DType::kInt32, {2, 40, 48});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 40)};
  return std::move(b.graph);
}

std::vector<std::string> notes_of(const ir::Graph& graph, const char* npu, bool dynamic_weights) {
  std::vector<std::string> hints;
  Log log;
  log.note = [&](const Diagnostic& note) { hints.push_back(note.hint); };
  EXPECT_TRUE(compile(graph, *find_target(npu, "", ""), {{.dynamic_weights = dynamic_weights}}, log).has_value());
  std::erase_if(hints, [](const std::string& hint) { return !hint.contains("--dynamic-weights"); });
  return hints;
}

TEST(WrittenWeights, npu_written_weights_are_offered) {
  const ir::Graph graph = product_of_inputs();
  EXPECT_EQ(notes_of(graph, "ethos-u55-128", false).size(), 1U);
  EXPECT_EQ(notes_of(graph, "ethos-u65-512", false).size(), 1U);
  EXPECT_EQ(notes_of(graph, "ethos-u55-128", true).size(), 0U);
  EXPECT_EQ(notes_of(graph, "ethos-u85-256", false).size(), 0U);  // it multiplies tensors
}

TEST(WrittenWeights, npu_written_weights_precede_their_readers) {
  const auto schedule =
      schedule_of(product_of_inputs(), *find_target("ethos-u55-128", "", ""), {{.dynamic_weights = true}}, "finished");
  int64_t products = 0;
  for (const Stripe& stripe : schedule.stripes) {
    const Step& step = schedule[stripe.step];
    if (!step.reads_written_weights()) continue;
    ++products;
    EXPECT_EQ(stripe.block.depth, step.stream_block_depth);
    EXPECT_EQ(schedule[stripe.slice].stored, schedule[step.ifm2.tensor].storage);
    EXPECT_EQ(step.kernel.height, 3);  // zero point 127 takes two constant taps
    EXPECT_EQ(step.ifm.stride_y, 0);
  }
  EXPECT_EQ(products, 2);  // one per batch
}

}  // namespace
}  // namespace carina::plan
