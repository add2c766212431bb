#include "boards/qemu.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/io/file.h"
#include "command.h"
#include "device_options.h"
#include "files/command_files.h"
#include "files/file_kind.h"
#include "model_options.h"
#include "option_values.h"
#include "state_options.h"

namespace carina::cli {
namespace qemu_command {
namespace {

Result<Buffer> open_image(const std::string& image, const boards::QemuRequest& request, const std::string& layers) {
  files::CommandFiles files{.inputs = request.inputs.empty() ? request.sequence : request.inputs,
                            .outputs = {{"--etdump", request.etdump}, {"--per-layer", layers}},
                            .folders = {{"--output", request.output_folder, "output_"}}};
  files.inputs.push_back(image);
  std::ranges::copy(request.target.config_files, std::back_inserter(files.inputs));
  CARINA_CHECKED(files::check_files(files));
  CARINA_TRY(Buffer file, map_file(image));
  const files::FileKind kind = files::kind_of(file);
  if (kind != files::FileKind::kPte && kind != files::FileKind::kBundledProgram) return file;
  return fail({.where = image,
               .what = "this is an ExecuTorch program, and no firmware image",
               .hint = fmt::format("`carina firmware {0} -o app.elf` puts it into an image; `carina run {0} --on qemu` "
                                   "does both",
                                   image)});
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string image;
  static boards::QemuRequest request;
  app.add_option("image", image, "An .elf of `carina firmware`")->required()->check(path());
  app.add_option(
         "-i,--input", request.inputs,
         "One per input: an .npy as for `carina run`, or a .bin with the bytes of the input in memory. Default: ones")
      ->allow_extra_args(false)
      ->transform(input_path());
  add_state_options(app, request);
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy")->check(path());
  app.add_option("-n,--inferences", request.inferences, "Number of inferences with each sample")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("-t,--target", request.target.accelerator,
                 "The NPU of the board. Default: the one for which the program was compiled");
  add_memory_options(app, request.target.system_config, request.target.memory_mode, request.target.config_files);
  app.add_option("--timeout", request.timeout_seconds,
                 "Maximum wall time in seconds, for each sample. The run is then stopped with an error")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--etdump", request.etdump,
                 "Write an ETDump for ExecuTorch's Inspector: CPU cycles of kernels, NPU cycles of delegates and "
                 "layers, as times at the NPU's clock")
      ->check(path());
  static std::string layers;
  add_layers_option(app, layers);
  app.add_flag_callback(
      "--no-cycles", [] { request.timing = simulate::Timing::kOff; },
      "Do not estimate the NPU's cycles. Its counters stay 0");
  app.callback([&] {
    action = [&] { return run_on_device(open_image(image, request, layers), image, request, console, layers); };
  });
}

}  // namespace
}  // namespace qemu_command

const Command kQemu{
    .name = "qemu",
    .summary = "Run a firmware image on an emulated Cortex-M55 (QEMU's mps3-an547) beside the simulated NPU",
    .examples =
        "  carina qemu app.elf -i input.npy -o outputs\n"
        "  carina qemu app.elf --per-layer layers.csv --etdump app.etdp\n"
        "  carina run model.pte --on qemu -i input.npy",
    .add_options = qemu_command::add_options};

}  // namespace carina::cli
