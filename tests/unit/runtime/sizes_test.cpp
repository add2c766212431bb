// method_sizes() before load gives what load and a run then take; also of damaged programs that still load.
#include <gtest/gtest.h>

#include <random>

#include "runtime/backends/npu_sizes.h"
#include "runtime/checksum.h"
#include "runtime/kernels/kernel_stacks.h"
#include "runtime/sizes.h"
#include "tests/unit/runtime/npu_program.h"

namespace carina::runtime {
namespace {

// Checks a program that loads.
void expect_sizes(const Session& loaded, size_t planned_bytes) {
  MethodSizes sizes;
  ASSERT_EQ(method_sizes(loaded.program, 0, {.delegate = npu_delegate_sizes}, sizes), Error::kOk);
  EXPECT_EQ(sizes.method_bytes, loaded.method_arena.used_bytes());
  EXPECT_EQ(sizes.planned_bytes, planned_bytes);
}

// Numbers that kernels compute, lists of them, a list of tensors, a tensor of varying size.
ProgramBuilder program_with_lists() {
  ProgramBuilder builder = small_program();
  const int32_t x = builder.plan().inputs[0];
  const int32_t size = builder.value(int64_t{0});
  const int32_t one = builder.value(int64_t{1});
  builder.call("aten::sym_size", "int", {x, one, size});
  const int32_t list = builder.value(pte::IntList{.values = {one, size}});
  const int32_t joined = builder.tensor({4, 3});
  const int32_t both = builder.value(pte::TensorList{.tensors = {x, x}});
  builder.call("aten::cat", "out", {both, builder.value(int64_t{0}), joined, joined});
  const int32_t shaped = builder.tensor({1, 3});
  builder.call("aten::full", "out", {list, one, shaped, shaped});
  return builder;
}

TEST(Sizes, those_of_load_for_tables_of_every_kind) {
  for (const ProgramBuilder& builder : {small_program(), program_with_lists()}) {
    Session session(builder.write());
    ASSERT_EQ(session.load(), Error::kOk) << session.method.problem().name;
    expect_sizes(session, static_cast<size_t>(builder.program.plans[0].planned_bytes[0]));
  }
}

TEST(Sizes, delegate_counts_its_table_and_scratch) {
  AddingDriver driver;
  EthosUBackend backend(driver);
  Backend* const backends[] = {&backend};
  Session session(program_with(Blob().write()).write(), backends);
  ASSERT_EQ(session.load(), Error::kOk);
  MethodSizes sizes;
  ASSERT_EQ(method_sizes(session.program, 0, {.delegate = npu_delegate_sizes}, sizes), Error::kOk);
  EXPECT_EQ(sizes.method_bytes, session.method_arena.used_bytes());
  EXPECT_EQ(sizes.scratch_bytes, 32U);
  EXPECT_EQ(sizes.calls_with_more_scratch, 0U);
  EXPECT_EQ(method_sizes(session.program, 0, {}, sizes), Error::kBackendMissing);
  EXPECT_EQ(method_sizes(session.program, 1, {.delegate = npu_delegate_sizes}, sizes), Error::kInvalidArgument);
}

TEST(Sizes, kernel_with_the_largest_stack_counts) {
  ProgramBuilder builder = small_program();
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  MethodSizes sizes;
  ASSERT_EQ(method_sizes(session.program, 0, {.kernel_stack = portable_kernel_stack}, sizes), Error::kOk);
  EXPECT_EQ(sizes.kernel_stack_bytes,
            std::max(portable_kernel_stack("aten::add.out"), portable_kernel_stack("aten::relu.out")));
  EXPECT_GT(portable_kernel_stack("aten::index_put.out"), 2000U);
  EXPECT_EQ(portable_kernel_stack("aten::unheard_of"), 0U);
}

TEST(Sizes, of_a_cortex_m_are_smaller) {
  Session session(program_with_lists().write());
  ASSERT_EQ(session.load(), Error::kOk);
  MethodSizes here;
  MethodSizes there;
  ASSERT_EQ(method_sizes(session.program, 0, {}, here), Error::kOk);
  ASSERT_EQ(method_sizes(session.program, 0, {}, there, kCortexMTypes), Error::kOk);
  EXPECT_LT(there.method_bytes, here.method_bytes);
  EXPECT_EQ(there.planned_bytes, here.planned_bytes);
}

TEST(Sizes, damaged_programs_are_errors_or_have_the_sizes_of_load) {
  const Buffer sound = program_with_lists().write();
  std::mt19937 random(1);
  int loaded = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(sound.bytes().begin(), sound.bytes().end());
    bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    Session session(Buffer::copy_of(bytes));
    if (session.prepare() != Error::kOk) continue;
    MethodSizes sizes;
    const Error measured = method_sizes(session.program, 0, {.delegate = npu_delegate_sizes}, sizes);
    if (session.load_method() != Error::kOk) continue;
    ++loaded;
    EXPECT_EQ(measured, Error::kOk) << i;
    EXPECT_EQ(sizes.method_bytes, session.method_arena.used_bytes()) << i;
  }
  EXPECT_GT(loaded, 300);
}

TEST(Checksum, is_the_crc_32_of_zip) {
  const std::string_view digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));
  EXPECT_EQ(crc32(bytes), 0xCBF43926U);
  EXPECT_EQ(crc32(bytes.subspan(4), crc32(bytes.first(4))), 0xCBF43926U);
  EXPECT_EQ(crc32({}), 0U);
}

}  // namespace
}  // namespace carina::runtime
