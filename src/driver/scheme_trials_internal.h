// Declares how the search for a mixed-precision scheme measures one scheme: its noise on samples, its cycles by
// compiling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "driver/compilation.h"
#include "driver/delegation.h"
#include "evaluate/kernel_evaluator.h"
#include "quantize/ptq.h"
#include "quantize/similarity.h"

namespace carina::driver {

// What a scheme gives.
struct Measured {
  int64_t cycles = 0;      // of the NPU and the CPU
  int64_t cpu_cycles = 0;  // those of the CPU alone
  size_t delegates = 0;
  double noise = 0;          // the sum over all outputs of the noise in relation to the signal
  double least_sqnr_db = 0;  // of an output
};

// A float model, its calibration, and the samples on which its quantized forms are measured.
class SchemeTrials {
 public:
  static constexpr std::string_view kNamePrefix = "auto: ";  // of the names of schemes

  SchemeTrials(const models::Model& model, const CompileOptions& options, const backends::Backend& backend,
               const Log& log)
      : model_(model), options_(options), backend_(backend), log_(log) {}

  // Runs the float model on the samples to calibrate with, and on those to measure on. Errors: those of the samples and
  // the engines.
  Result<void> observe();

  // The user's scheme with another general part. The user's overrides take precedence over `overrides`.
  [[nodiscard]] quantize::Scheme scheme_with(const quantize::NodeScheme& general,
                                             std::vector<quantize::Override> overrides, std::string name) const;
  Result<ir::Graph> quantized(const quantize::Scheme& scheme);
  // Gives a graph that quantized() returned the 16 bits that plain int8 gives a network which loses much. Returns
  // whether it did.
  Result<bool> widen(quantize::Scheme scheme, ir::Graph& quantized);

  enum class Samples : uint8_t {
    kFew,      // to compare parts of the model with each other
    kHeldOut,  // all that calibration has not seen
  };
  Result<void> measure_noise(const ir::Graph& graph, Samples samples, Measured& measured) const;
  Result<Delegated> delegated(const ir::Graph& graph) const;
  // Error: the backend has no cycle model.
  Result<void> add_cycles(const Delegated& delegated, Measured& measured) const;

  // By node of the model: the NPU's cycles. Nodes that became part of another's operation have none.
  [[nodiscard]] std::vector<int64_t> cycles_of_nodes(const ir::Graph& graph, const Delegated& delegated) const;
  // The names of the nodes of a quantized graph where most error enters.
  Result<std::vector<std::string>> worst_layers(const ir::Graph& quantized) const;

  [[nodiscard]] size_t held_out_samples() const { return final_samples_.size(); }
  // Whether calibration does not see the samples to measure on. False: there are too few.
  [[nodiscard]] bool is_held_out() const { return is_held_out_; }

 private:
  [[nodiscard]] quantize::SimilarityOptions similarity_options() const;
  [[nodiscard]] size_t elements_of_outputs() const;
  Result<void> observe_with(std::string_view spec, std::optional<quantize::Observed>& observed) const;
  [[nodiscard]] quantize::PtqOptions quantize_options(quantize::Scheme scheme) const;

  const models::Model& model_;
  const CompileOptions& options_;
  const backends::Backend& backend_;
  const Log& log_;
  evaluate::KernelEvaluator evaluator_;
  std::optional<datasets::DataSet> calibration_;
  std::optional<quantize::Observed> observed_;
  std::optional<quantize::Observed> unequalized_;
  std::optional<quantize::Observed> wide_;  // with 16 bits
  bool is_held_out_ = false;
  std::vector<datasets::Sample> final_samples_;    // to measure on
  std::vector<std::vector<Tensor>> final_wanted_;  // the float model's outputs for these
  std::vector<datasets::Sample> trial_samples_;    // the first of these
  std::vector<std::vector<Tensor>> trial_wanted_;
};

}  // namespace carina::driver
