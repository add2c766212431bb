#include "driver/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/file.h"
#include "driver/import.h"
#include "driver/interpreted_delegate.h"
#include "driver/kernel_evaluator.h"
#include "driver/program_runner.h"
#include "driver/samples.h"
#include "driver/simulated_npu.h"
#include "quantize/float_run.h"

namespace carina::driver {

namespace {

struct FloatModel {
  std::vector<InputType> inputs;
  quantize::FloatRun run;
};

Result<FloatModel> load_float_model(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(request.model));
  CARINA_TRY(const Model imported, import_pt2(file, request.model, log));
  const ir::Graph& graph = imported.graph;
  const KernelEvaluator evaluator;
  CARINA_TRY(quantize::FloatRun run,
             quantize::FloatRun::create(
                 graph, {.threads = request.threads, .evaluator = &evaluator, .where = request.model}, log));
  return FloatModel{.inputs = input_types(graph), .run = std::move(run)};
}

template <typename T>
std::vector<double> numbers_as(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

Result<std::vector<double>> numbers_of(const Tensor& tensor, const std::string& where) {
  switch (tensor.dtype) {
    case DType::kFp32:
      return numbers_as<float>(tensor);
    case DType::kFp64:
      return numbers_as<double>(tensor);
    case DType::kInt8:
      return numbers_as<int8_t>(tensor);
    case DType::kUInt8:
      return numbers_as<uint8_t>(tensor);
    case DType::kInt16:
      return numbers_as<int16_t>(tensor);
    case DType::kInt32:
      return numbers_as<int32_t>(tensor);
    case DType::kInt64:
      return numbers_as<int64_t>(tensor);
    default:
      return fail({.where = where, .what = "expected numbers", .got = type_text(tensor.dtype, tensor.shape)});
  }
}

size_t answer(const std::vector<double>& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

Result<std::vector<double>> load_labels(const AccuracyRequest& request, size_t samples) {
  CARINA_TRY(const auto arrays, load_arrays(request.data));
  const auto found = arrays.find("y");
  if (found == arrays.end())
    return fail(
        {.where = request.data, .what = "no labels", .expected = "an array y with the right class of each sample"});
  CARINA_TRY(std::vector<double> labels, numbers_of(found->second, request.data + ":y"));
  if (labels.size() != samples) {
    return fail({.where = request.data,
                 .what = "the number of labels differs from the number of samples",
                 .expected = std::to_string(samples),
                 .got = std::to_string(labels.size())});
  }
  return labels;
}

// Signal and error power, summed over samples.
struct NoiseMeter {
  double signal = 0;
  double noise = 0;
  void add(const std::vector<double>& reference, const std::vector<double>& actual) {
    for (size_t i = 0; i < std::min(reference.size(), actual.size()); ++i) {
      signal += reference[i] * reference[i];
      noise += (reference[i] - actual[i]) * (reference[i] - actual[i]);
    }
  }
  [[nodiscard]] double sqnr_db() const { return noise == 0 ? 300.0 : 10 * std::log10(signal / noise); }
};

}  // namespace

Result<report::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(FloatModel model, load_float_model(request, log));
  CARINA_TRY(const std::vector<Sample> samples, load_samples(request.data, model.inputs));
  CARINA_TRY(const std::vector<double> labels, load_labels(request, samples.size()));
  CARINA_TRY(const Buffer program, map_file(request.program));

  SimulatedNpu npu(simulate::Options{.threads = request.threads});
  runtime::EthosUBackend npu_backend(npu);
  const std::array<runtime::Backend*, 1> npu_backends{&npu_backend};
  CARINA_TRY(const std::unique_ptr<ProgramRunner> on_npu, ProgramRunner::load(program, request.program, npu_backends));

  std::optional<InterpretedDelegates> integer_delegates;
  std::unique_ptr<ProgramRunner> on_integers;
  if (!request.dump_folder.empty()) {
    CARINA_TRY(integer_delegates, InterpretedDelegates::load(request.dump_folder, request.threads));
    const std::array<runtime::Backend*, 1> backends{&*integer_delegates};
    auto loaded = ProgramRunner::load(program, request.program, backends);
    if (!loaded && !integer_delegates->failure().empty()) return fail(integer_delegates->failure());
    CARINA_TRY(on_integers, std::move(loaded));
  }

  report::AccuracyReport report{.program = request.program,
                                .samples = static_cast<int64_t>(samples.size()),
                                .has_integer_graph = on_integers != nullptr};
  NoiseMeter noise;
  for (size_t n = 0; n < samples.size(); ++n) {
    log.progress("samples", n, samples.size());
    CARINA_TRY(const std::vector<Tensor> float_outputs, model.run.run(samples[n]));
    CARINA_TRY(const std::vector<NamedTensor> npu_outputs, on_npu->run(samples[n]));
    npu.clear_reports();
    CARINA_TRY(const std::vector<double> float_scores, numbers_of(float_outputs.front(), request.model));
    CARINA_TRY(const std::vector<double> npu_scores, numbers_of(npu_outputs.front().tensor, request.program));
    const auto label = static_cast<size_t>(labels[n]);
    report.float_right += answer(float_scores) == label ? 1 : 0;
    report.npu_right += answer(npu_scores) == label ? 1 : 0;
    report.npu_answers_as_float += answer(npu_scores) == answer(float_scores) ? 1 : 0;
    noise.add(float_scores, npu_scores);
    if (on_integers == nullptr) continue;
    CARINA_TRY(const std::vector<NamedTensor> integer_outputs, on_integers->run(samples[n]));
    CARINA_TRY(const std::vector<double> integer_scores, numbers_of(integer_outputs.front().tensor, request.program));
    report.integer_right += answer(integer_scores) == label ? 1 : 0;
    report.npu_equals_integer += identical(integer_outputs.front().tensor, npu_outputs.front().tensor) ? 1 : 0;
  }
  report.sqnr_db = noise.sqnr_db();
  return report;
}

}  // namespace carina::driver
