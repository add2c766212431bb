// Damaged and malicious programs give an error, never a crash. The dev preset checks every memory access.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "pte/reader.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

using Change = std::function<void(pte::Program&)>;

struct Hostile {
  const char* name;
  Change change;
};

pte::TensorSpec& tensor(pte::Program& program, size_t index) {
  return std::get<pte::TensorSpec>(program.plans[0].values[index]);
}
pte::KernelCall& kernel_call(pte::Program& program, size_t index) {
  return std::get<pte::KernelCall>(program.plans[0].instructions[index]);
}

const Hostile kHostile[] = {
    {"argument_out_of_range", [](pte::Program& p) { kernel_call(p, 0).arguments[0] = 99; }},
    {"argument_negative", [](pte::Program& p) { kernel_call(p, 0).arguments[0] = -1; }},
    {"operator_out_of_range", [](pte::Program& p) { kernel_call(p, 0).op = 7; }},
    {"operator_negative", [](pte::Program& p) { kernel_call(p, 0).op = -7; }},
    {"memory_id_zero", [](pte::Program& p) { tensor(p, 0).allocation->memory_id = 0; }},
    {"memory_id_beyond", [](pte::Program& p) { tensor(p, 0).allocation->memory_id = 2; }},
    {"allocation_past_buffer", [](pte::Program& p) { tensor(p, 0).allocation->offset_bytes = 80; }},
    {"allocation_wraps", [](pte::Program& p) { tensor(p, 0).allocation->offset_bytes = ~uint64_t{0}; }},
    {"dim_order_repeats", [](pte::Program& p) { tensor(p, 0).dim_order = {0, 0}; }},
    {"dim_order_too_long", [](pte::Program& p) { tensor(p, 0).dim_order = {0, 1, 2}; }},
    {"constant_beyond", [](pte::Program& p) { tensor(p, 1).constant = 5; }},
    {"constant_too_short", [](pte::Program& p) { tensor(p, 1).shape = {1 << 20}; }},
    {"shape_overflows", [](pte::Program& p) { tensor(p, 0).shape = {INT32_MAX, INT32_MAX, INT32_MAX}; }},
    {"empty_shape_overflows", [](pte::Program& p) { tensor(p, 0).shape = {INT32_MAX, 0, INT32_MAX, INT32_MAX}; }},
    {"input_out_of_range", [](pte::Program& p) { p.plans[0].inputs = {100}; }},
    {"output_negative", [](pte::Program& p) { p.plans[0].outputs = {-1}; }},
    {"int_list_index", [](pte::Program& p) { p.plans[0].values.emplace_back(pte::IntList{.values = {1 << 20}}); }},
    {"int_list_of_tensors", [](pte::Program& p) { p.plans[0].values.emplace_back(pte::IntList{.values = {0}}); }},
    {"tensor_list_of_numbers",
     [](pte::Program& p) { p.plans[0].values.emplace_back(pte::TensorList{.tensors = {4}, .optional = false}); }},
    {"jump_away",
     [](pte::Program& p) {
       p.plans[0].instructions.emplace_back(pte::JumpFalseCall{.condition = 0, .destination = 50});
     }},
    {"jump_on_nothing",
     [](pte::Program& p) {
       p.plans[0].instructions.emplace_back(pte::JumpFalseCall{.condition = 50, .destination = 3});
     }},
    {"move_from_nothing",
     [](pte::Program& p) { p.plans[0].instructions.emplace_back(pte::MoveCall{.from = 50, .to = 0}); }},
    {"delegate_out_of_range",
     [](pte::Program& p) { p.plans[0].instructions.emplace_back(pte::DelegateCall{.delegate = 0, .arguments = {}}); }},
    {"negative_buffer", [](pte::Program& p) { p.plans[0].planned_bytes[0] = -16; }},
};

class HostilePrograms : public testing::TestWithParam<Hostile> {};

TEST_P(HostilePrograms, invalid_programs_are_errors) {
  ProgramBuilder builder = small_program();
  GetParam().change(builder.program);
  Session session(builder.write());
  EXPECT_EQ(session.load(), Error::kInvalidProgram) << name_of(session.load());
}

INSTANTIATE_TEST_SUITE_P(All, HostilePrograms, testing::ValuesIn(kHostile),
                         [](const auto& instance) { return std::string(instance.param.name); });

// These wrong arguments are detected when the kernel runs.
const Hostile kHostileCalls[] = {
    {"too_few", [](pte::Program& p) { kernel_call(p, 0).arguments = {0}; }},
    {"none", [](pte::Program& p) { kernel_call(p, 0).arguments = {}; }},
    {"number_for_tensor", [](pte::Program& p) { kernel_call(p, 0).arguments[0] = 4; }},
    {"tensor_for_number", [](pte::Program& p) { kernel_call(p, 0).arguments[2] = 0; }},
    {"number_for_out", [](pte::Program& p) { kernel_call(p, 0).arguments[3] = 4; }},
    {"wrong_shape", [](pte::Program& p) { tensor(p, 2).shape = {5}; }},
};

class HostileCalls : public testing::TestWithParam<Hostile> {};

TEST_P(HostileCalls, invalid_calls_are_errors) {
  ProgramBuilder builder = small_program();
  GetParam().change(builder.program);
  Session session(builder.write());
  ASSERT_EQ(session.load(), Error::kOk);
  EXPECT_NE(session.run<float>({1, 2, 3, 4, 5, 6}), Error::kOk);
  EXPECT_EQ(session.method.problem().instruction, 0);
}

INSTANTIATE_TEST_SUITE_P(All, HostileCalls, testing::ValuesIn(kHostileCalls),
                         [](const auto& instance) { return std::string(instance.param.name); });

std::vector<std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

TEST(HostileFile, prefixes_are_handled) {
  const std::vector<std::byte> whole = bytes_of(small_program().write());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    Session session(Buffer::copy_of(part));
    EXPECT_NE(session.load(), Error::kOk) << size;
    EXPECT_FALSE(pte::read_program(Buffer::copy_of(part), "test").has_value()) << size;
  }
}

// Both readers accept or reject the file. Loading and running give a result or an error, but never kInternal.
TEST(HostileFile, flipped_bits_are_handled) {
  const std::vector<std::byte> whole = bytes_of(small_program().write());
  size_t rejected = 0, failed = 0, ran = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<std::byte> damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const Buffer file = Buffer::copy_of(damaged);
    Session session(file);
    static_cast<void>(pte::read_program(file, "test"));
    if (const Error loaded = session.load(); loaded != Error::kOk) {
      EXPECT_NE(loaded, Error::kInternal) << "bit " << bit;
      ++rejected;
    } else if (const Error executed = session.method.execute(); executed != Error::kOk) {
      EXPECT_NE(executed, Error::kInternal) << "bit " << bit;
      ++failed;
    } else {
      ++ran;
    }
  }
  EXPECT_GT(rejected, whole.size());  // more than one of the eight bits of a byte
  EXPECT_GT(failed, 0U);              // the kernel detects wrong arguments
  EXPECT_GT(ran, 0U);                 // padding and names have no effect
}

TEST(HostileFile, damaged_header_is_an_error) {
  std::vector<std::byte> file = bytes_of(small_program().write());
  ASSERT_EQ(std::memcmp(file.data() + 8, "eh00", 4), 0);
  file[8] = std::byte{'x'};
  Session session(Buffer::copy_of(file));
  EXPECT_EQ(session.load(), Error::kInvalidProgram);  // the reference runtime finds no constants
  EXPECT_FALSE(pte::read_program(Buffer::copy_of(file), "test").has_value());
}

TEST(HostileFile, other_identifier_is_an_error) {
  std::vector<std::byte> file = bytes_of(small_program().write());
  file[7] = std::byte{'3'};
  Session session(Buffer::copy_of(file));
  EXPECT_EQ(session.load(), Error::kInvalidProgram);
}

TEST(HostileFile, unaligned_file_is_an_error) {
  std::vector<std::byte> bytes = bytes_of(small_program().write());
  bytes.insert(bytes.begin(), std::byte{0});
  const Buffer file = Buffer::copy_of(bytes);
  Program program;
  EXPECT_EQ(program.load(file.bytes().subspan(1)), Error::kInvalidArgument);
}

}  // namespace
}  // namespace carina::runtime
