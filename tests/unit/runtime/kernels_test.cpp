// Tests kernels in cases that no official program has: types, limits, rejected calls.
// tests/integration/runtime/test_runtime.py compares their values with the official runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "facts/aten_traits.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "tests/unit/runtime/program_builder.h"

namespace carina::runtime {
namespace {

TEST(PortableKernels, each_kernel_of_an_aten_operator_exists) {
  size_t named = 0;
  for (const AtenTraits& traits : kAtenTraits) {
    if (!has_kernel(traits.op)) continue;
    ++named;
    const std::string name = std::string(traits.kernel.name) + "." + std::string(traits.kernel.overload);
    EXPECT_TRUE(std::ranges::find(portable_kernels(), name, &KernelEntry::name) != portable_kernels().end())
        << name_of(traits.op);
  }
  EXPECT_GT(named, 150U);
}

TEST(Elements, float16_rounds_to_even_and_back) {
  const NumberLoader load = number_loader(PteScalarType::kHalf);
  const NumberStorer store = number_storer(PteScalarType::kHalf);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double value = load(&half, 0);
    if (std::isnan(value)) continue;
    uint16_t again = 0;
    store(&again, 0, value);
    ASSERT_EQ(again, half) << value;
  }
  uint16_t out = 0;
  store(&out, 0, 1 + 1.0 / 2048);  // half way between 1 and the next number
  EXPECT_EQ(out, 0x3c00);
  store(&out, 0, 65519.99);
  EXPECT_EQ(out, 0x7bff);
  store(&out, 0, 65520);
  EXPECT_EQ(out, 0x7c00);
}

TEST(Elements, bfloat16_is_upper_half_of_float) {
  const NumberLoader load = number_loader(PteScalarType::kBFloat16);
  const NumberStorer store = number_storer(PteScalarType::kBFloat16);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto bfloat = static_cast<uint16_t>(bits);
    const double value = load(&bfloat, 0);
    if (std::isnan(value)) continue;
    uint16_t again = 0;
    store(&again, 0, value);
    ASSERT_EQ(again, bfloat) << value;
  }
}

TEST(Elements, wide_numbers_become_integers_without_overflow) {
  EXPECT_EQ(to_int64(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(to_int64(1e300), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_int64(-1e300), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(to_int64(-2.9), -2);
  int8_t small = 0;
  number_storer(PteScalarType::kChar)(&small, 0, 1000);
  EXPECT_EQ(small, 127);
}

// Makes one call on constant inputs. Returns the error, or the outputs in `out`.
template <typename T>
Error call(ProgramBuilder builder, int32_t out, std::vector<T>& result) {
  builder.plan().outputs = {out};
  Session session(builder.write());
  CARINA_RT_TRY(session.load());
  CARINA_RT_TRY(session.method.execute());
  result = session.template output<T>();
  return Error::kOk;
}

TEST(Kernels, quantize_saturates_and_handles_nan) {
  ProgramBuilder builder;
  const float infinity = std::numeric_limits<float>::infinity();
  const int32_t x = builder.constant<float>({6}, DType::kFp32, {-1e30F, 1e30F, -infinity, infinity, 0.25F, 0.75F});
  const int32_t scale = builder.value(0.5);
  const int32_t zero_point = builder.value(int64_t{0});
  const int32_t low = builder.value(int64_t{-128});
  const int32_t high = builder.value(int64_t{127});
  const int32_t dtype = builder.value(int64_t{1});
  const int32_t out = builder.tensor({6}, DType::kInt8);
  builder.call("quantized_decomposed::quantize_per_tensor", "out", {x, scale, zero_point, low, high, dtype, out, out});
  std::vector<int8_t> result;
  ASSERT_EQ(call(builder, out, result), Error::kOk);
  EXPECT_EQ(result, (std::vector<int8_t>{-128, 127, -128, 127, 0, 2}));
}

TEST(Kernels, integer_division_by_zero_does_not_trap) {
  ProgramBuilder builder;
  const int32_t x = builder.constant<int32_t>({3}, DType::kInt32, {5, std::numeric_limits<int32_t>::min(), -7});
  const int32_t y = builder.constant<int32_t>({3}, DType::kInt32, {0, -1, 2});
  const int32_t mode = builder.value(std::string("floor"));
  const int32_t out = builder.tensor({3}, DType::kInt32);
  builder.call("aten::div", "out_mode", {x, y, mode, out, out});
  std::vector<int32_t> result;
  ASSERT_EQ(call(builder, out, result), Error::kOk);
  EXPECT_EQ(result, (std::vector<int32_t>{0, std::numeric_limits<int32_t>::min(), -4}));
}

TEST(Kernels, transposed_dim_order_is_followed) {
  // One image, in NCHW and in NHWC memory order.
  ProgramBuilder builder;
  const int32_t plain = builder.constant<float>({1, 2, 1, 3}, DType::kFp32, {1, 2, 3, 4, 5, 6});
  const int32_t last = builder.constant<float>({1, 2, 1, 3}, DType::kFp32, {1, 4, 2, 5, 3, 6});
  std::get<pte::TensorSpec>(builder.plan().values[static_cast<size_t>(last)]).dim_order = {0, 2, 3, 1};
  const int32_t out = builder.tensor({1, 2, 1, 3});
  const int32_t one = builder.value(int64_t{1});
  builder.call("aten::sub", "out", {plain, last, one, out, out});
  std::vector<float> result;
  ASSERT_EQ(call(builder, out, result), Error::kOk);
  EXPECT_EQ(result, std::vector<float>(6, 0));
}

// Calls every kernel with each kind of wrong argument, in each number of arguments. No call may crash.
TEST(Kernels, invalid_arguments_are_errors) {
  EValue none;
  EValue integer(std::numeric_limits<int64_t>::min());
  EValue number(std::numeric_limits<double>::quiet_NaN());
  EValue flag(true);
  EValue text("none");
  const std::vector<int64_t> entries{-1, std::numeric_limits<int64_t>::max(), 0, 1};
  EValue numbers{std::span(entries)};
  std::vector<float> memory(64, 1);
  const std::vector<int32_t> sizes{1, 2, 2, 2};
  const std::vector<uint8_t> order{0, 1, 2, 3};
  EValue tensor(Tensor(PteScalarType::kFloat, sizes, order, memory.data()));
  EValue bytes = tensor;
  bytes.tensor.type = PteScalarType::kBool;
  EValue scalar(Tensor(PteScalarType::kFloat, {}, {}, memory.data()));
  const std::vector<int32_t> no_sizes{1, 0, 2, 2};
  EValue empty(Tensor(PteScalarType::kFloat, no_sizes, order, memory.data()));
  EValue nowhere = tensor;
  nowhere.tensor.data = nullptr;
  EValue* const list_of[] = {&tensor, nullptr, &scalar, &integer};
  EValue list{std::span<EValue* const>(list_of)};
  EValue* const all[] = {&none,   &integer, &number, &flag,  &text,    &numbers,
                         &tensor, &bytes,   &scalar, &empty, &nowhere, &list};
  EValue* const never_right[] = {&none, &integer, &number, &flag, &text, &numbers};
  Arena scratch;
  for (const KernelEntry& entry : portable_kernels()) {
    std::set<size_t> accepted;
    for (size_t count = 0; count <= 12; ++count) {
      const auto call_with = [&](const std::vector<EValue*>& arguments) {
        const bool done = entry.kernel(arguments, scratch) == Error::kOk;
        if (done) accepted.insert(count);
        return done;
      };
      for (EValue* same : all) {
        // The wrong argument at all positions, then at one position among tensors.
        const bool done = call_with(std::vector<EValue*>(count, same));
        // Only the arithmetic kernels executorch_prim::* take numbers.
        const bool of_tensors = !entry.name.starts_with("executorch_prim::");
        EXPECT_FALSE(of_tensors && done && std::ranges::count(never_right, same) > 0) << entry.name << " of " << count;
        for (size_t index = 0; index < count; ++index) {
          std::vector<EValue*> mixed(count, &tensor);
          mixed[index] = same;
          call_with(mixed);
        }
      }
    }
    // A call has at least one input and one output. Additional arguments are accepted, because newer versions may have
    // them.
    EXPECT_TRUE(accepted.empty() || *accepted.begin() >= 2) << entry.name << " of " << *accepted.begin();
  }
}

// Calls with random arguments, so that more calls get past the first checks.
TEST(Kernels, random_arguments_are_handled) {
  std::vector<float> memory(256, 1);
  const std::vector<std::vector<int32_t>> shapes{{}, {4}, {2, 2}, {1, 2, 2}, {1, 2, 2, 2}, {0, 2}, {2, 2, 2, 2, 2}};
  const std::vector<uint8_t> orders[] = {{}, {0}, {1, 0}, {0, 1, 2}, {0, 2, 3, 1}, {0, 1, 2, 3, 4}};
  const PteScalarType types[] = {PteScalarType::kFloat, PteScalarType::kLong, PteScalarType::kChar,
                                 PteScalarType::kBool, PteScalarType::kHalf};
  const std::vector<std::vector<int64_t>> lists{{}, {0}, {1}, {-1, 1}, {2, 2}, {1, 0}, {0, 1, 2, 3}, {3}};
  std::vector<EValue> values;
  for (const auto& shape : shapes) {
    for (const PteScalarType type : types) {
      values.emplace_back(Tensor(type, shape, orders[shape.size()], memory.data()));
    }
  }
  for (const auto& entries : lists) values.emplace_back(std::span(entries));
  for (int64_t n = -2; n <= 4; ++n) values.emplace_back(n);
  for (const bool b : {false, true}) values.emplace_back(b);
  values.emplace_back();
  uint64_t state = 1;
  const auto random = [&state](size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33) % below;
  };
  Arena scratch;
  size_t successes = 0;
  for (const KernelEntry& entry : portable_kernels()) {
    for (int round = 0; round < 3000; ++round) {
      std::vector<EValue> mine(12);
      std::vector<EValue*> arguments;
      for (EValue& value : mine) {
        value = values[random(values.size())];
        arguments.push_back(&value);
      }
      for (float& element : memory) element = 0.5F;
      successes += entry.kernel(arguments, scratch) == Error::kOk ? 1 : 0;
    }
  }
  EXPECT_GT(successes, 1000U);  // enough of the random calls are valid
}

}  // namespace
}  // namespace carina::runtime
