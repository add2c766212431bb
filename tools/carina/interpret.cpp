#include "execute/interpret.h"
#include "command.h"
#include "datasets/images/decode_image.h"
#include "files/command_files.h"
#include "option_values.h"
#include "report/render.h"

namespace carina::cli {
namespace interpret_command {
namespace {

Result<std::string> interpret(const execute::InterpretRequest& request, const Console& console) {
  files::CommandFiles files{
      .inputs = request.inputs,
      .outputs = {},
      .folders = {{"--output", request.output_folder, "output_"}, {"--dump", request.dump_folder, {}}}};
  files.inputs.push_back(request.model);
  CARINA_CHECKED(files::check_files(files));
  CARINA_TRY(const execute::Interpreted done, execute::interpret(request, console.log()));
  return shown(Result<results::InterpretReport>(done.report), console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static execute::InterpretRequest request;
  request.images.decoder = datasets::decode_image;
  app.add_option("model", request.model, "A .tosa, .vgf or .tflite file")->required()->transform(input_path());
  app.add_option("-i,--input", request.inputs, "An .npy for each input, in order; default: zeros")
      ->allow_extra_args(false)
      ->transform(input_path());
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy")->check(path());
  app.add_option("--dump", request.dump_folder, "Write every intermediate value to this folder")->check(path());
  app.add_flag("--profile", request.profile, "Print the time of each operator in a second run");
  app.add_option("--level", request.level, "Level of the verifier (limits of sizes): 8K or none")
      ->capture_default_str();
  app.add_option(
         "--memory-budget", request.memory_budget_bytes,
         "Maximum memory, in bytes or with K, M, G. A graph that needs more is rejected before anything is allocated")
      ->default_str("4G")
      ->transform(byte_size())
      ->check(CLI::PositiveNumber);
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      return finish(request.model, interpret(request, console), console);
    };
  });
}

}  // namespace
}  // namespace interpret_command

const Command kInterpret{.name = "interpret",
                         .summary = "Evaluate a TOSA or LiteRT file, integers exactly as the specification says",
                         .examples = "  carina interpret model.tosa -i input.npy -o outputs",
                         .add_options = interpret_command::add_options};

}  // namespace carina::cli
