// State of a program: what is found to be state, its initial values, reset, save and restore; damaged tables of initial
// values are rejected.
#include <gtest/gtest.h>

#include "runtime/sizes.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

// Adds each x of 2 elements to a sum, as ExecuTorch writes it: next = sum + x; the output; then sum is overwritten.
struct Summing {
  explicit Summing(const std::string& name = {}, const std::vector<float>& initial = {}) {
    x = builder.tensor({2});
    sum = builder.tensor({2});
    const int32_t next = builder.tensor({2}), out = builder.tensor({2});
    const int32_t one = builder.value(int64_t{1}), no = builder.value(false);
    auto& spec = std::get<pte::TensorSpec>(builder.plan().values[static_cast<size_t>(sum)]);
    spec.state_name = name;
    if (!initial.empty()) spec.initial = Buffer::copy_of(std::as_bytes(std::span(initial)));
    builder.plan().inputs = {x};
    builder.plan().outputs = {out};
    builder.call("aten::add", "out", {sum, x, one, next, next});
    builder.call("aten::relu", "out", {next, out, out});
    builder.call("aten::copy_", "", {sum, next, no, sum});
  }

  ProgramBuilder builder;
  int32_t x = 0;
  int32_t sum = 0;
};

std::vector<float> step(Session& session, const std::vector<float>& x) {
  EXPECT_EQ(session.run(x), Error::kOk) << session.method.problem().name;
  return session.output<float>();
}

TEST(State, tensor_read_before_it_is_written_is_state) {
  Session session(Summing().builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  ASSERT_EQ(session.method.states(), 1U);
  EXPECT_EQ(session.method.state(0).name, "");
  EXPECT_EQ(session.method.state(0).tensor->bytes(), 8U);
  EXPECT_EQ(session.method.state(1).tensor, nullptr);
  EXPECT_EQ(step(session, {1, 2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(step(session, {1, 2}), (std::vector<float>{2, 4}));
}

// ExecuTorch leaves out the instructions of views: a view has the memory of another tensor.
TEST(State, view_without_an_instruction_is_no_state) {
  Summing summing;
  ProgramBuilder& builder = summing.builder;
  const auto view_of = [&](int32_t tensor) {
    auto spec = std::get<pte::TensorSpec>(builder.plan().values[static_cast<size_t>(tensor)]);
    spec.shape = {2, 1};
    return builder.value(std::move(spec));
  };
  const int32_t of_output = view_of(builder.plan().outputs[0]), of_input = view_of(summing.x);
  const int32_t of_state = view_of(summing.sum);
  for (const int32_t view : {of_output, of_input, of_state}) {
    const int32_t out = builder.tensor({2, 1});
    builder.call("aten::relu", "out", {view, out, out});
  }
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.method.states(), 1U);
  EXPECT_EQ(session.method.state_bytes(), 8U);
}

TEST(State, program_without_state_has_none) {
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.method.states(), 0U);
  EXPECT_EQ(session.method.state_bytes(), 0U);
  EXPECT_EQ(session.method.reset_state(), Error::kOk);
}

TEST(State, initial_values_are_those_of_the_program_after_load_and_reset) {
  Session session(Summing("model.sum", {5, 7}).builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.method.state(0).name, "model.sum");
  EXPECT_EQ(step(session, {1, 1}), (std::vector<float>{6, 8}));
  EXPECT_EQ(step(session, {1, 1}), (std::vector<float>{7, 9}));
  ASSERT_EQ(session.method.reset_state(), Error::kOk);
  EXPECT_EQ(step(session, {1, 1}), (std::vector<float>{6, 8}));
}

TEST(State, sizes_count_the_table_of_initial_values) {
  Session session(Summing("model.sum", {5, 7}).builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  MethodSizes sizes;
  ASSERT_EQ(method_sizes(session.program, 0, {}, sizes), Error::kOk);
  EXPECT_EQ(sizes.method_bytes, session.method_arena.used_bytes());
}

TEST(State, restored_state_continues_where_it_was_saved) {
  Session session(Summing().builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  step(session, {1, 2});
  std::vector<std::byte> saved(session.method.state_bytes());
  ASSERT_EQ(session.method.save_state(saved), Error::kOk);
  step(session, {10, 10});
  ASSERT_EQ(session.method.restore_state(saved), Error::kOk);
  EXPECT_EQ(step(session, {1, 2}), (std::vector<float>{2, 4}));
  EXPECT_EQ(session.method.save_state(std::span(saved).first(4)), Error::kInvalidArgument);
  EXPECT_EQ(session.method.restore_state(std::span(saved).first(4)), Error::kInvalidArgument);
}

TEST(State, method_that_is_not_loaded_has_none) {
  Method method;
  std::vector<std::byte> none;
  EXPECT_EQ(method.reset_state(), Error::kNotLoaded);
  EXPECT_EQ(method.save_state(none), Error::kNotLoaded);
  EXPECT_EQ(method.restore_state(none), Error::kNotLoaded);
  EXPECT_EQ(method.states(), 0U);
}

// The index of an initial value is that of the table, not of a constant. Without a table it points nowhere.
TEST(State, initial_value_that_is_missing_is_rejected) {
  Summing summing;
  auto& spec = std::get<pte::TensorSpec>(summing.builder.plan().values[static_cast<size_t>(summing.sum)]);
  spec.constant = 1;  // written as the tensor's index, beside its planned memory
  Session session(summing.builder.write());
  EXPECT_EQ(session.load(), Error::kInvalidProgram);
}

// Loading twice does not depend on what the memory held.
TEST(State, two_methods_share_memory_that_the_caller_shares) {
  const Buffer file = Summing("sum", {1, 1}).builder.write();
  Program program;
  ASSERT_EQ(program.load(file.bytes()), Error::kOk);
  MutableBuffer planned = MutableBuffer::allocate(program.planned_buffer_bytes(0, 0));
  MutableBuffer tables = MutableBuffer::allocate(Session::kPlenty), scratch = MutableBuffer::allocate(1 << 10);
  const std::span<std::byte> buffers[] = {planned.bytes()};
  Arena table_arena(tables.bytes()), scratch_arena(scratch.bytes());
  const MemoryManager memory{.method = &table_arena, .scratch = &scratch_arena, .planned = buffers};
  Method first, second;
  ASSERT_EQ(first.load(program, 0, memory, {.kernels = portable_kernels(), .backends = {}}), Error::kOk);
  ASSERT_EQ(second.load(program, 0, memory, {.kernels = portable_kernels(), .backends = {}}), Error::kOk);
  const std::vector<float> x{1, 2};
  for (Method* method : {&first, &second, &first}) {
    ASSERT_EQ(method->set_input(0, std::as_bytes(std::span(x))), Error::kOk);
    ASSERT_EQ(method->execute(), Error::kOk);
  }
  const float* out = first.output(0).tensor.as<float>();
  EXPECT_EQ(std::vector<float>(out, out + 2), (std::vector<float>{4, 7}));
}

}  // namespace
}  // namespace carina::runtime
