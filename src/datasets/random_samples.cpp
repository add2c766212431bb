#include "datasets/random_samples.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/split_mix64.h"
#include "datasets/number_text_internal.h"

namespace carina::datasets {

namespace {

constexpr size_t kSamples = 4;
constexpr uint64_t kSeed = 1;

// In (0, 1]: 0 is outside of what logarithms and divisions are defined for.
double fraction(SplitMix64& random) {
  return static_cast<double>((random.next() >> 40) + 1) / static_cast<double>(uint64_t{1} << 24);
}

Result<Tensor> random_tensor(const InputType& input, SplitMix64& random) {
  if (input.number) return *input.number;
  std::vector<double> numbers(static_cast<size_t>(input.shape.elements()));
  for (double& number : numbers)
    number = is_float(input.dtype) ? fraction(random) : static_cast<double>(random.next() & 1);
  return tensor_of_numbers(numbers, input, "--calibrate random");
}

}  // namespace

Result<DataSet> random_samples(std::span<const InputType> inputs) {
  SplitMix64 random(kSeed);
  std::vector<Sample> samples(kSamples);
  for (Sample& sample : samples) {
    for (const InputType& input : inputs) {
      CARINA_TRY(Tensor tensor, random_tensor(input, random));
      sample.push_back(std::move(tensor));
    }
  }
  return DataSet(std::move(samples));
}

}  // namespace carina::datasets
