// Declares the options of commands that take a model. All but the passes are rows of carina/options.def.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "options/rows.h"

namespace CLI {
class App;
}

namespace carina::cli {

using options::OptionGroup;

// Adds the options of these groups; their values go to the request.
void add_options_of(CLI::App& app, std::initializer_list<OptionGroup> groups, driver::CompileRequest& request);

// Adds the model, and the options of quantization and loops: those of every command that takes a model.
void add_model_options(CLI::App& app, driver::CompileRequest& request);

// Adds the options of passes, for work on Carina: the passes of preparing and of the clean-up after lowering.
void add_pass_options(CLI::App& app, driver::CompileRequest& request);

// Adds the options of the memories around an NPU: those of a command that takes a program instead of a target.
void add_memory_options(CLI::App& app, std::string& system_config, std::string& memory_mode,
                        std::vector<std::string>& config_files);

// Adds the target and its memories. kOptional: for commands that may be given programs instead of models.
enum class Target { kRequired, kOptional };
void add_target_options(CLI::App& app, targets::TargetRequest& target, Target needed = Target::kRequired);
// Adds the target and its memories, and the board, which may stand in the place of the target.
void add_target_options(CLI::App& app, driver::CompileRequest& request);

}  // namespace carina::cli
