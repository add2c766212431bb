// Declares the target-independent prefix of compile() and the compilation of its result for one target.
#pragma once

#include <memory>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compilation.h"
#include "driver/compile.h"
#include "driver/compile_cache.h"

namespace carina::driver {

// A model ready for any target: an imported and quantized model, or the unchanged graph of a TOSA file.
struct PreparedModel {
  std::string file;
  models::Model model;
  bool is_tosa = false;
  bool calibrated = false;              // whether Carina quantized a float model by calibration
  std::shared_ptr<CompileCache> cache;  // shared by the compilations for several targets
};

// The target-independent prefix of compile(). Errors: those of compile() up to quantization; --quantize auto, since its
// choice depends on a target's cycles (usage).
Result<PreparedModel> prepare(const CompileRequest& request, const Log& log);

// The same for one target: --quantize auto compares cycles on it.
Result<PreparedModel> prepare(const CompileRequest& request, const backends::Backend& backend, const Log& log);

// Compiles a prepared model for one target. Only the request's options for partitioning and scheduling are used; the
// passes are those of prepare(). Safe for concurrent calls.
Compilation compile_prepared(const PreparedModel& prepared, const CompileRequest& request,
                             const backends::Backend& backend, const Log& log);

}  // namespace carina::driver
