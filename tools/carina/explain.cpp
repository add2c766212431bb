#include <algorithm>
#include <iterator>

#include "command.h"
#include "driver/compile.h"
#include "explore/alternatives.h"
#include "explore/compression.h"
#include "files/command_files.h"
#include "model_options.h"
#include "page_option.h"
#include "report/render.h"
#include "warnings.h"

namespace carina::cli {
namespace explain_command {
namespace {

Result<void> check(const driver::CompileRequest& request, const std::string& page) {
  files::CommandFiles files{
      .inputs = {request.model, request.calibration}, .outputs = {{"--report", page}}, .folders = {}};
  std::ranges::copy(request.target.config_files, std::back_inserter(files.inputs));
  return files::check_files(files);
}

Result<void> write_page(const std::string& page, const results::CompileReport& report) {
  if (page.empty()) return {};
  return write_file(page, to_html(report, report::CompilePage::kExplain));
}

// Writes the page of a model of which nothing is known but the errors. Files that cannot be read have none.
int explain_failure(const driver::CompileRequest& request, const std::string& page, const Diagnostics& errors,
                    const Console& console) {
  const int code = report_failure(request.model, errors, console);
  if (!std::ranges::all_of(errors, [](const Diagnostic& error) { return error.fault == Fault::kInput; })) return code;
  results::CompileReport report{
      .model = request.model,
      .target = request.target.accelerator.empty() ? request.board : request.target.accelerator,
      .system_config = request.target.system_config,
      .memory_mode = request.target.memory_mode,
      .optimize = {},
      .quantization = "none",
      .nodes = {},
      .delegates = {},
      .output = {},
      .errors = errors};
  const auto written = write_page(page, report);
  return written ? code : print_errors(written.error());
}

// The errors of all methods.
Diagnostics errors_of(const results::CompileReport& report) {
  Diagnostics errors = report.errors.empty() ? report.over_budget : report.errors;
  for (const results::CompileReport& method : report.methods) {
    const Diagnostics more = errors_of(method);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  return errors;
}

// Prints the table even if the model cannot be compiled. With --json the object contains the errors too.
int explain(const driver::CompileRequest& request, const std::string& page, const Console& console) {
  const auto report = driver::explain(request, console.log());
  if (!report) return explain_failure(request, page, report.error(), console);
  warn_of(request, *report, console);
  if (const auto written = write_page(page, *report); !written)
    return report_failure(request.model, written.error(), console);
  const int printed =
      finish(request.model, console.json ? report::to_json(*report) : report::to_text(*report, report::Detail::kNodes),
             console);
  const Diagnostics errors = errors_of(*report);
  return errors.empty() ? printed : print_errors(errors);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  add_model_options(app, request);
  add_target_options(app, request);
  add_options_of(app, {OptionGroup::kPartition, OptionGroup::kSchedule, OptionGroup::kLiteRt, OptionGroup::kMethods},
                 request);
  static std::string page;
  add_page_option(app, page);
  app.add_flag_callback(
      "--compression", [] { request.compression = explore::find_compression; },
      "For each layer: bytes and cycles with pruned and with clustered weights. The model is quantized and compiled "
      "with "
      "each of them; accuracy is not measured");
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      request.layers = !page.empty();
      if (!page.empty()) request.alternatives = explore::find_alternatives;
      request.remedies = explore::find_remedies;
      const Result<void> sound = check(request, page);
      return sound ? explain(request, page, console) : report_failure(request.model, sound.error(), console);
    };
  });
}

}  // namespace
}  // namespace explain_command

const Command kExplain{.name = "explain",
                       .summary = "List the device, the reason and the cycles of each node of a model",
                       .examples = "  carina explain model.pt2 --target ethos-u55-128 --calibrate inputs.npz",
                       .add_options = explain_command::add_options};

}  // namespace carina::cli
