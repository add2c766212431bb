#include "base/system/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "base/io/file.h"
#include "base/io/output_file.h"

namespace carina {

namespace {

// Signal handlers call async-signal-safe functions only.

void die_of(int number) {
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void on_end(int number) {
  remove_uncommitted_files();
  remove_new_files();
  die_of(number);
}

void write_text(const char* text) {
  static_cast<void>(::write(STDERR_FILENO, text, std::strlen(text)) == 0);
}

void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  remove_uncommitted_files();
  const char* path = mapped_file_at(info->si_addr);
  if (path == nullptr) return die_of(number);
  write_text("carina: error: ");
  write_text(path);
  write_text(": the file became shorter while it was read, or its disk failed\n");
  ::_exit(1);
}

}  // namespace

// open() returns the lowest free descriptor, so closed standard streams are opened in order. They are opened for
// reading only, so that write() still fails with EBADF.
void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR));
  }
}

void install_signal_handlers() {
  remember_new_files();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::signal(number, on_end);  // nohup ignores the signal
  }
  struct sigaction bus{};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &bus, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_IGN);  // write() then fails instead
}

}  // namespace carina
