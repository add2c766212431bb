// Several methods of one program, with and without shared memory.
#include <gtest/gtest.h>

#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

class CountingBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view id() const override { return "Counting"; }
  Error init(std::span<const std::byte> blob, std::span<const CompileSpec> /*specs*/, Arena& arena,
             void** handle) override {
    auto* state = arena.make_array<float>(1);
    if (state == nullptr) return Error::kOutOfMemory;
    *state = static_cast<float>(blob[0]);
    *handle = state;
    return Error::kOk;
  }
  // out = x * the number in the delegate's blob, computed through scratch memory.
  Error execute(void* handle, Arguments arguments, Arena& scratch) override {
    const Tensor &in = arguments[0]->tensor, &out = arguments[1]->tensor;
    float* copy = scratch.make_array<float>(in.elements());
    if (copy == nullptr) return Error::kOutOfMemory;
    for (size_t i = 0; i < in.elements(); ++i) copy[i] = in.as<float>()[i] * *static_cast<float*>(handle);
    std::copy_n(copy, in.elements(), out.as<float>());
    return Error::kOk;
  }
};

// A method x -> relu(x + 1) on 6 elements, with this name.
pte::Plan plain_plan(pte::Program& program, const std::string& name) {
  ProgramBuilder builder;
  builder.program.constants = program.constants;
  const int32_t x = builder.tensor({6}), sum = builder.tensor({6}), out = builder.tensor({6});
  const int32_t one = builder.constant<float>({1}, DType::kFp32, {1.0F});
  const int32_t alpha = builder.value(int64_t{1});
  builder.plan().name = name;
  builder.plan().inputs = {x};
  builder.plan().outputs = {out};
  builder.call("aten::add", "out", {x, one, alpha, sum, sum});
  builder.call("aten::relu", "out", {sum, out, out});
  program.constants = builder.program.constants;
  return builder.plan();
}

// Adds each x of 2 elements to a sum in buffer 2, then multiplies the sum by this factor in a delegate.
pte::Plan summing_plan(const std::string& name, std::byte factor) {
  ProgramBuilder builder;
  const int32_t x = builder.tensor({2}), out = builder.tensor({2});
  const int32_t alpha = builder.value(int64_t{1});
  builder.plan().planned_bytes.push_back(16);
  const int32_t state =
      builder.value(pte::TensorSpec{.dtype = DType::kFp32,
                                    .shape = {2},
                                    .dim_order = {},
                                    .constant = 0,
                                    .allocation = pte::Allocation{.memory_id = 2, .offset_bytes = 0}});
  builder.plan().name = name;
  builder.plan().inputs = {x};
  builder.plan().outputs = {out};
  builder.call("aten::add", "out", {state, x, alpha, state, state});
  builder.plan().delegates.push_back(
      {.backend = "Counting", .blob = Buffer::copy_of(std::vector<std::byte>(16, factor)), .compile_specs = {}});
  builder.plan().instructions.emplace_back(pte::DelegateCall{.delegate = 0, .arguments = {state, out}});
  return builder.plan();
}

class Methods : public ::testing::Test {
 protected:
  Methods() {
    pte::Program source;
    source.constants.resize(1);
    source.plans.push_back(plain_plan(source, "forward"));
    source.plans.push_back(summing_plan("sum", std::byte{1}));
    source.plans.push_back(summing_plan("twice", std::byte{2}));
    file_ = Buffer::copy_of(pte::write_program(source, {}).value());
    EXPECT_EQ(program.load(file_.bytes()), Error::kOk);
  }

  Error load(Method& method, size_t index, std::span<const std::span<std::byte>> planned) {
    return method.load(program, index, {.method = &tables, .scratch = &scratch, .planned = planned},
                       {.kernels = portable_kernels(), .backends = backends_});
  }

  static std::vector<float> run(Method& method, const std::vector<float>& input) {
    EXPECT_EQ(method.set_input(0, std::as_bytes(std::span(input))), Error::kOk);
    EXPECT_EQ(method.execute(), Error::kOk);
    const Tensor& out = method.output(0).tensor;
    return {out.as<float>(), out.as<float>() + out.elements()};
  }

  // The memory sizes that Program reports are sufficient.
  [[nodiscard]] size_t largest(size_t buffer) const {
    size_t bytes = 0;
    for (size_t m = 0; m < program.methods(); ++m) {
      if (buffer < program.planned_buffers(m)) bytes = std::max(bytes, program.planned_buffer_bytes(m, buffer));
    }
    return bytes;
  }

  Program program;
  Arena tables{tables_};
  Arena scratch{scratch_};

 private:
  Buffer file_;
  CountingBackend backend_;
  Backend* const backends_[1] = {&backend_};
  alignas(16) std::byte tables_[1 << 14] = {};
  alignas(16) std::byte scratch_[256] = {};
};

TEST_F(Methods, all_are_named_with_planned_memory) {
  ASSERT_EQ(program.methods(), 3U);
  EXPECT_EQ(program.method_name(0), "forward");
  EXPECT_EQ(program.method_name(2), "twice");
  EXPECT_EQ(program.planned_buffers(0), 1U);
  EXPECT_EQ(program.planned_buffers(1), 2U);
  EXPECT_EQ(largest(0), 96U);
  EXPECT_EQ(largest(1), 16U);
}

TEST_F(Methods, sequential_methods_share_all_arenas) {
  alignas(16) std::byte planned[96] = {}, state[16] = {}, other_state[16] = {};
  const std::span<std::byte> of_forward[] = {planned}, of_sum[] = {planned, state}, of_twice[] = {planned, other_state};
  Method forward, sum, twice;
  ASSERT_EQ(load(forward, 0, of_forward), Error::kOk);
  const size_t one = tables.used_bytes();
  ASSERT_EQ(load(sum, 1, of_sum), Error::kOk);
  ASSERT_EQ(load(twice, 2, of_twice), Error::kOk);
  EXPECT_GT(tables.used_bytes(), one);  // the tables are stored one after the other
  EXPECT_EQ(run(sum, {1, 2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(run(forward, {-3, -2, -1, 0, 1, 2}), (std::vector<float>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(run(twice, {5, 5}), (std::vector<float>{10, 10}));
  EXPECT_EQ(run(sum, {1, 2}), (std::vector<float>{2, 4}));  // state in its own buffer survives other methods
  EXPECT_EQ(run(twice, {1, 1}), (std::vector<float>{12, 12}));
  EXPECT_EQ(scratch.used_bytes(), 0U);
}

TEST_F(Methods, same_buffer_shares_state) {
  alignas(16) std::byte planned[96] = {}, state[16] = {};
  const std::span<std::byte> both[] = {planned, state};
  Method sum, twice;
  ASSERT_EQ(load(sum, 1, both), Error::kOk);
  ASSERT_EQ(load(twice, 2, both), Error::kOk);
  EXPECT_EQ(run(sum, {1, 2}), (std::vector<float>{1, 2}));
  EXPECT_EQ(run(twice, {1, 1}), (std::vector<float>{4, 6}));
  EXPECT_EQ(run(sum, {0, 0}), (std::vector<float>{2, 3}));
}

TEST_F(Methods, method_that_does_not_fit_leaves_others_intact) {
  alignas(16) std::byte planned[96] = {}, state[16] = {};
  const std::span<std::byte> of_forward[] = {planned}, of_sum[] = {planned, state}, too_small[] = {planned, {}};
  Method forward, sum;
  ASSERT_EQ(load(forward, 0, of_forward), Error::kOk);
  EXPECT_EQ(load(sum, 1, too_small), Error::kOutOfMemory);
  EXPECT_EQ(sum.problem().arena, MemoryArena::kPlanned);
  EXPECT_EQ(sum.problem().planned_buffer, 1U);
  EXPECT_EQ(sum.problem().missing_bytes, 16U);
  EXPECT_EQ(load(sum, 3, of_sum), Error::kInvalidArgument);
  EXPECT_EQ(run(forward, {-3, -2, -1, 0, 1, 2}), (std::vector<float>{0, 0, 0, 1, 2, 3}));
  ASSERT_EQ(load(sum, 1, of_sum), Error::kOk);
  EXPECT_EQ(run(sum, {1, 2}), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace carina::runtime
