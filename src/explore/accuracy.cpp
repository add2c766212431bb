#include "explore/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>

#include "backends/delegate_target.h"
#include "base/broken_require.h"
#include "base/memory/mapped_pages.h"
#include "base/parallel/parallel.h"
#include "carina/check.h"
#include "datasets/sample_reader.h"
#include "evaluate/kernel_evaluator.h"
#include "evaluate/program_runner.h"
#include "execute/interpreted_delegate.h"
#include "execute/recorded_delegates.h"
#include "execute/simulated_npu.h"
#include "explore/task_metric.h"
#include "files/file_kind.h"
#include "models/import.h"
#include "observe/float_run.h"
#include "pte/reader.h"
#include "tensor/elements.h"

namespace carina::explore {

namespace {

// The division of work: samples are distributed to several workers, or one worker uses all threads inside of operators.
struct Division {
  size_t workers = 1;
  int threads = 1;  // of each worker
};
Division divide(int threads, size_t samples) {
  const auto workers = static_cast<size_t>(threads);
  return samples < 2 * workers ? Division{.workers = 1, .threads = threads}
                               : Division{.workers = workers, .threads = 1};
}

Result<observe::FloatRun> float_run(const models::Model& model, const AccuracyRequest& request, int threads,
                                    const Log& log) {
  const evaluate::KernelEvaluator evaluator;
  return observe::FloatRun::create(model.graph,
                                   {.threads = threads,
                                    .evaluator = &evaluator,
                                    .integers = observe::FloatRunOptions::Integers::kWide,
                                    .where = request.model},
                                   log);
}

// Converts elements to numbers; bools become 0 and 1.
Result<std::vector<double>> numbers_in(const Tensor& tensor, const std::string& where) {
  if (tensor.dtype == DType::kBool) {
    const auto flags = tensor.values<uint8_t>();
    return std::vector<double>(flags.begin(), flags.end());
  }
  if (auto numbers = numbers_of(tensor)) return *std::move(numbers);
  return fail({.where = where, .what = "expected numbers", .got = datasets::type_text(tensor.dtype, tensor.shape)});
}

size_t answer(const std::vector<double>& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

// Checks a label. Errors: it is not the number of a class.
Result<void> check_label(const AccuracyRequest& request, size_t sample, double label, size_t classes) {
  if (label >= 0 && label < static_cast<double>(classes) && label == std::floor(label)) return {};
  return fail({.where = request.data + ":y",
               .what = fmt::format("the label of sample {} is not a class of the model", sample),
               .expected = fmt::format("0 to {}, an element of the first output", classes - 1),
               .got = fmt::format("{}", label)});
}

template <typename T>
bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.values<T>(), [](T value) { return std::isfinite(value); });
}

// Checks an input. Errors: NaN or infinities, since their results have no meaning.
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

// Equal elements, NaN and infinities too, are no error.
results::OutputSums sums_of(const std::vector<double>& reference, const std::vector<double>& actual) {
  results::OutputSums sums{.elements = static_cast<int64_t>(reference.size())};
  for (size_t i = 0; i < reference.size(); ++i) {
    if (reference[i] == actual[i] || (std::isnan(reference[i]) && std::isnan(actual[i]))) {
      if (std::isfinite(reference[i])) sums.signal += reference[i] * reference[i];
      continue;
    }
    sums.signal += reference[i] * reference[i];
    sums.noise += (reference[i] - actual[i]) * (reference[i] - actual[i]);
    sums.absolute += std::abs(reference[i] - actual[i]);
  }
  return sums;
}

// A difference that no number measures (NaN for a number) counts as the lowest.
double sqnr_db(const results::OutputSums& sums) {
  constexpr double kLimit = 300;
  if (sums.noise == 0) return kLimit;
  const double db = sums.signal == 0 ? -kLimit : 10 * std::log10(sums.signal / sums.noise);
  return std::isnan(db) ? -kLimit : std::clamp(db, -kLimit, kLimit);
}

double mean_absolute_error(const results::OutputSums& sums) {
  return sums.elements == 0 ? 0 : sums.absolute / static_cast<double>(sums.elements);
}

// The outputs of one engine: per output its elements.
using Scores = std::vector<std::vector<double>>;

// The results of the three implementations for one sample.
struct Answers {
  Scores float_scores;
  Scores npu_scores;
  Scores integer_scores;                   // empty without the integer graph
  std::optional<MetricScore> metric = {};  // with --metric
  std::string integer_problem = {};        // why the integer graph's results are not defined; empty: they are
  bool same_bits = false;  // whether NPU and integer graph give equal bits for all outputs of the program and of each
                           // delegate
};

Result<Scores> scores_of(const std::vector<datasets::NamedTensor>& outputs, const std::string& where) {
  if (outputs.empty()) return fail({.where = where, .what = "the program has no output that is a tensor"});
  Scores scores;
  for (const datasets::NamedTensor& output : outputs) {
    CARINA_TRY(std::vector<double> numbers, numbers_in(output.tensor, where));
    scores.push_back(std::move(numbers));
  }
  return scores;
}

// Checks the outputs. Errors: their number or sizes differ from the model's.
Result<void> check_outputs(const Scores& wanted, const Scores& got, const std::string& where) {
  if (wanted.size() != got.size())
    return fail({.where = where,
                 .what = "the program has not as many outputs as the model",
                 .expected = std::to_string(wanted.size()),
                 .got = std::to_string(got.size())});
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].size() == got[i].size()) continue;
    return fail({.where = where,
                 .what = fmt::format("output {} of the program has not as many elements as the model's", i),
                 .expected = std::to_string(wanted[i].size()),
                 .got = std::to_string(got[i].size())});
  }
  return {};
}

bool identical_outputs(const std::vector<datasets::NamedTensor>& a, const std::vector<datasets::NamedTensor>& b) {
  return std::ranges::equal(a, b, [](const datasets::NamedTensor& one, const datasets::NamedTensor& other) {
    return identical(one.tensor, other.tensor);
  });
}

Result<Buffer> program_of(const AccuracyRequest& request) {
  if (request.program_file.size() > 0) return request.program_file;
  return files::open_file(request.program, {files::FileKind::kPte});
}

// The program with its delegates on the simulated NPU, and with their integer graphs of a dump.
class Programs {
 public:
  static Result<std::unique_ptr<Programs>> load(const AccuracyRequest& request, int threads) {
    CARINA_TRY(const Buffer program, program_of(request));
    CARINA_TRY(const pte::Program parsed, pte::read_program(program, request.program));
    CARINA_TRY(const plan::Target target, backends::target_of_program(parsed, request.program, {}, Log{}));
    std::unique_ptr<Programs> programs(new Programs(request, target, threads));
    const std::array<runtime::Backend*, 1> npu{&programs->npu_recorder_};
    CARINA_TRY(programs->on_npu_, evaluate::ProgramRunner::load(program, request.program, npu));
    if (request.dump_folder.empty()) return programs;
    CARINA_TRY(programs->delegates_, execute::InterpretedDelegates::load(request.dump_folder, threads));
    programs->integer_recorder_.emplace(*programs->delegates_);
    const std::array<runtime::Backend*, 1> integers{&*programs->integer_recorder_};
    CARINA_TRY(programs->on_integers_,
               programs->explained(evaluate::ProgramRunner::load(program, request.program, integers)));
    return programs;
  }

  // Gives the state of the programs its initial values.
  void reset_state() {
    on_npu_->reset_state();
    if (on_integers_) on_integers_->reset_state();
  }

  Result<void> run(const datasets::Sample& sample, Answers& answers) {
    CARINA_TRY(const std::vector<datasets::NamedTensor> npu_outputs, on_npu_->run(sample));
    npu_.clear_reports();
    CARINA_TRY(answers.npu_scores, scores_of(npu_outputs, where_));
    const execute::DelegateOutputs npu_delegates = npu_recorder_.take();
    if (on_integers_ == nullptr) return {};
    auto integer_run = on_integers_->run(sample);
    const execute::DelegateOutputs integer_delegates = integer_recorder_->take();
    if (!integer_run && std::ranges::any_of(delegates_->failure(), is_broken_require)) {
      answers.integer_problem = to_string(*std::ranges::find_if(delegates_->failure(), is_broken_require));
      delegates_->clear_failure();
      return {};
    }
    CARINA_TRY(const std::vector<datasets::NamedTensor> integer_outputs, explained(std::move(integer_run)));
    CARINA_TRY(answers.integer_scores, scores_of(integer_outputs, where_));
    answers.same_bits = identical_outputs(integer_outputs, npu_outputs) && npu_delegates == integer_delegates;
    return {};
  }

 private:
  Programs(const AccuracyRequest& request, const plan::Target& target, int threads)
      : where_(request.program),
        fast_(backends::fast_memory_of(target)),
        npu_(simulate::Options{.threads = threads,
                               .has_read = [releaser = PageReleaser()](auto read) mutable { releaser.add(read); }}),
        npu_backend_(npu_, fast_.bytes()),
        npu_recorder_(npu_backend_) {}

  // Returns the result. If the integer graphs failed, their error messages replace the runtime's.
  template <typename T>
  [[nodiscard]] Result<T> explained(Result<T> result) const {
    if (!result && !delegates_->failure().empty()) return fail(delegates_->failure());
    return result;
  }

  std::string where_;
  ZeroedPages fast_;
  execute::SimulatedNpu npu_;
  runtime::EthosUBackend npu_backend_;
  execute::RecordedDelegates npu_recorder_;
  std::unique_ptr<evaluate::ProgramRunner> on_npu_;
  std::optional<execute::InterpretedDelegates> delegates_;
  std::optional<execute::RecordedDelegates> integer_recorder_;
  std::unique_ptr<evaluate::ProgramRunner> on_integers_;
};

// The predicted class is of the first output.
results::SampleScore score_of(const Answers& answers, std::optional<double> label) {
  const auto is_right = [&](const Scores& scores) {
    return label && !scores.empty() && answer(scores.front()) == static_cast<size_t>(*label);
  };
  results::SampleScore score{
      .float_right = is_right(answers.float_scores),
      .integer_right = is_right(answers.integer_scores),
      .npu_right = is_right(answers.npu_scores),
      .npu_equals_integer = answers.same_bits,
      .npu_answers_as_float = answer(answers.npu_scores.front()) == answer(answers.float_scores.front()),
      .label = label ? static_cast<int64_t>(*label) : -1,
      .answer = static_cast<int64_t>(answer(answers.npu_scores.front())),
      .integer_problem = answers.integer_problem};
  for (size_t i = 0; i < answers.float_scores.size(); ++i)
    score.outputs.push_back(sums_of(answers.float_scores[i], answers.npu_scores[i]));
  return score;
}

// A sample to be evaluated.
struct Asked {
  size_t number = 0;
  datasets::Sample sample;
  std::optional<double> label = {};
  std::optional<Tensor> labels = {};  // for the metric
  bool begins_sequence = false;       // state has its initial values
};

// Evaluates samples with the float model and the programs.
class Worker {
 public:
  Worker(const AccuracyRequest& request, const ir::Graph& graph, std::span<const datasets::InputType> inputs,
         observe::FloatRun run, std::unique_ptr<Programs> programs, const std::optional<TaskMetric>& metric)
      : request_(request), inputs_(inputs), run_(std::move(run)), programs_(std::move(programs)), metric_(metric) {
    for (const ir::State& state : graph.states) initial_.push_back(state.initial);
    state_ = initial_;
  }

  Result<Answers> answer(const Asked& asked) {
    if (asked.begins_sequence) reset_state();
    CARINA_CHECKED(check_finite(request_, asked.sample, asked.number, inputs_));
    Answers answers;
    CARINA_TRY(const std::vector<Tensor> float_outputs, float_step(asked.sample));
    for (const Tensor& output : float_outputs) {
      CARINA_TRY(std::vector<double> numbers, numbers_in(output, request_.model));
      answers.float_scores.push_back(std::move(numbers));
    }
    if (asked.label)
      CARINA_CHECKED(check_label(request_, asked.number, *asked.label, answers.float_scores.front().size()));
    CARINA_CHECKED(programs_->run(asked.sample, answers));
    CARINA_CHECKED(check_outputs(answers.float_scores, answers.npu_scores, request_.program));
    if (metric_ && asked.labels) {
      CARINA_TRY(answers.metric, score_of(answers, *asked.labels));
    }
    return answers;
  }

 private:
  void reset_state() {
    if (initial_.empty()) return;
    state_ = initial_;
    programs_->reset_state();
  }

  // Runs the float model with the state that its run before has left. The programs keep theirs.
  Result<std::vector<Tensor>> float_step(datasets::Sample sample) {
    std::ranges::copy(state_, std::back_inserter(sample));
    CARINA_TRY(std::vector<Tensor> outputs, run_.run(sample));
    const auto state = outputs.end() - static_cast<std::ptrdiff_t>(state_.size());
    state_.assign(state, outputs.end());
    outputs.erase(state, outputs.end());
    return outputs;
  }

  Result<MetricScore> score_of(const Answers& answers, const Tensor& labels) const {
    MetricScore score;
    CARINA_TRY(score.floats, metric_->sums_of(answers.float_scores.front(), labels, request_.data));
    CARINA_TRY(score.npu, metric_->sums_of(answers.npu_scores.front(), labels, request_.data));
    if (!answers.integer_scores.empty()) {
      CARINA_TRY(score.integers, metric_->sums_of(answers.integer_scores.front(), labels, request_.data));
    }
    CARINA_TRY(const std::vector<double> numbers, numbers_in(labels, request_.data));
    if (numbers.empty()) return score;
    score.min_label = std::ranges::min(numbers);
    score.max_label = std::ranges::max(numbers);
    return score;
  }

  const AccuracyRequest& request_;
  std::span<const datasets::InputType> inputs_;
  observe::FloatRun run_;
  std::unique_ptr<Programs> programs_;
  const std::optional<TaskMetric>& metric_;
  std::vector<Tensor> initial_, state_;  // of the float model
};

Result<std::vector<Worker>> make_workers(const models::Model& model, const AccuracyRequest& request,
                                         std::span<const datasets::InputType> inputs, const Division& division,
                                         const std::optional<TaskMetric>& metric, const Log& log) {
  std::vector<Worker> workers;
  for (size_t w = 0; w < division.workers; ++w) {
    CARINA_TRY(observe::FloatRun run, float_run(model, request, division.threads, w == 0 ? log : Log{}));
    CARINA_TRY(std::unique_ptr<Programs> programs, Programs::load(request, division.threads));
    workers.emplace_back(request, model.graph, inputs, std::move(run), std::move(programs), metric);
  }
  return workers;
}

Result<std::vector<Asked>> read_batch(datasets::SampleReader& data, size_t first, size_t count, bool has_labels,
                                      bool has_metric) {
  std::vector<Asked> batch;
  for (size_t n = first; n < first + count; ++n) {
    CARINA_TRY(datasets::Sample sample, data.sample(n));
    batch.push_back({.number = n, .sample = std::move(sample), .begins_sequence = data.begins_sequence(n)});
    if (has_metric) {
      CARINA_TRY(batch.back().labels, data.labels(n));
    }
    if (!has_labels) continue;
    CARINA_TRY(batch.back().label, data.label(n));
  }
  return batch;
}

// Evaluates a batch on all workers. Results are in the order of the samples.
std::vector<Result<Answers>> answers_of(std::vector<Worker>& workers, const std::vector<Asked>& batch,
                                        ThreadPool& threads) {
  std::vector<Result<Answers>> answers(batch.size());
  std::atomic<size_t> next = 0;
  threads.parallel_for(workers.size(), [&](size_t w) {
    for (size_t i = next++; i < batch.size(); i = next++) answers[i] = workers[w].answer(batch[i]);
  });
  return answers;
}

// A model with its data, and the report before any sample has run.
struct AccuracyTask {
  models::Model model;
  std::vector<datasets::InputType> inputs;
  datasets::SampleReader data;
  results::AccuracyReport empty;
  std::optional<TaskMetric> metric = {};
};

Result<bool> has_delegates(const AccuracyRequest& request) {
  CARINA_TRY(const Buffer file, program_of(request));
  CARINA_TRY(const pte::Program program, pte::read_program(file, request.program));
  return std::ranges::any_of(program.plans, [](const pte::Plan& plan) { return !plan.delegates.empty(); });
}

Result<AccuracyTask> open_task(const AccuracyRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, files::open_file(request.model, {files::FileKind::kPt2, files::FileKind::kTflite}));
  CARINA_TRY(models::Model model, models::import_pt2(file, request.model, log, {.loop_rounds = request.loop_rounds}));
  std::vector<datasets::InputType> inputs = datasets::input_types(model.graph);
  CARINA_TRY(datasets::SampleReader data, datasets::SampleReader::open(request.data, inputs, request.images));
  data.note_unread(log);
  CARINA_TRY(const bool has_labels, data.has_labels());
  std::optional<TaskMetric> metric;
  if (!request.metric.empty()) {
    if (model.graph.outputs.empty() || !model.graph.outputs.front().valid())
      return fail({.where = request.model, .what = "the model has no first output that is a tensor"});
    CARINA_TRY(metric, TaskMetric::create(request.metric, model.graph[model.graph.outputs.front()].shape));
    if (!has_labels)
      return fail({.where = request.data,
                   .what = "there are no labels for --metric " + request.metric,
                   .expected = "an array y with a label per sample",
                   .fault = Fault::kUsage});
  }
  if (metric && !model.graph.states.empty())
    return fail(
        {.where = "--metric", .what = "a metric of a model with state is not supported", .fault = Fault::kUsage});
  results::AccuracyReport empty{.program = request.program,
                                .samples = static_cast<int64_t>(data.size()),
                                .has_labels = has_labels && (!metric || request.metric == "top1"),
                                .has_integer_graph = !request.dump_folder.empty()};
  CARINA_TRY(const bool on_npu, has_delegates(request));
  if (!on_npu) empty.device = "program";
  if (!model.graph.states.empty()) empty.steps.emplace();
  for (const ir::ValueId id : std::span(model.graph.outputs).first(model.graph.outputs_without_state())) {
    if (id.valid()) empty.outputs.push_back({.name = model.graph[id].name});
  }
  return AccuracyTask{.model = std::move(model),
                      .inputs = std::move(inputs),
                      .data = std::move(data),
                      .empty = std::move(empty),
                      .metric = std::move(metric)};
}

// The 95 % interval of a share, in percent. Source: E. B. Wilson, "Probable inference, the law of succession, and
// statistical inference", 1927.
results::Interval wilson_interval(int64_t right, int64_t samples) {
  if (samples == 0) return {};
  constexpr double kDeviations = 1.959964;  // of the normal distribution, on either side of 95 %
  const auto count = static_cast<double>(samples);
  const double share = static_cast<double>(right) / count, square = kDeviations * kDeviations;
  const double middle = (share + square / (2 * count)) / (1 + square / count);
  const double half =
      kDeviations * std::sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count);
  return {.low = 100 * std::max(0.0, middle - half), .high = 100 * std::min(1.0, middle + half)};
}

results::StepAccuracy steps_of(const std::vector<double>& steps_db) {
  std::vector<double> sorted = steps_db;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const auto worst = std::ranges::min_element(steps_db);
  return {.first_db = steps_db.front(),
          .median_db = *middle,
          .last_db = steps_db.back(),
          .worst_db = *worst,
          .worst_step = worst - steps_db.begin()};
}

}  // namespace

AccuracySums::AccuracySums(results::AccuracyReport empty) : report_(std::move(empty)), sums_(report_.outputs.size()) {}

void AccuracySums::add(const results::SampleScore& score) {
  report_.float_right += score.float_right ? 1 : 0;
  report_.integer_right += score.integer_right ? 1 : 0;
  report_.npu_right += score.npu_right ? 1 : 0;
  report_.npu_equals_integer += score.npu_equals_integer ? 1 : 0;
  report_.npu_answers_as_float += score.npu_answers_as_float ? 1 : 0;
  report_.integer_undefined += score.integer_problem.empty() ? 0 : 1;
  if (report_.integer_problem.empty()) report_.integer_problem = score.integer_problem;
  if (score.label >= 0) add_label(score);
  CARINA_CHECK(score.outputs.size() == sums_.size(), "{} outputs of a sample, the model has {}", score.outputs.size(),
               sums_.size());
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].signal += score.outputs[i].signal;
    sums_[i].noise += score.outputs[i].noise;
    sums_[i].absolute += score.outputs[i].absolute;
    sums_[i].elements += score.outputs[i].elements;
  }
  if (report_.steps) steps_db_.push_back(sqnr_db(*std::ranges::min_element(score.outputs, {}, sqnr_db)));
}

void AccuracySums::add_label(const results::SampleScore& score) {
  results::ClassAccuracy& of_label = classes_[score.label];
  of_label.label = score.label;
  of_label.samples += 1;
  of_label.float_right += score.float_right ? 1 : 0;
  of_label.npu_right += score.npu_right ? 1 : 0;
  if (!score.npu_right) confusions_[{score.label, score.answer}] += 1;
}

results::AccuracyReport AccuracySums::report() const {
  results::AccuracyReport report = report_;
  for (const auto& [label, figures] : classes_) {
    report.classes.push_back(figures);
    report.classes.back().npu_interval = wilson_interval(figures.npu_right, figures.samples);
  }
  for (const auto& [pair, samples] : confusions_)
    report.confusions.push_back({.label = pair.first, .answer = pair.second, .samples = samples});
  std::ranges::stable_sort(report.confusions, std::ranges::greater(), &results::Confusion::samples);
  if (report.steps && !steps_db_.empty()) report.steps = steps_of(steps_db_);
  report.npu_right_interval = wilson_interval(report.npu_right, report.samples);
  for (size_t i = 0; i < sums_.size(); ++i) {
    report.outputs[i].sqnr_db = sqnr_db(sums_[i]);
    report.outputs[i].mean_absolute_error = mean_absolute_error(sums_[i]);
  }
  if (!report.outputs.empty())
    report.sqnr_db = std::ranges::min(report.outputs, {}, &results::OutputAccuracy::sqnr_db).sqnr_db;
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
  // The steps of a sequence run one after another.
  const Division division = task.model.graph.states.empty() ? divide(request.threads, data.size())
                                                            : Division{.workers = 1, .threads = request.threads};
  CARINA_TRY(std::vector<Worker> workers, make_workers(task.model, request, task.inputs, division, task.metric, log));
  AccuracySums sums(task.empty);
  std::vector<MetricScore> metric_scores;
  ThreadPool threads(static_cast<int>(division.workers));
  const size_t together = 4 * division.workers;
  for (size_t n = 0; n < data.size(); n += together) {
    log.progress("sample", n, data.size());
    CARINA_TRY(const std::vector<Asked> batch, read_batch(data, n, std::min(together, data.size() - n),
                                                          task.empty.has_labels, task.metric.has_value()));
    const std::vector<Result<Answers>> answered = answers_of(workers, batch, threads);
    for (size_t i = 0; i < batch.size(); ++i) {
      CARINA_TRY(const Answers& answers, answered[i]);
      sums.add(score_of(answers, batch[i].label));
      if (answers.metric) metric_scores.push_back(*answers.metric);
    }
  }
  results::AccuracyReport report = sums.report();
  if (task.metric) report.task = accuracy_of(*task.metric, request.metric, metric_scores);
  return report;
}

Result<void> score_samples(const AccuracyRequest& request, const SamplePart& part, const Log& log) {
  const ScopedThreadPool pool(1);
  CARINA_TRY(AccuracyTask task, open_task(request, log));
  if (!task.model.graph.states.empty())
    return fail({.where = request.model,
                 .what = "a model with state cannot be measured in parts: each step needs the one before it",
                 .hint = "leave out --scheduler",
                 .fault = Fault::kUsage});
  CARINA_TRY(std::vector<Worker> workers, make_workers(task.model, request, task.inputs, Division{}, task.metric, log));
  for (const auto& [first, last] : part.samples) {
    if (last < first || last >= task.data.size())
      return fail({.where = "--job",
                   .what = "the index of a sample is out of range",
                   .expected = fmt::format("less than {}", task.data.size()),
                   .got = std::to_string(last),
                   .fault = Fault::kUsage});
    for (size_t n = first; n <= last; ++n) {
      part.started(n);
      CARINA_TRY(const std::vector<Asked> one,
                 read_batch(task.data, n, 1, task.empty.has_labels, /*has_metric=*/false));
      CARINA_TRY(const Answers answers, workers.front().answer(one.front()));
      part.finished(n, score_of(answers, one.front().label));
    }
  }
  return {};
}

}  // namespace carina::explore
