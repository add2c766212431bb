#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

TEST(Program, program_runs_and_describes_itself) {
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.program.method_name(0), "forward");
  EXPECT_EQ(session.program.planned_buffers(0), 1U);
  EXPECT_EQ(session.program.planned_buffer_bytes(0, 0), 96U);
  ASSERT_EQ(session.method.instructions(), 2U);
  EXPECT_EQ(session.method.instruction_name(0), "aten::add.out");
  EXPECT_FALSE(session.method.calls_delegate(0));
  ASSERT_EQ(session.run<float>({-3, -2, -1, 0, 1, 2}), Error::kOk);
  EXPECT_EQ(session.output<float>(), (std::vector<float>{0, 0, 0, 1, 2, 3}));
}

TEST(Program, load_without_memory_is_error) {
  Session session(small_program().write());
  ASSERT_EQ(session.prepare(), Error::kOk);
  const Linkage linkage{.kernels = portable_kernels(), .backends = {}};
  std::array<std::byte, 96> planned{};
  const std::array<std::span<std::byte>, 1> buffers{planned};
  Arena* const arena = &session.method_arena;
  for (const MemoryManager& memory : {MemoryManager{.method = nullptr, .scratch = arena, .planned = buffers},
                                      MemoryManager{.method = arena, .scratch = nullptr, .planned = buffers},
                                      MemoryManager{.method = arena, .scratch = arena, .planned = {}}}) {
    EXPECT_EQ(session.method.load(session.program, 0, memory, linkage), Error::kInvalidArgument);
    EXPECT_FALSE(session.method.is_loaded());
    EXPECT_EQ(session.method.execute(), Error::kNotLoaded);
  }
}

TEST(Program, run_does_not_allocate) {
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  const size_t used = session.method_arena.used_bytes();
  ASSERT_EQ(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kOk);
  ASSERT_EQ(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kOk);
  EXPECT_EQ(session.method_arena.used_bytes(), used);
  EXPECT_EQ(session.scratch_arena.used_bytes(), 0U);
}

// A delegate that needs scratch memory, and counts its runs.
class NeedsScratch final : public Backend {
 public:
  [[nodiscard]] std::string_view id() const override { return "NeedsScratch"; }
  Error init(std::span<const std::byte> blob, std::span<const CompileSpec> /*specs*/, Arena& /*arena*/,
             void** handle) override {
    *handle = const_cast<std::byte*>(blob.data());
    return Error::kOk;
  }
  Error execute(void* handle, Arguments /*arguments*/, Arena& scratch) override {
    int32_t needed = 0;
    std::memcpy(&needed, handle, sizeof needed);
    if (scratch.allocate(static_cast<size_t>(needed)) == nullptr) return Error::kOutOfMemory;
    runs.push_back(needed);
    return Error::kOk;
  }
  std::vector<int32_t> runs;
};

// Keeps the instructions of before() as n and those of after() as -n.
class Steps final : public InstructionObserver {
 public:
  void before(size_t instruction) override { seen.push_back(static_cast<int>(instruction)); }
  void after(size_t instruction) override { seen.push_back(-static_cast<int>(instruction)); }
  std::vector<int> seen;
};

// small_program() with calls of two delegates after it, which need 64 and 4,096 bytes of scratch memory.
Buffer program_with_delegates() {
  ProgramBuilder builder = small_program();
  for (const int32_t needed : {64, 4096}) {
    const std::vector<int32_t> blob(8, needed);
    builder.plan().delegates.push_back(
        {.backend = "NeedsScratch", .blob = Buffer::copy_of(std::as_bytes(std::span(blob))), .compile_specs = {}});
    builder.plan().instructions.emplace_back(pte::DelegateCall{
        .delegate = static_cast<int32_t>(builder.plan().delegates.size() - 1), .arguments = builder.plan().outputs});
  }
  return builder.write();
}

TEST(Program, run_that_lacks_scratch_memory_is_resumed) {
  NeedsScratch backend;
  std::array<Backend*, 1> backends{&backend};
  Session session(program_with_delegates(), backends, Session::kPlenty, 1024);
  ASSERT_EQ(session.load(), Error::kOk);
  Steps steps;
  session.method.observe(&steps);
  ASSERT_EQ(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kOutOfMemory);
  EXPECT_EQ(session.method.problem().instruction, 3);
  EXPECT_EQ(session.method.resume(), Error::kOutOfMemory);
  MutableBuffer more = MutableBuffer::allocate(8192);
  session.scratch_arena = Arena(more.bytes());
  ASSERT_EQ(session.method.resume(), Error::kOk);
  EXPECT_EQ(backend.runs, (std::vector<int32_t>{64, 4096}));  // each once
  EXPECT_EQ(steps.seen, (std::vector<int>{0, 0, 1, -1, 2, -2, 3, -3}));
  EXPECT_EQ(session.output<float>(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(session.method.resume(), Error::kInvalidArgument);
}

TEST(Program, only_a_run_that_lacks_scratch_memory_is_resumed) {
  Method method;
  EXPECT_EQ(method.resume(), Error::kNotLoaded);
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.method.resume(), Error::kInvalidArgument);
}

TEST(Program, missing_kernel_is_named) {
  ProgramBuilder builder = small_program();
  builder.plan().operators[1].name = "aten::unheard_of";
  Session session(builder.write());
  EXPECT_EQ(session.load(), Error::kOperatorMissing);
  EXPECT_STREQ(session.method.problem().name, "aten::unheard_of.out");
  EXPECT_EQ(session.method.problem().instruction, 1);
}

TEST(Program, missing_backend_is_named) {
  ProgramBuilder builder = small_program();
  builder.plan().delegates.push_back(
      {.backend = "NobodysBackend", .blob = Buffer::copy_of(std::vector<std::byte>(32)), .compile_specs = {}});
  for (const auto data : {pte::DelegateData::kInline, pte::DelegateData::kSegment}) {
    Session session(builder.write(data));
    EXPECT_EQ(session.load(), Error::kBackendMissing);
    EXPECT_STREQ(session.method.problem().name, "NobodysBackend");
  }
}

TEST(Program, wrong_inputs_are_errors) {
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.run<float>({1, 2, 3}), Error::kInvalidArgument);
  EXPECT_EQ(session.method.set_input(1, {}), Error::kInvalidArgument);
}

// Before load() and after a failed load(), a run returns an error and empty values.
void expect_not_loaded(Method& method) {
  EXPECT_FALSE(method.is_loaded());
  EXPECT_EQ(method.execute(), Error::kNotLoaded);
  EXPECT_EQ(method.set_input(0, {}), Error::kNotLoaded);
  EXPECT_EQ(method.resize_input(0, {}), Error::kNotLoaded);
  EXPECT_TRUE(method.input(0).is_none());
  EXPECT_TRUE(method.output(7).is_none());
  EXPECT_TRUE(method.instruction_name(0).empty());
  EXPECT_TRUE(method.instruction_arguments(0).empty());
  EXPECT_FALSE(method.calls_delegate(0));
}

TEST(Program, method_that_is_not_loaded_does_not_run) {
  Method method;
  expect_not_loaded(method);
  Session session(small_program().write(), {}, 64);
  ASSERT_EQ(session.load(), Error::kOutOfMemory);
  expect_not_loaded(session.method);
  EXPECT_GT(session.method.problem().missing_bytes, 0U);
}

TEST(Program, indices_beyond_the_last_give_empty_values) {
  Session session(small_program().write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_TRUE(session.method.is_loaded());
  EXPECT_TRUE(session.method.input(0).is_tensor());
  EXPECT_TRUE(session.method.input(1).is_none());
  EXPECT_TRUE(session.method.output(1).is_none());
  EXPECT_TRUE(session.method.instruction_name(2).empty());
}

TEST(Program, input_without_planned_memory_is_read_in_place) {
  ProgramBuilder builder = small_program();
  const auto x = static_cast<size_t>(builder.plan().inputs[0]);
  std::get<pte::TensorSpec>(builder.plan().values[x]).allocation = {};
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  const std::vector<float> first{0, 1, 2, 3, 4, 5};
  ASSERT_EQ(session.run<float>(first), Error::kOk);
  const std::vector<float> second{5, 4, 3, 2, 1, 0};
  ASSERT_EQ(session.method.set_input(0, std::as_bytes(std::span(first))), Error::kOk);
  ASSERT_EQ(session.method.set_input(0, std::as_bytes(std::span(second))), Error::kOk);
  ASSERT_EQ(session.method.execute(), Error::kOk);
  EXPECT_EQ(session.output<float>(), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(first, (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Program, branches_follow_condition) {
  // out = condition ? x + 1 : relu(x), as ExecuTorch writes torch.cond.
  ProgramBuilder builder;
  const int32_t condition = builder.tensor({1}, DType::kBool);
  const int32_t x = builder.tensor({2});
  const int32_t first = builder.tensor({2});
  const int32_t second = builder.tensor({2});
  const int32_t out = builder.tensor({2});
  const int32_t one = builder.value(int64_t{1});
  const int32_t no = builder.value(false);
  builder.plan().inputs = {condition, x};
  builder.plan().outputs = {out};
  builder.plan().instructions.emplace_back(pte::JumpFalseCall{.condition = condition, .destination = 4});
  builder.call("aten::add", "Scalar_out", {x, one, one, first, first});
  builder.plan().instructions.emplace_back(pte::MoveCall{.from = first, .to = out});
  builder.plan().instructions.emplace_back(pte::JumpFalseCall{.condition = no, .destination = 6});
  builder.call("aten::relu", "out", {x, second, second});
  builder.plan().instructions.emplace_back(pte::MoveCall{.from = second, .to = out});
  for (const bool taken : {true, false}) {
    Session session(builder.write());
    ASSERT_EQ(session.load(), Error::kOk);
    const std::vector<float> input{-5, 5};
    ASSERT_EQ(session.method.set_input(1, std::as_bytes(std::span(input))), Error::kOk);
    ASSERT_EQ(session.run(std::vector<uint8_t>{static_cast<uint8_t>(taken ? 1 : 0)}), Error::kOk);
    EXPECT_EQ(session.output<float>(), taken ? (std::vector<float>{-4, 6}) : (std::vector<float>{0, 5}));
  }
}

TEST(Program, loop_runs_until_condition_holds) {
  // x = relu(x) + 1, five times, as ExecuTorch writes a map over five rows.
  ProgramBuilder builder;
  const int32_t x = builder.tensor({2});
  const int32_t out = builder.tensor({2});
  const int32_t one = builder.value(int64_t{1}), five = builder.value(int64_t{5});
  const int32_t step = builder.value(int64_t{0}), done = builder.value(false);
  builder.plan().inputs = {x};
  builder.plan().outputs = {out};
  builder.call("aten::relu", "out", {x, out, out});
  builder.call("aten::add", "Scalar_out", {out, one, one, x, x});
  builder.call("executorch_prim::add", "Scalar", {step, one, step});
  builder.call("executorch_prim::eq", "Scalar", {step, five, done});
  builder.plan().instructions.emplace_back(pte::JumpFalseCall{.condition = done, .destination = 0});
  builder.call("aten::relu", "out", {x, out, out});
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  ASSERT_EQ(session.run<float>({-3, 2}), Error::kOk);
  EXPECT_EQ(session.output<float>(), (std::vector<float>{5, 7}));
}

TEST(Program, endless_loop_is_stopped) {
  ProgramBuilder builder = small_program();
  const int32_t no = builder.value(false);
  builder.plan().instructions.emplace_back(pte::JumpFalseCall{.condition = no, .destination = 0});
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  session.method.limit_jumps_back(100);
  EXPECT_EQ(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kInvalidProgram);
  EXPECT_STREQ(session.method.problem().name, "a loop without end");
}

TEST(Program, verified_file_loads_without_verification) {
  const Buffer file = small_program().write();
  Program program;
  EXPECT_EQ(program.load(file.bytes(), Verification::kMinimal), Error::kOk);
  EXPECT_EQ(program.methods(), 1U);
  // An offset far outside the file, which only the verifier detects.
  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
  std::fill_n(bytes.begin(), 4, std::byte{0x7F});
  const Buffer damaged = Buffer::copy_of(bytes);
  EXPECT_EQ(program.load(damaged.bytes(), Verification::kInternalConsistency), Error::kInvalidProgram);
}

TEST(Program, kernel_that_writes_constant_is_an_error) {
  ProgramBuilder builder = small_program();
  const int32_t constant = builder.constant<float>({2, 3}, DType::kFp32, {1, 2, 3, 4, 5, 6});
  builder.call("aten::relu", "out", {builder.plan().inputs[0], constant, constant});
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_EQ(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kInvalidProgram);
  EXPECT_EQ(session.method.problem().instruction, 2);
}

// Tries every size of the method arena from 0 to the needed size. Each failed allocation is reported, and the method
// stays unloaded.
TEST(Program, failed_allocations_are_errors) {
  const Buffer file = small_program().write();
  Session enough(file);
  ASSERT_EQ(enough.load(), Error::kOk);
  const size_t needed = enough.method_arena.used_bytes();
  for (size_t bytes = 0; bytes < needed; ++bytes) {
    Session session(file, {}, bytes);
    ASSERT_EQ(session.load(), Error::kOutOfMemory) << bytes;
    EXPECT_EQ(session.method.problem().arena, MemoryArena::kMethod);
    EXPECT_GT(session.method.problem().missing_bytes, 0U);
    EXPECT_LE(session.method.problem().missing_bytes, needed - bytes);
    EXPECT_EQ(session.method.instructions(), 0U);
    EXPECT_EQ(session.method.execute(), Error::kNotLoaded);
  }
  Session session(file, {}, needed);
  ASSERT_EQ(session.load(), Error::kOk);
  ASSERT_EQ(session.run<float>({-3, -2, -1, 0, 1, 2}), Error::kOk);
  EXPECT_EQ(session.output<float>(), (std::vector<float>{0, 0, 0, 1, 2, 3}));
}

TEST(Program, too_small_planned_memory_is_reported) {
  const Buffer file = small_program().write();
  Program program;
  ASSERT_EQ(program.load(file.bytes()), Error::kOk);
  MutableBuffer memory = MutableBuffer::allocate(1 << 16);
  MutableBuffer planned = MutableBuffer::allocate(80);
  const std::span<std::byte> buffers[] = {planned.bytes()};
  Arena arena(memory.bytes());
  Arena scratch;
  Method method;
  EXPECT_EQ(method.load(program, 0, {.method = &arena, .scratch = &scratch, .planned = buffers},
                        {.kernels = portable_kernels(), .backends = {}}),
            Error::kOutOfMemory);
  EXPECT_EQ(method.problem().arena, MemoryArena::kPlanned);
  EXPECT_EQ(method.problem().planned_buffer, 0U);
  EXPECT_EQ(method.problem().missing_bytes, program.planned_buffer_bytes(0, 0) - 80);
  EXPECT_EQ(method.load(program, 0, {.method = &arena, .scratch = &scratch, .planned = {}},
                        {.kernels = portable_kernels(), .backends = {}}),
            Error::kInvalidArgument);
  EXPECT_EQ(method.load(program, 7, {.method = &arena, .scratch = &scratch, .planned = buffers},
                        {.kernels = portable_kernels(), .backends = {}}),
            Error::kInvalidArgument);
}

}  // namespace
}  // namespace carina::runtime
