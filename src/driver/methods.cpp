// Several models become the methods of one program, in four steps:
//   1. each model is read, to find the buffers that one of them changes: these are states of all;
//   2. each model is quantized. A state has the range that all methods together have shown;
//   3. each model is compiled, with those states and their ranges;
//   4. the program has a plan for each, and one place for each state.
// The signatures of a LiteRT file of integers are methods too, in steps 3 and 4. Of a LiteRT file of floats, a method's
// name is the signature.
//   Example: prefill writes 8 rows of a cache, decode reads all and writes 1. `reset` that only writes it, and `get`
//   that only reads it, would not have it as state if they were compiled alone.
#include "driver/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "driver/compilation.h"
#include "driver/compile_options.h"
#include "driver/dump_delegates_internal.h"
#include "driver/package.h"
#include "driver/state_note_internal.h"
#include "models/quantize.h"

namespace carina::driver {

namespace {

struct Method {
  std::string name = "forward";
  CompileRequest request = {};
  bool of_integers = false;  // a signature of a LiteRT file of integers
};

std::unexpected<Diagnostics> usage(std::string what, std::string got) {
  return fail({.where = "--method", .what = std::move(what), .got = std::move(got), .fault = Fault::kUsage});
}

// A method's name is part of the names of dumped files.
bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

// Adds a method, whose other options are those of the request.
void add_method(std::vector<Method>& methods, const CompileRequest& request, FurtherMethod further) {
  Method& method = methods.emplace_back(Method{.name = std::move(further.name), .request = request});
  method.request.model = std::move(further.model);
  method.request.file = std::move(further.file);
  method.request.calibration = std::move(further.calibration);
  method.request.samples = std::move(further.samples);
}

// A method of each signature, by its key.
Result<std::vector<Method>> methods_of_signatures(const CompileRequest& request, const std::vector<std::string>& keys) {
  if (!request.methods.empty() || !request.further_methods.empty())
    return usage("the methods of a LiteRT file are its signatures", fmt::format("{}", fmt::join(keys, ", ")));
  std::vector<Method> methods;
  for (const std::string& key : keys) {
    methods.push_back({.name = key, .request = request, .of_integers = true});
    methods.back().request.signature = key;
  }
  return methods;
}

// Reads "NAME" (of the request's own model) and "NAME=MODEL[,SAMPLES]".
Result<std::vector<Method>> named_methods(const CompileRequest& request) {
  std::vector<Method> methods{{.request = request}};
  for (const std::string& text : request.methods) {
    const size_t equals = text.find('=');
    if (equals == 0 || text.empty()) return usage("a method needs a name: NAME=MODEL.pt2", text);
    if (equals == std::string::npos) {
      methods.front().name = text;
      continue;
    }
    const size_t comma = text.find(',', equals);
    add_method(methods, request,
               {.name = text.substr(0, equals),
                .model = text.substr(equals + 1, comma == std::string::npos ? comma : comma - equals - 1),
                .calibration = comma == std::string::npos ? "" : text.substr(comma + 1)});
  }
  for (const FurtherMethod& further : request.further_methods) add_method(methods, request, further);
  return methods;
}

Result<std::vector<Method>> methods_of(const CompileRequest& request) {
  const std::vector<std::string> signatures = signatures_of(request);
  CARINA_TRY(std::vector<Method> methods,
             signatures.empty() ? named_methods(request) : methods_of_signatures(request, signatures));
  std::set<std::string> names;
  for (Method& method : methods) {
    if (!std::ranges::all_of(method.name, is_name_character))
      return usage("a method's name has letters, digits, '_', '-' and '.' only", method.name);
    if (!names.insert(method.name).second) return usage("two methods have one name", method.name);
    if (method.of_integers) continue;
    if (is_graph(method.request)) return usage("a method is a .pt2", method.request.model);
    CARINA_TRY(method.request.file, pt2_file(method.request));
    method.request.signature = method.name;
    method.request.methods.clear();
    method.request.further_methods.clear();
  }
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
    CARINA_TRY(models::QuantizeRequest quantize, quantization_of(method.request, Log{}));
    quantize.state_is_shared = true;
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

// The buffers that all methods share, and the ranges of those that are quantized.
struct SharedStates {
  std::set<std::string> names;
  StateLimits limits;
};

Result<SharedStates> shared_states_of(const std::vector<Method>& methods) {
  SharedStates states;
  if (methods.front().of_integers) return states;  // their graphs have states already
  CARINA_TRY(states.names, states_of(methods));
  if (!states.names.empty()) {
    CARINA_TRY(states.limits, limits_of(methods, states.names));
  }
  return states;
}

Result<Compilation> compiled_method(const Method& method, const SharedStates& states, const backends::Backend& backend,
                                    const Log& log) {
  CARINA_TRY(CompileOptions options, options_of(method.request, log));
  if (method.of_integers) {
    CARINA_TRY(TosaGraph graph, read_tosa_graph(method.request, log));
    return compile_tosa(std::move(graph), method.request.model, options, backend, log);
  }
  options.shared_states = states.names;
  options.quantize.state_limits = states.limits;
  options.quantize.state_is_shared = true;
  return compile_pt2(method.request.file, method.request.model, options, backend, log);
}

results::CompileReport report_of(const Method& method, const Compilation& compilation,
                                 const backends::Backend& backend) {
  results::CompileReport report = compile_report(compilation, backend, delegate_options_of(method.request));
  report.method = method.name;
  return report;
}

// The report of the first method, which has those of the others.
results::CompileReport joined(std::vector<results::CompileReport> reports) {
  results::CompileReport first = std::move(reports.front());
  reports.erase(reports.begin());
  first.methods = std::move(reports);
  return first;
}

// The files of `--dump` of all methods. The delegates are numbered through the program.
Result<std::optional<DumpFolder>> dumped(const std::vector<Method>& methods,
                                         const std::vector<Compilation>& compilations,
                                         const backends::Backend& backend) {
  const std::string& path = methods.front().request.dump_folder;
  if (path.empty()) return std::nullopt;
  CARINA_TRY(DumpFolder folder, DumpFolder::open(path));
  size_t first = 0;
  for (size_t i = 0; i < methods.size(); ++i) {
    CARINA_CHECKED(dump_delegates(folder, compilations[i], backend, methods[i].request,
                                  {.method = methods[i].name, .first = first}));
    first += compilations[i].delegated->delegates.size();
  }
  return folder;
}

}  // namespace

Result<Compiled> compile_methods(const CompileRequest& request, const backends::Backend& backend, const Log& log) {
  CARINA_TRY(const std::vector<Method> methods, methods_of(request));
  if (request.output != CompileRequest::Output::kProgram) return usage("only a .pte has several methods", "");
  CARINA_TRY(const SharedStates states, shared_states_of(methods));
  std::vector<Compilation> compilations;
  std::vector<results::CompileReport> reports;
  for (const Method& method : methods) {
    CARINA_TRY(Compilation made, compiled_method(method, states, backend, log));
    if (!made.errors.empty()) return fail(std::move(made.errors));
    note_state(made, log);
    reports.push_back(report_of(method, made, backend));
    if (!reports.back().over_budget.empty()) return fail(std::move(reports.back().over_budget));
    compilations.push_back(std::move(made));
  }
  std::vector<PackagedMethod> packaged;
  for (size_t i = 0; i < methods.size(); ++i)
    packaged.push_back({.name = methods[i].name, .delegated = *compilations[i].delegated});
  Compiled compiled;
  CARINA_TRY(compiled.dump, dumped(methods, compilations, backend));
  CARINA_TRY(compiled.program, package_methods(packaged, request.cpu_kernels));
  for (results::CompileReport& report : reports) report.program_bytes = static_cast<int64_t>(compiled.program.size());
  compiled.report = joined(std::move(reports));
  return compiled;
}

Result<results::CompileReport> explain_methods(const CompileRequest& request, const backends::Backend& backend,
                                               const Log& log) {
  CARINA_TRY(const std::vector<Method> methods, methods_of(request));
  // Without states if a method cannot be quantized: its compilation below fails for the same reasons.
  const SharedStates states = shared_states_of(methods).value_or(SharedStates());
  std::vector<results::CompileReport> reports;
  for (const Method& method : methods) {
    CARINA_TRY(Compilation made, compiled_method(method, states, backend, log));
    if (!has_diagnostics(made)) return fail(std::move(made.errors));
    note_state(made, log);
    reports.push_back(report_of(method, made, backend));
  }
  return joined(std::move(reports));
}

}  // namespace carina::driver
