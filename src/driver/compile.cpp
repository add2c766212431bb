#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "backends/backend.h"
#include "base/io/file.h"
#include "base/parallel/parallel.h"
#include "datasets/samples.h"
#include "driver/compilation.h"
#include "driver/compile_options.h"
#include "driver/compile_tflite.h"
#include "driver/dump_delegates_internal.h"
#include "driver/methods.h"
#include "driver/prepared_model.h"
#include "driver/state_note_internal.h"
#include "files/file_kind.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/tflite.h"
#include "lower/lower.h"
#include "models/passes.h"
#include "partition/partition.h"
#include "results/float_conversion.h"
#include "vela/vela_flags.h"

namespace carina::driver {

namespace {

struct PartFile {
  std::string_view artifact;  // Artifact::suffix
  std::string_view extension;
  std::string_view of;  // the names of the targets whose backends produce it
};

PartFile part_file_of(CompileRequest::Output output) {
  if (output == CompileRequest::Output::kVgf) return {.artifact = "graph.vgf", .extension = ".vgf", .of = "vgf"};
  return {.artifact = "vela.npz", .extension = ".npz", .of = "an Ethos-U"};
}

// Moves the backend's output file for the only delegate out of the compilation. It does not contain the CPU's part, so
// a program with several parts has no such file.
Result<std::vector<std::byte>> part_of(Compilation& compilation, const CompileRequest& request, const Log& log) {
  std::vector<backends::Delegate>& delegates = compilation.delegated->delegates;
  const PartFile file = part_file_of(request.output);
  if (delegates.size() != 1)
    return fail({.where = request.model,
                 .what = fmt::format("a {} can hold one delegate only", file.extension),
                 .expected = "a model of which one part is delegated",
                 .got = fmt::format("{} parts", delegates.size()),
                 .hint = "--dump DIR writes that of each, and -o FILE.pte the whole program"});
  const auto found = std::ranges::find(delegates.front().artifacts, file.artifact, &backends::Artifact::suffix);
  if (found == delegates.front().artifacts.end())
    return fail({.where = "--output",
                 .what = fmt::format("the target cannot write a {}", file.extension),
                 .expected = fmt::format("--target {}, or -o FILE.pte", file.of),
                 .got = request.target.accelerator,
                 .fault = Fault::kUsage});
  const auto on_cpu = static_cast<int64_t>(compilation.delegated->split.partitioned.program.nodes.size()) -
                      1;  // one node calls the delegate
  if (on_cpu > 0)
    log.note({.where = request.model,
              .what = fmt::format("{} operators run on the CPU and are not part of the {}", on_cpu, file.extension),
              .hint = "-o FILE.pte contains them",
              .severity = Severity::kWarning});
  return std::move(found->bytes);
}

// Compiles the model as far as possible. Errors: a file that cannot be read, or wrong usage, since then nothing can be
// reported about nodes.
Result<Compilation> compile_file(const CompileRequest& request, const backends::Backend& backend, const Log& log) {
  CARINA_TRY(const CompileOptions options, options_of(request, log));
  log.progress("read", 0, 1);
  if (is_graph(request)) {
    CARINA_TRY(TosaGraph graph, read_tosa_graph(request, log));
    Compilation compilation = compile_tosa(std::move(graph), request.model, options, backend, log);
    note_state(compilation, log);
    return compilation;
  }
  CARINA_TRY(const Buffer file, pt2_file(request));
  Compilation compilation = compile_pt2(file, request.model, options, backend, log);
  if (!has_diagnostics(compilation)) return fail(std::move(compilation.errors));
  note_state(compilation, log);
  return compilation;
}

// Warns if nothing was delegated to the NPU.
void warn_of_idle_npu(const Compilation& compilation, const CompileRequest& request, const backends::Backend& backend,
                      const Log& log) {
  if (backend.lowering.takes_floats || request.delegates == DelegateMode::kNothing ||
      !compilation.delegated->delegates.empty())
    return;
  if (compilation.model.quantization != "none") return;
  log.note({.where = request.model,
            .what = "nothing runs on the NPU: the model is not quantized",
            .hint = request.quantize.scheme == "none"
                        ? "leave out --quantize none, and give --calibrate FILE.npz with real inputs of the model"
                        : "give --calibrate FILE.npz with real inputs of the model; --calibrate random shows cycles "
                          "and memory without data",
            .severity = Severity::kWarning});
  if (!request.quantize.overrides.empty())
    log.note({.where = "--quantize-at",
              .what = "has no effect: the model is not quantized",
              .severity = Severity::kWarning});
}

// Says what integers as inputs and outputs save, if the CPU takes longer to convert floats than the NPU to compute.
void note_costly_floats(const Compilation& compilation, const CompileRequest& request,
                        const results::CompileReport& report, const Log& log) {
  const int64_t cycles = partition::boundary_cycles_of(compilation.delegated->split.partitioned.program);
  if (report.delegates.empty() || !report.cycles) return;
  if (const auto note = results::conversion_note(request.model, {.cpu = cycles, .npu = *report.cycles}))
    log.note(*note);
}

// The folder of `--dump` with the files of every delegate, not yet in their place. No value without `--dump`.
Result<std::optional<DumpFolder>> dumped(const Compilation& compilation, const backends::Backend& backend,
                                         const CompileRequest& request) {
  if (request.dump_folder.empty()) return std::nullopt;
  CARINA_TRY(DumpFolder folder, DumpFolder::open(request.dump_folder));
  CARINA_CHECKED(dump_delegates(folder, compilation, backend, request));
  return folder;
}

// A TOSA file without a target uses the idioms that most readers prefer.
const lower::Target kTosaFile{
    .limits = kDefaultLowering.limits, .idioms = kDefaultLowering.idioms, .takes_floats = true, .keeps_integers = true};

// The model of a compilation, to be compiled again with other choices.
PreparedModel prepared_of(const Compilation& compilation, const CompileRequest& request) {
  const std::string& quantization = compilation.model.quantization;
  return {.file = request.model,
          .model = compilation.model,
          .is_tosa = is_graph(request),
          .calibrated = quantization.contains(", calibrated on "),
          .cache = std::make_shared<CompileCache>()};
}

// "--io int8: 311,296 B of SRAM, 12,345 B of flash, 4,000 cycles"
std::string remedy_text(const results::Alternative& remedy) {
  return fmt::format("{}: {} B of SRAM, {} B of flash, {} NPU cycles", remedy.options, remedy.sram_bytes,
                     remedy.program_bytes, remedy.cycles);
}

// Says at the first exceeded budget which other choices keep to all of them, the fastest first, or which comes nearest.
void add_remedies(results::CompileReport& report, const Compilation& compilation, const CompileRequest& request,
                  const Log& log) {
  if (report.over_budget.empty() || !request.remedies) return;
  const auto found = request.remedies(request, prepared_of(compilation, request), report, log);
  if (!found) return;
  const auto fits = [&](const results::Alternative& remedy) {
    return (report.sram_budget_bytes == 0 || remedy.sram_bytes <= report.sram_budget_bytes) &&
           (report.flash_budget_bytes == 0 || remedy.program_bytes <= report.flash_budget_bytes);
  };
  constexpr size_t kMax = 3;
  std::string fitting;
  size_t count = 0;
  for (const results::Alternative& remedy : *found) {
    if (!fits(remedy) || count++ >= kMax) continue;
    fitting += (fitting.empty() ? "these fit, measured: " : "; ") + remedy_text(remedy);
  }
  std::string& hint = report.over_budget.front().hint;
  hint = fitting;
  if (!fitting.empty() || found->empty()) return;
  const auto nearest = std::ranges::min_element(*found, {}, [&](const results::Alternative& remedy) {
    const auto over = [](int64_t bytes, int64_t budget) {
      return budget == 0 ? 0 : std::max<int64_t>(0, bytes - budget);
    };
    return over(remedy.sram_bytes, report.sram_budget_bytes) + over(remedy.program_bytes, report.flash_budget_bytes);
  });
  hint = fmt::format("none of {} other choices fits; the nearest one, measured, is {}", found->size(),
                     remedy_text(*nearest));
}

// Adds the results of other choices. Their errors do not fail this compilation.
void add_alternatives(results::CompileReport& report, const Compilation& compilation, const CompileRequest& request,
                      const Log& log) {
  if (!request.alternatives) return;
  auto alternatives = request.alternatives(request, prepared_of(compilation, request), report, log);
  if (alternatives) {
    report.alternatives = *std::move(alternatives);
    return;
  }
  Diagnostic why = alternatives.error().front();
  why.what = "the report lacks the comparison with other choices: " + why.what;
  why.severity = Severity::kNote;
  log.note(why);
}

// Warns about float computations in a quantized model: nodes that the quantizer left in floats.
void warn_of_floats(const models::Model& model, const ir::Graph& tosa, const Log& log) {
  const auto is_quantized = [](const ir::Value& value) { return value.quantization.has_value(); };
  if (std::ranges::none_of(model.graph.values, is_quantized)) return;
  std::set<std::string> names;
  for (const ir::Node& node : tosa.nodes) {
    if (node.outputs.size() == 1 && is_float(tosa[node.outputs.front()].dtype)) names.insert(node.name);
  }
  if (names.empty()) return;
  log.note({.where = model.name,
            .what = fmt::format("{} {} with floats in a quantized model, {} is one", names.size(),
                                names.size() == 1 ? "node computes" : "nodes compute", *names.begin()),
            .hint = "readers of the file need TOSA's FP profile in addition to INT; --profile INT rejects such a model",
            .severity = Severity::kWarning});
}

Result<models::Model> quantized_model(const CompileRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, pt2_file(request));
  CARINA_TRY(models::Model model, models::import_pt2(file, request.model, log, import_options_of(request)));
  CARINA_TRY(const models::QuantizeRequest quantize, quantization_of(request, log));
  CARINA_CHECKED(models::quantize_model(model, quantize, log));
  return model;
}

// A LiteRT file without a program, as some operators have to stay on the CPU, still becomes a .tflite: its report.
// Otherwise the errors.
Result<results::CompileReport> explained_parts(const CompileRequest& request, const backends::Backend& backend,
                                               const Log& log, Diagnostics errors) {
  const auto file = tflite_file(request);
  if (!file || backend.lowering.takes_floats) return fail(std::move(errors));
  auto compiled = compile_tflite(*file, request, backend, log);
  if (!compiled) return fail(std::move(errors));
  log.note({.where = request.model,
            .what = "some operators stay on the CPU, so that only a .tflite can be made of it: " + errors.front().what,
            .hint = "carina compile -o FILE.tflite",
            .severity = Severity::kWarning});
  return std::move(compiled->report);
}

// Options for LiteRT files, with another file, and what an option would bring.
void note_litert_options(const CompileRequest& request, const backends::Backend& backend, const Log& log) {
  const auto note = [&](std::string option) {
    log.note({.where = std::move(option),
              .what = "has no effect: the model is not a LiteRT file",
              .severity = Severity::kWarning});
  };
  const auto file = tflite_file(request);
  if (request.rounding != options::TfliteRounding::kLiteRt && !file) note("--rounding");
  if (!request.shapes.empty() && !file) note("--shape");
  if (!file || backend.lowering.takes_floats || request.rounding != options::TfliteRounding::kLiteRt) return;
  const auto model = tflite::read_model(*file, request.model);
  if (model && tflite::has_faster_lstm(*model))
    log.note({.where = request.model,
              .what = "an LSTM has LiteRT's bits, for which each step takes some 90 NPU operations; with the NPU's own "
                      "functions, as Vela has them, a step takes 9, and other bits",
              .hint = "--rounding vela",
              .severity = Severity::kNote});
}

bool has_methods(const CompileRequest& request) {
  return !request.methods.empty() || !request.further_methods.empty() || !signatures_of(request).empty();
}

}  // namespace

Result<Compiled> compile(const CompileRequest& given, const Log& log) {
  const ScopedThreadPool pool(given.threads);
  CARINA_TRY(const CompileRequest request, with_flags(given, log));
  CARINA_TRY(const backends::Backend backend, backends::find_backend(request.target, log));
  note_litert_options(request, backend, log);
  if (has_methods(request)) return compile_methods(request, backend, log);
  if (request.output == CompileRequest::Output::kTflite) {
    CARINA_TRY(const Buffer file, tflite_file(request));
    return compile_tflite(file, request, backend, log);
  }
  CARINA_TRY(Compilation compilation, compile_file(request, backend, log));
  if (!compilation.errors.empty()) return fail(std::move(compilation.errors));
  warn_of_idle_npu(compilation, request, backend, log);
  results::CompileReport report = compile_report(compilation, backend, delegate_options_of(request));
  if (!report.over_budget.empty()) {
    add_remedies(report, compilation, request, log);
    return fail(std::move(report.over_budget));
  }
  CARINA_TRY(std::optional<DumpFolder> dump_folder, dumped(compilation, backend, request));
  note_costly_floats(compilation, request, report, log);
  add_alternatives(report, compilation, request, log);
  if (request.output != CompileRequest::Output::kProgram) {
    CARINA_TRY(std::vector<std::byte> part, part_of(compilation, request, log));
    report.program_bytes = request.output == CompileRequest::Output::kVgf
                               ? static_cast<int64_t>(part.size())
                               : report.delegates.front().command_stream_bytes + report.delegates.front().weight_bytes;
    return Compiled{.program = std::move(part), .report = std::move(report), .dump = std::move(dump_folder)};
  }
  Compiled compiled{
      .program = std::move(compilation.package->program), .report = std::move(report), .dump = std::move(dump_folder)};
  // The memory is freed while the caller writes the file.
  run_async([all = std::make_shared<Compilation>(std::move(compilation))]() mutable { all.reset(); });
  return compiled;
}

Result<results::CompileReport> explain(const CompileRequest& given, const Log& log) {
  const ScopedThreadPool pool(given.threads);
  CARINA_TRY(CompileRequest request, with_flags(given, log));
  request.check = options::Check::kOff;  // no program is written
  request.layers = request.layers || request.compression;
  CARINA_TRY(const backends::Backend backend, backends::find_backend(request.target, log));
  request.estimates = !backend.lowering.takes_floats;
  note_litert_options(request, backend, log);
  if (has_methods(request)) return explain_methods(request, backend, log);
  auto made = compile_file(request, backend, log);
  if (!made) return explained_parts(request, backend, log, std::move(made).error());
  const Compilation compilation = *std::move(made);
  if (!compilation.errors.empty()) {
    if (auto parts = explained_parts(request, backend, log, compilation.errors)) return parts;
  }
  if (compilation.delegated) warn_of_idle_npu(compilation, request, backend, log);
  results::CompileReport report = compile_report(compilation, backend, delegate_options_of(request));
  if (!report.errors.empty()) return report;
  add_remedies(report, compilation, request, log);
  add_alternatives(report, compilation, request, log);
  if (request.compression) {
    CARINA_TRY(report.compression, request.compression(request, prepared_of(compilation, request), report, log));
  }
  return report;
}

namespace {

void warn_of_state(const ir::Graph& graph, const std::string& path, const Log& log) {
  if (graph.states.empty()) return;
  log.note(
      {.where = path,
       .what =
           "the model keeps state, which a TOSA file does not: it is among the inputs and outputs, as the last ones",
       .severity = Severity::kWarning});
}

}  // namespace

Result<std::vector<std::byte>> to_tosa(const TosaRequest& request, const Log& log) {
  const ScopedThreadPool pool(request.model.threads);
  const std::string& path = request.model.model;
  if (is_graph(request.model)) {
    CARINA_TRY(const ir::Module module, graph_of(request.model, request.limits.level));
    warn_of_state(module.main(), path, log);
    return files::write_sound_tosa(module, request.version, request.limits, path);
  }
  CARINA_TRY(const models::Model model, quantized_model(request.model, log));
  warn_of_state(model.graph, path, log);
  CARINA_TRY(lower::Lowered lowered,
             lower::to_tosa(model.graph, kTosaFile,
                            models::options_for(request.model.passes, lower::clean_up_pipeline()), log));
  drop_weights(model.graph);
  warn_of_floats(model, lowered.graph, log);
  return files::write_sound_tosa({.graphs = {std::move(lowered.graph)}}, request.version, request.limits, path);
}

}  // namespace carina::driver
