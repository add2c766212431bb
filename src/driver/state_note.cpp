#include "driver/state_note_internal.h"

#include <fmt/format.h>

#include <string>

namespace carina::driver {

void note_state(const Compilation& compilation, const Log& log) {
  if (!compilation.package) return;
  const ir::Graph& program = compilation.delegated->split.partitioned.program;
  if (program.states.empty()) return;
  size_t bytes = 0;
  std::string names;
  constexpr size_t kListed = 4;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const ir::Value& value = program[program.state_input(i)];
    bytes += tensor_bytes(value.dtype, value.shape);
    if (i < kListed)
      names += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", program.states[i].name, name_of(value.dtype),
                           to_string(value.shape));
  }
  log.note({.where = compilation.model.name,
            .what = fmt::format("the program keeps state from run to run: {}{}, {} bytes, of which each run copies {}",
                                names, program.states.size() > kListed ? " ..." : "", bytes,
                                compilation.package->copied_state_bytes),
            .severity = Severity::kNote});
}

}  // namespace carina::driver
