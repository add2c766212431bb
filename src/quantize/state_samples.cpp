#include "quantize/state_samples.h"

#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "quantize/calibrate_internal.h"

namespace carina::quantize {

Result<datasets::DataSet> with_state(const ir::Graph& graph, const datasets::DataSet& samples,
                                     const ir::Evaluator* evaluator) {
  if (graph.states.empty() || samples.size() == 0 || evaluator == nullptr) return samples;
  CARINA_TRY(const datasets::DataSet::Sample first, samples.sample(0));
  std::vector<size_t> firsts;
  if (first.size() == graph.inputs.size()) {
    firsts.resize(samples.size());
    std::iota(firsts.begin(), firsts.end(), size_t{0});
    return datasets::DataSet(samples).in_sequences(std::move(firsts));
  }
  CARINA_TRY(const std::unique_ptr<ir::Evaluation> evaluation, evaluator->load(graph));
  std::vector<Tensor> initial;
  for (const ir::State& one : graph.states) initial.push_back(one.initial);
  std::vector<Tensor> state;
  std::vector<datasets::DataSet::Sample> with;
  for (size_t n = 0; n < samples.size(); ++n) {
    CARINA_TRY(datasets::DataSet::Sample sample, samples.sample(n));
    if (samples.begins_sequence(n)) {
      state = initial;
      firsts.push_back(n);
    }
    std::ranges::copy(state, std::back_inserter(sample));
    CARINA_CHECKED(check_sample(graph, sample, n));
    CARINA_TRY(std::vector<Tensor> outputs, evaluation->run(sample));
    state.assign(std::make_move_iterator(outputs.end() - static_cast<std::ptrdiff_t>(state.size())),
                 std::make_move_iterator(outputs.end()));
    with.push_back(std::move(sample));
  }
  return datasets::DataSet(std::move(with)).in_sequences(std::move(firsts));
}

}  // namespace carina::quantize
