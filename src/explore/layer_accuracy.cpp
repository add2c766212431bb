#include "explore/layer_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "backends/backend.h"
#include "datasets/sample_reader.h"
#include "driver/compilation.h"
#include "evaluate/kernel_evaluator.h"
#include "files/file_kind.h"
#include "models/import.h"
#include "quantize/layer_errors.h"
#include "quantize/ptq.h"
#include "quantize/scheme_alternatives.h"
#include "quantize/similarity.h"
#include "quantize/state_samples.h"

namespace carina::explore {

namespace {

// The range rules that are tried for each of the layers with the largest error.
constexpr std::array<std::string_view, 4> kRangeRules{"minmax", "percentile", "mse", "histogram"};
constexpr std::string_view kFewMoreCycles = "105%";  // the budget of --quantize auto that is tried

datasets::DataSet half_of(const datasets::DataSet& all) {
  std::vector<size_t> numbers;
  for (size_t n = 0; n + 1 < all.size(); n += 2) numbers.push_back(n);
  return all.chosen(std::move(numbers));
}

// The floats that a tensor's integers represent.
Tensor rounded(const Tensor& floats, const Quantization& quantization) {
  std::vector<float> rounded;
  for (const float value : floats.values<float>()) {
    const double integer =
        std::nearbyint(value / quantization.scale()) + static_cast<double>(quantization.zero_point());
    const double clamped =
        std::clamp(integer, static_cast<double>(quantization.qmin), static_cast<double>(quantization.qmax));
    rounded.push_back(
        static_cast<float>((clamped - static_cast<double>(quantization.zero_point())) * quantization.scale()));
  }
  return Tensor::of<float>(DType::kFp32, floats.shape, rounded);
}

using Similarities = std::map<std::string, quantize::Similarity>;

class Debugger {
 public:
  Debugger(const LayerAccuracyRequest& request, const Log& log) : request_(request), log_(log) {}

  Result<results::LayerAccuracyReport> run() {
    CARINA_CHECKED(load());
    note_calibration();
    CARINA_TRY(models::QuantizeRequest asked, models::parse_quantize_flags(request_.quantize));
    CARINA_CHECKED(equalize(asked.scheme));
    CARINA_TRY(const ir::Graph quantized, quantized_as(asked.scheme, log_));
    CARINA_TRY(Similarities values, quantize::similarity_of_values(equalized_, quantized, samples_, options(), log_));
    add_inputs(quantized, values);
    results::LayerAccuracyReport report{.model = request_.model,
                                        .scheme = asked.scheme.name,
                                        .samples = static_cast<int64_t>(samples_.size()),
                                        .target = backend_ ? backend_->target : "",
                                        .cycles = cycles_of(quantized),
                                        .outputs = {},
                                        .layers = {},
                                        .remedies = {}};
    CARINA_CHECKED(add_outputs(quantized, report));
    add_layers(quantized, values, report);
    worst_layers_ =
        quantize::worst_layers(equalized_, quantize::layer_errors(equalized_, values), quantize::kWorstLayers);
    CARINA_CHECKED(add_remedies(asked.scheme, report));
    return report;
  }

 private:
  [[nodiscard]] quantize::SimilarityOptions options() const {
    return {.threads = request_.threads, .evaluator = &evaluator_};
  }

  Result<void> load() {
    if (!request_.target.accelerator.empty()) {
      CARINA_TRY(backend_, backends::find_backend(request_.target, log_));
    }
    CARINA_TRY(const Buffer file, files::open_file(request_.model, {files::FileKind::kPt2, files::FileKind::kTflite}));
    CARINA_TRY(model_, models::import_pt2(file, request_.model, log_, {.loop_rounds = request_.loop_rounds}));
    if (models::is_quantized(model_.graph))
      return fail({.where = request_.model,
                   .what = "the model is quantized already: there is no float model to compare with",
                   .fault = Fault::kUsage});
    const std::vector<datasets::InputType> inputs = datasets::input_types(model_.graph);
    CARINA_TRY(calibration_, data_set(request_.data, inputs));
    CARINA_TRY(samples_,
               datasets::first_samples(
                   *calibration_, request_.samples > 0 ? static_cast<size_t>(request_.samples) : calibration_->size()));
    if (!request_.calibration.empty()) {
      CARINA_TRY(calibration_, data_set(request_.calibration, inputs));
    }
    CARINA_TRY(wanted_, quantize::outputs_of(model_.graph, samples_, options(), log_));
    return {};
  }

  // An SQNR on samples that calibration has seen is too high: values beyond their ranges are clipped in others.
  void note_calibration() const {
    if (!request_.calibration.empty()) return;
    log_.note({.where = request_.data,
               .what = "the model is calibrated with the samples that it is measured on; on others it may lose more",
               .hint = "--calibrate takes other samples",
               .severity = Severity::kNote});
  }

  // Samples with their state: the layers are compared at the state that the float model has.
  Result<datasets::DataSet> data_set(const std::string& path, std::span<const datasets::InputType> inputs) const {
    CARINA_TRY(const datasets::DataSet given, datasets::open_data_set(path, inputs, log_, request_.images));
    return quantize::with_state(model_.graph, given, &evaluator_);
  }

  // The layers of both models have equal weights.
  Result<void> equalize(const quantize::Scheme& asked) {
    equalized_ = model_.graph;
    return quantize::equalize(equalized_, *calibration_,
                              {.threads = request_.threads, .scheme = asked, .evaluator = &evaluator_});
  }

  Result<ir::Graph> quantized_as(const quantize::Scheme& scheme, const Log& log, bool with_half = false) const {
    models::Model model = model_;
    CARINA_CHECKED(models::quantize_model(model, request_of(scheme, with_half), log));
    return std::move(model.graph);
  }

  [[nodiscard]] models::QuantizeRequest request_of(const quantize::Scheme& scheme, bool with_half) const {
    return {.mode = models::QuantizeMode::kAlways,
            .scheme = scheme,
            .samples = [this, with_half](std::span<const datasets::InputType>) -> Result<datasets::DataSet> {
              return with_half ? half_of(*calibration_) : *calibration_;
            },
            .data = request_.calibration.empty() ? request_.data : request_.calibration,
            .threads = request_.threads};
  }

  Result<std::vector<quantize::Similarity>> outputs_of(const ir::Graph& graph) const {
    CARINA_TRY(const auto got, quantize::outputs_of(graph, samples_, options(), Log{}));
    return quantize::similarity_of_outputs(wanted_, got);
  }

  static double sqnr_of(const std::vector<quantize::Similarity>& outputs) {
    quantize::Similarity all;
    for (const quantize::Similarity& output : outputs) {
      if (output.signal == 0) continue;
      all.signal += 1;
      all.noise += output.noise / output.signal;
    }
    return all.sqnr_db();
  }

  Result<void> add_outputs(const ir::Graph& quantized, results::LayerAccuracyReport& report) const {
    CARINA_TRY(const std::vector<quantize::Similarity> outputs, outputs_of(quantized));
    for (size_t i = 0; i < outputs.size(); ++i)
      report.outputs.push_back({.name = model_.graph[model_.graph.outputs[i]].name,
                                .sqnr_db = outputs[i].sqnr_db(),
                                .mean_absolute_error = outputs[i].mean_absolute_error()});
    report.sqnr_db = sqnr_of(outputs);
    return {};
  }

  // Adds the similarity of each input's integers to its floats.
  void add_inputs(const ir::Graph& quantized, Similarities& values) const {
    for (size_t i = 0; i < quantized.inputs.size(); ++i) {
      const ir::Value& input = quantized[quantized.inputs[i]];
      if (!input.quantization || input.quantization->per_channel()) continue;
      for (const datasets::Sample& sample : samples_) {
        if (sample[i].dtype == DType::kFp32) values[input.name].add(sample[i], rounded(sample[i], *input.quantization));
      }
    }
  }

  // Cycles of an inference on the target, NPU and CPU together; 0: there is none, or the model cannot be compiled for
  // it.
  [[nodiscard]] int64_t cycles_of(const ir::Graph& quantized) const {
    if (!backend_) return 0;
    models::Model model = model_;
    model.graph = quantized;
    driver::CompileOptions options;
    driver::keep_floats(options);
    options.delegate.threads = request_.threads;
    const driver::Compilation compilation = driver::compile_model(std::move(model), options, *backend_, {});
    if (!compilation.errors.empty()) return 0;
    const results::CompileReport report = driver::compile_report(compilation, *backend_, options.delegate);
    return report.cycles ? *report.cycles + cpu_cycles_of(report) : 0;
  }

  // The inputs are rows too: the error of their integers is no layer's.
  void add_layers(const ir::Graph& quantized, const Similarities& values, results::LayerAccuracyReport& report) const {
    for (const ir::ValueId id : quantized.inputs) {
      const ir::Value& input = quantized[id];
      const auto own = values.find(input.name);
      if (own == values.end() || !input.quantization) continue;
      const double sqnr = own->second.sqnr_db();
      report.layers.push_back({.node = input.name,
                               .op = "quantization of the input",
                               .source = {},
                               .type = std::string(name_of(input.quantization->dtype)),
                               .sqnr_db = sqnr,
                               .entered_db = 0});
    }
    for (const quantize::LayerError& error : quantize::layer_errors(equalized_, values))
      report.layers.push_back(layer_of(error, quantized));
  }

  [[nodiscard]] results::LayerAccuracy layer_of(const quantize::LayerError& error, const ir::Graph& quantized) const {
    const ir::Node& node = equalized_[error.node];
    const auto id = quantized.find_value(equalized_[node.outputs.front()].name);
    const bool is_integer = id && quantized[*id].quantization;
    return {.node = node.name,
            .op = std::string(node.op.name()),
            .source = node.source,
            .type = is_integer ? std::string(name_of(quantized[*id].quantization->dtype)) : "float",
            .sqnr_db = error.after_db,
            .entered_db = error.entered_db};
  }

  struct Change {
    std::string what;
    std::string options;
    quantize::Scheme scheme;
    std::string best_of = {};           // of the changes with this name only the best is reported
    bool has_half_the_samples = false;  // to calibrate with
  };

  // Each of the worst layers by itself: 16 bits, and the best other range.
  void add_layer_changes(const quantize::Scheme& asked, std::vector<Change>& changes) const {
    if (asked.general.activations.dtype != DType::kInt8) return;
    for (const std::string& name : worst_layers_) {
      const auto add = [&](const std::string& scheme, const std::string& what, const std::string& best_of) {
        const std::string spec = fmt::format("node:{}={}", name, scheme);
        changes.push_back({.what = fmt::format("{} in {}", what, name),
                           .options = "--quantize-at " + spec,
                           .scheme = asked,
                           .best_of = best_of});
        changes.back().scheme.overrides.push_back(*quantize::parse_override(spec));
      };
      add("int16x8", "16 bits", {});
      if (asked.name != "int8") continue;  // details of the scheme would be lost
      for (const std::string_view rule : kRangeRules) add(fmt::format("int8+{}", rule), "another range", name);
    }
  }

  // The scheme that --quantize auto finds for a few more cycles, if that is another than int8.
  Result<void> add_few_more_cycles(const quantize::Scheme& asked, std::vector<Change>& changes) const {
    if (!backend_ || asked.general.activations.dtype != DType::kInt8) return {};
    driver::CompileOptions options;
    driver::keep_floats(options);
    options.quantize = request_of(asked, false);
    options.quantize.auto_goal = models::AutoGoal{.max_cycles = std::string(kFewMoreCycles)};
    options.delegate.threads = request_.threads;
    CARINA_TRY(driver::FoundScheme found, driver::find_scheme(model_, options, *backend_, Log{}));
    if (found.request.scheme.overrides.size() == asked.overrides.size() &&
        found.request.scheme.general == asked.general)
      return {};
    changes.push_back({.what = fmt::format("{} of the cycles of int8, {}", kFewMoreCycles, found.request.scheme.name),
                       .options = fmt::format("--quantize auto --max-cycles {}", kFewMoreCycles),
                       .scheme = std::move(found.request.scheme)});
    return {};
  }

  Result<std::vector<Change>> changes(const quantize::Scheme& asked) const {
    std::vector<Change> changes;
    const auto general = [&](const std::string& what, const std::string& spec) {
      quantize::Scheme scheme = asked;
      scheme.general = **quantize::parse_scheme(spec);
      if (scheme.general == asked.general) return;
      changes.push_back({.what = what, .options = "--quantize " + spec, .scheme = std::move(scheme)});
    };
    for (const quantize::SchemeAlternative& one : quantize::kSchemeAlternatives)
      general(std::string(one.what), std::string(one.spec));
    const std::vector<std::string>& names = worst_layers_;
    Change worst{.what = fmt::format("16 bits in the {} layers with the largest error", names.size()),
                 .options = {},
                 .scheme = asked};
    for (const std::string& name : names) {
      const std::string spec = "node:" + name + "=int16x8";
      worst.options += (worst.options.empty() ? "" : " ") + ("--quantize-at " + spec);
      worst.scheme.overrides.push_back(*quantize::parse_override(spec));
    }
    if (!worst.options.empty()) changes.push_back(std::move(worst));
    add_layer_changes(asked, changes);
    CARINA_CHECKED(add_few_more_cycles(asked, changes));
    if (calibration_->size() > 1)
      changes.push_back(
          {.what = fmt::format("calibrated with {} of the {} samples", calibration_->size() / 2, calibration_->size()),
           .options = {},
           .scheme = asked,
           .has_half_the_samples = true});
    return changes;
  }

  Result<void> add_remedies(const quantize::Scheme& asked, results::LayerAccuracyReport& report) const {
    CARINA_TRY(const std::vector<Change> tried, changes(asked));
    std::map<std::string, size_t> best;  // Change::best_of -> index of a remedy
    for (size_t i = 0; i < tried.size(); ++i) {
      const Change& change = tried[i];
      log_.progress("scheme", i, tried.size());
      CARINA_TRY(const ir::Graph quantized, quantized_as(change.scheme, Log{}, change.has_half_the_samples));
      CARINA_TRY(const std::vector<quantize::Similarity> outputs, outputs_of(quantized));
      const double sqnr = sqnr_of(outputs);
      results::Remedy remedy{.what = change.what,
                             .options = change.options,
                             .sqnr_db = sqnr,
                             .gain_db = sqnr - report.sqnr_db,
                             .cycles = cycles_of(quantized)};
      const auto other = change.best_of.empty() ? best.end() : best.find(change.best_of);
      if (other == best.end()) {
        if (!change.best_of.empty()) best[change.best_of] = report.remedies.size();
        report.remedies.push_back(std::move(remedy));
      } else if (sqnr > report.remedies[other->second].sqnr_db) {
        report.remedies[other->second] = std::move(remedy);
      }
    }
    std::ranges::stable_sort(report.remedies, std::ranges::greater(), &results::Remedy::gain_db);
    return {};
  }

  const LayerAccuracyRequest& request_;
  const Log& log_;
  evaluate::KernelEvaluator evaluator_;
  models::Model model_;
  std::optional<backends::Backend> backend_;  // of the request's target
  ir::Graph equalized_;                       // the float graph that is quantized as asked
  std::optional<datasets::DataSet> calibration_;
  std::vector<datasets::Sample> samples_;
  std::vector<std::vector<Tensor>> wanted_;  // the float model's outputs
  std::vector<std::string> worst_layers_;
};

}  // namespace

Result<results::LayerAccuracyReport> layer_accuracy(const LayerAccuracyRequest& request, const Log& log) {
  return Debugger(request, log).run();
}

}  // namespace carina::explore
