#include "driver/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "driver/delegate_target.h"
#include "driver/file_kind.h"
#include "driver/import.h"
#include "driver/interpreted_delegate.h"
#include "driver/kernel_evaluator.h"
#include "driver/program_runner.h"
#include "driver/samples.h"
#include "driver/simulated_npu.h"
#include "pte/reader.h"
#include "quantize/float_run.h"
#include "tensor/elements.h"

namespace carina::driver {

namespace {

struct FloatModel {
  std::vector<InputType> inputs;
  quantize::FloatRun run;
};

Result<FloatModel> load_float_model(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, open_file(request.model, {FileKind::kPt2}));
  CARINA_TRY(const Model imported, import_pt2(file, request.model, log));
  const ir::Graph& graph = imported.graph;
  const KernelEvaluator evaluator;
  CARINA_TRY(quantize::FloatRun run,
             quantize::FloatRun::create(
                 graph, {.threads = request.threads, .evaluator = &evaluator, .where = request.model}, log));
  return FloatModel{.inputs = input_types(graph), .run = std::move(run)};
}

Result<std::vector<double>> numbers_in(const Tensor& tensor, const std::string& where) {
  if (auto numbers = numbers_of(tensor)) return *std::move(numbers);
  return fail({.where = where, .what = "expected numbers", .got = type_text(tensor.dtype, tensor.shape)});
}

size_t answer(const std::vector<double>& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

// The right class of each sample; nothing when the data has none.
Result<std::optional<std::vector<double>>> load_labels(const AccuracyRequest& request, size_t samples) {
  CARINA_TRY(const auto arrays, load_arrays(request.data));
  const auto found = arrays.find("y");
  if (found == arrays.end()) return std::nullopt;
  CARINA_TRY(std::vector<double> labels, numbers_in(found->second, request.data + ":y"));
  if (labels.size() != samples) {
    return fail({.where = request.data,
                 .what = "the number of labels differs from the number of samples",
                 .expected = std::to_string(samples),
                 .got = std::to_string(labels.size())});
  }
  return std::optional(std::move(labels));
}

// Errors: a label that is not the number of one of the classes.
Result<void> check_label(const AccuracyRequest& request, size_t sample, double label, size_t classes) {
  if (label >= 0 && label < static_cast<double>(classes) && label == std::floor(label)) return {};
  return fail({.where = request.data + ":y",
               .what = fmt::format("the label of sample {} is none of the model's classes", sample),
               .expected = fmt::format("0 to {}, an element of the first output", classes - 1),
               .got = fmt::format("{}", label)});
}

template <typename T>
bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values<T>(), [](T value) { return std::isfinite(value); });
}

// Errors: an input that has NaN or infinities, whose results mean nothing.
Result<void> check_finite(const AccuracyRequest& request, const Sample& sample, size_t n,
                          std::span<const InputType> inputs) {
  for (size_t i = 0; i < sample.size(); ++i) {
    const bool finite = sample[i].dtype == DType::kFp32   ? all_finite<float>(sample[i])
                        : sample[i].dtype == DType::kFp64 ? all_finite<double>(sample[i])
                                                          : true;
    if (!finite)
      return fail({.where = request.data,
                   .what = fmt::format("sample {} of the input {} has NaN or infinite values", n, inputs[i].name)});
  }
  return {};
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

// What the three answer to one sample.
struct Answers {
  std::vector<double> float_scores;
  std::vector<double> npu_scores;
  std::vector<double> integer_scores;  // empty without the integer graph
  bool same_bits = false;              // of the NPU and the integer graph
};

// The program on the simulated NPU, and with the integer graphs of a dump in its delegates' place.
class Programs {
 public:
  static Result<std::unique_ptr<Programs>> load(const AccuracyRequest& request) {
    CARINA_TRY(const Buffer program, open_file(request.program, {FileKind::kPte}));
    CARINA_TRY(const pte::Program parsed, pte::read_program(program, request.program));
    CARINA_TRY(const plan::Target target, target_of_program(parsed, request.program, {}, Log{}));
    std::unique_ptr<Programs> programs(new Programs(request, target));
    const std::array<runtime::Backend*, 1> npu{&programs->npu_backend_};
    CARINA_TRY(programs->on_npu_, ProgramRunner::load(program, request.program, npu));
    if (request.dump_folder.empty()) return programs;
    CARINA_TRY(programs->delegates_, InterpretedDelegates::load(request.dump_folder, request.threads));
    const std::array<runtime::Backend*, 1> integers{&*programs->delegates_};
    auto loaded = ProgramRunner::load(program, request.program, integers);
    if (!loaded && !programs->delegates_->failure().empty()) return fail(programs->delegates_->failure());
    CARINA_TRY(programs->on_integers_, std::move(loaded));
    return programs;
  }
  [[nodiscard]] bool has_integer_graph() const { return on_integers_ != nullptr; }

  Result<void> run(const Sample& sample, Answers& answers) {
    CARINA_TRY(const std::vector<NamedTensor> npu_outputs, on_npu_->run(sample));
    npu_.clear_reports();
    if (npu_outputs.empty()) return fail({.where = where_, .what = "the program has no output that is a tensor"});
    CARINA_TRY(answers.npu_scores, numbers_in(npu_outputs.front().tensor, where_));
    if (on_integers_ == nullptr) return {};
    CARINA_TRY(const std::vector<NamedTensor> integer_outputs, on_integers_->run(sample));
    CARINA_TRY(answers.integer_scores, numbers_in(integer_outputs.front().tensor, where_));
    answers.same_bits = identical(integer_outputs.front().tensor, npu_outputs.front().tensor);
    return {};
  }

 private:
  Programs(const AccuracyRequest& request, const plan::Target& target)
      : where_(request.program),
        fast_(fast_memory_of(target)),
        npu_(simulate::Options{.threads = request.threads}),
        npu_backend_(npu_, fast_.bytes()) {}

  std::string where_;
  ZeroedPages fast_;
  SimulatedNpu npu_;
  runtime::EthosUBackend npu_backend_;
  std::unique_ptr<ProgramRunner> on_npu_;
  std::optional<InterpretedDelegates> delegates_;
  std::unique_ptr<ProgramRunner> on_integers_;
};

void count(const Answers& answers, std::optional<size_t> label, report::AccuracyReport& report) {
  report.npu_answers_as_float += answer(answers.npu_scores) == answer(answers.float_scores) ? 1 : 0;
  report.npu_equals_integer += answers.same_bits ? 1 : 0;
  if (!label) return;
  report.float_right += answer(answers.float_scores) == *label ? 1 : 0;
  report.npu_right += answer(answers.npu_scores) == *label ? 1 : 0;
  if (!answers.integer_scores.empty()) report.integer_right += answer(answers.integer_scores) == *label ? 1 : 0;
}

}  // namespace

Result<report::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(FloatModel model, load_float_model(request, log));
  CARINA_TRY(const std::vector<Sample> samples, load_samples(request.data, model.inputs));
  CARINA_TRY(const auto labels, load_labels(request, samples.size()));
  CARINA_TRY(const std::unique_ptr<Programs> programs, Programs::load(request));
  report::AccuracyReport report{.program = request.program,
                                .samples = static_cast<int64_t>(samples.size()),
                                .has_labels = labels.has_value(),
                                .has_integer_graph = programs->has_integer_graph()};
  NoiseMeter noise;
  for (size_t n = 0; n < samples.size(); ++n) {
    log.progress("sample", n, samples.size());
    CARINA_CHECKED(check_finite(request, samples[n], n, model.inputs));
    Answers answers;
    CARINA_TRY(const std::vector<Tensor> float_outputs, model.run.run(samples[n]));
    CARINA_TRY(answers.float_scores, numbers_in(float_outputs.front(), request.model));
    if (labels) CARINA_CHECKED(check_label(request, n, (*labels)[n], answers.float_scores.size()));
    CARINA_CHECKED(programs->run(samples[n], answers));
    count(answers, labels ? std::optional(static_cast<size_t>((*labels)[n])) : std::nullopt, report);
    noise.add(answers.float_scores, answers.npu_scores);
  }
  report.sqnr_db = noise.sqnr_db();
  return report;
}

}  // namespace carina::driver
