#include "quantize/float_run.h"

#include <algorithm>
#include <optional>

#include "interpret/interpreter.h"
#include "quantize/segments_internal.h"

namespace carina::quantize {

using ir::ValueId;

namespace {

// Without the passes that merge and move values, every ATen value has its TOSA value.
ir::PassOptions lowering_passes(FloatRunOptions::Values values) {
  if (values == FloatRunOptions::Values::kMost) return {};
  return {.stop_after = {},
          .disabled = {"sink-transposes", "fold-movement", "fold-flatten", "fold-padding", "merge-duplicates"}};
}

template <typename From, typename To>
Tensor converted(const Tensor& tensor, DType to) {
  MutableTensor result(to, tensor.shape);
  std::ranges::transform(tensor.values<From>(), result.values<To>().begin(), [](From v) { return static_cast<To>(v); });
  return std::move(result).freeze();
}

// TOSA has no int64: indices and the like are int32 there.
Tensor as_type(const Tensor& tensor, DType wanted) {
  if (tensor.dtype == DType::kInt64 && wanted == DType::kInt32) return converted<int64_t, int32_t>(tensor, wanted);
  if (tensor.dtype == DType::kInt32 && wanted == DType::kInt64) return converted<int32_t, int64_t>(tensor, wanted);
  return tensor;
}

// The values of the TOSA graph that stand for values that the segment's nodes make, by their names.
std::vector<ValueId> values_shown(const Segment& segment) {
  std::vector<ValueId> shown(segment.tosa.values.size());
  for (size_t v = 0; v < segment.tosa.values.size(); ++v) {
    const auto id = segment.part.graph.find_value(segment.tosa.values[v].name);
    if (!id || segment.part.graph[*id].constant) continue;
    if (std::ranges::find(segment.part.graph.inputs, *id) != segment.part.graph.inputs.end()) continue;
    shown[v] = segment.part.origin[id->index()];
  }
  return shown;
}

Result<interpret::Interpreter> interpreter_of(const Segment& segment, const FloatRunOptions& options) {
  interpret::Options wanted{.threads = options.threads, .where = options.where};
  if (options.observer) {
    wanted.observer = [shown = values_shown(segment), observer = options.observer](const ir::Graph&, ValueId value,
                                                                                   const Tensor& tensor) {
      if (value.index() < shown.size() && shown[value.index()].valid()) observer(shown[value.index()], tensor);
    };
  }
  return interpret::Interpreter::create({.graphs = {segment.tosa}}, wanted);
}

}  // namespace

struct FloatRun::Session {
  ir::Graph aten;
  FloatRunOptions options;
  Segments segments;
  std::vector<std::optional<interpret::Interpreter>> interpreters;  // per segment; none where kernels run it
  std::vector<std::optional<Tensor>> known;                         // per value of the graph, during a run

  void learn(ValueId id, const Tensor& tensor) { known[id.index()] = as_type(tensor, aten[id].dtype); }
  [[nodiscard]] Tensor value(ValueId id) const { return aten[id].constant ? *aten[id].constant : *known[id.index()]; }
  Result<std::vector<Tensor>> run_segment(size_t index);
};

Result<std::vector<Tensor>> FloatRun::Session::run_segment(size_t index) {
  const Segment& segment = segments.segments[index];
  std::vector<Tensor> inputs;
  for (const ValueId id : segment.part.inputs) inputs.push_back(value(id));
  if (segment.kernels == nullptr) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = as_type(inputs[i], segment.tosa[segment.tosa.inputs[i]].dtype);
    return interpreters[index]->run(inputs);
  }
  CARINA_TRY(std::vector<Tensor> outputs, segment.kernels->run(inputs));
  for (size_t i = 0; i < outputs.size() && options.observer; ++i) options.observer(segment.part.outputs[i], outputs[i]);
  return outputs;
}

Result<FloatRun> FloatRun::create(const ir::Graph& aten, const FloatRunOptions& options, const Log& log) {
  auto session = std::make_unique<Session>();
  session->aten = aten;
  session->options = options;
  CARINA_TRY(session->segments, cut_into_segments(aten, options.evaluator, lowering_passes(options.values), log));
  for (const Segment& segment : session->segments.segments) {
    session->interpreters.emplace_back();
    if (segment.kernels != nullptr) continue;
    CARINA_TRY(session->interpreters.back(), interpreter_of(segment, options));
  }
  return FloatRun(std::move(session));
}

Result<std::vector<Tensor>> FloatRun::run(std::span<const Tensor> inputs) {
  Session& session = *session_;
  session.known.assign(session.aten.values.size(), std::nullopt);
  for (size_t i = 0; i < inputs.size(); ++i) {
    session.learn(session.aten.inputs[i], inputs[i]);
    if (session.options.observer) session.options.observer(session.aten.inputs[i], inputs[i]);
  }
  for (size_t s = 0; s < session.segments.segments.size(); ++s) {
    CARINA_TRY(const std::vector<Tensor> made, session.run_segment(s));
    const std::vector<ValueId>& ids = session.segments.segments[s].part.outputs;
    for (size_t i = 0; i < ids.size(); ++i) session.learn(ids[i], made[i]);
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : session.aten.outputs) {
    if (id.valid()) outputs.push_back(session.value(id));
  }
  return outputs;
}

const std::vector<bool>& FloatRun::on_kernels() const {
  return session_->segments.on_kernels;
}

FloatRun::FloatRun(std::unique_ptr<Session> session) : session_(std::move(session)) {}
FloatRun::FloatRun(FloatRun&&) noexcept = default;
FloatRun& FloatRun::operator=(FloatRun&&) noexcept = default;
FloatRun::~FloatRun() = default;

}  // namespace carina::quantize
