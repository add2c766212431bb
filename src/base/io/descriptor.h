// Declares an owner of a POSIX file descriptor, which the C library of MinGW has too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "carina/result.h"

namespace carina {

// Flags of open(): children do not inherit the descriptor, and bytes are read and written as they are.
#ifdef _WIN32
inline constexpr int kOwnBytes = O_NOINHERIT | O_BINARY;
#else
inline constexpr int kOwnBytes = O_CLOEXEC;
#endif

// Closes the descriptor when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  // Returns false if the written data could not be stored; some file systems report that only here.
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Returns a system error, by default the last one, as a diagnostic about a path or a program.
inline std::unexpected<Diagnostics> system_error(const std::string& where, const char* action, int error = errno) {
  return fail(
      {.where = where, .what = std::string(action) + ": " + std::strerror(error), .fault = Fault::kEnvironment});
}

}  // namespace carina
