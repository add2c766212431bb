// Runs a program whose console is watched, and whose requests are answered.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/shared_pages.h"
#include "carina/result.h"

namespace carina {

// The path by which a served program opens the memory that it shares.
#ifdef __linux__
inline constexpr const char* kSharedPagesPath = "/proc/self/fd/3";
#else
inline constexpr const char* kSharedPagesPath = "/dev/fd/3";
#endif

struct ServedProgram {
  std::vector<std::string> command;  // the program is searched in PATH
  std::string folder;                // its working folder
  const SharedPages* memory = nullptr;
  std::string request_file;  // two named pipes that are made in the folder
  std::string reply_file;
  int timeout_seconds = 600;
  std::string install_hint;                       // of the error that the program is not installed
  std::function<void(std::string_view)> on_line;  // each line of the console
  // Called when a request can be read, for read_request() and write_reply().
  std::function<void(int request, int reply)> on_request;
};

// Runs the program to its end. Returns its exit status, or no value if it took too long and was stopped. Errors: it
// cannot be started.
Result<std::optional<int>> run_served(const ServedProgram& program);

// Reads one request as a whole. Returns false if there are fewer bytes.
bool read_request(int pipe, std::span<std::byte> request);
// Writes a reply. A pipe accepts it as a whole; if it cannot be written, the program waits until its timeout.
void write_reply(int pipe, std::span<const std::byte> reply);

}  // namespace carina
