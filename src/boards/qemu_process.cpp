#include "boards/qemu_process_internal.h"

#include <fmt/format.h>

#include <utility>

#include "base/system/served_program.h"
#include "facts/firmware.h"

namespace carina::boards {

namespace {

std::vector<std::string> command_of(const QemuRun& run) {
  // One instruction takes 2^5 ns, which is nearly one tick of the board's 32 MHz.
  std::vector<std::string> arguments{
      "qemu-system-arm",
      "-M",
      "mps3-an547,memory-backend=ddr",
      "-object",
      fmt::format("memory-backend-file,id=ddr,size={},mem-path={},share=on", kQemuDdrBytes, kSharedPagesPath),
      "-display",
      "none",
      "-serial",
      "null",
      "-monitor",
      "none",
      "-icount",
      "shift=5",
      "-kernel",
      run.image,
      "-semihosting-config"};
  std::string semihosting = fmt::format("enable=on,target=native,arg={}", run.image);
  for (const std::string& argument : run.arguments) semihosting += ",arg=" + argument;
  arguments.push_back(std::move(semihosting));
  return arguments;
}

}  // namespace

Result<int> run_qemu(const QemuRun& run) {
  CARINA_TRY(const std::optional<int> status,
             run_served({.command = command_of(run),
                         .folder = run.folder,
                         .memory = run.memory,
                         .request_file = firmware::kNpuRequestFile,
                         .reply_file = firmware::kNpuReplyFile,
                         .timeout_seconds = run.timeout_seconds,
                         .install_hint = "Debian: apt install qemu-system-arm (scripts/setup.sh --full)",
                         .on_line = run.on_line,
                         .on_request = run.on_request}));
  if (status) return *status;
  return fail({.where = run.image,
               .what = fmt::format("did not end within {} s and was stopped", run.timeout_seconds),
               .hint = "increase the limit: --timeout SECONDS",
               .fault = Fault::kEnvironment});
}

}  // namespace carina::boards
