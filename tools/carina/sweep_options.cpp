#include "sweep_options.h"

#include "image_options.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"

namespace carina::cli {

namespace {

void add_combination_options(CLI::App& app, explore::SweepRequest& request) {
  app.add_option("-t,--targets,--target", request.targets,
                 "NPUs, or beginnings of their names, separated by commas: ethos-u55,ethos-u85-256. Default: that "
                 "of --board, or all")
      ->delimiter(',');
  app.add_option("--memory-modes,--memory-mode", request.memory_modes,
                 "Memory modes, or all. Modes that a target does not support are listed as rejected. Default: that of "
                 "--board, or the default mode of each target")
      ->delimiter(',');
  app.add_option("-q,--quantize", request.quantizations,
                 "Schemes, as of `carina compile`: int8,int16x8,int8x4,auto,none; default: as the model is, int8 when "
                 "--calibrate is given")
      ->delimiter(',')
      ->transform(spec(models::scheme_error, "SCHEME"))
      ->transform(lower_case());
}

void add_file_options(CLI::App& app, explore::SweepRequest& request) {
  app.add_option("--calibrate,--calibration_data", request.model.calibration,
                 "Calibration samples: an .npz, an .npy, a folder of such files or of images, or random: cycles and "
                 "memory without data. Without -o, a float model without data is compiled as with random")
      ->check(path());
  app.add_option("--data", request.data,
                 "Samples on which each program is compared with the float model: adds its SQNR, and with labels y the "
                 "metric")
      ->check(path());
  app.add_option("--metric", request.metric,
                 "With --data: what to measure with the labels, as of `carina accuracy`: top1 (default), top5, pixel, "
                 "iou, psnr, rmse")
      ->needs(app.get_option("--data"));
  add_image_options(app, request.model.images);
  app.add_option("--system-config", request.model.target.system_config,
                 "Clock and memories of all targets; default: that of --board, or each family's");
  app.add_option(
         "--config", request.model.target.config_files,
         "A vela.ini with more system configurations and memory modes (may be repeated; a later file has priority)")
      ->allow_extra_args(false)
      ->check(path());
}

void add_output_options(CLI::App& app, SweepOptions& options) {
  app.add_option("--table,--csv", options.table, "Write the table to this file: .csv, .json or text")->check(path());
  add_page_option(app, options.page);
  app.add_option("-o,--output", options.request.program_folder, "Write each program to this folder, which is created")
      ->check(path());
  app.add_flag("--fitting", options.fitting,
               "Show only combinations that keep to --sram-budget and --flash-budget. Without it, a column says so");
  app.add_option("--rows", options.rows, "Show the rows of this file (of --json) instead of compiling")->check(path());
  app.add_option("--state", options.request.state_folder,
                 "Keep finished combinations in this folder. The same command then compiles only the others")
      ->check(path());
  app.add_flag("--strict", options.strict,
               "Exit code 1 if a combination failed. If none compiled, the exit code is always 1");
}

// Adds the options that divide a sweep among several processes.
void add_sharing_options(CLI::App& app, SweepOptions& options) {
  app.add_option("--part", options.request.part, "Index of the part to compile, from 0 (with --parts)");
  app.add_option("--parts", options.request.parts, "Number of parts: compile only every N-th combination")
      ->check(CLI::Range(1, 1 << 20));
}

}  // namespace

void add_sweep_options(CLI::App& app, SweepOptions& options) {
  app.add_option("-m,--model_name,model", options.models,
                 "One or more models: a .pt2 of torch.export.save, a .tosa or a .tflite")
      ->check(path());
  app.add_option(
         "--models", options.list,
         "A .toml with more models. Each has a section with model = \"FILE\" and options of this command without "
         "--")
      ->check(path());
  add_combination_options(app, options.request);
  add_file_options(app, options.request);
  add_options_of(
      app,
      {OptionGroup::kBoard, OptionGroup::kPartition, OptionGroup::kSchedule, OptionGroup::kLiteRt, OptionGroup::kCheck},
      options.request.model);
  add_output_options(app, options);
  add_sharing_options(app, options);
  add_cluster_options(app, options.cluster, "combination");
}

}  // namespace carina::cli
