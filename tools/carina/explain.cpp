#include <algorithm>
#include <iterator>

#include "command.h"
#include "driver/compile.h"
#include "explore/alternatives.h"
#include "files/command_files.h"
#include "model_options.h"
#include "page_option.h"
#include "report/compile_report.h"
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

// Prints the table even if the model cannot be compiled. With --json the object contains the errors too.
int explain(const driver::CompileRequest& request, const std::string& page, const Console& console) {
  const auto report = driver::explain(request, console.log());
  if (!report) return report_failure(request.model, report.error(), console);
  warn_of(request, *report, console);
  if (!page.empty()) {
    const auto written = write_file(page, to_html(*report, report::CompilePage::kExplain));
    if (!written) return report_failure(request.model, written.error(), console);
  }
  const int printed =
      finish(request.model, console.json ? report::to_json(*report) : report::to_text(*report, report::Detail::kNodes),
             console);
  return report->errors.empty() ? printed : report_failure(request.model, report->errors, {.json = false});
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  add_model_options(app, request);
  add_target_options(app, request.target);
  add_options_of(app, {OptionGroup::kPartition, OptionGroup::kSchedule}, request);
  static std::string page;
  add_page_option(app, page);
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      request.layers = !page.empty();
      if (!page.empty()) request.alternatives = explore::find_alternatives;
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
