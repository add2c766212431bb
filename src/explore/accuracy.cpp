#include "explore/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>

#include "backends/delegate_target.h"
#include "base/memory/mapped_pages.h"
#include "base/parallel/parallel.h"
#include "datasets/sample_reader.h"
#include "evaluate/kernel_evaluator.h"
#include "evaluate/program_runner.h"
#include "execute/interpreted_delegate.h"
#include "execute/simulated_npu.h"
#include "files/file_kind.h"
#include "models/import.h"
#include "observe/float_run.h"
#include "pte/reader.h"
#include "tensor/elements.h"

namespace carina::explore {

namespace {

// What is asked of each worker: samples are shared out, or the threads inside of operators.
struct Division {
  size_t workers = 1;
  int threads = 1;  // of each
};
Division divide(int threads, size_t samples) {
  const auto workers = static_cast<size_t>(threads);
  return samples < 2 * workers ? Division{.workers = 1, .threads = threads}
                               : Division{.workers = workers, .threads = 1};
}

Result<observe::FloatRun> float_run(const models::Model& model, const AccuracyRequest& request, int threads,
                                    const Log& log) {
  const evaluate::KernelEvaluator evaluator;
  return observe::FloatRun::create(model.graph, {.threads = threads, .evaluator = &evaluator, .where = request.model},
                                   log);
}

Result<std::vector<double>> numbers_in(const Tensor& tensor, const std::string& where) {
  if (auto numbers = numbers_of(tensor)) return *std::move(numbers);
  return fail({.where = where, .what = "expected numbers", .got = datasets::type_text(tensor.dtype, tensor.shape)});
}

size_t answer(const std::vector<double>& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
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
Result<void> check_finite(const AccuracyRequest& request, const datasets::Sample& sample, size_t n,
                          std::span<const datasets::InputType> inputs) {
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
  static Result<std::unique_ptr<Programs>> load(const AccuracyRequest& request, int threads) {
    CARINA_TRY(const Buffer program, files::open_file(request.program, {files::FileKind::kPte}));
    CARINA_TRY(const pte::Program parsed, pte::read_program(program, request.program));
    CARINA_TRY(const plan::Target target, backends::target_of_program(parsed, request.program, {}, Log{}));
    std::unique_ptr<Programs> programs(new Programs(request, target, threads));
    const std::array<runtime::Backend*, 1> npu{&programs->npu_backend_};
    CARINA_TRY(programs->on_npu_, evaluate::ProgramRunner::load(program, request.program, npu));
    if (request.dump_folder.empty()) return programs;
    CARINA_TRY(programs->delegates_, execute::InterpretedDelegates::load(request.dump_folder, threads));
    const std::array<runtime::Backend*, 1> integers{&*programs->delegates_};
    CARINA_TRY(programs->on_integers_,
               programs->explained(evaluate::ProgramRunner::load(program, request.program, integers)));
    return programs;
  }

  Result<void> run(const datasets::Sample& sample, Answers& answers) {
    CARINA_TRY(const std::vector<datasets::NamedTensor> npu_outputs, on_npu_->run(sample));
    npu_.clear_reports();
    if (npu_outputs.empty()) return fail({.where = where_, .what = "the program has no output that is a tensor"});
    CARINA_TRY(answers.npu_scores, numbers_in(npu_outputs.front().tensor, where_));
    if (on_integers_ == nullptr) return {};
    CARINA_TRY(const std::vector<datasets::NamedTensor> integer_outputs, explained(on_integers_->run(sample)));
    CARINA_TRY(answers.integer_scores, numbers_in(integer_outputs.front().tensor, where_));
    answers.same_bits = identical(integer_outputs.front().tensor, npu_outputs.front().tensor);
    return {};
  }

 private:
  Programs(const AccuracyRequest& request, const plan::Target& target, int threads)
      : where_(request.program),
        fast_(backends::fast_memory_of(target)),
        npu_(simulate::Options{.threads = threads,
                               .has_read = [behind = PageReleaser()](auto read) mutable { behind.add(read); }}),
        npu_backend_(npu_, fast_.bytes()) {}

  // The integer graphs' error messages instead of the runtime's, where the graphs failed.
  template <typename T>
  [[nodiscard]] Result<T> explained(Result<T> result) const {
    if (!result && !delegates_->failure().empty()) return fail(delegates_->failure());
    return result;
  }

  std::string where_;
  ZeroedPages fast_;
  execute::SimulatedNpu npu_;
  runtime::EthosUBackend npu_backend_;
  std::unique_ptr<evaluate::ProgramRunner> on_npu_;
  std::optional<execute::InterpretedDelegates> delegates_;
  std::unique_ptr<evaluate::ProgramRunner> on_integers_;
};

results::SampleScore score_of(const Answers& answers, std::optional<double> label) {
  const auto is_right = [&](const std::vector<double>& scores) {
    return label && !scores.empty() && answer(scores) == static_cast<size_t>(*label);
  };
  results::SampleScore score{.float_right = is_right(answers.float_scores),
                             .integer_right = is_right(answers.integer_scores),
                             .npu_right = is_right(answers.npu_scores),
                             .npu_equals_integer = answers.same_bits,
                             .npu_answers_as_float = answer(answers.npu_scores) == answer(answers.float_scores)};
  for (size_t i = 0; i < std::min(answers.float_scores.size(), answers.npu_scores.size()); ++i) {
    const double difference = answers.float_scores[i] - answers.npu_scores[i];
    score.signal += answers.float_scores[i] * answers.float_scores[i];
    score.noise += difference * difference;
  }
  return score;
}

// A sample on its way.
struct Asked {
  size_t number = 0;
  datasets::Sample sample;
  std::optional<double> label = {};
};

// One that answers: the float model and the programs.
class Worker {
 public:
  Worker(const AccuracyRequest& request, std::span<const datasets::InputType> inputs, observe::FloatRun run,
         std::unique_ptr<Programs> programs)
      : request_(request), inputs_(inputs), run_(std::move(run)), programs_(std::move(programs)) {}

  Result<Answers> answer(const Asked& asked) {
    CARINA_CHECKED(check_finite(request_, asked.sample, asked.number, inputs_));
    Answers answers;
    CARINA_TRY(const std::vector<Tensor> float_outputs, run_.run(asked.sample));
    CARINA_TRY(answers.float_scores, numbers_in(float_outputs.front(), request_.model));
    if (asked.label) CARINA_CHECKED(check_label(request_, asked.number, *asked.label, answers.float_scores.size()));
    CARINA_CHECKED(programs_->run(asked.sample, answers));
    return answers;
  }

 private:
  const AccuracyRequest& request_;
  std::span<const datasets::InputType> inputs_;
  observe::FloatRun run_;
  std::unique_ptr<Programs> programs_;
};

Result<std::vector<Worker>> make_workers(const models::Model& model, const AccuracyRequest& request,
                                         std::span<const datasets::InputType> inputs, const Division& division,
                                         const Log& log) {
  std::vector<Worker> workers;
  for (size_t w = 0; w < division.workers; ++w) {
    CARINA_TRY(observe::FloatRun run, float_run(model, request, division.threads, w == 0 ? log : Log{}));
    CARINA_TRY(std::unique_ptr<Programs> programs, Programs::load(request, division.threads));
    workers.emplace_back(request, inputs, std::move(run), std::move(programs));
  }
  return workers;
}

Result<std::vector<Asked>> read_batch(datasets::SampleReader& data, size_t first, size_t count, bool has_labels) {
  std::vector<Asked> batch;
  for (size_t n = first; n < first + count; ++n) {
    CARINA_TRY(datasets::Sample sample, data.sample(n));
    batch.push_back({.number = n, .sample = std::move(sample)});
    if (!has_labels) continue;
    CARINA_TRY(batch.back().label, data.label(n));
  }
  return batch;
}

// In the order of the samples, whoever has answered them.
std::vector<Result<Answers>> answers_of(std::vector<Worker>& workers, const std::vector<Asked>& batch,
                                        ThreadPool& threads) {
  std::vector<Result<Answers>> answers(batch.size());
  std::atomic<size_t> next = 0;
  threads.parallel_for(workers.size(), [&](size_t w) {
    for (size_t i = next++; i < batch.size(); i = next++) answers[i] = workers[w].answer(batch[i]);
  });
  return answers;
}

// A model, its data, and what is known of them before a sample is run.
struct AccuracyTask {
  models::Model model;
  std::vector<datasets::InputType> inputs;
  datasets::SampleReader data;
  results::AccuracyReport empty;
};

Result<AccuracyTask> open_task(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, files::open_file(request.model, {files::FileKind::kPt2}));
  CARINA_TRY(models::Model model,
             models::import_pt2(file, request.model, log, {.loop_rounds = request.loop_rounds}));
  std::vector<datasets::InputType> inputs = datasets::input_types(model.graph);
  CARINA_TRY(datasets::SampleReader data, datasets::SampleReader::open(request.data, inputs));
  CARINA_TRY(const bool has_labels, data.has_labels());
  results::AccuracyReport empty{.program = request.program,
                                .samples = static_cast<int64_t>(data.size()),
                                .has_labels = has_labels,
                                .has_integer_graph = !request.dump_folder.empty()};
  return AccuracyTask{
      .model = std::move(model), .inputs = std::move(inputs), .data = std::move(data), .empty = std::move(empty)};
}

}  // namespace

void AccuracySums::add(const results::SampleScore& score) {
  report_.float_right += score.float_right ? 1 : 0;
  report_.integer_right += score.integer_right ? 1 : 0;
  report_.npu_right += score.npu_right ? 1 : 0;
  report_.npu_equals_integer += score.npu_equals_integer ? 1 : 0;
  report_.npu_answers_as_float += score.npu_answers_as_float ? 1 : 0;
  signal_ += score.signal;
  noise_ += score.noise;
}

results::AccuracyReport AccuracySums::report() const {
  constexpr double kNoNoiseDb = 300;
  results::AccuracyReport report = report_;
  report.sqnr_db = noise_ == 0 ? kNoNoiseDb : 10 * std::log10(signal_ / noise_);
  return report;
}

Result<results::AccuracyReport> accuracy_without_scores(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(const AccuracyTask task, open_task(request, log));
  return task.empty;
}

Result<results::AccuracyReport> accuracy(const AccuracyRequest& request, const Log& log) {
  const ScopedThreadPool pool(request.threads);
  CARINA_TRY(AccuracyTask task, open_task(request, log));
  datasets::SampleReader& data = task.data;
  const Division division = divide(request.threads, data.size());
  CARINA_TRY(std::vector<Worker> workers, make_workers(task.model, request, task.inputs, division, log));
  AccuracySums sums(task.empty);
  ThreadPool threads(static_cast<int>(division.workers));
  const size_t together = 4 * division.workers;
  for (size_t n = 0; n < data.size(); n += together) {
    log.progress("sample", n, data.size());
    CARINA_TRY(const std::vector<Asked> batch,
               read_batch(data, n, std::min(together, data.size() - n), task.empty.has_labels));
    const std::vector<Result<Answers>> answered = answers_of(workers, batch, threads);
    for (size_t i = 0; i < batch.size(); ++i) {
      CARINA_TRY(const Answers& answers, answered[i]);
      sums.add(score_of(answers, batch[i].label));
    }
  }
  return sums.report();
}

Result<void> score_samples(const AccuracyRequest& request, const SamplePart& part, const Log& log) {
  const ScopedThreadPool pool(1);
  CARINA_TRY(AccuracyTask task, open_task(request, log));
  CARINA_TRY(std::vector<Worker> workers, make_workers(task.model, request, task.inputs, Division{}, log));
  for (const auto& [first, last] : part.samples) {
    if (last < first || last >= task.data.size())
      return fail({.where = "--job",
                   .what = "a sample of this number is not in the data",
                   .expected = fmt::format("less than {}", task.data.size()),
                   .got = std::to_string(last),
                   .fault = Fault::kUsage});
    for (size_t n = first; n <= last; ++n) {
      part.started(n);
      CARINA_TRY(const std::vector<Asked> one, read_batch(task.data, n, 1, task.empty.has_labels));
      CARINA_TRY(const Answers answers, workers.front().answer(one.front()));
      part.finished(n, score_of(answers, one.front().label));
    }
  }
  return {};
}

}  // namespace carina::explore
