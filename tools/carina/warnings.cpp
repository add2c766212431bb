#include "warnings.h"

#include <fmt/format.h>

namespace carina::cli {

namespace {

constexpr int64_t kMuchMemory = int64_t{1} << 30;  // what `carina run` gives a program

Diagnostic warning(const driver::CompileRequest& request, std::string what, std::string hint) {
  return {.where = request.model, .what = std::move(what), .hint = std::move(hint), .severity = Severity::kWarning};
}

}  // namespace

void warn_of(const driver::CompileRequest& request, const results::CompileReport& report, const Console& console) {
  const Log log = console.log();
  if (!request.calibration.empty() && request.quantize.scheme == "none")
    log.note(warning(request, "the calibration data are not used", "remove --calibrate or --quantize none"));
  if (report.planned_bytes > kMuchMemory)
    log.note(warning(request,
                     fmt::format("the program plans {} bytes of memory for its tensors: `carina run` gives at most {}",
                                 report.planned_bytes, kMuchMemory),
                     "check the size of the model's example input"));
}

}  // namespace carina::cli
