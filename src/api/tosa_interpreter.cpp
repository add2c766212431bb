#include "carina/tosa_interpreter.h"

#include <mutex>
#include <optional>

#include "api/call_internal.h"
#include "api/check_options_internal.h"
#include "datasets/samples.h"
#include "files/tosa_file.h"
#include "interpret/interpreter.h"

// carina::TosaInterpreter: a TOSA graph that is prepared once and evaluated many times.
namespace carina {

struct TosaInterpreter::Content {
  explicit Content(Log sink) : log(std::move(sink)), call(log) {}

  Result<void> load(const Buffer& tosa, const TosaInterpreterOptions& options);

  const Log log;
  std::mutex mutex;
  api::Call call;
  std::vector<datasets::InputType> inputs;
  std::vector<std::string> outputs;
  std::optional<interpret::Interpreter> interpreter;
};

namespace {

std::unexpected<Diagnostics> empty_interpreter() {
  return fail(
      {.where = "TosaInterpreter", .what = "the interpreter is empty: it was moved from", .fault = Fault::kUsage});
}

Diagnostics wrong(const TosaInterpreterOptions& options) {
  Diagnostics all;
  api::check_threads(options.threads, all);
  if (options.level != "8K" && options.level != "none")
    all.push_back({.where = "level",
                   .what = "no such level",
                   .expected = "8K or none",
                   .got = options.level,
                   .fault = Fault::kUsage});
  return all;
}

}  // namespace

Result<void> TosaInterpreter::Content::load(const Buffer& tosa, const TosaInterpreterOptions& options) {
  return call.run({}, wrong(options), [&](const Log& to) -> Result<void> {
    CARINA_TRY(const ir::Module module, files::sound_tosa(api::aligned(tosa), "TOSA graph", options.level));
    const ir::Graph& graph = module.main();
    inputs = datasets::input_types(graph);
    for (const ir::ValueId output : graph.outputs) outputs.push_back(graph[output].name);
    interpret::Options wanted{.threads = options.threads, .memory_budget_bytes = options.memory_budget_bytes};
    wanted.between_nodes = [&to] { to.progress("run", 0, 0); };  // `to` belongs to `call`
    wanted.profiling = options.timed ? interpret::Profiling::kOn : interpret::Profiling::kOff;
    wanted.where = "TOSA graph";
    CARINA_TRY(interpreter, interpret::Interpreter::create(module, wanted));
    return {};
  });
}

TosaInterpreter::TosaInterpreter(std::unique_ptr<Content> content) : content_(std::move(content)) {}
TosaInterpreter::TosaInterpreter(TosaInterpreter&&) noexcept = default;
TosaInterpreter& TosaInterpreter::operator=(TosaInterpreter&&) noexcept = default;
TosaInterpreter::~TosaInterpreter() = default;

Result<TosaInterpreter> TosaInterpreter::load(const Buffer& tosa, const TosaInterpreterOptions& options,
                                              const Log& log) {
  return guarded([&]() -> Result<TosaInterpreter> {
    auto content = std::make_unique<Content>(log);
    CARINA_CHECKED(content->load(tosa, options));
    return TosaInterpreter(std::move(content));
  });
}

std::span<const datasets::InputType> TosaInterpreter::inputs() const noexcept {
  return content_ == nullptr ? std::span<const datasets::InputType>() : content_->inputs;
}

Result<std::vector<datasets::NamedTensor>> TosaInterpreter::run(const datasets::Sample& inputs, std::stop_token stop) {
  if (content_ == nullptr) return empty_interpreter();
  return guarded([&]() -> Result<std::vector<datasets::NamedTensor>> {
    const std::lock_guard lock(content_->mutex);
    return content_->call.run(stop, {}, [&](const Log&) -> Result<std::vector<datasets::NamedTensor>> {
      CARINA_TRY(std::vector<Tensor> tensors, content_->interpreter->run(inputs));
      std::vector<datasets::NamedTensor> outputs;
      for (size_t i = 0; i < tensors.size(); ++i)
        outputs.push_back({.name = content_->outputs[i], .tensor = std::move(tensors[i])});
      return outputs;
    });
  });
}

Result<void> TosaInterpreter::reset() {
  if (content_ == nullptr) return empty_interpreter();
  return guarded([&]() -> Result<void> {
    const std::lock_guard lock(content_->mutex);
    content_->interpreter->reset_variables();
    return {};
  });
}

Result<std::vector<TosaOperatorTime>> TosaInterpreter::times() const {
  if (content_ == nullptr) return empty_interpreter();
  return guarded([&]() -> Result<std::vector<TosaOperatorTime>> {
    const std::lock_guard lock(content_->mutex);
    std::vector<TosaOperatorTime> times;
    for (const interpret::NodeTime& node : content_->interpreter->profile())
      times.push_back(
          {.name = node.name, .op = std::string(node.op), .calls = node.calls, .nanoseconds = node.nanoseconds});
    return times;
  });
}

}  // namespace carina
