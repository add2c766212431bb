#include <io.h>
#include <windows.h>

#include <cstdlib>

#include "base/system/terminal.h"

// Source: the Windows API, consoleapi2.h.
namespace carina {

bool stderr_is_terminal() {
  return ::_isatty(2) != 0;
}

bool stdin_is_terminal() {
  return ::_isatty(0) != 0;
}

bool stderr_has_colors() {
  DWORD mode = 0;
  const char* no_color = std::getenv("NO_COLOR");
  return ::GetConsoleMode(::GetStdHandle(STD_ERROR_HANDLE), &mode) != 0 &&
         (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 && (no_color == nullptr || *no_color == '\0');
}

std::optional<size_t> terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO screen{};
  if (::_isatty(1) == 0 || ::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &screen) == 0)
    return std::nullopt;
  return static_cast<size_t>(screen.srWindow.Right - screen.srWindow.Left + 1);
}

}  // namespace carina
