#include "quantize/raw_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "ir/pass.h"

namespace carina::quantize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GraphBuilder quantized_graph(DType type) {
  GraphBuilder b;
  const IntegerRange range = range_of(type);
  b.graph.outputs = {b.relu("y", b.input("x", {2}))};
  for (ir::Value& value : b.graph.values)
    value.quantization =
        Quantization{.dtype = type, .scales = {0.5}, .zero_points = {0}, .qmin = range.min, .qmax = range.max};
  return b;
}

TEST(RawIo, boundary_integers_keep_their_names) {
  GraphBuilder b = quantized_graph(DType::kInt8);
  std::vector<std::string> notes;
  const Log log{.note = [&](const Diagnostic& note) { notes.push_back(to_string(note)); }};
  ASSERT_TRUE(make_edges_raw(b.graph, DType::kUInt8, log));
  EXPECT_THAT(b.ops(), ElementsAre("quantized_decomposed.dequantize_per_tensor.default", "aten.relu.default",
                                   "quantized_decomposed.quantize_per_tensor.default"));
  for (const ir::ValueId id : {b.graph.inputs[0], b.graph.outputs[0]}) EXPECT_EQ(b.graph[id].dtype, DType::kUInt8);
  EXPECT_EQ(b.graph[b.graph.inputs[0]].name, "x");
  EXPECT_EQ(b.graph[b.graph.outputs[0]].name, "y");
  EXPECT_EQ(b.graph.nodes[0].attributes.integer("zero_point"), 128);
  EXPECT_EQ(b.graph.nodes[2].attributes.integer("quant_max"), 255);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_THAT(notes[0], HasSubstr("real = (integer - 128) * 0.5"));
  EXPECT_TRUE(ir::verify_structure(b.graph));
}

TEST(RawIo, wrong_width_is_an_error) {
  GraphBuilder b = quantized_graph(DType::kInt16);
  const auto rejected = make_edges_raw(b.graph, DType::kInt8, {});
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().size(), 2U);
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("expected i8, got i16"));
}

TEST(RawIo, float_boundaries_are_a_warning) {
  GraphBuilder b;
  b.graph.outputs = {b.relu("y", b.input("x", {2}))};
  std::vector<Severity> notes;
  const Log log{.note = [&](const Diagnostic& note) { notes.push_back(note.severity); }};
  ASSERT_TRUE(make_edges_raw(b.graph, DType::kInt8, log));
  EXPECT_THAT(notes, ElementsAre(Severity::kWarning, Severity::kWarning));
  EXPECT_THAT(b.ops(), ElementsAre("aten.relu.default"));
}

}  // namespace
}  // namespace carina::quantize
