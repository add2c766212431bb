#include "carina/api.h"

#include <algorithm>
#include <iterator>

#include "api/call_internal.h"
#include "api/check_options_internal.h"
#include "api/stage_options_internal.h"
#include "backends/backend.h"
#include "base/guarded.h"
#include "base/parallel/parallel.h"
#include "driver/compilation.h"
#include "driver/cpu_nodes.h"
#include "driver/whole_delegate.h"
#include "execute/run_program.h"
#include "files/tosa_file.h"
#include "frontend/tosa/flatbuffer.h"
#include "models/import.h"
#include "models/quantize.h"
#include "vela/vela_flags.h"

// The C++ API (carina/api.h) on top of the driver: models, partitions, delegates and runs in memory. Each function
// checks its arguments, calls one function of the libraries below, and turns an InternalError into a Result.
namespace carina::api {

struct Model::Content {
  models::Model model;
};

struct Partition::Content {
  ir::Graph graph;
  size_t delegates = 0;
};

namespace {

constexpr std::string_view kNotQuantized = "none";  // Model::quantization()

Model made(models::Model model) {
  return Model(std::make_shared<Model::Content>(std::move(model)));
}

// Moves the content out of a model with one owner; copies it if it has several. Weights are shared in both cases.
models::Model taken(Model model) {
  if (model.content().use_count() == 1) return std::move(model.content()->model);
  return model.content()->model;
}

models::SampleSource source_of(std::span<const Sample> samples) {
  if (samples.empty()) return {};
  return [samples](std::span<const InputType> inputs) -> Result<std::vector<Sample>> {
    std::vector<Sample> sound;
    for (const Sample& sample : samples) {
      CARINA_CHECKED(datasets::check_sample(sample, inputs));
      for (Tensor& tensor : sound.emplace_back(sample)) tensor.data = aligned(tensor.data);
    }
    return sound;
  };
}

// The mistakes in one argument, or in several: wrong(a, b).
template <typename... Options>
Diagnostics wrong(const Options&... options) {
  Diagnostics all;
  (check_options(options, all), ...);
  return all;
}

Diagnostics wrong(const TargetNames& target) {
  Diagnostics all;
  check_target(target, all);
  return all;
}

Diagnostics wrong(std::span<const Sample> samples) {
  Diagnostics all;
  check_samples(samples, all);
  return all;
}

Diagnostics wrong(const Model& model) {
  Diagnostics all;
  check_model(model, all);
  return all;
}

Diagnostics operator+(Diagnostics one, Diagnostics other) {
  std::ranges::move(other, std::back_inserter(one));
  return one;
}

// A note where a whole program runs on the CPU because its model is not quantized.
void note_float_model(const std::string& name, const Log& log) {
  log.note({.where = name,
            .what = "the model is float and the NPU computes integers: all nodes run on the CPU",
            .hint = "quantize the model before: quantize() with samples",
            .severity = Severity::kNote});
}

driver::CompileOptions compile_options(const CompileOptions& options) {
  driver::CompileOptions wanted;
  wanted.quantize.threads = options.delegate.threads;
  wanted.split = split_options(options.partition);
  wanted.delegate = delegate_options(options.delegate);
  wanted.sram_budget_bytes = options.sram_budget_bytes;
  wanted.flash_budget_bytes = options.flash_budget_bytes;
  return wanted;
}

Result<TosaFile> tosa_file(const ir::Graph& tosa) {
  ir::Graph graph = tosa;
  graph.name = "main";  // the name under which the TOSA reference model looks it up
  return tosa::write_tosa({.graphs = {std::move(graph)}});
}

// Returns the graph of a verified TOSA file with one region.
Result<ir::Graph> only_graph(std::span<const std::byte> tosa) {
  const std::string where = "TOSA graph";
  CARINA_TRY(ir::Module module,
             files::sound_tosa(Buffer::copy_of(aligned(Buffer(nullptr, tosa)).bytes()), where, "8K"));
  if (module.graphs.size() == 1) return std::move(module.main());
  return fail({.where = where,
               .what = "control flow does not run on the NPU",
               .got = std::to_string(module.graphs.size()) + " regions"});
}

// Returns the node of the user's model from which a node of the normalized graph was made.
std::string user_node_of(const models::Model& model, ir::NodeId prepared) {
  if (!prepared.valid()) return {};
  const ir::NodeId origin = model.graph[prepared].origin;
  return origin.valid() && origin.index() < model.nodes.size() ? model.nodes[origin.index()].name : std::string();
}

Decision shown(const partition::Decision& decision, const models::Model& model) {
  return {.name = decision.name,
          .op = decision.op,
          .source = decision.source,
          .user_node = user_node_of(model, decision.node),
          .runs_on_npu = decision.runs_on_npu,
          .delegate = decision.delegate,
          .reason = decision.reason,
          .hint = decision.hint,
          .rule = decision.rule,
          .cpu_cycles = decision.cpu_cycles};
}

DelegateBlob blob_of(const backends::Delegate& delegate) {
  DelegateBlob blob{.backend_id = delegate.packaged.backend,
                    .blob = {},
                    .compile_specs = {},
                    .report = delegate.report,
                    .artifacts = {}};
  for (const backends::Artifact& artifact : delegate.artifacts)
    blob.artifacts.push_back({.suffix = artifact.suffix, .bytes = artifact.bytes});
  std::ranges::copy(delegate.packaged.blob.bytes(), std::back_inserter(blob.blob));
  for (const auto& [key, value] : delegate.packaged.compile_specs)
    blob.compile_specs.emplace_back(key, std::string(value.begin(), value.end()));
  return blob;
}

pte::Delegate packaged(const DelegateBlob& blob) {
  pte::Delegate delegate{.backend = blob.backend_id, .blob = Buffer::copy_of(blob.blob), .compile_specs = {}};
  for (const auto& [key, value] : blob.compile_specs)
    delegate.compile_specs.emplace_back(key, std::vector<uint8_t>(value.begin(), value.end()));
  return delegate;
}

Result<Program> finished(driver::Compilation compilation, const backends::Backend& backend,
                         const DelegateOptions& options) {
  if (!compilation.errors.empty()) return fail(std::move(compilation.errors));
  results::CompileReport report = compile_report(compilation, backend, delegate_options(options));
  if (!report.over_budget.empty()) return fail(std::move(report.over_budget));
  return Program{.pte = std::move(compilation.package->program), .report = std::move(report)};
}

}  // namespace

std::vector<std::string_view> targets() {
  return backends::targets();
}

Result<Model> import_pt2(const Buffer& pt2, std::string_view name, const Log& caller) {
  return call(caller, {}, {}, [&](const Log& log) -> Result<Model> {
    CARINA_TRY(models::Model model, models::import_pt2(aligned(pt2), std::string(name), log));
    return made(std::move(model));
  });
}

const std::string& Model::name() const {
  static const std::string empty;
  return content_ == nullptr ? empty : content_->model.name;
}

const std::string& Model::quantization() const {
  static const std::string empty;
  return content_ == nullptr ? empty : content_->model.quantization;
}

std::vector<InputType> inputs(const Model& model) {
  if (model.content() == nullptr) return {};
  return datasets::input_types(model.content()->model.graph);
}

Result<Model> quantize(Model model, std::span<const Sample> samples, const QuantizeOptions& options,
                       const Log& caller) {
  const models::QuantizeRequest request{
      .mode = options.mode, .scheme = options.scheme, .samples = source_of(samples), .threads = options.threads};
  Diagnostics mistakes = wrong(model) + wrong(options) + wrong(samples);
  return call(caller, options.stop, std::move(mistakes), [&](const Log& log) -> Result<Model> {
    const ScopedThreadPool pool(options.threads);
    models::Model quantized = taken(std::move(model));
    CARINA_CHECKED(models::quantize_model(quantized, request, log));
    if (samples.empty() && options.mode == QuantizeMode::kAuto && quantized.quantization == kNotQuantized)
      log.note({.where = quantized.name,
                .what = "the model stays float, because there are no samples to calibrate it on",
                .severity = Severity::kNote});
    return made(std::move(quantized));
  });
}

Result<Partition> partition(const Model& model, const TargetNames& target, const PartitionOptions& options,
                            const Log& caller) {
  return call(caller, {}, wrong(model) + wrong(target) + wrong(options), [&](const Log& log) -> Result<Partition> {
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    const models::Model& prepared = model.content()->model;
    CARINA_TRY(const driver::SplitOptions wanted, driver::with_user_nodes(split_options(options), prepared));
    CARINA_TRY(driver::Split split, driver::split_graph(prepared.graph, backend, wanted, {}, log));
    Partition partition{
        .decisions = {},
        .program = std::make_shared<const Partition::Content>(std::move(split.partitioned.program), split.tosa.size()),
        .delegates = {}};
    for (const partition::Decision& decision : split.partitioned.decisions)
      partition.decisions.push_back(shown(decision, prepared));
    for (const ir::Graph& tosa : split.tosa) {
      CARINA_TRY(TosaFile file, tosa_file(tosa));
      partition.delegates.push_back(std::move(file));
    }
    return partition;
  });
}

Result<TosaFile> to_tosa(const Model& model, const TargetNames& target, const Log& log) {
  CARINA_TRY(TracedTosa traced, to_traced_tosa(model, target, {}, log));
  return std::move(traced.tosa);
}

Result<TracedTosa> to_traced_tosa(const Model& model, const TargetNames& target,
                                  const std::map<std::string, std::string>& locations, const Log& caller) {
  return call(caller, {}, wrong(model) + wrong(target), [&](const Log& log) -> Result<TracedTosa> {
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    const models::Model& prepared = model.content()->model;
    CARINA_TRY(lower::Lowered lowered, driver::lower_whole(prepared.graph, backend.lowering, log));
    TracedTosa traced;
    for (ir::Node& node : lowered.graph.nodes) {
      traced.operators.push_back({.op = std::string(node.op.name()),
                                  .result = node.outputs.empty() ? "" : lowered.graph[node.outputs.front()].name,
                                  .node = user_node_of(prepared, node.origin)});
      const auto location = locations.find(traced.operators.back().node);
      if (location != locations.end()) node.source = location->second;
    }
    CARINA_TRY(traced.tosa, tosa_file(lowered.graph));
    return traced;
  });
}

Result<Flags> read_flags(std::string_view compile_flags, const Log& caller) {
  return call(caller, {}, {}, [&](const Log& log) -> Result<Flags> {
    const std::vector<std::string> flag_list{std::string(compile_flags)};
    CARINA_TRY(const vela::VelaFlags read, vela::read_vela_flags(flag_list, log));
    Flags flags;
    flags.delegate.optimize = read.optimize.value_or(Optimize::kSpeed);
    CARINA_TRY(flags.target, targets::read_names(read.target));
    return flags;
  });
}

Result<DelegateBlob> compile_delegate(std::span<const std::byte> tosa, const TargetNames& target,
                                      const DelegateOptions& options, const Log& caller) {
  return call(caller, options.stop, wrong(target) + wrong(options), [&](const Log& log) -> Result<DelegateBlob> {
    const ScopedThreadPool pool(options.threads);
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    CARINA_TRY(const ir::Graph graph, only_graph(tosa));
    CARINA_TRY(const backends::Delegate delegate, backend.compile(graph, delegate_options(options), log));
    return blob_of(delegate);
  });
}

Result<std::vector<std::byte>> package(const Partition& partition, std::span<const DelegateBlob> blobs) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    if (partition.program == nullptr)
      return fail({.where = "package", .what = "the partition is empty", .fault = Fault::kUsage});
    if (blobs.size() != partition.program->delegates) {  // the caller may have changed Partition::delegates
      return fail({.where = "package",
                   .what = "the blob of a delegate is missing",
                   .expected = std::to_string(partition.program->delegates),
                   .got = std::to_string(blobs.size()),
                   .fault = Fault::kUsage});
    }
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (!blobs[i].backend_id.empty() && !blobs[i].blob.empty()) continue;
      return fail({.where = "package",
                   .what = "blob " + std::to_string(i) + " is empty",
                   .expected = "a result of compile_delegate()",
                   .got = blobs[i].backend_id.empty() ? "a blob without a backend" : "a blob without bytes",
                   .fault = Fault::kUsage});
    }
    std::vector<pte::Delegate> delegates;
    std::ranges::transform(blobs, std::back_inserter(delegates), packaged);
    CARINA_TRY(driver::Package package, driver::package(partition.program->graph, delegates));
    return std::move(package.program);
  });
}

Result<Program> compile(Model model, const TargetNames& target, const CompileOptions& options, const Log& caller) {
  Diagnostics mistakes = wrong(model) + wrong(target) + wrong(options);
  return call(caller, options.delegate.stop, std::move(mistakes), [&](const Log& log) -> Result<Program> {
    const ScopedThreadPool pool(options.delegate.threads);
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    const bool is_float = model.quantization() == kNotQuantized;
    const std::string name = model.name();
    auto program = finished(driver::compile_model(taken(std::move(model)), compile_options(options), backend, log),
                            backend, options.delegate);
    if (program && is_float && program->report.delegates.empty()) note_float_model(name, log);
    return program;
  });
}

Result<Program> package_tosa(std::span<const std::byte> tosa, const TargetNames& target, const DelegateOptions& options,
                             const Log& caller) {
  return call(caller, options.stop, wrong(target) + wrong(options), [&](const Log& log) -> Result<Program> {
    const ScopedThreadPool pool(options.threads);
    CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
    CARINA_TRY(ir::Graph graph, only_graph(tosa));
    const CompileOptions whole{.partition = {}, .delegate = options};
    return finished(
        driver::compile_tosa({.graph = std::move(graph)}, "TOSA graph", compile_options(whole), backend, log), backend,
        options);
  });
}

Result<results::CompileReport> explain(const Buffer& pt2, std::string_view name, std::span<const Sample> samples,
                                       const TargetNames& target, const CompileOptions& options, const Log& caller) {
  Diagnostics mistakes = wrong(target) + wrong(options) + wrong(samples);
  return call(
      caller, options.delegate.stop, std::move(mistakes), [&](const Log& log) -> Result<results::CompileReport> {
        const ScopedThreadPool pool(options.delegate.threads);
        CARINA_TRY(const backends::Backend backend, backends::find_backend(target, log));
        driver::CompileOptions whole = compile_options(options);
        whole.quantize.samples = source_of(samples);
        driver::Compilation compilation = driver::compile_pt2(aligned(pt2), std::string(name), whole, backend, log);
        if (!driver::has_diagnostics(compilation)) return fail(std::move(compilation.errors));
        return compile_report(compilation, backend, delegate_options(options.delegate));
      });
}

Result<RunOutcome> run(const Buffer& pte, const Sample& inputs, const RunOptions& options, const Log& caller) {
  Diagnostics mistakes = wrong(options.memories) + wrong(std::span(&inputs, 1));
  check_threads(options.threads, mistakes);
  return call(caller, options.stop, std::move(mistakes), [&](const Log& log) -> Result<RunOutcome> {
    const auto source = [&](std::span<const InputType>) -> Result<Sample> { return inputs; };
    CARINA_TRY(execute::RunOutcome outcome,
               execute::run_program(aligned(pte), "program", source, run_options(options), log));
    return RunOutcome{.outputs = std::move(outcome.outputs),
                      .memory = std::move(outcome.memory),
                      .cpu_kernels = std::move(outcome.cpu_kernels),
                      .delegate_calls = outcome.delegate_calls,
                      .npu = std::move(outcome.npu)};
  });
}

}  // namespace carina::api
