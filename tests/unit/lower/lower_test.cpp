// Goldens: each file of goldens/ holds a graph ("# input"), the result of normalize() ("# normalize") and the result of
// to_tosa() ("# tosa"), or the diagnostics ("# error"). CARINA_REBASE=1 in the environment rewrites the files.

#include "lower/lower.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "facts/aten_traits.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "normalize/core_aten.h"
#include "normalize/normalize.h"

namespace carina::lower {
namespace {

namespace fs = std::filesystem;

const Target kNpu{.name = "npu", .limits = kU55Lowering.limits, .idioms = kU55Lowering.idioms};

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  return (std::stringstream() << in.rdbuf()).str();
}

std::string input_of(const std::string& golden) {
  const std::string mark = "# input\n";
  const size_t begin = golden.find(mark) + mark.size();
  return golden.substr(begin, golden.find("# ", begin) - begin);
}

std::string with_error(const std::string& text, const Diagnostics& errors) {
  return text + "# error\n" + to_string(errors) + "\n";
}

// The complete expected file.
std::string produced(const std::string& input, const std::string& where) {
  std::string text = "# input\n" + input;
  auto module = ir::parse(input, where);
  if (!module) return with_error(text, module.error());
  ir::Graph graph = std::move(module->main());
  if (auto prepared = normalize::normalize(graph, Log{}); !prepared) return with_error(text, prepared.error());
  text += "# normalize\n" + ir::print(graph);
  const std::string once = ir::print(graph);
  EXPECT_TRUE(normalize::normalize(graph, Log{}).has_value());
  EXPECT_EQ(ir::print(graph), once) << "normalize() changes what it made";
  const auto tosa = to_tosa(graph, kNpu, Log{});
  if (!tosa) return with_error(text, tosa.error());
  EXPECT_TRUE(ir::verify_structure(tosa->graph).has_value());
  return text + "# tosa\n" + ir::print(tosa->graph);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, lowered_graph_equals_golden) {
  const fs::path path = fs::path(CARINA_SOURCE_DIR) / "tests/unit/lower/goldens" / (GetParam() + ".txt");
  const std::string golden = contents(path);
  const std::string now = produced(input_of(golden), path.filename().string());
  EXPECT_EQ(GetParam().starts_with("bad_"), now.find("# error\n") != std::string::npos) << now;
  if (std::getenv("CARINA_REBASE") != nullptr) {
    std::ofstream(path) << now;
    return;
  }
  EXPECT_EQ(now, golden);
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(CARINA_SOURCE_DIR) / "tests/unit/lower/goldens"))
    names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Lower, Golden, testing::ValuesIn(golden_names()),
                         [](const auto& golden) { return golden.param; });

TEST(Prepare, passes_are_listed) {
  ir::Graph graph;
  ir::PassOptions options;
  options.stop_after = "no-such-pass";
  const auto rejected = normalize::normalize(graph, options, Log{});
  ASSERT_FALSE(rejected.has_value());
  EXPECT_NE(rejected.error()[0].expected.find("fold-batch-norm"), std::string::npos);
  EXPECT_EQ(normalize::pipeline().front().name, "fold-sources");
}

TEST(Prepare, skipping_a_required_pass_is_an_error) {
  ir::Graph graph;
  const auto rejected = normalize::normalize(graph, ir::PassOptions{.disabled = {"canonicalize"}}, Log{});
  ASSERT_FALSE(rejected.has_value());
  EXPECT_EQ(rejected.error()[0].fault, Fault::kUsage);
  EXPECT_NE(rejected.error()[0].what.find("one-spelling"), std::string::npos) << rejected.error()[0].what;
  EXPECT_TRUE(
      normalize::normalize(graph, ir::PassOptions{.disabled = {"fold-decomposed-constants"}}, Log{}).has_value());
}

// A static_assert beside each table checks the converse: nothing else is rewritten.
TEST(Prepare, table_rows_are_rewritten) {
  for (const AtenTraits& row : kAtenTraits) {
    const bool read_by_import = row.family == AtenFamily::kQuantization;
    if (row.lowering.kind != AtenLowering::Kind::kBecomes || read_by_import) continue;
    EXPECT_TRUE(normalize::is_rewritten(row.op)) << name_of(row.op);
  }
}

TEST(ToCoreAten, rewritten_operators_have_kernels) {
  auto module = ir::parse(R"(graph @main {
  input %x: fp32[2]
  %a: fp32[2] = aten.hardswish.default(%x)
  %b: fp32[2] = aten.mish.default(%a)
  output %b
}
)",
                          "text");
  ASSERT_TRUE(module.has_value());
  ir::Graph& graph = module->main();
  ASSERT_TRUE(normalize::to_core_aten(graph, Log{}).has_value());
  std::string ops;
  for (const ir::Node& node : graph.nodes) ops += std::string(node.op.name()) + " ";
  EXPECT_EQ(ops,
            "aten.add.Tensor aten.clamp.default aten.mul.Tensor aten.mul.Tensor aten.abs.default aten.neg.default "
            "aten.exp.default "
            "aten.log1p.default aten.relu.default aten.add.Tensor aten.tanh.default aten.mul.Tensor ");
  EXPECT_TRUE(ir::verify_structure(graph).has_value());
  EXPECT_EQ(graph[graph.outputs[0]].name, "b");
}

// The transposes of the convolution sink and cancel. Each TOSA node still names its source node.
TEST(ToTosa, nodes_and_values_map_to_source) {
  auto module = ir::parse(R"(graph @main {
  input %x: fp32[1,2,4,4]
  %w: fp32[2,2,1,1] = [1.0, 2.0, 3.0, 4.0]
  %z: fp32[2] = [0.0, 0.0]
  %a: fp32[1,2,4,4] = aten.conv2d.default(%x, %w, %z) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1}
  %b: fp32[1,2,4,4] = aten.relu.default(%a)
  %c: fp32[1,2,4,4] = aten.conv2d.default(%b, %w, %z) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1}
  output %c
}
)",
                          "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const ir::Graph& aten = module->main();
  const auto lowered = to_tosa(aten, kNpu, Log{});
  ASSERT_TRUE(lowered.has_value()) << to_string(lowered.error());
  const ir::Graph& tosa = lowered->graph;
  const auto producer = ir::producers(tosa);
  for (size_t n = 0; n < aten.nodes.size(); ++n) {
    const ir::ValueId value = lowered->value_of[aten.nodes[n].outputs[0].index()];
    ASSERT_TRUE(value.valid()) << aten.nodes[n].name;
    EXPECT_EQ(tosa[producer[value.index()]].origin, ir::NodeId(n)) << ir::print(tosa);
  }
}

// The sum over an image is a convolution with ones for targets that prefer convolutions, otherwise a plain sum.
TEST(ToTosa, idioms_follow_target) {
  const std::string q = " quantized(i8, scales = [0.5], zero_points = [0], axis = -1, range = [-128, 127])";
  auto module = ir::parse("graph @main {\n  input %x: fp32[1,2,4,4]" + q + "\n  %s: fp32[1,2,1,1]" + q +
                              " = aten.sum.dim_IntList(%x) {dim = [2, 3], keepdim = true, dtype = none}\n"
                              "  output %s\n}\n",
                          "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const auto text = [&](const Target& target) {
    return ir::print(to_tosa(module->main(), target, Log{}).value().graph);
  };
  EXPECT_NE(text(kNpu).find("DEPTHWISE_CONV2D"), std::string::npos);
  EXPECT_EQ(text(Target{}).find("DEPTHWISE_CONV2D"), std::string::npos);
  EXPECT_NE(text(Target{}).find("REDUCE_SUM"), std::string::npos);
}

TEST(ToTosa, errors_name_the_node) {
  auto module = ir::parse(R"(graph @main {
  input %x: fp32[2]
  %a: fp32[2] = aten.relu.default(%x)
  %b: bool[2] = aten.signbit.default(%a)
  output %b
}
)",
                          "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const auto rejected = to_tosa(module->main(), {}, Log{});
  ASSERT_FALSE(rejected.has_value());
  EXPECT_EQ(rejected.error()[0].node, 1U);
}

TEST(HasLowering, missing_lowering_is_reported) {
  EXPECT_TRUE(has_lowering(AtenOp::conv2d_default));
  EXPECT_FALSE(has_lowering(AtenOp::lstm_input));
  EXPECT_FALSE(has_lowering(TosaOp::ADD));
}

}  // namespace
}  // namespace carina::lower
