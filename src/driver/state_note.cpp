#include "driver/state_note_internal.h"

#include <fmt/format.h>

#include <string>

namespace carina::driver {

namespace {

// What each run copies, and why. Source of the copies of delegates: ExecuTorch 1.5,
// EthosUBackend.cpp, execute().
std::string copies_text(const Package& package) {
  std::string text = fmt::format("each run copies {} bytes of it at its end", package.written_back_bytes);
  if (package.official_copied_bytes == 0) return text;
  text +=
      fmt::format(", and {} to the delegate's memory and back in ExecuTorch's runtime", package.official_copied_bytes);
  if (package.state_in_delegate_bytes == 0)
    return text + " and in Carina's, since it has other readers or its place is needed";
  return text + fmt::format(
                    "; in Carina's {}, since {} bytes stay in the delegate's memory, which ExecuTorch's runtime plans "
                    "apart",
                    package.copied_bytes, package.state_in_delegate_bytes);
}

}  // namespace

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
  log.note(
      {.where = compilation.model.name,
       .what = fmt::format("the program keeps state from run to run: {}{}, {} bytes; {}", names,
                           program.states.size() > kListed ? " ..." : "", bytes, copies_text(*compilation.package)),
       .severity = Severity::kNote});
}

}  // namespace carina::driver
