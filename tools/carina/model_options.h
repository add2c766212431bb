#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "driver/passes.h"
#include "ir/text.h"
#include "option_values.h"

namespace carina::cli {

// Prints graphs to stderr after the passes of these names.
inline std::function<void(std::string_view, const ir::Graph&)> print_after(const std::vector<std::string>& names) {
  return [names](std::string_view pass, const ir::Graph& graph) {
    if (std::ranges::find(names, pass) != names.end()) std::cerr << "# after " << pass << "\n" << ir::print(graph);
  };
}

// The options of every subcommand that takes a model. Names after the first are those of ExecuTorch's
// aot_arm_compiler.py, for hands that know them.
inline void add_model_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-m,--model_name,model", request.model, "A .pt2 of torch.export.save, or a .tosa")
      ->required()
      ->check(path());
  app.add_option("-q,--quantize", request.quantize,
                 "int8, or none; default: as the model is, int8 when --calibrate is given")
      ->transform(one_of({{"int8", static_cast<int>(driver::QuantizeMode::kInt8)},
                          {"none", static_cast<int>(driver::QuantizeMode::kNone)}}));
  app.add_option("--calibrate,--calibration_data", request.calibration,
                 "Calibration inputs: an .npz, an .npy, or a folder of them")
      ->check(path());
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
  app.add_option("-t,--target", target.accelerator, "The NPU: ethos-u55-32, -64, -128 or -256")->required();
  app.add_option("--system-config,--system_config", target.system_config,
                 "Clock and memories, a section of vela.ini; default: the family's");
  app.add_option("--memory-mode,--memory_mode", target.memory_mode,
                 "What lives in which memory: Shared_Sram, Sram_Only ...; default: the family's");
  app.add_option("--config", target.config_file, "A vela.ini with further system configs and memory modes")
      ->check(path());
}

}  // namespace carina::cli
