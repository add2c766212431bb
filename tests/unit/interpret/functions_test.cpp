// The vector versions of the elementary functions give the bits of the scalar versions on every instruction set of this
// processor.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/micro/float_math.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

namespace {

struct Named {
  const char* name;
  kernels::Function function;
  float (*scalar)(float);
  float min, max;  // the range with most of the function's values
};

constexpr Named kFunctions[] = {
    {.name = "exp", .function = kernels::Function::kExp, .scalar = kernels::exact_exp, .min = -110, .max = 95},
    {.name = "log", .function = kernels::Function::kLog, .scalar = kernels::exact_log, .min = 0, .max = 4},
    {.name = "sin", .function = kernels::Function::kSin, .scalar = kernels::exact_sin, .min = -50, .max = 50},
    {.name = "cos", .function = kernels::Function::kCos, .scalar = kernels::exact_cos, .min = -50, .max = 50},
    {.name = "tanh", .function = kernels::Function::kTanh, .scalar = kernels::exact_tanh, .min = -12, .max = 12},
    {.name = "sigmoid",
     .function = kernels::Function::kSigmoid,
     .scalar = kernels::exact_sigmoid,
     .min = -110,
     .max = 30},
    {.name = "erf", .function = kernels::Function::kErf, .scalar = kernels::exact_erf, .min = -4.5, .max = 4.5},
    {.name = "rsqrt", .function = kernels::Function::kRsqrt, .scalar = kernels::exact_rsqrt, .min = 0, .max = 10},
};

// Numbers that are all near 0, all in the function's range, or of both kinds with random bits and special numbers
// between them: kernels have code for neighbors that are all ordinary.
std::vector<float> arguments_of(const Named& named) {
  std::mt19937 random(5);
  std::uniform_int_distribution<uint32_t> bits;
  std::uniform_real_distribution<float> in_domain(named.min, named.max);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int i = 0; i < 50000; ++i) values.push_back(i % 100 == 0 ? 0 : normal(random));
  for (int i = 0; i < 50000; ++i) values.push_back(in_domain(random));
  for (int i = 0; i < 40000; ++i) {
    values.push_back(std::bit_cast<float>(bits(random)));
    values.push_back(in_domain(random));
    values.push_back(normal(random));
  }
  for (const float special : {0.0F, 1.0F, 4.0F, 1e-3F, 0x1p-126F, 0x1p-149F, 0x1p20F, 87.0F, 88.72284F, 103.97208F,
                              0x1.fffffep127F, INFINITY, NAN}) {
    for (const float value : {special, std::nextafter(special, 0.0F), std::nextafter(special, INFINITY)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

void expect_scalar_bits(const Named& named, const std::vector<float>& values, const std::vector<float>& wanted) {
  std::vector<float> got(values.size());
  kernels::apply(named.function, values.data(), got.data(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(bits_of(wanted[i]), bits_of(got[i])) << named.name << " of " << values[i];
}

TEST(Functions, all_targets_equal_scalar_bits) {
  for (const Named& named : kFunctions) {
    const std::vector<float> values = arguments_of(named);
    std::vector<float> wanted;
    for (const float value : values) wanted.push_back(named.scalar(value));
    for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
      hwy::SetSupportedTargetsForTest(rest);
      hwy::GetChosenTarget().Update(rest);
      SCOPED_TRACE(hwy::TargetName(rest & -rest));
      expect_scalar_bits(named, values, wanted);
      hwy::SetSupportedTargetsForTest(0);
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

}  // namespace carina::interpret
