// Checks that the host's kernels for elementwise operators, padding, resizing and batch norms give the bits of the
// runtime's own kernels, on every processor, on one thread and on three.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "accelerate/host_kernels.h"
#include "runtime/kernel.h"
#include "tests/unit/kernels/every_target.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::accelerate {
namespace {

using runtime::ProgramBuilder;

// Numbers of all magnitudes, among them NaN, infinities, both zeros and equal ones.
std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> near, far(0, 60);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::array special{std::nanf(""), kInfinity, -kInfinity, 0.0F, -0.0F, 1.0F, 1e-40F};
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    const uint32_t kind = random() % 16;
    value = kind == 0 ? special[random() % special.size()] : kind < 4 ? far(random) : near(random);
  }
  return values;
}

struct Program {
  ProgramBuilder builder;
  std::vector<std::vector<float>> inputs;

  int32_t input(const Shape& shape) {
    inputs.push_back(numbers(shape.elements(), static_cast<uint32_t>(inputs.size() + 1)));
    builder.plan().inputs.push_back(builder.tensor(shape));
    return builder.plan().inputs.back();
  }
  int32_t call(const std::string& name, const std::string& overload, std::vector<int32_t> arguments, const Shape& shape,
               DType dtype = DType::kFp32, int32_t unused_outputs = 0) {
    const int32_t out = builder.tensor(shape, dtype);
    arguments.push_back(out);
    for (int32_t i = 0; i < unused_outputs; ++i) arguments.push_back(builder.tensor({0}));
    arguments.push_back(out);
    builder.call("aten::" + name, overload, std::move(arguments));
    return out;
  }

  // The bytes of the output.
  std::vector<std::byte> run(int32_t output, runtime::Rewriter* rewriter) {
    builder.plan().outputs = {output};
    runtime::Session session(builder.write());
    EXPECT_EQ(session.prepare(), runtime::Error::kOk);
    EXPECT_EQ(session.load_method(rewriter), runtime::Error::kOk);
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(session.method.set_input(i, std::as_bytes(std::span(inputs[i]))), runtime::Error::kOk);
    EXPECT_EQ(session.method.execute(), runtime::Error::kOk);
    const runtime::Tensor& tensor = session.method.output(0).tensor;
    return {tensor.as<std::byte>(), tensor.as<std::byte>() + tensor.bytes()};
  }
};

// NaN equals NaN of any bits: processors choose the sign.
template <typename T>
void expect_equal(std::span<const std::byte> wanted, std::span<const std::byte> got) {
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t at = 0; at < wanted.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, wanted.data() + at, sizeof(T));
    std::memcpy(&b, got.data() + at, sizeof(T));
    if (a != a && b != b) continue;
    ASSERT_EQ(std::memcmp(&a, &b, sizeof(T)), 0) << at / sizeof(T) << ": " << +a << ' ' << +b;
  }
}

// `output` depends on `calls` calls, which the host's kernels must take.
template <typename T = float>
void expect_same_bits(Program& program, int32_t output, size_t calls = 1) {
  const std::vector<std::byte> wanted = program.run(output, nullptr);
  for (const int threads : {1, 3}) {
    kernels::testing::on_every_target([&] {
      HostKernels host(threads);
      const std::vector<std::byte> got = program.run(output, &host);
      EXPECT_EQ(host.replaced(), calls);
      expect_equal<T>(wanted, got);
    });
  }
}

TEST(HostKernels, functions_have_the_runtimes_bits) {
  for (const int64_t count : {1, 7, 255, 256, 257, 5000}) {
    for (const char* name : {"sigmoid", "tanh", "exp"}) {
      Program program;
      expect_same_bits(program, program.call(name, "out", {program.input({count})}, {count}));
    }
    for (const char* approximate : {"none", "tanh"}) {
      Program program;
      const int32_t mode = program.builder.value(std::string(approximate));
      expect_same_bits(program, program.call("gelu", "out", {program.input({count}), mode}, {count}));
    }
  }
}

TEST(HostKernels, comparisons_have_the_runtimes_bits) {
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (const Shape& other : {Shape{3, 5, 41}, Shape{41}, Shape{3, 1, 41}, Shape{5, 1}, Shape{1}}) {
      Program program;
      const int32_t a = program.input({3, 5, 41}), b = program.input(other);
      expect_same_bits<uint8_t>(program, program.call(name, "Tensor_out", {a, b}, {3, 5, 41}, DType::kBool));
    }
    Program program;
    const int32_t a = program.input({3, 41}), b = program.builder.value(1.0);
    expect_same_bits<uint8_t>(program, program.call(name, "Scalar_out", {a, b}, {3, 41}, DType::kBool));
  }
}

TEST(HostKernels, choices_have_the_runtimes_bits) {
  const Shape all{3, 5, 41};
  for (const Shape& mask : {all, Shape{41}, Shape{3, 1, 1}, Shape{1}}) {
    for (const Shape& first : {all, Shape{41}, Shape{1, 5, 1}}) {
      for (const Shape& second : {all, Shape{1}}) {
        Program program;
        const int32_t zero = program.builder.value(int64_t{0});
        const int32_t test = program.call("gt", "Scalar_out", {program.input(mask), zero}, mask, DType::kBool);
        const int32_t a = program.input(first), b = program.input(second);
        expect_same_bits(program, program.call("where", "self_out", {test, a, b}, all), 2);
      }
    }
    Program program;
    const int32_t zero = program.builder.value(int64_t{0});
    const int32_t test = program.call("gt", "Scalar_out", {program.input(mask), zero}, mask, DType::kBool);
    const int32_t value = program.builder.value(-1.5);
    expect_same_bits(program, program.call("masked_fill", "Scalar_out", {program.input(all), test, value}, all), 2);
  }
}

TEST(HostKernels, padding_has_the_runtimes_bits) {
  Program program;
  const int32_t in = program.input({2, 3, 7}), pad = program.builder.int_list({1, 2, 0, 3});
  expect_same_bits(program, program.call("constant_pad_nd", "out", {in, pad, program.builder.value(-1.5)}, {2, 6, 10}));
}

TEST(HostKernels, resized_images_have_the_runtimes_bits) {
  struct Size {
    int64_t height, width;
  };
  for (const Size& size : {Size{14, 18}, Size{7, 9}, Size{5, 4}, Size{1, 40}, Size{16, 9}, Size{23, 1}}) {
    const Shape shape{2, 3, size.height, size.width};
    {
      Program program;
      const int32_t in = program.input({2, 3, 7, 9}), none = program.builder.value(pte::None{});
      const int32_t sizes = program.builder.int_list({size.height, size.width});
      expect_same_bits(program, program.call("upsample_nearest2d", "vec_out", {in, sizes, none}, shape));
    }
    for (const bool aligns : {false, true}) {
      Program program;
      const int32_t in = program.input({2, 3, 7, 9}), none = program.builder.value(pte::None{});
      const int32_t sizes = program.builder.int_list({size.height, size.width});
      const int32_t corners = program.builder.value(aligns);
      expect_same_bits(program, program.call("upsample_bilinear2d", "vec_out", {in, sizes, corners, none}, shape));
    }
  }
  Program program;
  const int32_t in = program.input({2, 3, 7, 9}), none = program.builder.value(pte::None{});
  const int32_t corners = program.builder.value(false);
  const int32_t factors = program.builder.value(pte::DoubleList{{1.3, 2.6}});
  expect_same_bits(program,
                   program.call("upsample_bilinear2d", "vec_out", {in, none, corners, factors}, {2, 3, 9, 23}));
}

TEST(HostKernels, batch_norms_of_inference_have_the_runtimes_bits) {
  Program program;
  const Shape shape{2, 5, 3, 7};
  std::vector<int32_t> arguments{program.input(shape)};
  for (int i = 0; i < 3; ++i) arguments.push_back(program.input({5}));
  arguments.push_back(program.input({5}));
  for (float& variance : program.inputs.back()) variance = std::isnan(variance) ? 1 : std::fabs(variance) + 0.5F;
  arguments.push_back(program.builder.value(0.1));
  arguments.push_back(program.builder.value(1e-5));
  expect_same_bits(program, program.call("_native_batch_norm_legit_no_training", "out", std::move(arguments), shape,
                                         DType::kFp32, 2));
}

}  // namespace
}  // namespace carina::accelerate
