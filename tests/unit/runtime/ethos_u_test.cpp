#include "runtime/backends/ethos_u.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>

#include "tests/unit/runtime/npu_program.h"

namespace carina::runtime {
namespace {

struct EthosU : testing::Test {
  Error run(const ProgramBuilder& builder, size_t inputs = 8, size_t scratch = Session::kPlenty,
            pte::DelegateData data = pte::DelegateData::kInline) {
    session.emplace(builder.write(data), backends, Session::kPlenty, scratch);
    CARINA_RT_TRY(session->load());
    std::vector<int8_t> input(inputs);
    for (size_t i = 0; i < inputs; ++i) input[i] = static_cast<int8_t>(i * 10);
    return session->run(input);
  }

  AddingDriver driver;
  EthosUBackend backend{driver};
  std::array<Backend*, 1> backends{&backend};
  std::optional<Session> session;
};

// A blob of ExecuTorch before 0.4, with the delegate id of that version.
TEST_F(EthosU, old_blobs_run) {
  const Blob blob{.inputs = {1, 8, 0, 0, 0, 1, 0, 1}, .outputs = {1, 2, 4, 0, 0, 1, 16, 1}, .old = true};
  ProgramBuilder builder = program_with(blob.write());
  builder.plan().delegates[0].backend = "ArmBackend";
  ASSERT_EQ(run(builder), Error::kOk);
  EXPECT_EQ(session->output<int8_t>(), (std::vector<int8_t>{1, 11, 21, 31, 41, 51, 61, 71}));
  EXPECT_EQ(session->scratch_arena.peak_bytes(), 32U);
}

TEST_F(EthosU, damaged_old_blobs_are_errors) {
  const Blob beyond{.inputs = {1, 8, 0, 0, 0, 1, 0, 1}, .outputs = {1, 2, 9, 0, 0, 1, 16, 1}, .old = true};
  EXPECT_EQ(run(program_with(beyond.write())), Error::kInvalidProgram);
  const Blob torn{.inputs = {1, 8, 0, 0, 0, 1, 0, 1}, .outputs = {2, 2, 4, 0, 0, 1, 16, 1}, .old = true};
  EXPECT_EQ(run(program_with(torn.write())), Error::kInvalidProgram);
}

TEST_F(EthosU, execute_copies_inputs_and_outputs) {
  for (const auto data : {pte::DelegateData::kInline, pte::DelegateData::kSegment}) {
    ASSERT_EQ(run(program_with(Blob().write()), 8, Session::kPlenty, data), Error::kOk);
    EXPECT_EQ(session->output<int8_t>(), (std::vector<int8_t>{1, 11, 21, 31, 41, 51, 61, 71}));
  }
  EXPECT_EQ(driver.calls, 2);
  EXPECT_EQ(driver.commands, 12U);
  EXPECT_EQ(driver.weights, 12U);
  EXPECT_TRUE(session->method.calls_delegate(0));
  EXPECT_EQ(session->method.instruction_name(0), "EthosUBackend");
  EXPECT_EQ(session->scratch_arena.peak_bytes(), 32U);
}

TEST_F(EthosU, padded_rows_are_trimmed) {
  ASSERT_EQ(run(program_with(Blob().write(), {8}, {2, 3})), Error::kOk);
  EXPECT_EQ(session->output<int8_t>(), (std::vector<int8_t>{1, 11, 21, 41, 51, 61}));
}

TEST_F(EthosU, 4_bit_outputs_unpack_low_half_first) {
  ASSERT_EQ(run(program_with(Blob().write(), {8}, {16})), Error::kOk);
  EXPECT_EQ(session->output<int8_t>()[2], -5);  // 11 is 0x0b
  EXPECT_EQ(session->output<int8_t>()[3], 0);
}

TEST_F(EthosU, wrong_tensors_are_errors_before_copying) {
  EXPECT_EQ(run(program_with(Blob().write(), {9}), 9), Error::kInvalidArgument);
  EXPECT_EQ(run(program_with(Blob().write(), {8}, {8}, DType::kInt32)), Error::kInvalidArgument);
  EXPECT_EQ(run(program_with(Blob().write(), {8}, {3, 3})), Error::kInvalidArgument);
  EXPECT_EQ(driver.calls, 0);
}

TEST_F(EthosU, device_fault_is_reported) {
  driver.result = Error::kDelegateFailed;
  EXPECT_EQ(run(program_with(Blob().write())), Error::kDelegateFailed);
  EXPECT_STREQ(session->method.problem().name, "EthosUBackend");
}

TEST_F(EthosU, too_small_scratch_is_reported) {
  for (size_t bytes = 0; bytes < 32; ++bytes)
    EXPECT_EQ(run(program_with(Blob().write()), 8, bytes), Error::kOutOfMemory);
  EXPECT_EQ(run(program_with(Blob().write()), 8, 32), Error::kOk);
}

TEST_F(EthosU, tensors_outside_scratch_are_errors) {
  for (const int32_t offset : {25, 100, -1, INT32_MAX}) {
    Blob blob;
    blob.inputs[8] = offset;
    EXPECT_EQ(run(program_with(blob.write())), Error::kInvalidProgram) << offset;
  }
  Blob blob;
  blob.outputs[9] = 2;
  EXPECT_EQ(run(program_with(blob.write())), Error::kNotSupported);
  blob = {};
  blob.inputs = {1, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 1, 8, 1, 0, 1};
  EXPECT_EQ(run(program_with(blob.write())), Error::kInvalidProgram);
  blob = {};
  blob.inputs[0] = 2;
  EXPECT_EQ(run(program_with(blob.write())), Error::kInvalidProgram);
  blob = {};
  blob.commands[0] = 0;
  EXPECT_EQ(run(program_with(blob.write())), Error::kInvalidProgram);
}

TEST_F(EthosU, truncated_blob_is_an_error) {
  const std::vector<std::byte> whole = Blob().write();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Buffer part = Buffer::copy_of(std::span(whole).first(size));
    NpuStream stream;
    EXPECT_NE(read_npu_stream(part.bytes(), stream), Error::kOk) << size;
  }
}

TEST_F(EthosU, flipped_bits_of_blob_are_handled) {
  const std::vector<std::byte> whole = Blob().write();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const Buffer file = Buffer::copy_of(damaged);
    NpuStream stream;
    static_cast<void>(read_npu_stream(file.bytes(), stream));
  }
}

}  // namespace
}  // namespace carina::runtime
