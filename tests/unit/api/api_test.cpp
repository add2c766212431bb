#include "carina/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/guarded.h"
#include "carina/check.h"
#include "frontend/tosa/flatbuffer.h"
#include "tests/unit/api/small_programs.h"

namespace carina::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<float> run_once(const std::vector<std::byte>& pte, const Sample& inputs) {
  const auto outcome = run(Buffer::copy_of(pte), inputs);
  EXPECT_TRUE(outcome.has_value()) << to_string(outcome.error());
  const auto values = outcome->outputs.front().tensor.values<float>();
  return {values.begin(), values.end()};
}

TEST(Api, model_in_memory_compiles_and_runs) {
  const auto program = compile(quantized_model(), kTarget);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  EXPECT_EQ(program->report.delegates.size(), 1U);
  const std::vector<float> y = run_once(program->pte, sample(1, -1));  // relu([1*1 - 1*2, 3*1 - 1*4]), and so on
  EXPECT_THAT(y, testing::Pointwise(testing::FloatNear(0.05F), std::vector<float>{0, 0}));
  EXPECT_NEAR(run_once(program->pte, sample(0.25, 1))[1], 4.75F, 0.1F);
}

TEST(Api, single_stages_give_same_delegate) {
  const Model model = quantized_model();
  const auto parts = partition(model, kTarget);
  ASSERT_TRUE(parts.has_value()) << to_string(parts.error());
  std::vector<DelegateBlob> blobs;
  for (const TosaFile& tosa : parts->delegates) {
    auto blob = compile_delegate(tosa, kTarget);
    ASSERT_TRUE(blob.has_value()) << to_string(blob.error());
    blobs.push_back(*std::move(blob));
  }
  ASSERT_EQ(blobs.size(), 1U);
  EXPECT_EQ(blobs[0].backend_id, "EthosUBackend");
  EXPECT_GT(blobs[0].report.estimate->cycles, 0);
  const auto pte = package(*parts, blobs);
  ASSERT_TRUE(pte.has_value()) << to_string(pte.error());
  // A TOSA file does not name nodes, so the names of layers differ. The commands of the NPU must not differ.
  const auto whole = compile(model, kTarget);
  EXPECT_FALSE(std::ranges::search(whole->pte, blobs[0].blob).empty());
  EXPECT_EQ(run_once(*pte, sample(0.25, 1)), run_once(whole->pte, sample(0.25, 1)));
  EXPECT_EQ(package(*parts, {}).error()[0].fault, Fault::kUsage);
}

TEST(Api, tosa_graph_compiles_to_program) {
  const auto parts = partition(quantized_model(), kTarget);
  const auto program = package_tosa(parts->delegates.at(0), kTarget);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  const Sample zeros{Tensor::of<int8_t>(DType::kInt8, {1, 2}, std::vector<int8_t>{0, 0})};
  EXPECT_TRUE(run(Buffer::copy_of(program->pte), zeros).has_value());
}

TEST(Api, explain_shares_sum_to_total_and_name_model_nodes) {
  const std::vector<Sample> samples{sample(1, -1)};
  const auto report = explain(Buffer::copy_of(pt2::small_model().archive()), "m.pt2", samples, kTarget);
  ASSERT_TRUE(report.has_value()) << to_string(report.error());
  EXPECT_THAT(report->errors, IsEmpty());
  const int64_t sum = std::accumulate(report->nodes.begin(), report->nodes.end(), int64_t{0},
                                      [](int64_t s, const auto& node) { return s + node.cycles; });
  EXPECT_EQ(sum, report->cycles);
  ASSERT_EQ(report->nodes.size(), 2U);
  EXPECT_EQ(report->nodes[0].name, "linear");
  EXPECT_EQ(report->nodes[0].runs_on, results::RunsOn::kNpu);
}

TEST(Api, explain_lists_blockers_of_all_stages) {
  pt2::ModelBuilder model = pt2::small_model();
  const auto add = [&](const std::string& op, const std::string& name, const std::string& from) {
    model.node("torch.ops.aten." + op, name, {1, 2}, {pt2::argument("self", pt2::tensor(from))});
  };
  add("no_such_thing.default", "unknown", "relu");  // unknown to the reader
  add("digamma.default", "digamma", "unknown");     // known to the reader, but no engine can run it
  add("neg.default", "neg", "digamma");
  model.output("neg");
  const auto report = explain(Buffer::copy_of(model.archive()), "m.pt2", {}, kTarget);
  ASSERT_TRUE(report.has_value()) << to_string(report.error());
  const auto runs_on = [&](const std::string& name) {
    return std::ranges::find(report->nodes, name, &results::NodeReport::name)->runs_on;
  };
  EXPECT_EQ(report->nodes.size(), 5U);
  EXPECT_EQ(runs_on("unknown"), results::RunsOn::kNowhere);
  EXPECT_EQ(runs_on("digamma"), results::RunsOn::kNowhere);
  EXPECT_EQ(runs_on("linear"), results::RunsOn::kUndecided);
  EXPECT_THAT(to_string(report->errors), AllOf(HasSubstr("no_such_thing"), HasSubstr("digamma")));
}

TEST(Api, wrong_inputs_are_diagnostics) {
  EXPECT_FALSE(import_pt2(Buffer::copy_of({}), "m.pt2").has_value());
  const std::vector<Sample> wrong{{Tensor::of<float>(DType::kFp32, {1, 3}, std::vector<float>{1, 2, 3})}};
  EXPECT_THAT(to_string(quantize(imported(pt2::small_model()), wrong).error()),
              AllOf(HasSubstr("[1,2]"), HasSubstr("[1,3]")));
  TargetNames unknown = kTarget;
  unknown.accelerator = "ethos-u55-129";
  const auto rejected = compile(imported(pt2::small_model()), unknown);
  EXPECT_EQ(rejected.error()[0].fault, Fault::kUsage);
  EXPECT_THAT(to_string(rejected.error()), AllOf(HasSubstr("ethos-u55-256"), HasSubstr("ethos-u65-512")));
  const std::vector<std::byte> junk(100);
  EXPECT_FALSE(compile_delegate(junk, kTarget).has_value());
  EXPECT_FALSE(run(Buffer::copy_of(junk), {}).has_value());
}

TEST(Api, names_in_any_case_are_accepted) {
  TargetNames loud = kTarget;
  loud.accelerator = "Ethos-U55-128";
  loud.memory_mode = "sram_only";
  const auto program = compile(quantized_model(), loud);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  EXPECT_EQ(program->report.target, "ethos-u55-128");
  EXPECT_EQ(program->report.memory_mode, "Sram_Only");
}

TEST(Guarded, exception_becomes_diagnostic) {
  const auto internal = guarded([]() -> Result<int> {
    CARINA_CHECK(false, "of a test");
    return 1;
  });
  ASSERT_FALSE(internal.has_value());
  EXPECT_EQ(internal.error()[0].fault, Fault::kInternal);
  EXPECT_THAT(to_string(internal.error()),
              AllOf(HasSubstr("internal error"), HasSubstr("of a test"), HasSubstr("report")));
  const auto memory = guarded([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_EQ(memory.error()[0].fault, Fault::kEnvironment);
  EXPECT_EQ(*guarded([]() -> Result<int> { return 3; }), 3);
}

}  // namespace
}  // namespace carina::api
