#include "datasets/random_samples.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "datasets/number_text_internal.h"

namespace carina::datasets {

namespace {

constexpr size_t kSamples = 4;
constexpr uint64_t kSeed = 1;

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  // In (0, 1]: 0 is outside of what logarithms and divisions are defined for.
  double fraction() { return static_cast<double>((next() >> 40) + 1) / static_cast<double>(uint64_t{1} << 24); }

 private:
  uint64_t state_ = kSeed;
};

Result<Tensor> random_tensor(const InputType& input, Random& random) {
  if (input.number) return *input.number;
  std::vector<double> numbers(static_cast<size_t>(input.shape.elements()));
  for (double& number : numbers)
    number = is_float(input.dtype) ? random.fraction() : static_cast<double>(random.next() & 1);
  return tensor_of_numbers(numbers, input, "--calibrate random");
}

}  // namespace

Result<DataSet> random_samples(std::span<const InputType> inputs) {
  Random random;
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
