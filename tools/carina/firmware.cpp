#include "boards/firmware.h"

#include "command.h"
#include "device_options.h"
#include "files/command_files.h"
#include "option_values.h"

namespace carina::cli {
namespace firmware_command {
namespace {

Result<results::FirmwareReport> make(const boards::FirmwareRequest& request, const Console& console) {
  CARINA_CHECKED(
      files::check_files({.inputs = {request.program}, .outputs = {{"--output", request.output}}, .folders = {}}));
  CARINA_TRY(boards::Firmware firmware, boards::make_firmware(request, console.log()));
  return std::move(firmware.report);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static boards::FirmwareRequest request;
  app.add_option("program", request.program, "A .pte")->required()->transform(input_path());
  app.add_option("-o,--output", request.output, "The image with the program in it, an .elf")->required()->check(path());
  app.add_option("--image", request.image,
                 "Firmware image: corstone300-host (NPU simulator on the host), corstone300-image (NPU simulator "
                 "in the image), corstone300-flash (the same, without DDR), or the path of an .elf")
      ->capture_default_str()
      ->check(path());
  app.add_option("-t,--target", request.accelerator,
                 "NPU of an image with its own simulator. Default: the program's target");
  app.add_option("--ops", request.kernels.names,
                 "Link the image with these kernels only, by their names in a .pte: "
                 "aten::add.out,aten::relu.out (needs arm-none-eabi-g++; may be repeated). Default: all kernels")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--ops-from", request.kernels.programs,
                 "Link the image with the kernels that this .pte calls (may be repeated)")
      ->allow_extra_args(false)
      ->check(path());
  add_pool_options(app, request.pools);
  app.callback(
      [&] { action = [&] { return finish(request.program, shown(make(request, console), console), console); }; });
}

}  // namespace
}  // namespace firmware_command

const Command kFirmware{
    .name = "firmware",
    .summary = "Put an ExecuTorch program into a firmware image for a Cortex-M55",
    .examples =
        "  carina firmware model.pte -o app.elf\n"
        "  carina firmware model.pte --ops-from model.pte --ops aten::add.out -o small.elf\n"
        "  carina firmware model.pte --image corstone300-image --method-pool 64K --temp-pool 512K -o app.elf",
    .add_options = firmware_command::add_options};

}  // namespace carina::cli
