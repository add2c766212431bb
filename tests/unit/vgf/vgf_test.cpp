#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "facts/vgf_ops.h"
#include "tosa/row_graphs.h"
#include "vgf/modules.h"

namespace carina::vgf {
namespace {

using testing::HasSubstr;

ir::Module reread(std::string_view text) {
  const auto module = read_vgf(written(text), "text");
  EXPECT_TRUE(module.has_value()) << to_string(module.error());
  return module.value_or(ir::Module());
}

// The operators of a graph, without the names and the order of its constants.
std::string operators_of(const ir::Graph& graph) {
  std::string out;
  for (const ir::Node& node : graph.nodes) {
    out += std::string(node.op.name()) + " " + graph[node.outputs.front()].name + "(";
    for (const ir::ValueId id : node.inputs) {
      const ir::Value& value = graph[id];
      out += std::string(name_of(value.dtype)) + to_string(value.shape);
      if (!value.constant) out += value.name;
      for (size_t i = 0; value.constant && i < tensor_bytes(value.dtype, value.shape); ++i)
        out += std::to_string(static_cast<int>(value.constant->data.data()[i])) + ",";
    }
    out += ")\n";
  }
  return out;
}

TEST(Vgf, written_file_reads_back) {
  const ir::Module before = parsed(kConvolutions);
  const ir::Module after = reread(kConvolutions);
  EXPECT_EQ(operators_of(after.main()), operators_of(before.main()));
  for (size_t i = 0; i < before.main().nodes.size(); ++i)
    EXPECT_EQ(after.main().nodes[i].attributes, before.main().nodes[i].attributes);
  ASSERT_EQ(after.main().outputs.size(), 3U);
  EXPECT_EQ(after.main()[after.main().inputs.front()].name, "x");
  EXPECT_EQ(after.main()[after.main().outputs[1]].name, "z");
  EXPECT_TRUE(ir::verify_structure(after.main()));
}

TEST(Vgf, same_module_gives_same_bytes_and_shared_constants) {
  const Buffer once = written(kConvolutions);
  const Buffer twice = written(kConvolutions);
  EXPECT_TRUE(std::ranges::equal(once.bytes(), twice.bytes()));
  const Container container = container_of(kConvolutions);
  ASSERT_EQ(container.constants.size(), 1U);
  EXPECT_EQ(container.constants.front().data.size(), 18U);
  EXPECT_EQ(container.version, (std::array<uint8_t, 3>{0, 5, 0}));
}

TEST(Vgf, every_operator_round_trips_or_has_a_reason) {
  size_t read = 0;
  for (const ir::Module& module : tosa::row_modules(7)) {
    const ir::Graph& graph = module.main();
    const auto bytes = write_vgf(module, "row");
    const TosaOp op = graph.nodes.back().op.tosa();
    const VgfForm& form = vgf_form_of(op);
    if (form.treatment == VgfTreatment::kRejected) {
      ASSERT_FALSE(bytes.has_value());
      if (op == TosaOp::VARIABLE) continue;  // an unused declaration is dead code, which is left out
      EXPECT_THAT(to_string(bytes.error()), HasSubstr(std::string(form.reason)));
      continue;
    }
    // Some random contents cannot be written: a size of zero, a shape that is not constant, IDENTITY of two shapes.
    if (!bytes || form.treatment != VgfTreatment::kInstruction) continue;
    const auto again = read_vgf(Buffer::copy_of(*bytes), "row");
    ASSERT_TRUE(again.has_value()) << ir::print(module) << to_string(again.error());
    const auto has_it = [&](const ir::Node& node) { return node.op == graph.nodes.back().op; };
    EXPECT_TRUE(std::ranges::any_of(again->main().nodes, has_it)) << ir::print(module) << ir::print(*again);
    ++read;
  }
  EXPECT_GT(read, 150U);
}

TEST(Vgf, unsupported_values_are_all_reported) {
  const auto bytes = write_vgf(parsed(R"(graph @main {
  input %c: bool[]
  input %x: i32[2]
  %a: i32[2] = tosa.COND_IF(%c, %x) {then_graph = "one", else_graph = "one"}
  %b: i32[2] = tosa.CUSTOM(%a) {operator_name = "o", domain_name = "d", implementation_attrs = hex ""}
  output %b
}
graph @one {
  input %x: i32[2]
  output %x
}
)"),
                               "text");
  ASSERT_FALSE(bytes.has_value());
  ASSERT_EQ(bytes.error().size(), 2U);
  EXPECT_EQ(bytes.error()[0].where, "text: a");
  EXPECT_THAT(bytes.error()[0].what, HasSubstr("tosa.COND_IF"));
  EXPECT_THAT(bytes.error()[1].what, HasSubstr("tosa.CUSTOM"));
}

TEST(Vgf, zero_points_and_shapes_are_constants) {
  const auto bytes = write_vgf(parsed(R"(graph @main {
  input %x: i8[2]
  input %zp: i8[1]
  %none: i8[1] = [0]
  %y: i8[2] = tosa.NEGATE(%x, %zp, %none)
  output %y
}
)"),
                               "text");
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error()[0].where, "text: y");
  EXPECT_EQ(bytes.error()[0].what, "operand input1_zp is known only while the graph runs");
  EXPECT_EQ(bytes.error()[0].hint, "VGF's zero points are constants");
}

TEST(Vgf, scalars_are_lists_of_one) {
  const ir::Module module = reread(R"(graph @main {
  input %x: fp32[3]
  input %f: fp32[]
  %i: i32[] = tosa.ARGMAX(%x) {axis = 0, nan_mode = IGNORE}
  %n: i32[] = tosa.ABS(%i)
  %none: shape[0] = []
  %two: shape[2] = [1, 1]
  %g: fp32[1,1] = tosa.RESHAPE(%f, %two)
  %h: fp32[] = tosa.RESHAPE(%g, %none)
  output %n
  output %h
}
)");
  const ir::Graph& graph = module.main();
  EXPECT_EQ(graph[graph.inputs[1]].shape, Shape{1});
  EXPECT_EQ(graph[graph.outputs[0]].shape, Shape{1});
  EXPECT_EQ(graph[graph.outputs[1]].shape, Shape{1});
  // ARGMAX of a one-dimensional tensor gives a scalar, as TOSA requires.
  EXPECT_EQ(graph[graph.nodes.front().outputs.front()].shape, Shape{});
}

TEST(Vgf, unsigned_integers_are_marked_in_interface) {
  const Container container = container_of(R"(graph @main {
  input %x: i8[4]
  %m: i32[1] = [1073741824]
  %s: i8[1] = [30]
  %z: i8[1] = [0]
  %y: i8[4] = tosa.RESCALE(%x, %m, %s, %z, %z) {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = true}
  output %y
}
)");
  EXPECT_EQ(format_name(container.resources[0].format), "R8_UINT");
  EXPECT_EQ(format_name(container.resources[1].format), "R8_UINT");
}

TEST(Vgf, output_may_be_input_constant_or_repeated) {
  const ir::Module module = reread(R"(graph @main {
  input %x: i8[2]
  %c: i8[3] = [1, 2, 3]
  %i: i8[2] = tosa.IDENTITY(%x)
  output %x
  output %c
  output %i
  output %x
}
)");
  const ir::Graph& graph = module.main();
  ASSERT_EQ(graph.outputs.size(), 4U);
  EXPECT_EQ(graph.outputs[0], graph.inputs[0]);
  EXPECT_EQ(graph.outputs[2], graph.inputs[0]);
  EXPECT_TRUE(graph[graph.outputs[1]].constant.has_value());
  EXPECT_TRUE(graph.nodes.empty());
}

TEST(Vgf, all_types_keep_their_elements) {
  const ir::Module module = reread(R"(graph @main {
  %a: bool[2] = [true, false]
  %b: i16[1,2] = [-32768, 5]
  %c: i48[2] = [-140737488355328, 140737488355327]
  %d: fp16[2] = [1.5, -2.0]
  %e: bf16[1] = [3.0]
  %f: fp8e4m3[1] = [0.5]
  %g: fp8e5m2[1] = [-0.5]
  %h: fp32[1,1,1] = [0.1]
  %i: i4[3] = [-8, 7, 0]
  output %a
  output %b
  output %c
  output %d
  output %e
  output %f
  output %g
  output %h
  output %i
}
)");
  const std::string text = ir::print(module);
  for (const std::string_view part :
       {"bool[2] = [true, false]", "i16[1,2] = [-32768, 5]", "i48[2] = [-140737488355328, 140737488355327]",
        "fp16[2] = [1.5, -2.0]", "bf16[1] = [3.0]", "fp8e4m3[1] = [0.5]", "fp8e5m2[1] = [-0.5]", "fp32[1,1,1] = [0.1]",
        "i8[3] = [-8, 7, 0]"})
    EXPECT_THAT(text, HasSubstr(std::string(part)));
}

TEST(Vgf, two_segments_become_one_graph) {
  Container container = container_of(R"(graph @main {
  input %x: i32[2]
  %y: i32[2] = tosa.ABS(%x)
  output %y
}
)");
  // The second segment runs the same code on the result of the first.
  container.resources.push_back(container.resources[1]);
  container.resources[1].category = VgfCategory::kIntermediate;
  Segment second = container.segments.front();
  second.name = "second";
  second.inputs = {{.binding = 0, .resource = 1}};
  second.outputs = {{.binding = 1, .resource = 2}};
  second.sets.front().bindings = {second.inputs[0], second.outputs[0]};
  container.segments.push_back(second);
  container.outputs = {{.binding = 1, .resource = 2}};
  const auto module = read_vgf(file_of(container), "two");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  ASSERT_EQ(module->main().nodes.size(), 2U);
  EXPECT_EQ(module->main().nodes[1].inputs, module->main().nodes[0].outputs);
}

TEST(Vgf, output_may_share_memory_with_input) {
  Container container = container_of(R"(graph @main {
  input %x: i32[2]
  %y: i32[2] = tosa.ABS(%x)
  output %y
}
)");
  container.resources[0].alias_group = 3;
  container.resources.push_back(container.resources[0]);
  container.resources.back().category = VgfCategory::kOutput;
  container.outputs.push_back({.binding = 0, .resource = 2});
  container.output_names.push_back("same");
  const auto module = read_vgf(file_of(container), "alias");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  EXPECT_EQ(module->main().outputs[1], module->main().inputs[0]);
}

TEST(Vgf, spirv_is_disassembled) {
  const auto text = disassemble(written(kConvolutions), "text");
  ASSERT_TRUE(text.has_value());
  EXPECT_THAT(*text, HasSubstr("OpCapability GraphARM"));
  EXPECT_THAT(*text, HasSubstr("OpExtInstImport \"TOSA.001000.1\""));
  EXPECT_THAT(*text, HasSubstr(" CONV2D %"));
  EXPECT_THAT(*text, HasSubstr("OpGraphEndARM"));
}

}  // namespace
}  // namespace carina::vgf
