#include "driver/prepared_model.h"

#include "base/parallel/parallel.h"
#include "driver/compile_options.h"

namespace carina::driver {

namespace {

// `backend`: the target whose cycles --quantize auto compares; nullptr: it is an error.
Result<PreparedModel> prepare_for(const CompileRequest& request, const backends::Backend* backend, const Log& log) {
  const ScopedThreadPool pool(request.threads);
  PreparedModel prepared{
      .file = request.model, .model = {}, .is_tosa = is_graph(request), .cache = std::make_shared<CompileCache>()};
  if (prepared.is_tosa) {
    CARINA_TRY(TosaGraph read, read_tosa_graph(request, log));
    prepared.model.graph = std::move(read.graph);
    prepared.model.nodes = std::move(read.operators);
    return prepared;
  }
  CARINA_TRY(const CompileOptions options, options_of(request, log));
  if (options.quantize.auto_goal && backend == nullptr)
    return fail({.where = "--quantize auto",
                 .what = "it compares the cycles on one target",
                 .hint = "compile for one target, or name a scheme",
                 .fault = Fault::kUsage});
  CARINA_TRY(const Buffer file, pt2_file(request));
  CARINA_TRY(prepared.model, models::import_pt2(file, request.model, log, import_options_of(request)));
  const bool is_float = !models::is_quantized(prepared.model.graph);
  models::QuantizeRequest quantize = options.quantize;
  if (backend != nullptr) {
    CARINA_TRY(FoundScheme found, find_scheme(prepared.model, options, *backend, log));
    quantize = std::move(found.request);
  }
  CARINA_CHECKED(models::quantize_model(prepared.model, quantize, log));
  prepared.calibrated = is_float && prepared.model.quantization != "none";
  return prepared;
}

}  // namespace

Result<PreparedModel> prepare(const CompileRequest& request, const Log& log) {
  return prepare_for(request, nullptr, log);
}

Result<PreparedModel> prepare(const CompileRequest& request, const backends::Backend& backend, const Log& log) {
  return prepare_for(request, &backend, log);
}

Compilation compile_prepared(const PreparedModel& prepared, const CompileRequest& request,
                             const backends::Backend& backend, const Log& log) {
  CompileRequest rest = request;
  rest.quantize = {};
  rest.calibration.clear();
  rest.samples = {};
  auto options = options_of(rest, log);
  if (!options)
    return {.model = prepared.model,
            .delegated = {},
            .package = {},
            .legalized = {},
            .dispositions = {},
            .errors = options.error()};
  options->delegate.streams = &prepared.cache->streams;
  options->split.cache = &prepared.cache->splits;
  if (prepared.calibrated) keep_floats(*options);
  if (prepared.is_tosa)
    return compile_tosa({.graph = prepared.model.graph, .operators = prepared.model.nodes}, prepared.file, *options,
                        backend, log);
  return compile_model(prepared.model, *options, backend, log);
}

}  // namespace carina::driver
