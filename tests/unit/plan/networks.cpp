#include "networks.h"

#include <numeric>

namespace carina::plan {
namespace {

ir::Graph one_conv() {
  GraphBuilder b;
  b.graph.outputs = {b.conv(b.input("x", DType::kInt8, {1, 8, 8, 3}), 16, 3, 1)};
  return std::move(b.graph);
}

ir::Graph three_convs() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 20, 20, 8});
  b.graph.outputs = {b.conv(b.conv(b.conv(x, 40, 3, 1), 24, 1, 0), 10, 3, 0)};
  return std::move(b.graph);
}

// Layers without weights run first. Meanwhile the weights of the later layers are copied from flash.
ir::Graph staged_weights() {
  GraphBuilder b;
  const Shape shape{1, 14, 14, 8};
  const auto x = b.input("x", DType::kInt8, shape);
  const auto wide = [&](ir::ValueId v) { return b.rescale(v, DType::kInt32, 1 << 30, 11); };
  auto y = x;
  for (int i = 0; i < 4; ++i)
    y = b.rescale(b.op(TosaOp::ADD, {wide(x), wide(y)}, DType::kInt32, shape), DType::kInt8, 1 << 30, 50);
  b.graph.outputs = {b.conv(y, 8, 14, 0)};
  return std::move(b.graph);
}

ir::Graph residual_add() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 8, 8, 16});
  const auto y = b.conv(x, 16, 3, 1);
  const auto wide = [&](ir::ValueId v) { return b.rescale(v, DType::kInt32, 1 << 30, 11); };
  const auto sum = b.op(TosaOp::ADD, {wide(x), wide(y)}, DType::kInt32, {1, 8, 8, 16});
  b.graph.outputs = {b.rescale(sum, DType::kInt8, 1 << 30, 50)};
  return std::move(b.graph);
}

ir::Graph looked_up() {
  GraphBuilder b;
  std::vector<int8_t> first(256), second(256);
  std::iota(first.begin(), first.end(), static_cast<int8_t>(-128));
  for (size_t i = 0; i < 256; ++i) second[i] = static_cast<int8_t>(127 - static_cast<int>(i));
  auto x = b.input("x", DType::kInt8, {1, 4, 4, 16});
  for (const auto* table : {&first, &second, &first})
    x = b.op(TosaOp::TABLE, {b.conv(x, 16, 1, 0), b.constant<int8_t>(DType::kInt8, {256}, *table)}, DType::kInt8,
             {1, 4, 4, 16});
  b.graph.outputs = {x};
  return std::move(b.graph);
}

// Two tables of 16 bits in turn. The NPU holds one, so each is loaded three times.
ir::Graph staged_tables() {
  GraphBuilder b;
  const Shape shape{1, 1, 1, 16};
  std::vector<int16_t> first(513), second(513);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<int16_t>(100 * static_cast<int>(i) - 25600);
    second[i] = static_cast<int16_t>(25600 - 90 * static_cast<int>(i));
  }
  auto x = b.input("x", DType::kInt16, shape);
  for (int i = 0; i < 6; ++i) {
    const auto table = b.constant<int16_t>(DType::kInt16, {513}, i % 2 == 0 ? first : second);
    x = b.rescale(b.op(TosaOp::TABLE, {x, table}, DType::kInt32, shape), DType::kInt16, 1 << 30, 37);
  }
  b.graph.outputs = {x};
  return std::move(b.graph);
}

ir::Graph max_pool() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 9, 9, 20});
  b.graph.outputs = {b.op(TosaOp::MAX_POOL2D, {x}, DType::kInt8, {1, 4, 4, 20},
                          {{"kernel", std::vector<int64_t>{3, 3}},
                           {"stride", std::vector<int64_t>{2, 2}},
                           {"pad", std::vector<int64_t>{0, 0, 0, 0}},
                           {"nan_mode", int64_t{1}}})};
  return std::move(b.graph);
}

ir::Graph transposed() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 3, 8, 8});
  const auto nhwc =
      b.op(TosaOp::TRANSPOSE, {x}, DType::kInt8, {1, 8, 8, 3}, {{"perms", std::vector<int64_t>{0, 2, 3, 1}}});
  b.graph.outputs = {b.conv(nhwc, 8, 3, 1)};
  return std::move(b.graph);
}

ir::Graph concatenated() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 6, 6, 8});
  const auto left = b.conv(x, 16, 1, 0), right = b.conv(x, 16, 3, 1);
  b.graph.outputs = {b.op(TosaOp::CONCAT, {left, right}, DType::kInt8, {1, 6, 6, 32}, {{"axis", int64_t{3}}})};
  return std::move(b.graph);
}

ir::Graph summed_32() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt32, {4, 32});
  const auto sum = b.op(TosaOp::REDUCE_SUM, {x}, DType::kInt32, {4, 1}, {{"axis", int64_t{1}}});
  b.graph.outputs = {b.op(TosaOp::ADD, {sum, sum}, DType::kInt32, {4, 1})};
  return std::move(b.graph);
}

// A graph with bitwise operators and comparisons, which only some NPUs support.
ir::Graph chosen() {
  GraphBuilder b;
  const auto a = b.input("a", DType::kInt32, {4, 6}), c = b.input("c", DType::kInt32, {4, 6});
  const auto larger = b.op(TosaOp::GREATER, {a, c}, DType::kBool, {4, 6});
  b.graph.outputs = {b.op(TosaOp::SELECT, {larger, a, c}, DType::kInt32, {4, 6})};
  return std::move(b.graph);
}

// A matrix product of two inputs, and a gather of rows of one of them.
ir::Graph attended() {
  GraphBuilder b;
  const auto q = b.input("q", DType::kInt8, {2, 7, 24}), k = b.input("k", DType::kInt8, {2, 24, 9});
  const auto zero = [&] { return b.scalar<int8_t>(DType::kInt8, 0); };
  const auto scores = b.op(TosaOp::MATMUL, {q, k, zero(), zero()}, DType::kInt32, {2, 7, 9});
  const auto index = b.input("index", DType::kInt32, {2, 3});
  b.graph.outputs = {
      b.op(TosaOp::GATHER, {b.rescale(scores, DType::kInt8, 1 << 30, 40), index}, DType::kInt8, {2, 3, 9})};
  return std::move(b.graph);
}

ir::Graph copied_input() {
  GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 16, 16});
  b.graph.outputs = {x};
  return std::move(b.graph);
}

}  // namespace

std::vector<NamedNetwork> small_networks() {
  return {{.name = "one_conv", .build = one_conv},
          {.name = "three_convs", .npu = "ethos-u55-256", .build = three_convs},
          {.name = "staged_weights", .build = staged_weights},
          {.name = "residual_add", .build = residual_add},
          {.name = "looked_up", .npu = "ethos-u55-32", .build = looked_up},
          {.name = "staged_tables", .build = staged_tables},
          {.name = "max_pool", .npu = "ethos-u55-64", .build = max_pool},
          {.name = "transposed", .build = transposed},
          {.name = "concatenated", .build = concatenated},
          {.name = "summed_32", .build = summed_32},
          {.name = "copied_input", .build = copied_input},
          {.name = "three_convs_of_two_streams", .npu = "ethos-u85-512", .build = three_convs},
          {.name = "chosen", .npu = "ethos-u85-256", .build = chosen},
          {.name = "attended", .npu = "ethos-u85-256", .build = attended}};
}

ir::Graph four_convolutions() {
  GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 16, 16, 8});
  for (const int64_t channels : {32, 16, 16, 8}) x = b.conv(x, channels, 3, 1);
  b.graph.outputs = {x};
  return std::move(b.graph);
}

Schedule schedule_of(const ir::Graph& graph, const Target& target, const Options& options, const std::string& after) {
  Schedule found;
  Options watching = options;
  watching.watch = [&](std::string_view name, const Schedule& schedule) {
    if (name == after) found = schedule;
  };
  const auto compiled = compile(graph, target, watching, {});
  CARINA_CHECK(compiled.has_value(), "{}", to_string(compiled.error()));
  return found;
}

ir::Graph ring_of_rows() {
  GraphBuilder b;
  const auto ints = [&](const std::vector<int64_t>& values) {
    return b.constant<int64_t>(DType::kShape, {static_cast<int64_t>(values.size())}, values);
  };
  const auto ring = b.input("ring", DType::kInt8, {1, 49, 10}), frame = b.input("frame", DType::kInt8, {1, 1, 10});
  const auto kept = b.op(TosaOp::SLICE, {ring, ints({0, 1, 0}), ints({1, 48, 10})}, DType::kInt8, {1, 48, 10});
  const auto next = b.op(TosaOp::CONCAT, {kept, frame}, DType::kInt8, {1, 49, 10}, {{"axis", int64_t{1}}});
  const auto pixel = b.op(TosaOp::RESHAPE, {next, ints({1, 1, 1, 490})}, DType::kInt8, {1, 1, 1, 490});
  b.graph.outputs = {next, b.conv(pixel, 12, 1, 0)};
  return std::move(b.graph);
}

}  // namespace carina::plan
