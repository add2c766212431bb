// Several models become the methods of one program, in four steps:
//   1. each model is read, to find the buffers that one of them changes: these are states of all;
//   2. each model is quantized. A state has the range that all methods together have shown;
//   3. each model is compiled, with those states and their ranges;
//   4. the program has a plan for each, and one place for each state.
//   Example: prefill writes 8 rows of a cache, decode reads all and writes 1. `reset` that only writes it, and `get`
//   that only reads it, would not have it as state if they were compiled alone.
#include "driver/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "driver/compilation.h"
#include "driver/compile_options.h"
#include "driver/package.h"
#include "driver/state_note_internal.h"
#include "models/quantize.h"

namespace carina::driver {

namespace {

struct Method {
  std::string name = "forward";
  CompileRequest request = {};
};

std::unexpected<Diagnostics> usage(std::string what, std::string got) {
  return fail({.where = "--method", .what = std::move(what), .got = std::move(got), .fault = Fault::kUsage});
}

// Reads "NAME" (of the request's own model) and "NAME=MODEL[,SAMPLES]".
Result<std::vector<Method>> methods_of(const CompileRequest& request) {
  std::vector<Method> methods{{.request = request}};
  for (const std::string& text : request.methods) {
    const size_t equals = text.find('=');
    if (equals == 0 || text.empty()) return usage("a method needs a name: NAME=MODEL.pt2", text);
    if (equals == std::string::npos) {
      methods.front().name = text;
      continue;
    }
    const size_t comma = text.find(',', equals);
    Method& method = methods.emplace_back(Method{.name = text.substr(0, equals), .request = request});
    method.request.model = text.substr(equals + 1, comma == std::string::npos ? comma : comma - equals - 1);
    method.request.file = {};
    method.request.samples = {};
    method.request.calibration = comma == std::string::npos ? "" : text.substr(comma + 1);
  }
  std::set<std::string> names;
  for (Method& method : methods) {
    if (!names.insert(method.name).second) return usage("two methods have one name", method.name);
    if (is_graph(method.request)) return usage("a method is a .pt2", method.request.model);
    CARINA_TRY(method.request.file, pt2_file(method.request));
    method.request.methods.clear();
  }
  if (request.output != CompileRequest::Output::kProgram) return usage("only a .pte has several methods", "");
  return methods;
}

// The buffers that a method changes, so that they are state of all methods.
Result<std::set<std::string>> states_of(const std::vector<Method>& methods) {
  std::set<std::string> names;
  for (const Method& method : methods) {
    CARINA_TRY(const models::Model model,
               models::import_pt2(method.request.file, method.request.model, Log{}, import_options_of(method.request)));
    for (const ir::State& state : model.graph.states) names.insert(state.name);
  }
  return names;
}

using StateLimits = std::map<std::string, quantize::Limits>;

quantize::Limits limits_of(const Quantization& q) {
  return {.min = static_cast<double>(q.qmin - q.zero_point()) * q.scale(),
          .max = static_cast<double>(q.qmax - q.zero_point()) * q.scale()};
}

// The range of each quantized state over all methods that calibration gives a range of its own.
Result<StateLimits> limits_of(const std::vector<Method>& methods, const std::set<std::string>& states) {
  StateLimits limits;
  for (const Method& method : methods) {
    models::ImportOptions import = import_options_of(method.request);
    import.shared_states = states;
    CARINA_TRY(models::Model model, models::import_pt2(method.request.file, method.request.model, Log{}, import));
    CARINA_TRY(const models::QuantizeRequest quantize, quantization_of(method.request, Log{}));
    CARINA_CHECKED(models::quantize_model(model, quantize, Log{}));
    for (size_t i = 0; i < model.graph.states.size(); ++i) {
      const auto& q = model.graph[model.graph.state_input(i)].quantization;
      if (!q) continue;
      const quantize::Limits own = limits_of(*q);
      quantize::Limits& all = limits.emplace(model.graph.states[i].name, own).first->second;
      all = {.min = std::min(all.min, own.min), .max = std::max(all.max, own.max)};
    }
  }
  return limits;
}

void note_method(const Method& method, const Compilation& compilation, const results::CompileReport& report,
                 const Log& log) {
  const size_t nodes = compilation.delegated->split.partitioned.program.nodes.size();
  log.note({.where = method.request.model,
            .what = fmt::format("method {}: {} delegates, {} operators on the CPU{}", method.name,
                                report.delegates.size(), nodes - report.delegates.size(),
                                report.cycles ? fmt::format(", {} cycles", *report.cycles) : ""),
            .severity = Severity::kNote});
}

}  // namespace

Result<Compiled> compile_methods(const CompileRequest& request, const backends::Backend& backend, const Log& log) {
  CARINA_TRY(const std::vector<Method> methods, methods_of(request));
  CARINA_TRY(const std::set<std::string> states, states_of(methods));
  StateLimits limits;
  if (!states.empty()) {
    CARINA_TRY(limits, limits_of(methods, states));
  }
  std::vector<Compilation> compilations;
  Compiled compiled;
  for (const Method& method : methods) {
    CARINA_TRY(CompileOptions options, options_of(method.request, log));
    options.shared_states = states;
    options.quantize.state_limits = limits;
    compilations.push_back(compile_pt2(method.request.file, method.request.model, options, backend, log));
    Compilation& made = compilations.back();
    if (!made.errors.empty()) return fail(std::move(made.errors));
    note_state(made, log);
    results::CompileReport report = compile_report(made, backend, options.delegate);
    if (!report.over_budget.empty()) return fail(std::move(report.over_budget));
    note_method(method, made, report, log);
    if (compilations.size() == 1) compiled.report = std::move(report);
  }
  std::vector<PackagedMethod> packaged;
  for (size_t i = 0; i < methods.size(); ++i)
    packaged.push_back({.name = methods[i].name, .delegated = *compilations[i].delegated});
  CARINA_TRY(compiled.program, package_methods(packaged, request.cpu_kernels));
  compiled.report.program_bytes = static_cast<int64_t>(compiled.program.size());
  return compiled;
}

}  // namespace carina::driver
