#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../plan/build_graph.h"
#include "driver/compilation.h"

// A delegate that its check finds wrong. The command line turns the internal error into exit code 3.
namespace carina::driver {
namespace {

using testing::HasSubstr;

ir::Graph one_convolution() {
  plan::GraphBuilder b;
  b.graph.outputs = {b.conv(b.input("x", DType::kInt8, {1, 4, 4, 8}), 8, 1, 0)};
  return std::move(b.graph);
}

TEST(WrongDelegate, there_is_no_program_and_no_second_attempt) {
  int calls = 0;
  backends::Backend backend = *backends::find_backend(targets::TargetNames{.accelerator = "ethos-u55-128"});
  backend.compile = [&](const ir::Graph& tosa, const backends::DelegateOptions&,
                        const Log&) -> Result<backends::Delegate> {
    ++calls;
    return fail({.where = tosa.nodes[1].name, .what = "other values", .fault = Fault::kInternal, .node = 1});
  };
  const Compilation compilation = compile_tosa({.graph = one_convolution()}, "m.tosa", {}, backend, {});
  EXPECT_FALSE(compilation.package);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(compilation.errors.size(), 1);
  EXPECT_EQ(compilation.errors.front().fault, Fault::kInternal);
  EXPECT_THAT(to_string(compilation.errors), HasSubstr("RESCALE_1: other values"));
  EXPECT_FALSE(has_diagnostics(compilation)) << "the report of nodes would hide the mistake";
}

TEST(WrongDelegate, right_one_has_its_check_in_the_report) {
  const backends::Backend backend = *backends::find_backend(targets::TargetNames{.accelerator = "ethos-u55-128"});
  for (const auto& [check, is_checked] :
       {std::pair{options::Check::kQuick, true}, {options::Check::kFull, true}, {options::Check::kOff, false}}) {
    CompileOptions options;
    options.delegate.check = check;
    const Compilation compilation = compile_tosa({.graph = one_convolution()}, "m.tosa", options, backend, {});
    ASSERT_TRUE(compilation.delegated) << to_string(compilation.errors);
    const auto& report = compilation.delegated->delegates.front().report;
    EXPECT_EQ(report.check.has_value(), is_checked);
    if (is_checked) {
      EXPECT_EQ(report.check->operators, 2);
    }
  }
}

}  // namespace
}  // namespace carina::driver
