#include <windows.h>

#include "base/command_words.h"
#include "base/io/child_program.h"
#include "base/io/program_win32.h"

// Source: the Windows API, processthreadsapi.h.
namespace carina {

namespace {

HANDLE inherited_file(const std::string& path, DWORD access, DWORD disposition) {
  SECURITY_ATTRIBUTES inherited{
      .nLength = sizeof(SECURITY_ATTRIBUTES), .lpSecurityDescriptor = nullptr, .bInheritHandle = TRUE};
  return ::CreateFileA(path.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, disposition, 0, nullptr);
}

}  // namespace

std::optional<int> run_program(const std::vector<std::string>& words, STARTUPINFOA& streams) {
  PROCESS_INFORMATION process{};
  std::string line = windows_command_line(words);
  if (::CreateProcessA(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &streams, &process) == 0)
    return std::nullopt;
  ::WaitForSingleObject(process.hProcess, INFINITE);
  DWORD status = 1;
  ::GetExitCodeProcess(process.hProcess, &status);
  ::CloseHandle(process.hThread);
  ::CloseHandle(process.hProcess);
  return static_cast<int>(status);
}

std::optional<int> run_command(std::vector<std::string> arguments, const std::string& messages) {
  HANDLE input = inherited_file("NUL", GENERIC_READ, OPEN_EXISTING);
  HANDLE output = inherited_file(messages, GENERIC_WRITE, CREATE_ALWAYS);
  STARTUPINFOA streams{};
  streams.cb = sizeof(streams);
  streams.dwFlags = STARTF_USESTDHANDLES;
  streams.hStdInput = input;
  streams.hStdOutput = output;
  streams.hStdError = output;
  const std::optional<int> status = run_program(arguments, streams);
  ::CloseHandle(input);
  ::CloseHandle(output);
  return status;
}

}  // namespace carina
