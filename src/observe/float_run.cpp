#include "observe/float_run.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "interpret/interpreter.h"
#include "ir/propagate_quantization.h"
#include "observe/dequantize_internal.h"
#include "observe/segments_internal.h"
#include "tensor/wide_integers.h"

namespace carina::observe {

using ir::ValueId;

namespace {

// The options of the lowering. Clean-up passes are skipped, so that every ATen value has its own TOSA value and weights
// keep their order.
ir::PassOptions lowering_passes(const FloatRunOptions& wanted) {
  ir::PassOptions options;
  if (wanted.layers) options.disabled.emplace_back("fold-flatten");
  if (wanted.values == FloatRunOptions::Values::kFast) return options;
  options.disabled.clear();
  for (const ir::Pass& pass : lower::clean_up_pipeline()) options.disabled.emplace_back(pass.name);
  return options;
}

template <typename From, typename To>
Tensor converted(const Tensor& tensor, DType to) {
  MutableTensor result(to, tensor.shape);
  std::ranges::transform(tensor.values<From>(), result.values<To>().begin(), [](From v) { return static_cast<To>(v); });
  return std::move(result).freeze();
}

// Reinterprets the bits as another type of the same size.
Tensor read_as(Tensor tensor, DType type) {
  tensor.dtype = type;
  return tensor;
}

// Converts a tensor to the type of TOSA. TOSA has neither int64 nor fp64, so indices become int32. Unsigned integers
// are stored as signed ones with the same bits.
Tensor as_type(const Tensor& tensor, DType wanted) {
  if (tensor.dtype == DType::kUInt8 && wanted == DType::kInt8) return read_as(tensor, wanted);
  if (tensor.dtype == DType::kInt8 && wanted == DType::kUInt8) return read_as(tensor, wanted);
  if (tensor.dtype == DType::kInt64 && wanted == DType::kInt32) return converted<int64_t, int32_t>(tensor, wanted);
  if (tensor.dtype == DType::kInt32 && wanted == DType::kInt64) return converted<int32_t, int64_t>(tensor, wanted);
  if (tensor.dtype == DType::kFp64 && wanted == DType::kFp32) return converted<double, float>(tensor, wanted);
  if (tensor.dtype == DType::kFp32 && wanted == DType::kFp64) return converted<float, double>(tensor, wanted);
  return tensor;
}

kernels::Extremes extremes_of(const Tensor& tensor) {
  return tensor.dtype == DType::kFp32 ? kernels::extremes_of(tensor.values<float>()) : kernels::Extremes();
}

// For each value of the TOSA graph, the values of the whole graph with the same elements that nodes of the segment
// compute.
using Shown = std::vector<std::vector<ValueId>>;

Shown values_shown(const Segment& segment, const std::vector<bool>& observed) {
  Shown shown(segment.lowered.graph.values.size());
  for (const ir::Node& node : segment.part.graph.nodes) {
    for (const ValueId output : node.outputs) {
      if (!output.valid() || !segment.lowered.value_of[output.index()].valid()) continue;
      const ValueId origin = segment.part.origin[output.index()];
      if (observed[origin.index()]) shown[segment.lowered.value_of[output.index()].index()].push_back(origin);
    }
  }
  return shown;
}

// For each value of the TOSA graph, the layers that read it.
using Read = std::vector<std::vector<WeightedLayer>>;

Read layers_read(const Segment& segment) {
  const ir::Graph& tosa = segment.lowered.graph;
  const ir::Graph& aten = segment.part.graph;
  Read read(tosa.values.size());
  std::vector<size_t> parts(aten.nodes.size(), 0);
  for (const ir::Node& node : tosa.nodes) {
    const bool weighted = node.op == ir::Op(TosaOp::CONV2D) || node.op == ir::Op(TosaOp::DEPTHWISE_CONV2D);
    if (!weighted || !node.origin.valid()) continue;
    read[node.inputs[0].index()].push_back({.result = segment.part.origin[aten[node.origin].outputs.front().index()],
                                            .convolution = node,
                                            .weight = tosa[node.inputs[1]].shape,
                                            .output = tosa[node.outputs[0]].shape,
                                            .part = parts[node.origin.index()]++});
  }
  return read;
}

// Returns for each value of the TOSA graph the parameters of its integers; no value if it is not quantized.
std::vector<std::optional<Quantization>> quantizations(const Segment& segment) {
  std::vector<std::optional<Quantization>> found(segment.lowered.graph.values.size());
  for (size_t v = 0; v < segment.lowered.value_of.size(); ++v) {
    const ValueId id = segment.lowered.value_of[v];
    if (id.valid()) found[id.index()] = segment.part.graph.values[v].quantization;
  }
  return found;
}

Result<interpret::Interpreter> interpreter_of(const Segment& segment, const Shown& shown,
                                              const FloatRunOptions& options) {
  const bool packed = options.weights == FloatRunOptions::Weights::kPacked;
  interpret::Options wanted{.threads = options.threads,
                            .packing = packed ? interpret::Packing::kOnce : interpret::Packing::kEachRun,
                            .sums = options.sums,
                            .where = options.where};
  if (options.observer || options.layers) {
    const Read read = options.layers ? layers_read(segment) : Read(shown.size());
    std::vector<bool> watched(shown.size());
    for (size_t v = 0; v < shown.size(); ++v) watched[v] = !shown[v].empty() || !read[v].empty();
    wanted.watch = {
        .values = watched,
        .see = [shown, read, read_as = quantizations(segment), observer = options.observer, layers = options.layers](
                   ValueId value, const Tensor& tensor, const kernels::Extremes& extremes) {
          if (!shown[value.index()].empty()) {
            const Tensor floats = as_floats(tensor, read_as[value.index()]);
            observer(shown[value.index()], floats, tensor.dtype == DType::kFp32 ? extremes : extremes_of(floats));
          }
          for (const WeightedLayer& layer : read[value.index()]) layers(layer, tensor);
        }};
  }
  return interpret::Interpreter::create({.graphs = {segment.lowered.graph}}, wanted);
}

}  // namespace

struct FloatRun::Session {
  ir::Graph aten;
  FloatRunOptions options;
  Segments segments;
  // one per segment; no value for segments that kernels run
  std::vector<std::optional<interpret::Interpreter>> interpreters;
  std::vector<std::pair<std::vector<ValueId>, Tensor>> constants;  // values of nodes that the lowering has computed
  std::vector<std::optional<Tensor>> known;                        // per value of the graph, during a run
  std::vector<bool> observed;      // whether each value is observed; empty without an observer
  std::set<ValueId> beyond_int32;  // values whose int64 elements exceeded int32 in a sample

  void show(std::span<const ValueId> values, const Tensor& tensor) const {
    std::vector<ValueId> wanted;
    std::ranges::copy_if(values, std::back_inserter(wanted), [&](ValueId id) { return observed[id.index()]; });
    if (!wanted.empty()) options.observer(wanted, tensor, extremes_of(tensor));
  }

  void learn(ValueId id, const Tensor& tensor) {
    known[id.index()] = as_type(as_floats(tensor, aten[id].quantization), aten[id].dtype);
    note_wide(id, *known[id.index()]);
  }
  void note_wide(ValueId id, const Tensor& tensor) {
    if (tensor.dtype == DType::kInt64 && has_beyond_int32(tensor)) beyond_int32.insert(id);
  }
  // The tensor of a value as a TOSA segment needs it.
  [[nodiscard]] Tensor operand(ValueId id, DType wanted) const {
    const Tensor tensor = value(id);
    const auto& quantization = aten[id].quantization;
    return quantization && tensor.dtype == DType::kFp32 ? as_integers(tensor, *quantization) : as_type(tensor, wanted);
  }
  [[nodiscard]] Tensor value(ValueId id) const { return aten[id].constant ? *aten[id].constant : *known[id.index()]; }
  Result<void> add_interpreter(const Segment& segment);
  Result<std::vector<Tensor>> run_segment(size_t index);
};

Result<std::vector<Tensor>> FloatRun::Session::run_segment(size_t index) {
  const Segment& segment = segments.segments[index];
  const ir::Graph& lowered = segment.lowered.graph;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < segment.part.inputs.size(); ++i) {
    const ValueId id = segment.part.inputs[i];
    inputs.push_back(segment.kernels == nullptr ? operand(id, lowered[lowered.inputs[i]].dtype) : value(id));
  }
  if (segment.kernels == nullptr) return interpreters[index]->run(inputs);
  CARINA_TRY(std::vector<Tensor> outputs, segment.kernels->run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) show({&segment.part.outputs[i], 1}, outputs[i]);
  return outputs;
}

Result<void> FloatRun::Session::add_interpreter(const Segment& segment) {
  interpreters.emplace_back();
  if (segment.kernels != nullptr) return {};
  const Shown shown = values_shown(segment, observed);
  const auto read_as = quantizations(segment);
  for (size_t v = 0; v < shown.size(); ++v) {
    const std::optional<Tensor>& constant = segment.lowered.graph.values[v].constant;
    if (constant && !shown[v].empty()) constants.emplace_back(shown[v], as_floats(*constant, read_as[v]));
  }
  CARINA_TRY(interpreters.back(), interpreter_of(segment, shown, options));
  return {};
}

Result<FloatRun> FloatRun::create(const ir::Graph& aten, const FloatRunOptions& options, const Log& log) {
  auto session = std::make_unique<Session>();
  session->aten = aten;
  ir::propagate_quantization(session->aten);
  session->options = options;
  const Int64 int64 = options.integers == FloatRunOptions::Integers::kWide ? Int64::kKept : Int64::kAsInt32;
  CARINA_TRY(session->segments,
             cut_into_segments(session->aten, options.evaluator, lowering_passes(options), int64, log));
  for (size_t v = 0; v < aten.values.size(); ++v) {
    if (aten.values[v].constant) session->note_wide(ValueId(v), *aten.values[v].constant);
  }
  session->observed.assign(aten.values.size(), static_cast<bool>(options.observer));
  if (options.observer && options.observed) session->observed = options.observed(session->segments.on_kernels);
  for (Segment& segment : session->segments.segments) {
    CARINA_CHECKED(session->add_interpreter(segment));
    for (ir::Value& value : segment.lowered.graph.values) value.constant.reset();  // the interpreter has its own copy
  }
  return FloatRun(std::move(session));
}

Result<std::vector<Tensor>> FloatRun::run(std::span<const Tensor> inputs) {
  Session& session = *session_;
  session.known.assign(session.aten.values.size(), std::nullopt);
  for (size_t i = 0; i < inputs.size(); ++i) {
    session.learn(session.aten.inputs[i], inputs[i]);
    session.show({&session.aten.inputs[i], 1}, inputs[i]);
  }
  for (const auto& [values, constant] : session.constants) session.show(values, constant);
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

const std::set<ValueId>& FloatRun::beyond_int32() const {
  return session_->beyond_int32;
}

FloatRun::FloatRun(std::unique_ptr<Session> session) : session_(std::move(session)) {}
FloatRun::FloatRun(FloatRun&&) noexcept = default;
FloatRun& FloatRun::operator=(FloatRun&&) noexcept = default;
FloatRun::~FloatRun() = default;

}  // namespace carina::observe
