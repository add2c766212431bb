#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "carina/tensor.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

// How similar two forms of a model compute, as a signal-to-noise ratio.
//   Example: a reference of [3, 4] and results of [3, 4.1]: 10 * log10(25 / 0.01) = 34 dB.
namespace carina::quantize {

using Samples = std::span<const std::vector<Tensor>>;

// The similarity of float tensors to reference tensors.
struct Similarity {
  double signal = 0;  // sums of squares
  double noise = 0;
  double absolute = 0;  // sum of absolute differences
  int64_t elements = 0;

  // Adds a pair of tensors. Types other than fp32 are ignored.
  void add(const Tensor& wanted, const Tensor& got);
  // The signal-to-noise ratio in dB; 300 if there is no difference.
  [[nodiscard]] double sqnr_db() const;
  [[nodiscard]] double mean_absolute_error() const;
};

struct SimilarityOptions {
  int threads = 1;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support
};

// Passes the outputs of a normalized graph, quantized or not, for each sample to `take`, until that returns false.
// Errors: those of FloatRun.
using TakeOutputs = std::function<bool(size_t sample, std::vector<Tensor> outputs)>;
Result<void> run_samples(const ir::Graph& graph, Samples samples, const SimilarityOptions& options, const Log& log,
                         const TakeOutputs& take);

// The same for a graph with state, in order: a sample gets the state that the run before it left, in place of its own,
// unless it begins a sequence.
Result<void> run_steps(const ir::Graph& graph, Samples samples, const std::function<bool(size_t sample)>& begins,
                       const SimilarityOptions& options, const Log& log, const TakeOutputs& take);

// Returns the outputs for each sample.
Result<std::vector<std::vector<Tensor>>> outputs_of(const ir::Graph& graph, Samples samples,
                                                    const SimilarityOptions& options, const Log& log);

// Returns the similarity of each output over all samples. `wanted` and `got` are results of outputs_of() for two forms
// of one model.
std::vector<Similarity> similarity_of_outputs(const std::vector<std::vector<Tensor>>& wanted,
                                              const std::vector<std::vector<Tensor>>& got);

// The sum over all outputs of the noise in relation to the signal. Outputs that are always 0 do not count.
double relative_noise(const std::vector<Similarity>& outputs);

// The error of a sample's outputs in relation to the size of those of all samples: the root of its noise, so that a few
// samples with large errors count less than in the SQNR. Outputs that are always 0 do not count.
class OutputErrors {
 public:
  // `wanted` are the outputs by sample, and must outlive this object.
  explicit OutputErrors(const std::vector<std::vector<Tensor>>& wanted);
  [[nodiscard]] double of(size_t sample, const std::vector<Tensor>& got) const;

 private:
  const std::vector<std::vector<Tensor>>& wanted_;
  std::vector<double> sizes_;  // by output
};

// Returns the similarity of each value that nodes of both graphs compute, by its name.
Result<std::map<std::string, Similarity>> similarity_of_values(const ir::Graph& reference, const ir::Graph& quantized,
                                                               Samples samples, const SimilarityOptions& options,
                                                               const Log& log);

}  // namespace carina::quantize
