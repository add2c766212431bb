#include "driver/import.h"

#include "driver/kernel_evaluator.h"
#include "driver/passes.h"
#include "lower/prepare.h"
#include "pt2/reader.h"

namespace carina::driver {

Result<ir::Graph> import_pt2(const Buffer& file, const std::string& where, const Log& log,
                             const ir::PassOptions& passes) {
  CARINA_CHECKED(check_pass_names(passes));
  CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, where, log));
  const KernelEvaluator evaluator;
  ir::PassOptions own = options_for(passes, lower::prepare_pipeline());
  own.evaluator = &evaluator;
  CARINA_CHECKED(lower::prepare(graph, own, log));
  return graph;
}

}  // namespace carina::driver
