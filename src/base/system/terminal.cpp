#include "base/system/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace carina {

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::optional<size_t> terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::nullopt;
  return size.ws_col;
}

}  // namespace carina
