#include "check/check_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../plan/networks.h"
#include "check/draw_inputs.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "plan/compile.h"

namespace carina::check {
namespace {

using npu::Command;
using npu::Reg;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Three convolutions, one after the other: CONV2D_0, RESCALE_1, CONV2D_2 ... Each RESCALE is part of the operation
// before it.
ir::Graph three_convolutions() {
  plan::GraphBuilder b;
  const auto x = b.input("x", DType::kInt8, {1, 12, 12, 8});
  b.graph.outputs = {b.conv(b.conv(b.conv(x, 24, 3, 1, 40, 1), 16, 1, 0, 40, 2), 10, 3, 0, 40, 3)};
  return std::move(b.graph);
}

npu::CompiledNetwork compiled(const ir::Graph& graph, const std::string& npu = "ethos-u55-128") {
  return plan::compile(graph, *plan::find_target(npu, "", ""), {}, {}).value();
}

// What was checked, or the message.
std::string checked(const ir::Graph& graph, const npu::CompiledNetwork& network,
                    options::Check extent = options::Check::kFull) {
  const auto report = check_network({.tosa = graph, .network = network, .extent = extent}, {});
  if (!report) return to_string(report.error());
  return "checked " + std::to_string(report->operators) + " " + report->unchecked;
}

bool sets(const Command& command, Reg reg) {
  return command.kind == Command::Kind::kRegister && command.reg == reg;
}

// Writes the command stream again, with each command as `edit` leaves it; commands for which it returns false are left
// out.
void edit_stream(npu::CompiledNetwork& network, const std::function<bool(Command&)>& edit) {
  const auto payload = *npu::parse_payload(network.command_payload, "stream");
  std::vector<uint32_t> words;
  std::vector<Command> commands = *npu::read_stream(payload.accelerator()->product, payload.stream, "stream");
  for (Command& command : commands) {
    if (!edit(command)) continue;
    words.push_back(static_cast<uint32_t>(command.param) << 16 | (payload.stream[command.word_index] & 0xFFFF));
    if (command.words() == 2) words.push_back(command.payload);
  }
  network.command_payload = npu::build_payload(*payload.accelerator(), words);
}

// Edits the command that sets a register for the `count`th time.
void edit_setting(npu::CompiledNetwork& network, Reg reg, int count, const std::function<void(Command&)>& edit) {
  int seen = 0;
  edit_stream(network, [&](Command& command) {
    if (sets(command, reg) && ++seen == count) edit(command);
    return true;
  });
  ASSERT_GE(seen, count);
}

TEST(CheckNetwork, right_network_passes_on_every_npu) {
  const ir::Graph graph = three_convolutions();
  for (const npu::AcceleratorConfig& npu : npu::kAccelerators)
    EXPECT_EQ(checked(graph, compiled(graph, std::string(npu.name))), "checked 6 ") << npu.name;
}

// The scales of the last layer; their first bytes are the first channel's bias.
TEST(CheckNetwork, altered_constant_names_the_layer) {
  const ir::Graph graph = three_convolutions();
  plan::Options options;
  options.left_out.set(static_cast<size_t>(plan::Optimization::kStagedWeights));  // addresses are those of constants
  npu::CompiledNetwork network = plan::compile(graph, *plan::find_target("ethos-u55-128", "", ""), options, {}).value();
  uint32_t scales = 0;
  edit_stream(network, [&](const Command& command) {
    if (sets(command, Reg::SCALE_BASE)) scales = command.payload;
    return true;
  });
  network.weights[scales + 1] ^= std::byte{64};
  EXPECT_THAT(checked(graph, network), StartsWith("RESCALE_5 (model.py:1): the NPU program gives other values"));
}

TEST(CheckNetwork, result_at_another_address_is_a_difference) {
  const ir::Graph graph = three_convolutions();
  npu::CompiledNetwork network = compiled(graph);
  edit_setting(network, Reg::OFM_BASE0, 3, [](Command& command) { command.payload += 16; });
  EXPECT_THAT(checked(graph, network), StartsWith("RESCALE_5 (model.py:1): the NPU program gives other values"));
}

// Nothing writes the last of ten rows, where memory holds garbage.
TEST(CheckNetwork, rows_that_nothing_writes_are_a_difference) {
  const ir::Graph graph = three_convolutions();
  npu::CompiledNetwork network = compiled(graph);
  edit_stream(network, [](Command& command) {
    if (sets(command, Reg::OFM_HEIGHT_M1) && command.param == 9) command.param = 8;
    return true;
  });
  EXPECT_THAT(checked(graph, network),
              AllOf(StartsWith("RESCALE_5 (model.py:1)"), HasSubstr("of 1000 elements differ")));
}

// An NPU has the value of an earlier stream in it.
TEST(CheckNetwork, register_that_nothing_sets_is_named) {
  const ir::Graph graph = three_convolutions();
  for (const Reg reg : {Reg::OFM_STRIDE_C, Reg::IFM_PAD_TOP, Reg::ACTIVATION_MAX, Reg::WEIGHT_REGION, Reg::BLOCKDEP}) {
    for (const char* npu : {"ethos-u55-128", "ethos-u65-512", "ethos-u85-256"}) {
      npu::CompiledNetwork network = compiled(graph, npu);
      edit_stream(network, [&](const Command& command) { return !sets(command, reg); });
      const std::string name(npu::row_of(reg).name);
      EXPECT_THAT(checked(graph, network),
                  AllOf(HasSubstr("_0 (model.py:1): the NPU program is wrong"), HasSubstr("uses " + name + ", which")))
          << npu;
    }
  }
}

TEST(CheckNetwork, address_outside_of_the_arena_names_the_layer) {
  const ir::Graph graph = three_convolutions();
  npu::CompiledNetwork network = compiled(graph);
  edit_setting(network, Reg::IFM_BASE0, 2, [](Command& command) { command.payload = 1 << 24; });
  EXPECT_THAT(checked(graph, network), StartsWith("CONV2D_2 (model.py:1): the NPU program is wrong"));
}

// The simulator runs operations one after the other, so the values are right without a wait, too.
TEST(CheckNetwork, full_finds_operations_that_do_not_wait) {
  const ir::Graph graph = three_convolutions();
  npu::CompiledNetwork network = compiled(graph);
  edit_stream(network, [](const Command& command) {
    return command.kind != Command::Kind::kOperation || command.op != npu::Op::DMA_WAIT;
  });
  EXPECT_THAT(checked(graph, network),
              StartsWith("check: the NPU program is wrong, although the values are the model's"));
  EXPECT_THAT(checked(graph, network, options::Check::kQuick), StartsWith("checked"));
}

TEST(CheckNetwork, fault_is_internal_and_has_the_node) {
  const ir::Graph graph = three_convolutions();
  npu::CompiledNetwork network = compiled(graph);
  edit_setting(network, Reg::OFM_BASE0, 3, [](Command& command) { command.payload += 16; });
  const auto report = check_network({.tosa = graph, .network = network}, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().front().fault, Fault::kInternal);
  EXPECT_EQ(report.error().front().node, 5);
  EXPECT_THAT(report.error().front().hint, HasSubstr("--check=off"));
}

TEST(CheckNetwork, notes_tell_where_the_results_of_operations_are) {
  const ir::Graph graph = three_convolutions();
  const auto made_by = ir::producers(graph);
  for (const char* npu : {"ethos-u55-128", "ethos-u85-256"}) {
    std::vector<size_t> nodes;
    for (const npu::ValueNote& note : compiled(graph, npu).values) nodes.push_back(made_by[note.value].index());
    EXPECT_THAT(nodes, testing::ElementsAre(1, 3, 5)) << npu;
  }
}

// Large images with few weights: the check of all operators would take longer than the compilation.
ir::Graph large_images() {
  plan::GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 96, 96, 16});
  for (int i = 0; i < 12; ++i) x = b.conv(x, 16, 3, 1, 40, i);
  b.graph.outputs = {x};
  return std::move(b.graph);
}

TEST(CheckNetwork, quick_checks_the_first_operators_of_a_large_network) {
  const ir::Graph graph = large_images();
  const npu::CompiledNetwork network = compiled(graph, "ethos-u85-256");
  const auto quick = check_network({.tosa = graph, .network = network, .extent = options::Check::kQuick}, {});
  ASSERT_TRUE(quick) << to_string(quick.error());
  EXPECT_GT(quick->operators, 0);
  EXPECT_LT(quick->operators, 24);
  EXPECT_EQ(quick->operators % 2, 0);  // a cut after a RESCALE: the sums of a convolution are nowhere
  EXPECT_EQ(quick->samples, 1);
  EXPECT_THAT(quick->unchecked, HasSubstr("--check=full"));
}

// All operators with one sample, where two would take too long.
TEST(CheckNetwork, quick_draws_fewer_samples_before_it_leaves_operators_out) {
  plan::GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 36, 36, 16});
  for (int i = 0; i < 5; ++i) x = b.conv(x, 16, 3, 1, 40, i);
  b.graph.outputs = {x};
  const npu::CompiledNetwork network = compiled(b.graph, "ethos-u85-256");
  const auto quick = check_network({.tosa = b.graph, .network = network, .extent = options::Check::kQuick}, {});
  ASSERT_TRUE(quick) << to_string(quick.error());
  EXPECT_EQ(quick->operators, 10);
  EXPECT_EQ(quick->samples, 1);
  EXPECT_EQ(quick->unchecked, "");
}

TEST(CheckNetwork, quick_finds_a_fault_in_the_first_operators) {
  const ir::Graph graph = large_images();
  npu::CompiledNetwork network = compiled(graph, "ethos-u85-256");
  edit_setting(network, Reg::IFM_ZERO_POINT, 1, [](Command& command) { command.param ^= 1; });
  EXPECT_THAT(checked(graph, network, options::Check::kQuick), StartsWith("RESCALE_1 (model.py:1)"));
}

// Three steps from the initial state; a full check also draws states.
TEST(CheckNetwork, state_is_passed_on_for_three_steps) {
  const ir::Graph graph = plan::ring_of_rows();
  const npu::CompiledNetwork network = compiled(graph);
  const std::vector<int8_t> rows(490, 7);
  NetworkCheck what{.tosa = graph, .network = network};
  what.ties = {{.input = 0, .output = 0, .initial = Tensor::of<int8_t>(DType::kInt8, {1, 49, 10}, rows)}};
  EXPECT_EQ(check_network(what, {})->samples, kSteps + kSamples);
  what.extent = options::Check::kQuick;
  what.front_end.has_imported = true;
  EXPECT_EQ(check_network(what, {})->samples, kSteps);
}

}  // namespace
}  // namespace carina::check
