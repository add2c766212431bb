#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/tensor.h"
#include "npu/compiled_network.h"
#include "simulate/simulator.h"

namespace carina::simulate {

// A network in Vela's raw form with its memory. It can run any number of times.
class StreamCase {
 public:
  static Result<StreamCase> load(const std::string& npz_path);
  // Without paths, the inputs are zeros. Errors: errors of the simulator, wrong number or size of inputs.
  Result<Report> run(Simulator& simulator, const std::vector<std::string>& input_paths);
  // The bytes of output `i` after a run.
  [[nodiscard]] std::vector<std::byte> output(size_t i) const;
  [[nodiscard]] const npu::CompiledNetwork& network() const { return network_; }

 private:
  npu::CompiledNetwork network_;
  std::vector<std::byte> weights_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> fast_scratch_;
};

Result<Tensor> load_npy(const std::string& path);
// The number of differing elements and the largest difference of integers; empty if the sizes differ.
struct Difference {
  size_t elements = 0;
  size_t different = 0;
  int64_t largest = 0;
};
Result<Difference> compare(std::span<const std::byte> got, const Tensor& expected);

}  // namespace carina::simulate
