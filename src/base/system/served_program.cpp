#include "base/system/served_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/command_words.h"
#include "base/io/descriptor.h"

extern char** environ;

namespace carina {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSharedPagesDescriptor = 3;  // in the program; kSharedPagesPath

// Opens a pipe that no child inherits. Without pipe2(), another thread's child can: only a console ends later then.
int open_ends(std::array<int, 2>& ends) {
#ifdef __linux__
  return ::pipe2(ends.data(), O_CLOEXEC);
#else
  if (::pipe(ends.data()) != 0) return -1;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return 0;
#endif
}

// Starts the program with its console in `console`.
Result<pid_t> start(const ServedProgram& program, int console) {
  std::vector<std::string> arguments = program.command;
  const std::vector<char*> pointers = pointers_to(arguments);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, console, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, console, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, program.memory->descriptor(), kSharedPagesDescriptor);
  pid_t process = 0;
  const int error = posix_spawnp(&process, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    return fail({.where = program.command.front(),
                 .what = "is not installed",
                 .hint = program.install_hint,
                 .fault = Fault::kEnvironment});
  if (error != 0) return system_error(program.command.front(), "cannot be started", error);
  return process;
}

// Ends the process, if it still runs, when it is destroyed.
class Process {
 public:
  explicit Process(pid_t id) : id_(id) {}
  ~Process() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t id_;
};

// Splits the output into lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& take) : take_(take) {}
  void add(std::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        take_(line_);
        line_.clear();
      } else if (c != '\r') {
        line_ += c;
      }
    }
  }
  void end() {
    if (!line_.empty()) take_(line_);
  }

 private:
  const std::function<void(std::string_view)>& take_;
  std::string line_;
};

// Creates a named pipe in the folder. It is opened for reading and writing, so that opening does not block.
Result<Descriptor> open_pipe(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  if (::mkfifo(path.c_str(), 0600) != 0) return system_error(path, "cannot make a pipe");
  Descriptor pipe(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (pipe.get() < 0) return system_error(path, "cannot open the pipe");
  return pipe;
}

int milliseconds_to(Clock::time_point deadline) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count());
}

// Serves console and requests until the console is closed. Returns false on a timeout.
bool serve(const ServedProgram& program, int console, int request, int reply) {
  const auto deadline = Clock::now() + std::chrono::seconds(program.timeout_seconds);
  Lines lines(program.on_line);
  std::array<pollfd, 2> polled{pollfd{.fd = console, .events = POLLIN, .revents = 0},
                               pollfd{.fd = request, .events = POLLIN, .revents = 0}};
  for (;;) {
    const int left = milliseconds_to(deadline);
    const int ready = left <= 0 ? 0 : ::poll(polled.data(), polled.size(), left);
    if (ready == 0) return false;
    if (ready < 0) continue;  // interrupted by a signal
    if ((polled[1].revents & POLLIN) != 0) program.on_request(request, reply);
    if (polled[0].revents == 0) continue;
    std::array<char, 4096> text{};
    const ssize_t got = ::read(console, text.data(), text.size());
    if (got <= 0) break;
    lines.add({text.data(), static_cast<size_t>(got)});
  }
  lines.end();
  return true;
}

}  // namespace

Result<std::optional<int>> run_served(const ServedProgram& program) {
  std::array<int, 2> ends{};
  if (open_ends(ends) != 0) return system_error(program.command.front(), "no pipe for its console");
  const Descriptor console(ends[0]);
  Descriptor program_end(ends[1]);
  CARINA_TRY(const Descriptor request, open_pipe(program.folder, program.request_file));
  CARINA_TRY(const Descriptor reply, open_pipe(program.folder, program.reply_file));
  CARINA_TRY(const pid_t id, start(program, program_end.get()));
  Process process(id);
  program_end.close();
  if (!serve(program, console.get(), request.get(), reply.get())) return std::optional<int>{};
  return process.wait();
}

bool read_request(int pipe, std::span<std::byte> request) {
  return ::read(pipe, request.data(), request.size()) == static_cast<ssize_t>(request.size());
}

void write_reply(int pipe, std::span<const std::byte> reply) {
  static_cast<void>(::write(pipe, reply.data(), reply.size()) == 0);
}

}  // namespace carina
