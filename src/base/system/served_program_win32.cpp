#include "base/system/served_program.h"

// QEMU and Carina exchange requests through named pipes in a folder, which Windows does not have.
namespace carina {

Result<std::optional<int>> run_served(const ServedProgram& program) {
  return fail({.where = program.command.front(),
               .what = "cannot be served on Windows: it has no named pipes in a folder",
               .hint = "use Linux, macOS, or the Windows Subsystem for Linux",
               .fault = Fault::kEnvironment});
}

bool read_request(int /*pipe*/, std::span<std::byte> /*request*/) {
  return false;
}

void write_reply(int /*pipe*/, std::span<const std::byte> /*reply*/) {}

}  // namespace carina
