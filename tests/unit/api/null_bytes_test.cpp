// Bytes at a null pointer with a size above 0 are diagnostics, for each argument that is bytes.
#include <gtest/gtest.h>

#include "carina/session.h"
#include "carina/tosa_interpreter.h"
#include "tests/unit/api/small_programs.h"

namespace carina::api {
namespace {

const std::span<const std::byte> kNull(static_cast<const std::byte*>(nullptr), 8);

Buffer null_buffer() {
  return Buffer(nullptr, kNull);
}

TEST(NullBytes, files_are_rejected) {
  EXPECT_FALSE(import_pt2(null_buffer(), "m.pt2").has_value());
  EXPECT_FALSE(explain(null_buffer(), "m.pt2", {}, kTarget).has_value());
  EXPECT_FALSE(compile_delegate(kNull, kTarget).has_value());
  EXPECT_FALSE(package_tosa(kNull, kTarget).has_value());
  EXPECT_FALSE(TosaInterpreter::load(null_buffer()).has_value());
  EXPECT_FALSE(run(null_buffer(), sample(1, 2)).has_value());
  EXPECT_FALSE(Session::load(null_buffer()).has_value());
  EXPECT_FALSE(Session::load_in_place(kNull).has_value());
  EXPECT_FALSE(Session::load(Buffer::copy_of(small_pte()), {.data = {null_buffer()}}).has_value());
}

TEST(NullBytes, text_of_a_vela_ini_is_a_usage_error) {
  TargetNames target = kTarget;
  target.ini.push_back({.name = "board.ini", .text = null_buffer()});
  const auto program = compile(quantized_model(), target);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().front().fault, Fault::kUsage);
}

TEST(NullBytes, inputs_and_outputs_are_rejected) {
  auto session = Session::load(Buffer::copy_of(small_pte()));
  ASSERT_TRUE(session.has_value());
  EXPECT_FALSE(session->run({{.dtype = DType::kFp32, .shape = {1, 2}, .data = null_buffer()}}).has_value());
  std::vector<std::byte> memory(8);
  const std::span<const std::byte> in(memory);
  const std::span<std::byte> out(memory);
  const std::span<std::byte> null_out(static_cast<std::byte*>(nullptr), 8);
  EXPECT_FALSE(session->run_into({&kNull, 1}, {&out, 1}).has_value());
  EXPECT_FALSE(session->run_into({&in, 1}, {&null_out, 1}).has_value());
  EXPECT_TRUE(session->run_into({&in, 1}, {&out, 1}).has_value());
  const std::vector<Sample> samples{{{.dtype = DType::kFp32, .shape = {1, 2}, .data = null_buffer()}}};
  EXPECT_FALSE(quantize(imported(pt2::small_model()), samples).has_value());
}

}  // namespace
}  // namespace carina::api
