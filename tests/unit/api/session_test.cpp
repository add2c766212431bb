// Tests a program that is loaded once and runs many times, and the TOSA interpreter.
#include "carina/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include "carina/tosa_interpreter.h"
#include "pte/writer.h"
#include "tests/unit/api/small_programs.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina {
namespace {

using api::floats_of;
using api::sample;
using api::small_pte;
using testing::HasSubstr;

Session loaded(const std::vector<std::byte>& pte, const SessionOptions& options = {}) {
  auto session = Session::load(Buffer::copy_of(pte), options);
  EXPECT_TRUE(session.has_value()) << to_string(session.error());
  return *std::move(session);
}

// state += x; y = state: a program that keeps a sum between runs.
Buffer summing_program() {
  runtime::ProgramBuilder builder;
  const int32_t x = builder.tensor({2});
  const int32_t state = builder.tensor({2});
  const int32_t alpha = builder.value(int64_t{1});
  builder.plan().inputs = {x};
  builder.plan().outputs = {state};
  builder.call("aten::add", "out", {state, x, alpha, state, state});
  return builder.write();
}

TEST(Session, runs_give_what_one_run_gives) {
  const std::vector<std::byte> pte = small_pte();
  Session session = loaded(pte);
  EXPECT_EQ(session.method(), "forward");
  EXPECT_EQ(session.methods().size(), 1U);
  ASSERT_EQ(session.inputs().size(), 1U);
  EXPECT_EQ(session.inputs()[0].shape, Shape({1, 2}));
  ASSERT_EQ(session.outputs().size(), 1U);
  EXPECT_EQ(session.outputs()[0].dtype, DType::kFp32);
  for (const auto& [a, b] : {std::pair(1.0F, -1.0F), std::pair(0.25F, 1.0F), std::pair(1.0F, -1.0F)}) {
    const auto expected = api::run(Buffer::copy_of(pte), sample(a, b));
    const auto outputs = session.run(sample(a, b));
    ASSERT_TRUE(outputs.has_value()) << to_string(outputs.error());
    EXPECT_EQ(floats_of(outputs->at(0).tensor), floats_of(expected->outputs.at(0).tensor));
  }
}

TEST(Session, runs_into_callers_memory) {
  Session session = loaded(small_pte());
  const std::array<float, 2> x{0.25F, 1.0F};
  std::array<float, 2> y{};
  const std::array<std::span<const std::byte>, 1> inputs{std::as_bytes(std::span(x))};
  const std::array<std::span<std::byte>, 1> outputs{std::as_writable_bytes(std::span(y))};
  ASSERT_TRUE(session.run_into(inputs, outputs).has_value());
  const auto same = session.run(sample(0.25F, 1.0F));
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), floats_of(same->at(0).tensor));
  // An output of the wrong size stays unchanged.
  std::array<float, 3> larger{7, 7, 7};
  const std::array<std::span<std::byte>, 1> wrong{std::as_writable_bytes(std::span(larger))};
  const auto rejected = session.run_into(inputs, wrong);
  ASSERT_FALSE(rejected.has_value());
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("expected 8 bytes"));
  EXPECT_EQ(larger, (std::array<float, 3>{7, 7, 7}));
  EXPECT_FALSE(session.run_into({}, outputs).has_value());
  EXPECT_FALSE(session.run_into(inputs, {}).has_value());
}

TEST(Session, keeps_programs_state_until_reset) {
  auto session = Session::load(summing_program());
  ASSERT_TRUE(session.has_value()) << to_string(session.error());
  const Sample ones{Tensor::of<float>(DType::kFp32, {2}, std::vector<float>{1, 2})};
  const auto sum = [&](Session& of) { return floats_of(of.run(ones)->at(0).tensor); };
  EXPECT_EQ(sum(*session), (std::vector<float>{1, 2}));
  EXPECT_EQ(sum(*session), (std::vector<float>{2, 4}));
  auto clone = session->clone();
  ASSERT_TRUE(clone.has_value());
  EXPECT_EQ(sum(*clone), (std::vector<float>{1, 2}));
  EXPECT_EQ(sum(*session), (std::vector<float>{3, 6}));
  ASSERT_TRUE(session->reset().has_value());
  EXPECT_EQ(sum(*session), (std::vector<float>{1, 2}));
}

TEST(Session, loads_file_and_bytes_of_caller) {
  const std::vector<std::byte> pte = small_pte();
  const std::string path = testing::TempDir() + "session_test.pte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(pte.data()), static_cast<std::streamsize>(pte.size()));
  auto from_file = Session::load_file(path);
  std::remove(path.c_str());
  auto in_place = Session::load_in_place(pte);
  ASSERT_TRUE(from_file.has_value() && in_place.has_value());
  EXPECT_EQ(floats_of(from_file->run(sample(1, 1))->at(0).tensor),
            floats_of(in_place->run(sample(1, 1))->at(0).tensor));
  EXPECT_FALSE(Session::load_file(path + ".missing").has_value());
  const auto unknown = Session::load_in_place(pte, {.method = "backward"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(to_string(unknown.error()), HasSubstr("expected forward, got backward"));
}

TEST(Session, calls_of_several_threads_give_same_values) {
  Session shared = loaded(small_pte());
  const std::vector<float> expected = floats_of(shared.run(sample(0.25F, 1))->at(0).tensor);
  std::vector<int> wrong(4);
  const auto work = [&](Session& session, int& count) {
    for (int i = 0; i < 20; ++i) {
      const auto outputs = session.run(sample(0.25F, 1));
      count += outputs && floats_of(outputs->at(0).tensor) == expected ? 0 : 1;
    }
  };
  {
    Session one = *shared.clone();
    Session other = *shared.clone();
    const std::jthread a([&] { work(one, wrong[0]); });
    const std::jthread b([&] { work(other, wrong[1]); });
    const std::jthread c([&] { work(shared, wrong[2]); });
    const std::jthread d([&] { work(shared, wrong[3]); });
  }
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0, 0}));
}

TEST(Session, reports_last_run) {
  Session session = loaded(small_pte(), {.timed = true});
  EXPECT_EQ(session.report()->npu.cycles, 0);
  ASSERT_TRUE(session.run(sample(1, 1)).has_value());
  const auto first = session.report();
  ASSERT_TRUE(session.run(sample(1, 1)).has_value());
  const auto second = session.report();
  EXPECT_EQ(first->delegate_calls, 1);
  EXPECT_GT(first->npu.cycles, 0);
  EXPECT_EQ(first->npu.cycles, second->npu.cycles);
  EXPECT_EQ(first->npu.layers.size(), second->npu.layers.size());
}

TEST(Session, moved_from_one_and_stop_are_usage_errors) {
  Session session = loaded(small_pte());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(session.run(sample(1, 1), stop.get_token()).error()[0].fault, Fault::kUsage);
  ASSERT_TRUE(session.run(sample(1, 1)).has_value());
  const Session moved = std::move(session);
  EXPECT_EQ(session.run(sample(1, 1)).error()[0].fault, Fault::kUsage);
  EXPECT_EQ(session.reset().error()[0].fault, Fault::kUsage);
  EXPECT_EQ(session.clone().error()[0].fault, Fault::kUsage);
  EXPECT_EQ(session.report().error()[0].fault, Fault::kUsage);
  EXPECT_TRUE(session.inputs().empty());
  EXPECT_TRUE(session.method().empty());
}

TEST(TosaInterpreter, gives_bits_of_npu) {
  const auto parts = api::partition(api::quantized_model(), api::kTarget);
  const Buffer tosa = Buffer::copy_of(parts->delegates.at(0));
  auto interpreter = TosaInterpreter::load(tosa, {.timed = true});
  ASSERT_TRUE(interpreter.has_value()) << to_string(interpreter.error());
  ASSERT_EQ(interpreter->inputs().size(), 1U);
  const Sample x{Tensor::of<int8_t>(DType::kInt8, {1, 2}, std::vector<int8_t>{100, -100})};
  const auto outputs = interpreter->run(x);
  ASSERT_TRUE(outputs.has_value()) << to_string(outputs.error());
  const auto npu = api::run(Buffer::copy_of(api::package_tosa(tosa.bytes(), api::kTarget)->pte), x);
  ASSERT_TRUE(npu.has_value()) << to_string(npu.error());
  EXPECT_TRUE(identical(outputs->at(0).tensor, npu->outputs.at(0).tensor));
  EXPECT_FALSE(interpreter->times()->empty());
  EXPECT_TRUE(interpreter->reset().has_value());
}

TEST(TosaInterpreter, wrong_arguments_are_errors) {
  EXPECT_FALSE(TosaInterpreter::load(Buffer::copy_of(std::vector<std::byte>(40))).has_value());
  const auto parts = api::partition(api::quantized_model(), api::kTarget);
  const Buffer tosa = Buffer::copy_of(parts->delegates.at(0));
  EXPECT_EQ(TosaInterpreter::load(tosa, {.threads = 0}).error()[0].fault, Fault::kUsage);
  EXPECT_EQ(TosaInterpreter::load(tosa, {.level = "9K"}).error()[0].fault, Fault::kUsage);
  auto interpreter = TosaInterpreter::load(tosa);
  ASSERT_TRUE(interpreter.has_value());
  const Sample short_data{{.dtype = DType::kInt8, .shape = {1, 2}, .data = Buffer::copy_of(std::vector<std::byte>(1))}};
  const auto rejected = interpreter->run(short_data);
  ASSERT_FALSE(rejected.has_value());
  EXPECT_THAT(to_string(rejected.error()), HasSubstr("expected 2 bytes, got 1 bytes"));
  EXPECT_EQ(rejected.error()[0].fault, Fault::kInput);
}

}  // namespace
}  // namespace carina
