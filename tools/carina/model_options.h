#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile.h"
#include "ir/text.h"
#include "models/passes.h"
#include "option_values.h"

namespace carina::cli {

// Prints the graph to stderr after each of the named passes.
inline std::function<void(std::string_view, const ir::Graph&)> print_after(const std::vector<std::string>& names) {
  return [names](std::string_view pass, const ir::Graph& graph) {
    if (std::ranges::find(names, pass) != names.end()) std::cerr << "# after " << pass << "\n" << ir::print(graph);
  };
}

// Adds the options of quantization.
inline void add_quantize_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-q,--quantize", request.quantize.scheme,
                 "Scheme: int8, int16x8 (16-bit activations), int8x4 (4-bit weights), auto (8 or 16 bits per part, by "
                 "measurement), or none. Details follow plus signs: int8+per-tensor+symmetric+minmax. Default: the "
                 "model's own types; int8 if --calibrate is given")
      ->transform(spec(models::scheme_error, "SCHEME"))
      ->transform(lower_case());
  app.add_option(
      "--max-cycles", request.quantize.max_cycles,
      "Cycle budget of --quantize auto: a number of cycles, or a percentage of the cycles with int8. Default: 150%");
  app.add_option("--quantize-at", request.quantize.overrides,
                 "Scheme for a part of the model (may be repeated): node:NAME=SCHEME, op:NAME=..., module:NAME=..., "
                 "type:NAME=..., inputs=..., outputs=.... SCHEME may be float: the part stays on the CPU")
      ->allow_extra_args(false)
      ->check(spec(models::override_error, "SELECTOR=SCHEME"));
  app.add_option("--quantize-config", request.quantize.file,
                 "JSON file with the options --quantize, --io and --quantize-at: "
                 R"({"scheme": "int8", "io": "uint8", "overrides": ["node:..."]})")
      ->check(path());
  app.add_option("--io", request.quantize.io,
                 "Type of quantized program inputs and outputs: float (default), int8, uint8 or int16")
      ->transform(lower_case());
  app.add_option("--calibrate,--calibration_data", request.calibration,
                 "Calibration samples: an .npz, an .npy, or a folder of such files")
      ->check(path());
}

inline void add_loop_option(CLI::App& app, int64_t& loop_rounds) {
  app.add_option("--loop-rounds", loop_rounds,
                 "Maximum number of rounds of a while_loop. If the data ask for more rounds, the results are those "
                 "after N rounds")
      ->check(CLI::Range(1, 1024));
}

// Adds the options of every subcommand that takes a model. The second and later names of an option are those of
// ExecuTorch's aot_arm_compiler.py.
inline void add_model_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-m,--model_name,model", request.model, "A .pt2 of torch.export.save, or a .tosa")
      ->required()
      ->check(path());
  add_loop_option(app, request.loop_rounds);
  add_quantize_options(app, request);
}

// Adds options for the development of Carina: they control the passes of the normalization, and of the clean-up after
// lowering.
inline void add_pass_options(CLI::App& app, driver::CompileRequest& request) {
  const CLI::IsMember known(models::pass_names());
  app.add_option_function<std::vector<std::string>>(
         "--print-after",
         [&request](const std::vector<std::string>& names) { request.passes.after = print_after(names); },
         "Print the graph to stderr after these passes, as text")
      ->delimiter(',')
      ->check(known)
      ->group("Passes");
  app.add_option("--stop-after", request.passes.stop_after, "Stop after this pass")->check(known)->group("Passes");
  app.add_option("--disable-pass", request.passes.disabled, "Passes to skip")
      ->delimiter(',')
      ->check(known)
      ->group("Passes");
}

// Adds the options of an NPU's memories.
inline void add_memory_options(CLI::App& app, std::string& system_config, std::string& memory_mode,
                               std::vector<std::string>& config_files) {
  app.add_option("--system-config,--system_config", system_config,
                 "System configuration (clock and memories), a section of vela.ini. Default: that of the NPU family, "
                 "or of the program");
  app.add_option("--memory-mode,--memory_mode", memory_mode,
                 "Memory mode (memory of weights and activations): Shared_Sram, Sram_Only ... Default: that of the NPU "
                 "family, or of the program");
  app.add_option(
         "--config", config_files,
         "A vela.ini with more system configurations and memory modes (may be repeated; a later file has priority)")
      ->allow_extra_args(false)
      ->check(path());
}

// kOptional: for commands whose argument may be a program instead of a model.
enum class Target { kRequired, kOptional };

inline void add_target_options(CLI::App& app, targets::TargetRequest& target, Target needed = Target::kRequired) {
  app.add_option("-t,--target,--accelerator-config", target.accelerator,
                 "Target: ethos-u55-128, ethos-u85-256 ...; `carina targets` lists all")
      ->required(needed == Target::kRequired);
  add_memory_options(app, target.system_config, target.memory_mode, target.config_files);
  app.add_option("--arena-cache-size,--arena_cache_size", target.arena_cache_bytes,
                 "Size of the fast memory that the network may use. Default: arena_cache_size of the memory mode")
      ->transform(byte_size());
}

// Adds the options that keep nodes on the CPU, or put nodes on the NPU although it does not pay.
inline void add_partition_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("--cpu-node", request.cpu_nodes, "Keep the node of this name on the CPU (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--cpu-op", request.cpu_ops,
                 "Keep all nodes of this operator on the CPU: softmax, aten.add.Tensor (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--cpu-module", request.cpu_modules,
                 "Keep all nodes of a module on the CPU, by path (features.3, with the modules inside it) or by type "
                 "(Conv2d) (may be repeated)")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--delegate-all,--delegate-movement", [&request] { request.delegates = driver::DelegateMode::kAll; },
      "Delegate also groups of nodes that only move data, and groups whose NPU call costs more than it saves");
  app.add_flag("--legalize", request.legalize,
               "Replace nodes that the target does not support by supported operators, if the results keep their bits");
}

// Adds the options of the scheduler's objective. Some names are Vela's: --optimise Performance, Size.
inline void add_schedule_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option(
         "-O,--optimize,--optimise", request.optimize,
         "Optimize for: -O2 (Performance, default) cycles; -O3 cycles, with a search of some seconds; -Os (Size) SRAM")
      ->transform(one_of({{"2", static_cast<int>(backends::Optimize::kSpeed)},
                          {"performance", static_cast<int>(backends::Optimize::kSpeed)},
                          {"3", static_cast<int>(backends::Optimize::kSearch)},
                          {"s", static_cast<int>(backends::Optimize::kSize)},
                          {"size", static_cast<int>(backends::Optimize::kSize)}}));
  app.add_flag("--dynamic-weights", request.dynamic_weights,
               "On ethos-u55 and ethos-u65: compute matrix products of two activations as convolutions whose weight "
               "stream the NPU writes. Several times faster. Not confirmed on silicon");
  app.add_option("--extra-flag,--extra_flag,--extra-flags,--extra_flags", request.vela_flags,
                 "Flags of Vela, separated by blanks (may be repeated): \"--optimise Size --verbose-allocation\"")
      ->allow_extra_args(false);
  app.add_option("--sram-budget,--sram_budget", request.sram_budget_bytes,
                 "Maximum size of a delegate's arena. A larger arena is an error that names the tensors. 0: no limit")
      ->transform(byte_size());
}

}  // namespace carina::cli
