#include "execute/run_program.h"

#include <cstring>
#include <memory>

#include "execute/program_session.h"

namespace carina::execute {

datasets::Sample ones(std::span<const datasets::InputType> inputs) {
  datasets::Sample sample;
  for (const datasets::InputType& input : inputs) {
    if (input.number) {
      sample.push_back(*input.number);
      continue;
    }
    MutableTensor tensor(input.dtype, input.shape);
    const size_t bytes = element_bytes(input.dtype);
    const double one = 1.0;
    const float one_f = 1.0F;
    const int64_t one_i = 1;
    const void* value = input.dtype == DType::kFp32   ? static_cast<const void*>(&one_f)
                        : input.dtype == DType::kFp64 ? static_cast<const void*>(&one)
                                                      : &one_i;
    for (size_t at = 0; at < tensor.bytes().size(); at += bytes) std::memcpy(tensor.bytes().data() + at, value, bytes);
    sample.push_back(std::move(tensor).freeze());
  }
  return sample;
}

Result<BatchOutcome> run_batch(const Buffer& program, const std::string& where, const BatchSource& inputs,
                               const RunOptions& options, const Log& log, const StateOptions& state) {
  CARINA_TRY(const std::unique_ptr<ProgramSession> session, ProgramSession::load(program, where, options, log));
  if (state.first) {
    CARINA_TRY(const std::vector<Tensor> first, state.first(session->state_types()));
    CARINA_CHECKED(session->set_state(first));
  }
  BatchOutcome batch{.outputs = {}, .inputs = session->inputs(), .method = session->method(), .run = {}};
  CARINA_TRY(const std::vector<datasets::Sample> samples, inputs(batch.inputs));
  if (samples.empty()) return fail({.where = where, .what = "no sample to run"});
  for (const datasets::Sample& sample : samples) {
    if (samples.size() > 1) log.progress("sample", batch.outputs.size(), samples.size());
    const auto done = static_cast<int64_t>(batch.outputs.size());
    if (state.reset_every > 0 && done > 0 && done % state.reset_every == 0) session->reset_state();
    CARINA_TRY(std::vector<datasets::NamedTensor> outputs, session->run(sample));
    batch.outputs.push_back(std::move(outputs));
  }
  batch.run = session->figures();
  batch.state = session->state();
  return batch;
}

Result<RunOutcome> run_program(const Buffer& program, const std::string& where, const datasets::InputSource& inputs,
                               const RunOptions& options, const Log& log) {
  const auto source = [&](std::span<const datasets::InputType> types) -> Result<std::vector<datasets::Sample>> {
    CARINA_TRY(datasets::Sample sample, inputs(types));
    return std::vector<datasets::Sample>{std::move(sample)};
  };
  CARINA_TRY(BatchOutcome batch, run_batch(program, where, source, options, log));
  batch.run.outputs = std::move(batch.outputs.front());
  return std::move(batch.run);
}

}  // namespace carina::execute
