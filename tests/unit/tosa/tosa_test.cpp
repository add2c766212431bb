#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "facts/tosa_rows.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "ir/text.h"
#include "supported_ops.h"

namespace carina::tosa {
namespace {

using testing::HasSubstr;

ir::Module parsed(std::string_view text) {
  auto module = ir::parse(text, "text");
  EXPECT_TRUE(module.has_value()) << to_string(module.error());
  return module ? *std::move(module) : ir::Module();
}

std::vector<std::byte> written(std::string_view text) {
  const auto bytes = write_tosa(parsed(text));
  EXPECT_TRUE(bytes.has_value()) << to_string(bytes.error());
  return bytes.value_or(std::vector<std::byte>());
}

constexpr std::string_view kConvolution = R"(graph @main {
  input %x: i8[1,4,4,2]
  %w: i4[2,1,1,2] = [1, 2, 3, -8]
  %b: i32[2] = [0, 100]
  %zp: i8[1] = [5]
  %wzp: i4[1] = [0]
  %c: i8[1,4,4,2] = tosa.CLAMP(%x) {min_val = -7, max_val = 100, nan_mode = PROPAGATE}
  %y: i32[1,4,4,2] = tosa.CONV2D(%c, %w, %b, %zp, %wzp) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1], local_bound = true, acc_type = i32} at "model.py:41"
  %shape: shape[2] = [4, 8]
  %flat: i32[4,8] = tosa.RESHAPE(%y, %shape)
  output %flat
}
)";

constexpr std::string_view kControlFlow = R"(graph @main {
  input %n: i32[]
  input %c: bool[1]
  %i: i32[], %x: i32[2] = tosa.WHILE_LOOP(%n, %start) {cond_graph = "more", body_graph = "once"}
  %r: i32[2] = tosa.COND_IF(%c, %x) {then_graph = "double", else_graph = "same"}
  output %r
}

graph @more {
  input %i: i32[]
  input %x: i32[2]
  %limit: i32[] = [3]
  %b: bool[] = tosa.GREATER(%limit, %i)
  output %b
}

graph @once {
  input %i: i32[]
  input %x: i32[2]
  %one: i32[] = [1]
  %j: i32[] = tosa.ADD(%i, %one)
  %y: i32[2] = tosa.ADD(%x, %x)
  output %j
  output %y
}

graph @double {
  input %x: i32[2]
  %y: i32[2] = tosa.ADD(%x, %x)
  output %y
}

graph @same {
  input %x: i32[2]
  %y: i32[2] = tosa.IDENTITY(%x)
  output %y
}
)";

std::string control_flow() {
  std::string text(kControlFlow);
  text.insert(text.find("  %i: i32[], "), "  %start: i32[2] = [1, 2]\n");
  return text;
}

TEST(File, written_file_reads_back) {
  for (const std::string& text : {std::string(kConvolution), control_flow()}) {
    const ir::Module module = parsed(text);
    const auto bytes = write_tosa(module);
    ASSERT_TRUE(bytes.has_value()) << to_string(bytes.error());
    const auto back = read_tosa(Buffer::copy_of(*bytes), "x.tosa");
    ASSERT_TRUE(back.has_value()) << to_string(back.error());
    // Files separate shapes from tensors, so ids may change once. A second round trip changes nothing.
    const auto again = write_tosa(*back);
    ASSERT_TRUE(again.has_value());
    const auto back_again = read_tosa(Buffer::copy_of(*again), "x.tosa");
    ASSERT_TRUE(back_again.has_value());
    EXPECT_TRUE(identical(*back, *back_again)) << ir::print(*back) << ir::print(*back_again);
    EXPECT_EQ(back->main().nodes.size(), module.main().nodes.size());
    EXPECT_TRUE(verify(*back).has_value());
  }
}

TEST(File, constants_attributes_and_sources_are_kept) {
  const auto back = read_tosa(Buffer::copy_of(written(kConvolution)), "x.tosa");
  ASSERT_TRUE(back.has_value());
  const ir::Graph& graph = back->main();
  const ir::Value& weights = graph[*graph.find_value("w")];
  ASSERT_TRUE(weights.constant.has_value());
  EXPECT_EQ(weights.constant->values<int8_t>()[3], -8);
  EXPECT_EQ(graph.nodes[0].attributes.integer("min_val"), -7);
  EXPECT_EQ(graph.nodes[0].attributes.integer("max_val"), 100);
  EXPECT_EQ(graph.nodes[1].source, "model.py:41");
  EXPECT_TRUE(graph.nodes[1].attributes.get<bool>("local_bound"));
}

TEST(File, same_module_gives_same_bytes) {
  EXPECT_EQ(written(kConvolution), written(kConvolution));
}

TEST(File, truncations_are_errors) {
  const std::vector<std::byte> bytes = written(kConvolution);
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 13) {
    const auto module = read_tosa(Buffer::copy_of(std::span(bytes).first(size)), "x.tosa");
    EXPECT_TRUE(module.has_value() || !to_string(module.error()).empty());
  }
  EXPECT_FALSE(read_tosa(Buffer::copy_of(std::span(bytes).first(bytes.size() / 2)), "x.tosa").has_value());
}

TEST(File, flipped_bits_are_handled) {
  std::vector<std::byte> bytes = written(control_flow());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      const auto module = read_tosa(Buffer::copy_of(bytes), "x.tosa");
      if (module) (void)verify(*module);
      bytes[i] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

TEST(File, inexpressible_values_are_named) {
  const auto rejected = [](std::string_view text) {
    const auto bytes = write_tosa(parsed(text));
    return bytes ? std::string("written") : to_string(bytes.error());
  };
  EXPECT_NE(rejected("graph @g {\n  input %x: u8[1]\n  output %x\n}").find("TOSA 1.0 does not have"),
            std::string::npos);
  EXPECT_NE(rejected("graph @g {\n  input %x: i8[-1]\n  output %x\n}").find("cannot hold"), std::string::npos);
}

TEST(Variables, file_equals_official_tools) {
  constexpr std::string_view text = R"(graph @main {
  input %x: i8[2]
  %first: i8[2] = [7, 1]
  tosa.VARIABLE(%first) {name = "stored", var_shape = [2], type = i8} name "stored"
  %before: i8[2] = tosa.VARIABLE_READ() {name = "stored"}
  tosa.VARIABLE_WRITE(%x) {name = "stored"} name "stored"
  output %before
}
)";
  EXPECT_TRUE(verify(parsed(text)).has_value());
  const auto back = read_tosa(Buffer::copy_of(written(text)), "x.tosa");
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  ASSERT_EQ(back->main().nodes.size(), 3);
  EXPECT_EQ(back->main().nodes[1].op, ir::Op(TosaOp::VARIABLE_READ));
  EXPECT_EQ(back->main().nodes[2].attributes.get<std::string>("name"), "stored");
  EXPECT_TRUE(verify(*back).has_value()) << to_string(verify(*back).error());
}

std::string broken_rule(std::string_view statements, const VerifyOptions& options = {}) {
  const auto sound = verify(parsed(fmt::format("graph @g {{\n{}\n}}\n", statements)), options);
  return sound ? "none" : sound.error().front().what;
}

TEST(Verify, error_names_rule_and_section) {
  EXPECT_EQ(broken_rule("input %x: i32[2,3]\n %y: i32[2,4] = tosa.ADD(%x, %x)\n output %y"),
            "rule BROADCAST.1 (TOSA 1.0, section 2.5.1): the output's shape must be that of the broadcast operands");
}

TEST(Verify, general_rules_are_checked) {
  struct Bad {
    std::string_view rule;
    std::string_view statements;
  };
  for (const Bad& bad : {
           Bad{"TYPE.1", "input %x: i16[1]\n %y: i16[1] = tosa.ADD(%x, %x)"},
           Bad{"TYPE.1", "input %x: i32[1]\n input %z: fp32[1]\n %y: i32[1] = tosa.ADD(%x, %z)"},
           Bad{"RANK.1",
               "input %x: i8[1,2,3]\n %y: i8[1,2,3] = tosa.MAX_POOL2D(%x) {kernel = [1, 1], stride = [1, 1], pad = [0, "
               "0, 0, 0], nan_mode = PROPAGATE}"},
           Bad{"SHAPE.1", "input %x: i32[0]\n %y: i32[0] = tosa.ABS(%x)"},
           Bad{"SHAPE.2", "input %x: i32[2]\n %y: i32[3] = tosa.ABS(%x)"},
           Bad{"LEVEL.1", "input %x: i32[1,1,1,1,1,1,1]\n %y: i32[1,1,1,1,1,1,1] = tosa.ABS(%x)"},
           Bad{"LEVEL.2", "input %x: i32[65536,65536]\n %y: i32[65536,65536] = tosa.ABS(%x)"},
           Bad{"ENUM.1", "input %x: fp32[2]\n %y: fp32[2] = tosa.MAXIMUM(%x, %x) {nan_mode = 7}"},
           Bad{"ATTRIBUTE.1", "input %x: i32[2]\n %y: i32[2] = tosa.REVERSE(%x) {axis = 4294967296}"},
           Bad{"REDUCE.1", "input %x: i32[2]\n %y: i32[1] = tosa.REDUCE_SUM(%x) {axis = 1}"},
           Bad{"TABLE.1", "input %x: i8[2]\n %t: i8[3] = [1, 2, 3]\n %y: i8[2] = tosa.TABLE(%x, %t)"},
           Bad{"COND_IF.1",
               "input %c: bool[]\n tosa.COND_IF(%c) {then_graph = \"no\", else_graph = \"no\"} name \"n\""},
           Bad{"COND_IF.2", "input %c: bool[]\n tosa.COND_IF(%c) {then_graph = \"g\", else_graph = \"g\"} name \"n\""},
           Bad{"VARIABLE.3", "%y: i8[1] = tosa.VARIABLE_READ() {name = \"v\"}"},
       }) {
    EXPECT_TRUE(broken_rule(bad.statements).starts_with("rule " + std::string(bad.rule) + " "))
        << broken_rule(bad.statements) << "\n"
        << bad.statements;
  }
}

TEST(Verify, profiles_and_constants_are_checked) {
  constexpr std::string_view matmul =
      "input %a: i16[1,1,1]\n input %zp: i16[1]\n %y: i48[1,1,1] = tosa.MATMUL(%a, %a, %zp, %zp)";
  EXPECT_EQ(broken_rule(matmul), "none");
  EXPECT_TRUE(
      broken_rule(matmul, {.features = TosaFeature::kProInt | TosaFeature::kProFp}).starts_with("rule PROFILE.1"));
  const TosaFeatures without_dynamic = TosaFeature::kProInt | TosaFeature::kExtInt16;
  EXPECT_TRUE(broken_rule(matmul, {.features = without_dynamic}).starts_with("rule CONST.1"));
}

TEST(Verify, level_none_allows_more) {
  constexpr std::string_view rank7 = "input %x: i32[1,1,1,1,1,1,1]\n %y: i32[1,1,1,1,1,1,1] = tosa.ABS(%x)";
  EXPECT_EQ(broken_rule(rank7, {.level = kTosaLevelNone}), "none");
}

TEST(Verify, control_flow_rules_are_checked) {
  EXPECT_TRUE(verify(parsed(control_flow())).has_value());
  std::string text = control_flow();
  text.replace(text.find("graph @same {\n  input %x: i32[2]"), 32, "graph @same {\n  input %x: i32[3]");
  EXPECT_FALSE(verify(parsed(text)).has_value());
}

TEST(Rows, attributes_follow_schema) {
  // Compares the operators with the most attributes with a list written by hand.
  const auto names = [](TosaOp op) {
    std::string out;
    for (const TosaAttribute& attribute : row_of(op).attributes) out += std::string(attribute.name) + " ";
    return out;
  };
  EXPECT_EQ(names(TosaOp::CONV2D), "pad stride dilation local_bound acc_type ");
  EXPECT_EQ(names(TosaOp::RESCALE), "scale32 rounding_mode per_channel input_unsigned output_unsigned ");
  EXPECT_EQ(names(TosaOp::TRANSPOSE_CONV2D), "out_pad stride local_bound acc_type ");
}

// If CARINA_REBASE is set, the test writes the page instead.
TEST(SupportedOps, summary_is_up_to_date) {
  if (std::getenv("CARINA_REBASE") != nullptr)
    std::ofstream(CARINA_SOURCE_DIR "/docs/tosa-operators.md") << supported_ops_summary();
  std::ifstream file(CARINA_SOURCE_DIR "/docs/tosa-operators.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), supported_ops_summary()) << "run this test with CARINA_REBASE=1";
}

// If CARINA_PAGES names a folder, the test writes the page into it (scripts/generated_pages.py).
TEST(SupportedOps, page_has_every_operator_and_rule) {
  const std::string page = supported_ops_page();
  for (const TosaOpRow& row : kTosaRows)
    EXPECT_THAT(page, HasSubstr("\n| " + std::string(name_of(row.op).substr(5)) + " | " + std::string(row.section)));
  for (const RuleText& rule : rule_texts()) EXPECT_THAT(page, HasSubstr("\n| " + std::string(rule.id) + " |"));
  if (const char* folder = std::getenv("CARINA_PAGES"))
    std::ofstream(std::string(folder) + "/tosa-operators.md") << page;
}

}  // namespace
}  // namespace carina::tosa
