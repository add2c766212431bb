#include <fmt/format.h>

#include "interpret/interpreter.h"
#include "lower/lower.h"
#include "quantize/calibrate_internal.h"

namespace carina::quantize {

namespace {

using ir::ValueId;

Result<void> check_samples(const ir::Graph& graph, std::span<const std::vector<Tensor>> samples) {
  if (samples.empty()) return fail({.where = "calibration", .what = "there is no sample", .expected = "at least one"});
  for (size_t s = 0; s < samples.size(); ++s) {
    const std::string where = fmt::format("calibration sample {}", s);
    if (samples[s].size() != graph.inputs.size()) {
      return fail({.where = where,
                   .what = "wrong number of inputs",
                   .expected = std::to_string(graph.inputs.size()),
                   .got = std::to_string(samples[s].size())});
    }
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const ir::Value& input = graph[graph.inputs[i]];
      const Tensor& given = samples[s][i];
      if (given.dtype == input.dtype && given.shape == input.shape) continue;
      return fail({.where = where,
                   .what = fmt::format("input {} does not fit", input.name),
                   .expected = fmt::format("{} {}", name_of(input.dtype), to_string(input.shape)),
                   .got = fmt::format("{} {}", name_of(given.dtype), to_string(given.shape))});
    }
  }
  return {};
}

// TOSA has no int64: indices and the like are int32 there.
Tensor as_lowered(const Tensor& tensor, DType wanted) {
  if (tensor.dtype == wanted || tensor.dtype != DType::kInt64 || wanted != DType::kInt32) return tensor;
  MutableTensor narrow(DType::kInt32, tensor.shape);
  std::ranges::transform(tensor.values<int64_t>(), narrow.values<int32_t>().begin(),
                         [](int64_t v) { return static_cast<int32_t>(v); });
  return std::move(narrow).freeze();
}

class Calibration {
 public:
  Calibration(const ir::Graph& aten, const Sharing& sharing)
      : aten_(aten), sharing_(sharing), observers_(aten.values.size()) {}

  Result<void> run(const ir::PassOptions& passes, std::span<const std::vector<Tensor>> samples, int threads,
                   const Log& log) {
    CARINA_TRY(ir::Graph tosa, lower::to_tosa(aten_, passes, log));
    find_groups(tosa);
    ir::Module module;
    module.graphs.push_back(std::move(tosa));
    const auto observe = [this](const ir::Graph&, ValueId value, const Tensor& tensor) { see(value, tensor); };
    CARINA_TRY(
        interpret::Interpreter interpreter,
        interpret::Interpreter::create(module, {.threads = threads, .observer = observe, .where = "calibration"}));
    for (size_t s = 0; s < samples.size(); ++s) {
      log.progress("calibrate", s, samples.size());
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < samples[s].size(); ++i)
        inputs.push_back(as_lowered(samples[s][i], module.main()[module.main().inputs[i]].dtype));
      const Result<std::vector<Tensor>> outputs = interpreter.run(inputs);
      if (!outputs) return std::unexpected(outputs.error());
    }
    if (!not_numbers_.empty()) {
      return fail({.where = not_numbers_,
                   .what = "the float model computes values that are not numbers (NaN) from the calibration samples",
                   .hint = "check the samples"});
    }
    return {};
  }

  // Groups that have no element yet: the lowering has optimised all of their values away.
  [[nodiscard]] std::vector<std::string> unseen() const {
    std::vector<std::string> names;
    for (size_t v = 0; v < aten_.values.size(); ++v) {
      const ir::Value& value = aten_.values[v];
      if (value.dtype == DType::kFp32 && !value.constant && sharing_.is_observed[v] && value.shape.elements() > 0 &&
          observers_[sharing_.group[v]].empty())
        names.push_back(value.name);
    }
    return names;
  }
  void clear() { observers_.assign(observers_.size(), {}); }
  std::vector<RangeObserver> take() && { return std::move(observers_); }

 private:
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  // Values of the TOSA graph stand for the ATen values of the same names.
  void find_groups(const ir::Graph& tosa) {
    group_of_.assign(tosa.values.size(), kNobody);
    for (size_t v = 0; v < tosa.values.size(); ++v) {
      const std::optional<ValueId> id = aten_.find_value(tosa.values[v].name);
      if (id && aten_[*id].dtype == DType::kFp32 && !aten_[*id].constant && sharing_.is_observed[id->index()])
        group_of_[v] = sharing_.group[id->index()];
    }
  }

  void see(ValueId value, const Tensor& tensor) {
    if (value.index() >= group_of_.size() || group_of_[value.index()] == kNobody || tensor.dtype != DType::kFp32)
      return;
    if (!observers_[group_of_[value.index()]].observe(tensor.values<float>()) && not_numbers_.empty())
      not_numbers_ = aten_.values[group_of_[value.index()]].name;
  }

  const ir::Graph& aten_;
  const Sharing& sharing_;
  std::vector<RangeObserver> observers_;
  std::vector<size_t> group_of_;  // per TOSA value
  std::string not_numbers_;
};

// Without the passes that merge and move values, every ATen value has its TOSA value.
ir::PassOptions plain_lowering() {
  return {.stop_after = {},
          .disabled = {"sink-transposes", "fold-movement", "fold-flatten", "fold-padding", "merge-duplicates"}};
}

}  // namespace

Result<std::vector<RangeObserver>> calibrate(const ir::Graph& aten, const Sharing& sharing,
                                             std::span<const std::vector<Tensor>> samples, int threads,
                                             const Log& log) {
  CARINA_CHECKED(check_samples(aten, samples));
  Calibration calibration(aten, sharing);
  CARINA_CHECKED(calibration.run({}, samples, threads, log));
  if (!calibration.unseen().empty()) {
    calibration.clear();
    CARINA_CHECKED(calibration.run(plain_lowering(), samples, threads, log));
  }
  const std::vector<std::string> unseen = calibration.unseen();
  if (!unseen.empty())
    return fail({.where = unseen.front(), .what = "calibration has not seen this value", .fault = Fault::kInternal});
  return std::move(calibration).take();
}

}  // namespace carina::quantize
