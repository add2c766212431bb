// Each allocation of an arena fails once. The call returns an error, nothing stays half loaded, and the next try
// succeeds.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/runtime/npu_program.h"

namespace carina::runtime {
namespace {

// Lists of numbers and of tensors, and two outputs: each kind of value that allocates in the arena.
ProgramBuilder program_of_lists() {
  ProgramBuilder builder;
  const int32_t x = builder.tensor({2, 4});
  const int32_t first = builder.tensor({2, 1});
  const int32_t second = builder.tensor({2, 3});
  const int32_t joined = builder.tensor({2, 4});
  const int32_t parts = builder.value(pte::TensorList{.tensors = {first, second}, .optional = false});
  const int32_t sizes = builder.int_list({1, 3});
  const int32_t one = builder.value(int64_t{1});
  builder.plan().inputs = {x};
  builder.plan().outputs = {joined};
  builder.call("aten::split_with_sizes_copy", "out", {x, sizes, one, parts, parts});
  builder.call("aten::cat", "out", {parts, one, joined, joined});
  return builder;
}

struct Case {
  const char* name;
  ProgramBuilder builder;
  size_t input_bytes;
};

class Allocations : public testing::Test {
 protected:
  // Loads a program while allocation number `nth` fails (0: none).
  Error load(Session& session, uint32_t nth) {
    CARINA_RT_TRY(session.prepare());
    session.method_arena.fail_allocation(nth);
    return session.load_method();
  }

  AddingDriver driver;
  EthosUBackend backend{driver};
  std::array<Backend*, 1> backends{&backend};
  const std::vector<Case> cases{{.name = "kernels", .builder = small_program(), .input_bytes = 24},
                                {.name = "lists", .builder = program_of_lists(), .input_bytes = 32},
                                {.name = "delegate", .builder = program_with(Blob().write()), .input_bytes = 8}};
};

TEST_F(Allocations, failure_while_loading_is_an_error) {
  for (const Case& one : cases) {
    const Buffer file = one.builder.write();
    uint32_t failed = 0;
    for (uint32_t nth = 1;; ++nth) {
      Session session(file, backends);
      const Error error = load(session, nth);
      if (error == Error::kOk) break;  // there are fewer allocations
      ASSERT_EQ(error, Error::kOutOfMemory) << one.name << " " << nth;
      EXPECT_EQ(session.method.instructions(), 0U);
      EXPECT_EQ(session.method.inputs(), 0U);
      EXPECT_EQ(session.method.execute(), Error::kNotLoaded);
      session.method_arena.reset();
      EXPECT_EQ(session.load_method(), Error::kOk) << one.name << " " << nth;
      ++failed;
    }
    EXPECT_GE(failed, 4U) << one.name;  // at least values, delegates, instructions and arguments
  }
}

TEST_F(Allocations, failure_while_executing_is_an_error) {
  const Case& delegate = cases.back();
  Session session(delegate.builder.write(), backends);
  ASSERT_EQ(session.load(), Error::kOk);
  const std::vector<int8_t> input{0, 10, 20, 30, 40, 50, 60, 70};
  session.scratch_arena.fail_allocation(1);
  EXPECT_EQ(session.run(input), Error::kOutOfMemory);
  EXPECT_EQ(session.method.problem().instruction, 0);
  EXPECT_EQ(driver.calls, 0);
  ASSERT_EQ(session.run(input), Error::kOk);  // the memory is available again for the next run
  EXPECT_EQ(session.output<int8_t>(), (std::vector<int8_t>{1, 11, 21, 31, 41, 51, 61, 71}));
}

// Kernels release all memory that they take from the scratch arena. The kernels of these programs take none.
TEST_F(Allocations, run_leaves_method_arena_unchanged) {
  for (const Case& one : cases) {
    Session session(one.builder.write(), backends);
    ASSERT_EQ(session.load(), Error::kOk);
    session.method_arena.fail_allocation(1);
    ASSERT_EQ(session.run(std::vector<std::byte>(one.input_bytes)), Error::kOk) << one.name;
    EXPECT_EQ(session.scratch_arena.used_bytes(), 0U);
  }
}

}  // namespace
}  // namespace carina::runtime
