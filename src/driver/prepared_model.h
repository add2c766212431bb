#pragma once

#include <memory>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/compilation.h"
#include "driver/compile.h"
#include "driver/compile_cache.h"

namespace carina::driver {

// A model ready for any target: imported and quantized, or the graph of a TOSA file as it is.
struct PreparedModel {
  std::string file;
  models::Model model;
  bool is_tosa = false;
  bool calibrated = false;              // whether a float model got its integers here
  std::shared_ptr<CompileCache> cache;  // what its compilations for several targets share
};

// The part of compile() that no target has a say in. Errors: as compile()'s up to quantization; --quantize auto, whose
// choice depends on a target's cycles (usage).
Result<PreparedModel> prepare(const CompileRequest& request, const Log& log);

// The rest of it. Of the request only what is said of partitioning and schedules counts; passes are those that the
// model was prepared with. Safe for concurrent calls.
Compilation compile_prepared(const PreparedModel& prepared, const CompileRequest& request,
                             const backends::Backend& backend, const Log& log);

}  // namespace carina::driver
