#include "base/file.h"
#include "command.h"
#include "driver/compile.h"
#include "driver/tosa_file.h"
#include "model_options.h"

namespace carina::cli {

namespace {

struct Options {
  driver::TosaRequest request;
  std::string output;
  bool verify = false;
};

std::unexpected<Diagnostics> usage(std::string what) {
  return fail({.where = "carina tosa", .what = std::move(what), .fault = Fault::kUsage});
}

// Writes the model as a TOSA file.
Result<void> write(Options& options, const Console& console) {
  if (options.output.empty()) return usage("--output is missing (or --verify, to check a file)");
  options.request.model.threads = console.threads;
  if (options.output.ends_with(".vgf")) options.request.version = "vgf";
  CARINA_TRY(const auto bytes, driver::to_tosa(options.request, console.log()));
  return write_file(options.output, bytes);
}

// Prints what the verifier says on a file.
int verify(const Options& options, const Console& console) {
  const auto report = driver::verify_tosa(options.request.model.model, options.request.limits);
  if (!report) return report_failure(options.request.model.model, report.error(), console);
  const int printed = print(console.json ? report::to_json(*report) : report::to_text(*report));
  return report->messages.empty() ? printed : report_errors(report->messages);
}

int run(Options& options, const Console& console) {
  if (options.verify) return verify(options, console);
  const auto written = write(options, console);
  return written ? 0 : report_errors(written.error());
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static Options options;
  add_model_options(app, options.request.model);
  add_pass_options(app, options.request.model);
  app.add_option("-o,--output", options.output, "The .tosa to write, or a .vgf");
  app.add_option("--tosa-version", options.request.version, "Version of the file to write")
      ->check(CLI::IsMember({"1.0", "0.80"}))
      ->capture_default_str();
  app.add_flag("--verify", options.verify,
               "Check a .tosa against the specification instead; exit code 1 and each broken rule when there is one");
  app.add_option("--level", options.request.limits.level, "Limits on sizes: 8K or none")->capture_default_str();
  app.add_option("--profile", options.request.limits.profiles,
                 "Profiles that may be used: INT, FP; BI, MI of TOSA 0.80; default: all")
      ->delimiter(',');
  app.add_option("--extension", options.request.limits.extensions,
                 "Extensions that may be used: INT16, INT4, BF16 ..., or none; default: all")
      ->delimiter(',');
  app.callback([&] { action = [&] { return run(options, console); }; });
}

}  // namespace

const Command kTosa{.name = "tosa",
                    .summary = "Lower a model to a TOSA file, INT where it is quantized, else FP; or verify one",
                    .examples =
                        "  carina tosa model.pt2 -o model.tosa\n"
                        "  carina tosa model.pt2 --calibrate inputs.npz -o model_int8.tosa\n"
                        "  carina tosa model.tosa --tosa-version 0.80 -o model_0_80.tosa\n"
                        "  carina tosa model.tosa -o model.vgf\n"
                        "  carina tosa model.vgf -o model.tosa\n"
                        "  carina tosa --verify model.tosa --profile INT --extension none",
                    .add_options = add_options};

}  // namespace carina::cli
