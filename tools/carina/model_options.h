#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "driver/passes.h"
#include "ir/text.h"

namespace carina::cli {

// Prints graphs to stderr after the passes of these names.
inline std::function<void(std::string_view, const ir::Graph&)> print_after(const std::vector<std::string>& names) {
  return [names](std::string_view pass, const ir::Graph& graph) {
    if (std::ranges::find(names, pass) != names.end()) std::cerr << "# after " << pass << "\n" << ir::print(graph);
  };
}

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

// For who works on Carina: the passes of preparing and of the clean-up behind lowering.
inline void add_pass_options(CLI::App& app, driver::CompileRequest& request) {
  const CLI::IsMember known(driver::pass_names());
  app.add_option_function<std::vector<std::string>>(
         "--print-after",
         [&request](const std::vector<std::string>& names) { request.passes.after = print_after(names); },
         "Print the graph to stderr after these passes, as text")
      ->delimiter(',')
      ->check(known)
      ->group("Passes");
  app.add_option("--stop-after", request.passes.stop_after, "Leave out the passes behind this one")
      ->check(known)
      ->group("Passes");
  app.add_option("--disable-pass", request.passes.disabled, "Leave out these passes")
      ->delimiter(',')
      ->check(known)
      ->group("Passes");
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
