#include "backends/checked_file_internal.h"
#include "check/check_graph.h"
#include "files/tosa_file.h"

namespace carina::backends {

Result<std::optional<results::CheckReport>> checked_file(const ir::Graph& tosa, const Buffer& file,
                                                         const DelegateOptions& options, const Log& log) {
  if (options.check == options::Check::kOff) return std::nullopt;
  log.progress("check", 0, 1);
  CARINA_TRY(const ir::Module written, files::sound_graph(file, "delegate", "none"));
  return check::check_graph({.tosa = tosa,
                             .written = written.main(),
                             .extent = options.check,
                             .front_end = options.front_end,
                             .threads = options.threads},
                            log);
}

}  // namespace carina::backends
