#include "base/io/output_file.h"
#include "command.h"
#include "driver/compile.h"
#include "files/command_files.h"
#include "files/tosa_file.h"
#include "model_options.h"
#include "option_values.h"
#include "report/render.h"

// `carina tosa`: writes a model as a TOSA file, or verifies a TOSA file.
namespace carina::cli {
namespace tosa_command {
namespace {

struct Options {
  driver::TosaRequest request;
  std::string output;
  bool verify = false;
};

std::unexpected<Diagnostics> usage(std::string what) {
  return fail({.where = "carina tosa", .what = std::move(what), .fault = Fault::kUsage});
}

// Writes the model as a TOSA file, when it has been said that it is written.
Result<void> write(const Options& options, const Console& console) {
  const driver::CompileRequest& model = options.request.model;
  if (options.output.empty()) return usage("--output is missing (or --verify, to check a file)");
  CARINA_CHECKED(files::check_files(
      {.inputs = {model.model, model.calibration}, .outputs = {{"--output", options.output}}, .folders = {}}));
  CARINA_TRY(const auto bytes, driver::to_tosa(options.request, console.log()));
  CARINA_TRY(OutputFile file, OutputFile::prepare(options.output, bytes));
  const results::TosaReport report{.model = model.model,
                                   .version = files::written_version(bytes, options.request.version),
                                   .output = options.output,
                                   .bytes = static_cast<int64_t>(bytes.size())};
  CARINA_CHECKED(file.write_in_place());
  CARINA_CHECKED(print_report(console.json ? report::to_json(report) : report::to_text(report), console));
  return file.commit();
}

// Prints what the verifier says on a file.
int verify(const Options& options, const Console& console) {
  const std::string& file = options.request.model.model;
  const auto report = files::verify_tosa(file, options.request.limits);
  const int printed = finish(file, shown(report, console), console);
  if (!report || report->messages.empty()) return printed;
  return report_failure(file, report->messages, {.json = false});  // the report has said it in JSON
}

int run(Options& options, const Console& console) {
  options.request.model.threads = console.threads;
  if (options.output.ends_with(".vgf")) options.request.version = "vgf";
  if (options.verify) return verify(options, console);
  const auto written = write(options, console);
  return written ? 0 : report_failure(options.request.model.model, written.error(), console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static Options options;
  add_model_options(app, options.request.model);
  add_pass_options(app, options.request.model);
  app.add_option("-o,--output", options.output, "The .tosa to write, or a .vgf")->check(path());
  app.add_option("--tosa-version", options.request.version, "Version of the file to write")
      ->check(CLI::IsMember({"1.0", "0.80"}))
      ->capture_default_str();
  app.add_flag("--verify", options.verify,
               "Verify a .tosa against the specification. Lists each broken rule, with exit code 1");
  app.add_option("--level", options.request.limits.level, "Level (limits of sizes): 8K or none")->capture_default_str();
  app.add_option("--profile", options.request.limits.profiles,
                 "Allowed profiles: INT, FP, or BI, MI of TOSA 0.80. Default: all")
      ->delimiter(',');
  app.add_option("--extension", options.request.limits.extensions,
                 "Allowed extensions: INT16, INT4, BF16 ..., or none. Default: all")
      ->delimiter(',');
  app.callback([&] { action = [&] { return run(options, console); }; });
}

}  // namespace
}  // namespace tosa_command

const Command kTosa{.name = "tosa",
                    .summary = "Lower a model to a TOSA file, INT where it is quantized, else FP; or verify one",
                    .examples =
                        "  carina tosa model.pt2 -o model.tosa\n"
                        "  carina tosa model.pt2 --calibrate inputs.npz -o model_int8.tosa\n"
                        "  carina tosa model.tosa --tosa-version 0.80 -o model_0_80.tosa\n"
                        "  carina tosa model.tosa -o model.vgf\n"
                        "  carina tosa model.vgf -o model.tosa\n"
                        "  carina tosa --verify model.tosa --profile INT --extension none",
                    .add_options = tosa_command::add_options};

}  // namespace carina::cli
