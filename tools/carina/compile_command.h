// What `carina compile` does with a request, for commands with other options.
#pragma once

#include <string>

#include "carina/result.h"
#include "command.h"
#include "driver/compile.h"
#include "execute/bundle_program.h"
#include "report/tables/layers.h"

namespace carina::cli::compile_command {

struct Outputs {
  std::string program;
  execute::BundleRequest bundle = {};  // of a .bpte
  std::string layers = {};             // empty: not requested
  report::LayerRows rows = report::LayerRows::kFolded;
  std::string summary = {};  // empty: not requested
  std::string page = {};     // empty: not requested
  bool profile = false;
};

// Compiles, prints the report and writes the files. Errors: those of the compiler; an output that cannot be written.
Result<void> compile(const driver::CompileRequest& request, const Outputs& outputs, const Console& console);

}  // namespace carina::cli::compile_command
