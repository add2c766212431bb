#include "driver/compile.h"
#include "explore/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "base/io/output_file.h"
#include "base/parallel/parallel.h"
#include "command.h"
#include "compile_command.h"
#include "datasets/random_samples.h"
#include "execute/bundle_program.h"
#include "files/command_files.h"
#include "inspect/c_source.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"
#include "report/render.h"
#include "run_options.h"
#include "stage_clock.h"
#include "targets/target.h"
#include "warnings.h"

// `carina compile`: a model file becomes a program, a TOSA file or a VGF file, with a report.
namespace carina::cli {
namespace compile_command {
namespace {

// What the names of the program's file may end with; a name without an extension promises nothing.
Result<void> check_extension(const Outputs& outputs) {
  const std::string extension = std::filesystem::path(outputs.program).extension().string();
  constexpr std::array<std::string_view, 8> kKnown{"", ".pte", ".bpte", ".npz", ".vgf", ".tflite", ".h", ".c"};
  if (std::ranges::find(kKnown, extension) == kKnown.end())
    return fail(
        {.where = "--output",
         .what = fmt::format("{}: this command writes no {} file", outputs.program, extension),
         .expected = ".pte, .bpte (with test cases), .h or .c (a C array), .npz (a command stream), .vgf or .tflite",
         .hint = extension == ".tosa" ? "carina tosa writes a .tosa" : "",
         .fault = Fault::kUsage});
  if (outputs.bundle.inputs.empty() || extension == ".bpte") return {};
  return fail({.where = "--test-inputs",
               .what = "test cases are written to a .bpte alone",
               .expected = "-o FILE.bpte",
               .got = outputs.program,
               .fault = Fault::kUsage});
}

bool is_c_array(const Outputs& outputs) {
  return outputs.program.ends_with(".h") || outputs.program.ends_with(".c");
}

// The header beside a source file: "model.h" for "model.c".
std::string header_of(const Outputs& outputs) {
  return outputs.program.substr(0, outputs.program.size() - 1) + "h";
}

files::CommandFiles files_of(const driver::CompileRequest& request, const Outputs& outputs) {
  files::CommandFiles files{.inputs = {request.model, request.calibration},
                            .outputs = {{"--output", outputs.program},
                                        {"--per-layer", outputs.layers},
                                        {"--summary", outputs.summary},
                                        {"--auto-front", request.quantize.auto_front},
                                        {"--report", outputs.page}},
                            .folders = {{"--dump", request.dump_folder, "output_tag"}}};
  if (outputs.program.ends_with(".c")) files.outputs.push_back({"--output", header_of(outputs)});
  std::ranges::copy(request.target.config_files, std::back_inserter(files.inputs));
  std::ranges::copy(outputs.bundle.inputs, std::back_inserter(files.inputs));
  files.read_by_option = {{"--calibrate", request.calibration == datasets::kRandomData ? "" : request.calibration},
                          {"--quantize-config", request.quantize.file}};
  for (const std::string& config : request.target.config_files) {
    if (!targets::is_built_in(config)) files.read_by_option.push_back({"--config", config});
  }
  return files;
}

std::string layer_table(const results::CompileReport& report, const Outputs& outputs) {
  std::vector<results::NpuReport> parts;
  for (const results::DelegateReport& delegate : report.delegates) {
    if (delegate.layers) parts.push_back(*delegate.layers);
  }
  return report::layer_table(parts, outputs.rows, report::form_of(outputs.layers));
}

Result<void> make_bundle(driver::Compiled& compiled, const driver::CompileRequest& request, const Outputs& outputs,
                         const Console& console) {
  if (!outputs.program.ends_with(".bpte")) return {};
  execute::BundleRequest bundle = outputs.bundle;
  bundle.model = request.model;
  bundle.threads = console.threads;
  bundle.images = request.images;
  CARINA_TRY(compiled.program, execute::bundle_program(Buffer::copy_of(compiled.program), bundle, console.log()));
  return {};
}

// Replaces the program by a C array of it. Returns the header of a source file; no value if the array is in a header.
Result<std::optional<std::string>> make_c_array(driver::Compiled& compiled, const Outputs& outputs) {
  if (!is_c_array(outputs)) return std::nullopt;
  const bool in_source = outputs.program.ends_with(".c");
  const std::filesystem::path path = outputs.program;
  CARINA_TRY(inspect::CSource text,
             inspect::c_source(Buffer::copy_of(compiled.program), inspect::c_identifier(path.stem().string()),
                               compiled.report.inputs, compiled.report.outputs,
                               in_source ? inspect::CFiles::kHeaderAndSource : inspect::CFiles::kHeaderOnly));
  if (in_source)
    text.source =
        fmt::format("#include \"{}\"\n\n", std::filesystem::path(header_of(outputs)).filename().string()) + text.source;
  const auto bytes = std::as_bytes(std::span(in_source ? text.source : text.header));
  compiled.program.assign(bytes.begin(), bytes.end());
  if (!in_source) return std::nullopt;
  return std::move(text.header);
}

std::string text_of(const results::CompileReport& report, const results::Profile& profile, const Console& console) {
  const std::string text = console.json ? report::to_json(report) : report::to_text(report, report::Detail::kSummary);
  if (profile.empty()) return text;
  return console.json ? report::with_profile(text, profile) : text + report::to_text(profile);
}

}  // namespace

// Output files are renamed to their final names after the report has been printed. So a run that fails, even while
// printing, writes nothing.
Result<void> compile(const driver::CompileRequest& request, const Outputs& outputs, const Console& console) {
  const ScopedThreadPool pool(request.threads);  // declared first, so that background jobs are joined last
  CARINA_CHECKED(files::check_files(files_of(request, outputs)));
  CARINA_CHECKED(check_extension(outputs));
  StageClock clock(console.log());
  CARINA_TRY(driver::Compiled compiled, driver::compile(request, outputs.profile ? clock.log() : console.log()));
  if (outputs.profile) clock.begin("write");
  CARINA_CHECKED(make_bundle(compiled, request, outputs, console));
  CARINA_TRY(const std::optional<std::string> header_text, make_c_array(compiled, outputs));
  CARINA_TRY(OutputFile program, OutputFile::prepare(outputs.program, compiled.program));
  std::optional<OutputFile> header;
  if (header_text) {
    CARINA_TRY(header, OutputFile::prepare(header_of(outputs), std::as_bytes(std::span(*header_text))));
  }
  const std::string table = layer_table(compiled.report, outputs);
  std::optional<OutputFile> layers;
  if (!outputs.layers.empty()) {
    CARINA_TRY(layers, OutputFile::prepare(outputs.layers, std::as_bytes(std::span(table))));
  }
  const std::string whole = outputs.summary.empty() ? std::string() : report::summary_table(compiled.report);
  std::optional<OutputFile> summary;
  if (!outputs.summary.empty()) {
    CARINA_TRY(summary, OutputFile::prepare(outputs.summary, std::as_bytes(std::span(whole))));
  }
  compiled.report.output = outputs.program;
  const std::string html =
      outputs.page.empty() ? std::string() : to_html(compiled.report, report::CompilePage::kCompile);
  std::optional<OutputFile> page;
  if (!outputs.page.empty()) {
    CARINA_TRY(page, OutputFile::prepare(outputs.page, std::as_bytes(std::span(html))));
  }
  warn_of(request, compiled.report, console);
  CARINA_CHECKED(program.write_in_place());
  CARINA_CHECKED(
      print_report(text_of(compiled.report, outputs.profile ? clock.finish() : results::Profile(), console), console));
  if (header) CARINA_CHECKED(header->commit());
  if (layers) CARINA_CHECKED(layers->commit());
  if (summary) CARINA_CHECKED(summary->commit());
  if (page) CARINA_CHECKED(page->commit());
  if (compiled.dump) CARINA_CHECKED(compiled.dump->commit());
  return program.commit();
}

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  static Outputs outputs;
  add_model_options(app, request);
  add_pass_options(app, request);
  add_target_options(app, request);
  static bool delegate = true;
  app.add_flag("-d,--delegate", delegate, "Put what can run there on the NPU: the default")->group(section::kPlacement);
  add_options_of(app,
                 {OptionGroup::kPartition, OptionGroup::kSchedule, OptionGroup::kLiteRt, OptionGroup::kMethods,
                  OptionGroup::kCompile, OptionGroup::kCheck},
                 request);
  add_layers_option(app, outputs.layers);
  app.add_option("--summary", outputs.summary,
                 "Write a .csv file with one row about the whole network, with the columns of Vela's summary")
      ->group(section::kReports)
      ->check(path());
  add_page_option(app, outputs.page);
  add_all_option(app, outputs.rows);
  app.add_flag("--profile", outputs.profile, "Print the time and the peak memory of each stage")
      ->group(section::kReports);
  app.add_option(
         "--test-inputs", outputs.bundle.inputs,
         "With -o FILE.bpte: inputs of the test cases, in the forms of `carina run -i`; a file may hold many samples")
      ->allow_extra_args(false)
      ->check(path());
  app.add_option("--expected", outputs.bundle.expected,
                 "With -o FILE.bpte: expected outputs of the test cases: those of `carina run` (run, default), or "
                 "those of the model before compilation (model)")
      ->transform(one_of({{"run", static_cast<int>(execute::Expected::kRun)},
                          {"model", static_cast<int>(execute::Expected::kModel)}}));
  app.add_option(
         "-o,--output", outputs.program,
         "Output file: a .pte; a .h or .c (the program as a C array); a .bpte (program with test cases); an .npz (the "
         "command stream in Vela's raw format, one delegate only); a .vgf (with --target vgf); or a .tflite, of "
         "a .tflite. Default: the model's name with .pte, in the current folder")
      ->group(section::kMain)
      ->check(path());
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      if (outputs.program.empty()) outputs.program = std::filesystem::path(request.model).stem().string() + ".pte";
      request.layers = !outputs.layers.empty() || !outputs.summary.empty() || !outputs.page.empty();
      if (!outputs.page.empty()) request.alternatives = explore::find_alternatives;
      request.remedies = explore::find_remedies;
      if (outputs.program.ends_with(".npz")) request.output = driver::CompileRequest::Output::kStream;
      if (outputs.program.ends_with(".vgf")) request.output = driver::CompileRequest::Output::kVgf;
      if (outputs.program.ends_with(".tflite")) request.output = driver::CompileRequest::Output::kTflite;
      const Result<void> done = compile(request, outputs, console);
      return done ? 0 : report_failure(request.model, done.error(), console);
    };
  });
}

}  // namespace
}  // namespace compile_command

const Command kCompile{
    .name = "compile",
    .summary = "Compile a model for an Ethos-U NPU, or for VGF, to an ExecuTorch program",
    .examples =
        "  carina compile model.pt2 -t ethos-u55-128 --quantize int8 --calibrate inputs.npz -o model.pte\n"
        "  carina compile model.tosa --target ethos-u55-256 --memory-mode Sram_Only -o model.pte\n"
        "  carina compile model.tflite --target ethos-u55-128 -o model_npu.tflite\n"
        "  carina compile model.pt2 --target vgf -o model.pte\n"
        "  carina compile model.pt2 -t ethos-u55-128 --calibrate inputs.npz --io int8 -o model.h\n"
        "  carina compile model.pt2 --target ethos-u55-128 --test-inputs inputs.npz -o model.bpte\n"
        "  carina compile model.tosa --target ethos-u85-256 -Os --per-layer layers.csv -o model_vela.npz",
    .add_options = compile_command::add_options};

}  // namespace carina::cli
