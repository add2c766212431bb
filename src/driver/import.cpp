#include "driver/import.h"

#include "driver/kernel_evaluator.h"
#include "lower/prepare.h"
#include "pt2/reader.h"

namespace carina::driver {

Result<ir::Graph> import_pt2(const Buffer& file, const std::string& where, const Log& log) {
  CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, where, log));
  CARINA_CHECKED(lower::prepare(graph, KernelEvaluator(), log));
  return graph;
}

}  // namespace carina::driver
