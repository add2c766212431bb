#include "explore/compare.h"

#include "command.h"
#include "files/command_files.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"
#include "report/render.h"

// `carina compare`: two programs for one model, layer by layer.
namespace carina::cli {
namespace compare_command {
namespace {

enum class With { kFile, kVela };

Result<std::string> compared(const explore::CompareRequest& request, const std::string& page, const Console& console) {
  CARINA_CHECKED(
      files::check_files({.inputs = {request.a, request.b}, .outputs = {{"--report", page}}, .folders = {}}));
  const auto report = explore::compare(request, console.log());
  if (report) CARINA_CHECKED(write_page(page, *report));
  return shown(report, console);
}

int compare(const explore::CompareRequest& request, With with, const std::string& page, const Console& console) {
  if (request.b.empty() != (with == With::kVela)) {
    const Diagnostic usage{.where = "carina compare",
                           .what = "the second program is missing",
                           .expected = "a second file, or --with vela",
                           .fault = Fault::kUsage};
    return report_failure(request.a, {usage}, console);
  }
  return finish(request.a, compared(request, page, console), console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static explore::CompareRequest request;
  static auto with = With::kFile;
  app.add_option("a", request.a, "A .pte, Vela's raw .npz, or a model to compile: .tosa, .vgf, .pt2")
      ->required()
      ->transform(input_path());
  app.add_option("b", request.b, "The other one")->transform(input_path());
  app.add_option("--with", with, "vela: compare with the output of the installed Vela for A, which must be a .tosa")
      ->transform(one_of({{"vela", static_cast<int>(With::kVela)}}));
  app.add_option("--vela", request.vela, "Vela's program; default: vela, in the PATH")->check(path());
  add_target_options(app, request.compile.target, Target::kOptional);
  add_options_of(app, {OptionGroup::kQuantize, OptionGroup::kSchedule, OptionGroup::kLiteRt}, request.compile);
  static std::string page;
  add_page_option(app, page);
  app.callback([&] {
    action = [&] {
      request.compile.threads = console.threads;
      return compare(request, with, page, console);
    };
  });
}

}  // namespace
}  // namespace compare_command

const Command kCompare{.name = "compare",
                       .summary = "Compare two NPU programs layer by layer, or Carina's program with Vela's",
                       .examples =
                           "  carina compare before.pte after.pte\n"
                           "  carina compare model.tosa model_vela.npz --target ethos-u65-256\n"
                           "  carina compare model.tosa --target ethos-u55-128 --with vela",
                       .add_options = compare_command::add_options};

}  // namespace carina::cli
