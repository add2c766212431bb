// lower_tool MODEL.pt2 OUT.tosa: reads, prepares, folds imported quantization, lowers and writes a model. Used by tests
// that compare with reference implementations.

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/io/file.h"
#include "frontend/pt2/reader.h"
#include "frontend/tosa/flatbuffer.h"
#include "lower/lower.h"
#include "normalize/normalize.h"
#include "quantize/import.h"

namespace carina {
namespace {

Result<void> lower_file(const std::string& from, const std::string& to) {
  const Log log;
  CARINA_TRY(const Buffer file, map_file(from));
  CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, from, log));
  CARINA_CHECKED(quantize::fold_imported(graph, log));
  CARINA_CHECKED(normalize::normalize(graph, log));
  CARINA_TRY(lower::Lowered lowered,
             lower::to_tosa(graph, {.limits = kDefaultLowering.limits, .idioms = kDefaultLowering.idioms}, log));
  ir::Module module;
  module.graphs.push_back(std::move(lowered.graph));
  CARINA_TRY(const std::vector<std::byte> bytes, tosa::write_tosa(module));
  return write_file(to, bytes);
}

}  // namespace
}  // namespace carina

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto result = carina::lower_file(argv[1], argv[2]);
  if (result) return 0;
  fmt::print(stderr, "{}\n", carina::to_string(result.error()));
  return 1;
}
