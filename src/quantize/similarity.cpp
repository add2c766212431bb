#include "quantize/similarity.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "observe/float_run.h"

namespace carina::quantize {

namespace {

// The values of a run, by name. Tensors are copied, because they are valid only during the callback.
using Seen = std::map<std::string, Tensor>;

Result<observe::FloatRun> watched(const ir::Graph& graph, const SimilarityOptions& options, Seen& seen,
                                  const Log& log) {
  observe::FloatRunOptions run{.threads = options.threads, .evaluator = options.evaluator};
  run.values = observe::FloatRunOptions::Values::kEvery;
  run.observer = [&graph, &seen](std::span<const ir::ValueId> values, const Tensor& tensor, const kernels::Extremes&) {
    for (const ir::ValueId id : values) {
      Tensor copy = tensor;
      copy.data = Buffer::copy_of(tensor.data.bytes());
      seen.insert_or_assign(graph[id].name, std::move(copy));
    }
  };
  return observe::FloatRun::create(graph, run, log);
}

}  // namespace

void Similarity::add(const Tensor& wanted, const Tensor& got) {
  if (wanted.dtype != DType::kFp32 || got.dtype != DType::kFp32 || wanted.elements() != got.elements()) return;
  const auto expected = wanted.values<float>(), actual = got.values<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(expected[i]) - static_cast<double>(actual[i]);
    signal += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    noise += difference * difference;
    absolute += std::abs(difference);
  }
  elements += static_cast<int64_t>(expected.size());
}

double Similarity::sqnr_db() const {
  constexpr double kNoDifference = 300;
  if (noise == 0) return kNoDifference;
  return signal == 0 ? -kNoDifference : 10 * std::log10(signal / noise);
}

double Similarity::mean_absolute_error() const {
  return elements == 0 ? 0 : absolute / static_cast<double>(elements);
}

Result<void> run_samples(const ir::Graph& graph, Samples samples, const SimilarityOptions& options, const Log& log,
                         const TakeOutputs& take) {
  return run_steps(graph, samples, [](size_t) { return true; }, options, log, take);
}

Result<void> run_steps(const ir::Graph& graph, Samples samples, const std::function<bool(size_t)>& begins,
                       const SimilarityOptions& options, const Log& log, const TakeOutputs& take) {
  using Integers = observe::FloatRunOptions::Integers;
  const bool is_quantized =
      std::ranges::any_of(graph.values, [](const ir::Value& v) { return v.quantization.has_value(); });
  CARINA_TRY(observe::FloatRun model,
             observe::FloatRun::create(graph,
                                       {.threads = options.threads,
                                        .evaluator = options.evaluator,
                                        .integers = is_quantized ? Integers::kAsInTosa : Integers::kWide},
                                       log));
  std::vector<Tensor> state;  // that the next sample gets
  for (size_t s = 0; s < samples.size(); ++s) {
    std::vector<Tensor> sample = samples[s];
    std::ranges::move(state, sample.end() - static_cast<std::ptrdiff_t>(state.size()));
    CARINA_TRY(std::vector<Tensor> outputs, model.run(sample));
    state.clear();
    if (s + 1 < samples.size() && !begins(s + 1)) {
      state.assign(outputs.end() - static_cast<std::ptrdiff_t>(graph.states.size()), outputs.end());
      for (Tensor& one : state) one.data = Buffer::copy_of(one.data.bytes());  // the memory of outputs is the run's
    }
    if (!take(s, std::move(outputs))) break;
  }
  return {};
}

Result<std::vector<std::vector<Tensor>>> outputs_of(const ir::Graph& graph, Samples samples,
                                                    const SimilarityOptions& options, const Log& log) {
  std::vector<std::vector<Tensor>> all;
  CARINA_CHECKED(run_samples(graph, samples, options, log, [&](size_t, std::vector<Tensor> outputs) {
    all.push_back(std::move(outputs));
    return true;
  }));
  return all;
}

std::vector<Similarity> similarity_of_outputs(const std::vector<std::vector<Tensor>>& wanted,
                                              const std::vector<std::vector<Tensor>>& got) {
  std::vector<Similarity> similarity(wanted.empty() ? 0 : wanted.front().size());
  for (size_t s = 0; s < wanted.size(); ++s) {
    for (size_t i = 0; i < similarity.size(); ++i) similarity[i].add(wanted[s][i], got[s][i]);
  }
  return similarity;
}

OutputErrors::OutputErrors(const std::vector<std::vector<Tensor>>& wanted) : wanted_(wanted) {
  for (const Similarity& output : similarity_of_outputs(wanted, wanted)) sizes_.push_back(std::sqrt(output.signal));
}

double OutputErrors::of(size_t sample, const std::vector<Tensor>& got) const {
  double error = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    Similarity one;
    one.add(wanted_[sample][i], got[i]);
    if (sizes_[i] > 0) error += std::sqrt(one.noise) / sizes_[i];
  }
  return error;
}

double relative_noise(const std::vector<Similarity>& outputs) {
  double noise = 0;
  for (const Similarity& output : outputs) {
    if (output.signal > 0) noise += output.noise / output.signal;
  }
  return noise;
}

Result<std::map<std::string, Similarity>> similarity_of_values(const ir::Graph& reference, const ir::Graph& quantized,
                                                               Samples samples, const SimilarityOptions& options,
                                                               const Log& log) {
  Seen wanted, got;
  CARINA_TRY(observe::FloatRun floats, watched(reference, options, wanted, log));
  CARINA_TRY(observe::FloatRun integers, watched(quantized, options, got, log));
  std::map<std::string, Similarity> similarity;
  for (const std::vector<Tensor>& sample : samples) {
    if (auto run = floats.run(sample); !run) return std::unexpected(std::move(run).error());
    if (auto run = integers.run(sample); !run) return std::unexpected(std::move(run).error());
    for (const auto& [name, tensor] : wanted) {
      if (const auto found = got.find(name); found != got.end()) similarity[name].add(tensor, found->second);
    }
  }
  return similarity;
}

}  // namespace carina::quantize
