#include "vela/vela_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "command.h"
#include "compile_command.h"
#include "driver/compile.h"
#include "inspect/litert_operators.h"
#include "model_options.h"
#include "option_values.h"
#include "targets/target.h"

// `carina vela`: Vela's command line. The files have Vela's names.
namespace carina::cli {
namespace vela_command {
namespace {

constexpr std::string_view kDefaultAccelerator = "ethos-u55-256";  // Vela's

struct Options {
  std::string network;
  std::map<std::string, std::vector<std::string>> values;  // by flag; "" for a flag without a value
  driver::CompileRequest request;                          // what Vela has no flags for
};

// The flags as read_vela_flags() takes them, without those of files.
std::vector<std::string> flags_of(const Options& options) {
  std::vector<std::string> out;
  for (const auto& [name, values] : options.values) {
    if (name == "--output-dir" || name == "--output-format") continue;
    for (const std::string& value : values) out.push_back(value.empty() ? name : fmt::format("{}={}", name, value));
  }
  return out;
}

std::string value_of(const Options& options, const std::string& flag, std::string_view otherwise) {
  const auto found = options.values.find(flag);
  return found == options.values.end() ? std::string(otherwise) : found->second.back();
}

Result<void> compile_network(const Options& options, const Console& console) {
  driver::CompileRequest request = options.request;
  request.model = options.network;
  request.threads = console.threads;
  request.layers = true;
  request.vela_flags = flags_of(options);
  if (!options.values.contains("--accelerator-config")) request.target.accelerator = kDefaultAccelerator;
  const std::string format = value_of(options, "--output-format", "tflite");
  if (format != "tflite" && format != "raw")
    return fail({.where = "--output-format",
                 .what = "an unknown format",
                 .expected = "tflite or raw",
                 .got = format,
                 .fault = Fault::kUsage});
  request.output = format == "raw" ? driver::CompileRequest::Output::kStream : driver::CompileRequest::Output::kTflite;
  // The summary is named after the system configuration, which may be Vela's default for the NPU.
  CARINA_TRY(const vela::VelaFlags flags, vela::read_vela_flags(request.vela_flags, {}));
  targets::TargetRequest named = request.target;
  backends::Optimize level = backends::Optimize::kSpeed;
  CARINA_CHECKED(vela::add_vela_flags(flags, named, level));
  targets::add_vela_defaults(named);
  request.target.system_config = named.system_config;
  request.target.memory_mode = named.memory_mode;
  CARINA_TRY(const plan::Target target, targets::find_target(named));
  const std::filesystem::path folder = value_of(options, "--output-dir", "output");
  const std::string stem = std::filesystem::path(options.network).stem().string();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return fail({.where = folder.string(), .what = fmt::format("the folder cannot be made: {}", failed.message())});
  const auto in_folder = [&](const std::string& end) { return (folder / (stem + end)).string(); };
  compile_command::Outputs outputs{.program = in_folder(format == "raw" ? "_vela.npz" : "_vela.tflite"),
                                   .summary = in_folder(fmt::format("_summary_{}.csv", target.system.name))};
  if (options.values.contains("--verbose-performance") || options.values.contains("--verbose-all"))
    outputs.layers = in_folder("_per-layer.csv");
  return compile_command::compile(request, outputs, console);
}

constexpr std::string_view kReportFlag = "--supported-ops-report";

// Writes the report of operators to the current folder, under Vela's name.
int write_operators(const Console& console) {
  constexpr std::string_view kName = "SUPPORTED_OPS.md";
  const std::filesystem::path path = std::filesystem::current_path() / kName;
  std::ofstream file(path);
  file << inspect::litert_operators_page();
  file.close();
  if (!file)
    return report_failure(path.string(), {{.where = path.string(), .what = "the file cannot be written"}}, console);
  fmt::print("Report file: {}\n", path.string());
  return 0;
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static Options options;
  app.add_option("NETWORK", options.network, "A .tflite, or with --output-format raw a .tosa")
      ->check(CLI::ExistingFile);
  for (const vela::VelaFlag& flag : vela::vela_flags()) {
    const std::string& name = flag.name;
    if (flag.takes_value) {
      app.add_option_function<std::vector<std::string>>(
             name, [name](const std::vector<std::string>& values) { options.values[name] = values; },
             name == "--output-dir" ? "The folder of the files; default: output" : flag.description)
          ->allow_extra_args(false);
    } else if (name != "--version") {
      app.add_flag_callback(
          name, [name] { options.values[name] = {""}; },
          name == kReportFlag ? "Write SUPPORTED_OPS.md, the operators of LiteRT files" : flag.description);
    }
  }
  add_options_of(app, {OptionGroup::kLiteRt}, options.request);
  app.callback([&] {
    action = [&] {
      if (options.values.contains(std::string(kReportFlag))) return write_operators(console);
      if (options.network.empty()) {
        return report_failure("carina vela",
                              {{.where = "carina vela",
                                .what = "no network is given",
                                .expected = "a .tflite, or with --output-format raw a .tosa",
                                .fault = Fault::kUsage}},
                              console);
      }
      const Result<void> done = compile_network(options, console);
      return done ? 0 : report_failure(options.network, done.error(), console);
    };
  });
}

}  // namespace
}  // namespace vela_command

const Command kVela{.name = "vela",
                    .summary = "Compile a LiteRT file with the command line of Vela, to files with its names",
                    .examples =
                        "  carina vela model.tflite --accelerator-config ethos-u55-128 --output-dir out\n"
                        "  carina vela model.tflite --accelerator-config ethos-u65-256 --config Arm/vela.ini \\\n"
                        "      --system-config Ethos_U65_High_End --memory-mode Dedicated_Sram_384KB --optimise Size",
                    .add_options = vela_command::add_options};

}  // namespace carina::cli
