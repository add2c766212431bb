#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "driver/compile.h"

namespace carina::cli {

// The options of every subcommand that takes a model.
inline void add_model_options(CLI::App& app, driver::CompileRequest& request) {
  static const std::map<std::string, driver::QuantizeMode> kModes{{"int8", driver::QuantizeMode::kInt8},
                                                                  {"none", driver::QuantizeMode::kNone}};
  app.add_option("model", request.model, "A .pt2 of torch.export.save, or a .tosa")->required();
  app.add_option("--quantize", request.quantize,
                 "int8, or none; default: as the model is, int8 when --calibrate is given")
      ->transform(CLI::CheckedTransformer(kModes, CLI::ignore_case).description("{int8,none}"));
  app.add_option("--calibrate", request.calibration, "Calibration inputs: an .npz, an .npy, or a folder of them");
}

inline void add_target_options(CLI::App& app, driver::TargetRequest& target) {
  app.add_option("--target", target.accelerator, "The NPU: ethos-u55-32, -64, -128, -256 ...")->required();
  app.add_option("--system-config", target.system_config,
                 "Clock and memories, a section of vela.ini; default: the family's");
  app.add_option("--memory-mode", target.memory_mode,
                 "What lives in which memory: Shared_Sram, Sram_Only ...; default: the family's");
  app.add_option("--config", target.config_file, "A vela.ini with further system configs and memory modes");
}

}  // namespace carina::cli
