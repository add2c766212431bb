#include "explore/calibrate_board.h"

#include <algorithm>
#include <iterator>

#include "command.h"
#include "files/command_files.h"
#include "model_options.h"
#include "option_values.h"
#include "report/render.h"

namespace carina::cli {
namespace calibrate_board_command {
namespace {

Result<results::BoardCalibration> calibrated(const explore::CalibrateBoardRequest& request, const Console& console) {
  files::CommandFiles files{.inputs = {request.measurements}, .outputs = {{"--output", request.output}}, .folders = {}};
  std::ranges::copy(request.config_files, std::back_inserter(files.inputs));
  CARINA_CHECKED(files::check_files(files));
  return explore::calibrate_board(request, console.log());
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static explore::CalibrateBoardRequest request;
  app.add_option("measurements", request.measurements,
                 "A CSV with the columns stream (Vela's raw .npz) and cycles or milliseconds")
      ->required()
      ->check(path());
  app.add_option("-o,--output", request.output, "The ini to write, for --config")->required()->check(path());
  app.add_option("--name", request.name, "The name of the system configuration")->capture_default_str();
  add_memory_options(app, request.system_config, request.memory_mode, request.config_files);
  app.callback([&] {
    action = [&] { return finish(request.measurements, shown(calibrated(request, console), console), console); };
  });
}

}  // namespace
}  // namespace calibrate_board_command

const Command kCalibrateBoard{
    .name = "calibrate-board",
    .summary = "Fit memory latencies and bandwidth to measured cycles of a board",
    .examples =
        "  carina calibrate-board measured.csv --name My_Board -o my_board.ini\n"
        "  carina calibrate-board measured.csv --system-config Nuvoton_M55M1 --memory-mode Shared_Sram "
        "-o my_board.ini",
    .add_options = calibrate_board_command::add_options};

}  // namespace carina::cli
