#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace carina {

namespace {

std::unexpected<Diagnostics> system_error(const std::string& path, const char* action) {
  return fail({.where = path, .what = std::string(action) + ": " + std::strerror(errno), .fault = Fault::kEnvironment});
}

// Closes the descriptor when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

Result<Buffer> map_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error(path, "cannot open the file");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error(path, "cannot read the file's size");
  if (!S_ISREG(status.st_mode)) {
    return fail({.where = path, .what = "not a regular file", .fault = Fault::kEnvironment});
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return Buffer();
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return system_error(path, "cannot map the file");
  std::shared_ptr<const void> owner(memory, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Buffer(std::move(owner), {static_cast<const std::byte*>(memory), size});
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) return system_error(path, "cannot write the file");
    if (!write_all(file.get(), bytes)) {
      const auto error = system_error(path, "cannot write the file");
      ::unlink(temporary.c_str());
      return error;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto error = system_error(path, "cannot put the written file in its place");
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace carina
