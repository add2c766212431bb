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

// Prints graphs to stderr after the passes of these names.
inline std::function<void(std::string_view, const ir::Graph&)> print_after(const std::vector<std::string>& names) {
  return [names](std::string_view pass, const ir::Graph& graph) {
    if (std::ranges::find(names, pass) != names.end()) std::cerr << "# after " << pass << "\n" << ir::print(graph);
  };
}

// How the model becomes integers.
inline void add_quantize_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-q,--quantize", request.quantize.scheme,
                 "int8, int16x8 (16-bit activations), int8x4 (4-bit weights), auto (8 or 16 bits by measuring), or "
                 "none; details behind plus signs: "
                 "int8+per-tensor+symmetric+minmax; default: as the model is, int8 when --calibrate is given")
      ->transform(spec(models::scheme_error, "SCHEME"))
      ->transform(lower_case());
  app.add_option("--max-cycles", request.quantize.max_cycles,
                 "What --quantize auto may spend: cycles, or in percent of those with 8 bits; default: 150%");
  app.add_option("--quantize-at", request.quantize.overrides,
                 "Another scheme for a part of the model (may be repeated): node:NAME=SCHEME, op:, module:, type: "
                 "likewise, inputs=SCHEME, outputs=SCHEME; float: left on the CPU")
      ->allow_extra_args(false)
      ->check(spec(models::override_error, "SELECTOR=SCHEME"));
  app.add_option("--quantize-config", request.quantize.file,
                 R"(The same in a JSON file: {"scheme": "int8", "io": "uint8", "overrides": ["node:..."]})")
      ->check(path());
  app.add_option("--io", request.quantize.io,
                 "What the program takes and gives where it is quantized: float, or raw integers: int8, uint8, int16")
      ->transform(lower_case());
  app.add_option("--calibrate,--calibration_data", request.calibration,
                 "Calibration inputs: an .npz, an .npy, or a folder of them")
      ->check(path());
}

inline void add_loop_option(CLI::App& app, int64_t& loop_rounds) {
  app.add_option(
         "--loop-rounds", loop_rounds,
         "How many rounds of a while_loop run at most; where the data asks for more, the results are those after "
         "so many")
      ->check(CLI::Range(1, 1024));
}

// The options of every subcommand that takes a model. Names after the first are those of ExecuTorch's
// aot_arm_compiler.py, for hands that know them.
inline void add_model_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-m,--model_name,model", request.model, "A .pt2 of torch.export.save, or a .tosa")
      ->required()
      ->check(path());
  add_loop_option(app, request.loop_rounds);
  add_quantize_options(app, request);
}

// For who works on Carina: the passes of preparing and of the clean-up behind lowering.
inline void add_pass_options(CLI::App& app, driver::CompileRequest& request) {
  const CLI::IsMember known(models::pass_names());
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

// The memories around an NPU.
inline void add_memory_options(CLI::App& app, std::string& system_config, std::string& memory_mode,
                               std::vector<std::string>& config_files) {
  app.add_option("--system-config,--system_config", system_config,
                 "Clock and memories, a section of vela.ini; default: the family's, or the program's");
  app.add_option("--memory-mode,--memory_mode", memory_mode,
                 "What lives in which memory: Shared_Sram, Sram_Only ...; default: the family's, or the program's");
  app.add_option("--config", config_files,
                 "A vela.ini with further system configs and memory modes (may be repeated; a later one comes first)")
      ->allow_extra_args(false)
      ->check(path());
}

// kOptional: of commands that may be given programs instead of models.
enum class Target { kRequired, kOptional };

inline void add_target_options(CLI::App& app, targets::TargetRequest& target, Target needed = Target::kRequired) {
  app.add_option("-t,--target,--accelerator-config", target.accelerator,
                 "The NPU, as `carina targets` lists them: ethos-u55-128, ethos-u85-256 ...")
      ->required(needed == Target::kRequired);
  add_memory_options(app, target.system_config, target.memory_mode, target.config_files);
  app.add_option("--arena-cache-size,--arena_cache_size", target.arena_cache_bytes,
                 "Bytes of fast memory that the network may take, instead of the memory mode's arena_cache_size")
      ->transform(byte_size());
}

// What stays on the CPU, and what goes to the NPU although it does not pay.
inline void add_partition_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("--cpu-node", request.cpu_nodes, "Keep the node of this name on the CPU (may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--cpu-op", request.cpu_ops, "Keep nodes of this operator there: softmax, aten.add.Tensor (likewise)")
      ->allow_extra_args(false);
  app.add_option(
         "--cpu-module", request.cpu_modules,
         "Keep a module's nodes there, by its path (features.3, with all below) or its type (Conv2d) (likewise)")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--delegate-all,--delegate-movement", [&request] { request.delegates = driver::DelegateMode::kAll; },
      "Put parts on the NPU too that only move data, or whose call costs more than it saves");
  app.add_flag("--legalize", request.legalize,
               "Rewrite nodes that the target refuses in operators that it takes, where no number changes");
}

// What schedules are made for. Names as Vela's: --optimise Performance, Size.
inline void add_schedule_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option(
         "-O,--optimize,--optimise", request.optimize,
         "-O2 (Performance) the fewest cycles, the default; -O3 fewer by seconds of search; -Os (Size) the least "
         "SRAM")
      ->transform(one_of({{"2", static_cast<int>(backends::Optimize::kSpeed)},
                          {"performance", static_cast<int>(backends::Optimize::kSpeed)},
                          {"3", static_cast<int>(backends::Optimize::kSearch)},
                          {"s", static_cast<int>(backends::Optimize::kSize)},
                          {"size", static_cast<int>(backends::Optimize::kSize)}}));
  app.add_flag("--dynamic-weights", request.dynamic_weights,
               "Matrix products of two activations on ethos-u55 and ethos-u65 as convolutions whose weights the NPU "
               "writes: many times faster, confirmed by no silicon");
  app.add_option("--extra-flag,--extra_flag,--extra-flags,--extra_flags", request.vela_flags,
                 "Flags of Vela, separated by blanks (may be repeated): \"--optimise Size --verbose-allocation\"")
      ->allow_extra_args(false);
  app.add_option("--sram-budget,--sram_budget", request.sram_budget_bytes,
                 "Bytes that a delegate's arena may take; more is an error that names the tensors; 0: no limit")
      ->transform(byte_size());
}

}  // namespace carina::cli
