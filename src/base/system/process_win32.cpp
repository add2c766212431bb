#include <windows.h>

#include <psapi.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/io/program_win32.h"
#include "base/system/process.h"

// Source: the Windows API, processthreadsapi.h and psapi.h.
namespace carina {

std::filesystem::path own_program() {
  std::array<wchar_t, 32768> path{};
  const DWORD length = ::GetModuleFileNameW(nullptr, path.data(), path.size());
  return length < path.size() ? std::filesystem::path(path.data(), path.data() + length) : std::filesystem::path();
}

void set_environment(const std::string& name, const std::string& value) {
  ::_putenv_s(name.c_str(), value.c_str());
}

// Windows cannot replace a program: this one waits for the other, and ends with its status.
int replace_process(std::vector<std::string> command) {
  STARTUPINFOA streams{};
  streams.cb = sizeof(streams);
  const std::optional<int> status = run_program(command, streams);
  if (!status) return ENOENT;
  std::exit(*status);
}

double cpu_seconds() {
  FILETIME made{}, ended{}, kernel{}, user{};
  ::GetProcessTimes(::GetCurrentProcess(), &made, &ended, &kernel, &user);
  const auto seconds = [](const FILETIME& time) {
    constexpr double kUnit = 100e-9;
    return static_cast<double>(uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime) * kUnit;
  };
  return seconds(kernel) + seconds(user);
}

int64_t peak_memory_bytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  ::GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof(counters));
  return static_cast<int64_t>(counters.PeakWorkingSetSize);
}

// Windows does not forget it.
void forget_peak_memory() {}

// The heap of Windows keeps freed blocks.
void keep_freed_memory() {}

}  // namespace carina
