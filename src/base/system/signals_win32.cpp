#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include "base/io/output_file.h"
#include "base/system/signals.h"

// Source: the Windows API, consoleapi.h.
namespace carina {

namespace {

BOOL on_end(DWORD /*event*/) {
  remove_uncommitted_files();
  remove_new_files();
  return FALSE;  // the next handler ends the program
}

}  // namespace

// Bytes are read and written as they are, also by the standard streams. Text is UTF-8.
void open_closed_streams() {
  _fmode = _O_BINARY;
  for (const int stream : {0, 1, 2}) ::_setmode(stream, _O_BINARY);
  ::SetConsoleOutputCP(CP_UTF8);
}

void install_signal_handlers() {
  remember_new_files();
  ::SetConsoleCtrlHandler(on_end, TRUE);
}

}  // namespace carina
