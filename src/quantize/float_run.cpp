#include "quantize/float_run.h"

#include <algorithm>
#include <optional>

#include "interpret/interpreter.h"
#include "quantize/segments_internal.h"

namespace carina::quantize {

using ir::ValueId;

namespace {

// Without the clean-up, every ATen value has its TOSA value.
ir::PassOptions lowering_passes(FloatRunOptions::Values values) {
  ir::PassOptions options;
  if (values == FloatRunOptions::Values::kMost) return options;
  for (const ir::Pass& pass : lower::clean_up_pipeline()) options.disabled.emplace_back(pass.name);
  return options;
}

template <typename From, typename To>
Tensor converted(const Tensor& tensor, DType to) {
  MutableTensor result(to, tensor.shape);
  std::ranges::transform(tensor.values<From>(), result.values<To>().begin(), [](From v) { return static_cast<To>(v); });
  return std::move(result).freeze();
}

// The bits as another type of that size.
Tensor read_as(Tensor tensor, DType type) {
  tensor.dtype = type;
  return tensor;
}

// TOSA has no int64: indices and the like are int32 there. Integers without a sign stand as bits in those that have one.
Tensor as_type(const Tensor& tensor, DType wanted) {
  if (tensor.dtype == DType::kUInt8 && wanted == DType::kInt8) return read_as(tensor, wanted);
  if (tensor.dtype == DType::kInt8 && wanted == DType::kUInt8) return read_as(tensor, wanted);
  if (tensor.dtype == DType::kInt64 && wanted == DType::kInt32) return converted<int64_t, int32_t>(tensor, wanted);
  if (tensor.dtype == DType::kInt32 && wanted == DType::kInt64) return converted<int32_t, int64_t>(tensor, wanted);
  return tensor;
}

// Per value of the TOSA graph those of the whole graph that it stands for and that the segment's nodes make.
using Shown = std::vector<std::vector<ValueId>>;

Shown values_shown(const Segment& segment) {
  Shown shown(segment.lowered.graph.values.size());
  for (const ir::Node& node : segment.part.graph.nodes) {
    for (const ValueId output : node.outputs) {
      if (!output.valid() || !segment.lowered.value_of[output.index()].valid()) continue;
      shown[segment.lowered.value_of[output.index()].index()].push_back(segment.part.origin[output.index()]);
    }
  }
  return shown;
}

Result<interpret::Interpreter> interpreter_of(const Segment& segment, const Shown& shown,
                                              const FloatRunOptions& options) {
  interpret::Options wanted{.threads = options.threads, .where = options.where};
  if (options.observer) {
    wanted.observer = [shown, observer = options.observer](const ir::Graph&, ValueId value, const Tensor& tensor) {
      if (value.index() < shown.size() && !shown[value.index()].empty()) observer(shown[value.index()], tensor);
    };
  }
  return interpret::Interpreter::create({.graphs = {segment.lowered.graph}}, wanted);
}

}  // namespace

struct FloatRun::Session {
  ir::Graph aten;
  FloatRunOptions options;
  Segments segments;
  std::vector<std::optional<interpret::Interpreter>> interpreters;  // per segment; none where kernels run it
  std::vector<std::pair<std::vector<ValueId>, Tensor>> constants;   // what the lowering has computed of a node
  std::vector<std::optional<Tensor>> known;                         // per value of the graph, during a run

  void learn(ValueId id, const Tensor& tensor) { known[id.index()] = as_type(tensor, aten[id].dtype); }
  [[nodiscard]] Tensor value(ValueId id) const { return aten[id].constant ? *aten[id].constant : *known[id.index()]; }
  Result<void> add_interpreter(const Segment& segment);
  Result<std::vector<Tensor>> run_segment(size_t index);
};

Result<std::vector<Tensor>> FloatRun::Session::run_segment(size_t index) {
  const Segment& segment = segments.segments[index];
  std::vector<Tensor> inputs;
  for (const ValueId id : segment.part.inputs) inputs.push_back(value(id));
  if (segment.kernels == nullptr) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = as_type(inputs[i], segment.lowered.graph[segment.lowered.graph.inputs[i]].dtype);
    return interpreters[index]->run(inputs);
  }
  CARINA_TRY(std::vector<Tensor> outputs, segment.kernels->run(inputs));
  for (size_t i = 0; i < outputs.size() && options.observer; ++i)
    options.observer({&segment.part.outputs[i], 1}, outputs[i]);
  return outputs;
}

Result<void> FloatRun::Session::add_interpreter(const Segment& segment) {
  interpreters.emplace_back();
  if (segment.kernels != nullptr) return {};
  const Shown shown = values_shown(segment);
  for (size_t v = 0; v < shown.size(); ++v) {
    const std::optional<Tensor>& constant = segment.lowered.graph.values[v].constant;
    if (constant && !shown[v].empty()) constants.emplace_back(shown[v], *constant);
  }
  CARINA_TRY(interpreters.back(), interpreter_of(segment, shown, options));
  return {};
}

Result<FloatRun> FloatRun::create(const ir::Graph& aten, const FloatRunOptions& options, const Log& log) {
  auto session = std::make_unique<Session>();
  session->aten = aten;
  session->options = options;
  CARINA_TRY(session->segments, cut_into_segments(aten, options.evaluator, lowering_passes(options.values), log));
  for (const Segment& segment : session->segments.segments) CARINA_CHECKED(session->add_interpreter(segment));
  return FloatRun(std::move(session));
}

Result<std::vector<Tensor>> FloatRun::run(std::span<const Tensor> inputs) {
  Session& session = *session_;
  session.known.assign(session.aten.values.size(), std::nullopt);
  for (size_t i = 0; i < inputs.size(); ++i) {
    session.learn(session.aten.inputs[i], inputs[i]);
    if (session.options.observer) session.options.observer({&session.aten.inputs[i], 1}, inputs[i]);
  }
  for (const auto& [values, constant] : session.constants) {
    if (session.options.observer) session.options.observer(values, constant);
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
