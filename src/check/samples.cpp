#include <fmt/format.h>

#include <utility>

#include "base/dev_checks.h"
#include "check/samples_internal.h"

namespace carina::check {

namespace {

Result<interpret::Interpreter> create(ir::Graph graph, const interpret::Options& options) {
  ir::Module module;
  module.graphs.push_back(std::move(graph));
  return interpret::Interpreter::create(module, options);
}

}  // namespace

Result<Sample> draw_sample(const ir::Graph& tosa, interpret::Interpreter& interpreter, int sample,
                           std::span<const GivenInput> given) {
  Diagnostics why{{.where = {}, .what = "an input has a type of which no values are drawn"}};
  for (const Spread spread : kSpreads) {
    auto inputs = draw_inputs(tosa, sample, spread);
    if (!inputs) break;
    for (const GivenInput& one : given) {
      (*inputs)[one.index] = one.tensor;
      (*inputs)[one.index].shape = tosa[tosa.inputs[one.index]].shape;
    }
    interpreter.reset_variables();
    auto results = interpreter.run(*inputs);
    if (results) return Sample{.inputs = *std::move(inputs), .results = *std::move(results)};
    why = std::move(results).error();
  }
  return fail(std::move(why));
}

Result<interpret::Interpreter> interpreter_of(ir::Graph graph, Fusing fusing, int threads) {
  interpret::Options options{.threads = threads};
  if (fusing == Fusing::kNo) options.observer = [](const ir::Graph&, ir::ValueId, const Tensor&) {};
  return create(std::move(graph), options);
}

Result<interpret::Interpreter> plain_interpreter_of(ir::Graph graph, int threads) {
  return create(std::move(graph), {.threads = threads, .kernels = interpret::Kernels::kPlain});
}

Result<void> report_fast_kernels(const char* engine, const std::string& graph, const Log& log) {
  Diagnostic message{
      .where = graph,
      .what =
          fmt::format("fast kernels of {} give other values than its plain loops, with which the program agrees: the "
                      "program is right, but results that {} computes may not be",
                      engine, engine),
      .hint = "this is a mistake of Carina: please report it, with the command and, if you can, the file",
      .fault = Fault::kInternal};
  if (dev_checks_enabled()) return fail(std::move(message));
  message.severity = Severity::kWarning;
  log.note(message);
  return {};
}

std::string place_of(const ir::Node& node) {
  return node.source.empty() ? node.name : fmt::format("{} ({})", node.name, node.source);
}

}  // namespace carina::check
