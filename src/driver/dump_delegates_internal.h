// Declares the files of `--dump` for the delegates of one model.
#pragma once

#include <cstddef>
#include <string>

#include "backends/backend.h"
#include "carina/result.h"
#include "driver/compilation.h"
#include "driver/compile.h"
#include "driver/dump_folder.h"

namespace carina::driver {

// The delegates of one method among those of its program.
struct MethodDelegates {
  std::string method = {};  // empty: the only method
  size_t first = 0;         // the number of its first delegate in the program
};

// Adds the files of each delegate: its TOSA graph, the origins of the graph's operators, and the backend's artifacts.
//   Example: output_tag1_TOSA-1.0+INT.tosa; of the method prefill: output_tag1_prefill_TOSA-1.0+INT.tosa
// Errors: a disk error.
Result<void> dump_delegates(DumpFolder& folder, const Compilation& compilation, const backends::Backend& backend,
                            const CompileRequest& request, const MethodDelegates& of = {});

}  // namespace carina::driver
