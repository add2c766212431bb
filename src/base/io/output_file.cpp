#include "base/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/io/descriptor.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

// A terminal that is written to does not become the process's own.
#ifdef O_NOCTTY
constexpr int kNoTerminal = O_NOCTTY;
#else
constexpr int kNoTerminal = 0;
#endif

// The temporary files of this process that are not renamed yet, for remove_uncommitted_files().
constexpr size_t kSlots = 1024;
std::array<std::atomic<const char*>, kSlots> uncommitted{};

// Files and folders that this process has made, the last one first. Entries are never freed, because a signal handler
// may traverse the list at any time.
struct NewFile {
  std::string path;
  NewFile* before = nullptr;
};
std::atomic<NewFile*> new_files = nullptr;
std::atomic<bool> is_remembering = false;

// Owns the name of a temporary file. The destructor removes the file unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) { exchange(nullptr, path_.c_str()); }
  ~Temporary() {
    if (made_) ::unlink(path_.c_str());
    exchange(path_.c_str(), nullptr);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // Returns the descriptor of the new file, or -1 with errno.
  int create() {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | kOwnBytes, 0666);
    made_ = fd >= 0;
    return fd;
  }
  bool rename_to(const std::string& path) {
    std::error_code error;
    std::filesystem::rename(path_, path, error);  // replaces a file on every system
    if (error) errno = error.default_error_condition().value();
    made_ = bool(error);
    return !made_;
  }

 private:
  static void exchange(const char* from, const char* to) {
    for (auto& slot : uncommitted) {
      const char* expected = from;
      if (slot.compare_exchange_strong(expected, to)) return;
    }
  }
  std::string path_;
  bool made_ = false;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    constexpr size_t kAtOnce = size_t{1} << 30;  // write() of Windows takes 32 bits
    const ssize_t written = ::write(fd, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kAtOnce)));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// A path without symbolic links, and the status of the file at it.
struct ResolvedPath {
  std::string path;
  std::optional<struct stat> there;
  [[nodiscard]] bool replaceable() const { return !there || (S_ISREG(there->st_mode) && there->st_nlink == 1); }
};

Result<ResolvedPath> resolve(const std::string& path) {
  if (path.empty()) return fail({.where = "output", .what = "the path is empty", .fault = Fault::kUsage});
  ResolvedPath resolved_path{.path = path, .there = std::nullopt};
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return fail(
          {.where = path, .what = "cannot write the file: a folder has this name", .fault = Fault::kEnvironment});
    resolved_path.there = status;
    std::error_code error;
    if (const auto resolved = std::filesystem::canonical(path, error); S_ISREG(status.st_mode) && !error)
      resolved_path.path = resolved.string();
    return resolved_path;
  }
  if (errno != ENOENT) return system_error(path, "cannot write the file");
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {  // a link whose target does not exist
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (!error) return resolve((std::filesystem::path(path).parent_path() / target).string());
  }
  return resolved_path;
}

// Returns a descriptor that keeps the old file alive until it is closed. When its last descriptor is closed, the system
// frees the pages and the blocks of a file without a name, which takes time. Returns -1 if there is no file, or if the
// system does not support it.
int hold([[maybe_unused]] const std::string& path) {
#ifdef O_PATH
  return ::open(path.c_str(), O_PATH | O_CLOEXEC);
#else
  return -1;
#endif
}

// Gives a new file the owner and the mode of the old one if possible; a failure is not an error. The owner is set
// first, because fchown() clears the set-id bits. On Windows a file has the rights of its folder.
void keep_owner([[maybe_unused]] int fd, [[maybe_unused]] const struct stat& old) {
#ifndef _WIN32
  static_cast<void>(::fchown(fd, old.st_uid, old.st_gid) == 0);
  static_cast<void>(::fchmod(fd, old.st_mode & 07777) == 0);
#endif
}

std::string temporary_name(const std::string& path) {
  static std::atomic<int> count{0};
  constexpr size_t kLongestName = 200;  // file systems allow 255 bytes
  const std::filesystem::path whole(path);
  const std::string name =
      fmt::format("{}.tmp{}-{}", whole.filename().string().substr(0, kLongestName), ::getpid(), count++);
  return (whole.parent_path() / name).string();
}

}  // namespace

struct OutputFile::State {
  std::string path;  // path as the user wrote it
  ResolvedPath resolved_path;
  std::span<const std::byte> bytes;
  std::unique_ptr<Temporary> temporary;  // empty: commit() writes into the existing file
  bool is_written = false;               // whether that existing file holds the bytes

  // Creates the temporary file. Returns false with errno if its folder does not allow one.
  bool stage() {
    auto file = std::make_unique<Temporary>(temporary_name(resolved_path.path));
    Descriptor descriptor(file->create());
    if (descriptor.get() < 0) return false;
    if (resolved_path.there) keep_owner(descriptor.get(), *resolved_path.there);
    if (!write_all(descriptor.get(), bytes) || !descriptor.close()) return false;
    temporary = std::move(file);
    return true;
  }

  Result<void> write_in_place() {
    Descriptor descriptor(::open(resolved_path.path.c_str(), O_WRONLY | O_TRUNC | kOwnBytes | kNoTerminal));
    if (descriptor.get() < 0 || !write_all(descriptor.get(), bytes) || !descriptor.close())
      return system_error(path, "cannot write the file");
    return {};
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::prepare(const std::string& path, std::span<const std::byte> bytes) {
  CARINA_TRY(ResolvedPath resolved_path, resolve(path));
  auto state = std::make_unique<State>(State{
      .path = path, .resolved_path = std::move(resolved_path), .bytes = bytes, .temporary = {}, .is_written = false});
  if (state->resolved_path.replaceable() && !state->stage()) {
    const bool closed_folder = errno == EACCES || errno == EPERM || errno == EROFS;
    if (!state->resolved_path.there || !closed_folder) return system_error(path, "cannot write the file");
  }
  return OutputFile(std::move(state));
}

Result<void> OutputFile::write_in_place() {
  if (state_->temporary != nullptr || state_->is_written) return {};
  CARINA_CHECKED(state_->write_in_place());
  state_->is_written = true;
  return {};
}

Result<void> OutputFile::commit() {
  if (state_->temporary == nullptr) return write_in_place();
  auto before = std::make_shared<Descriptor>(hold(state_->resolved_path.path));
  if (state_->temporary->rename_to(state_->resolved_path.path)) {
    if (!state_->resolved_path.there) note_new_file(state_->resolved_path.path);
    run_async([before = std::move(before)]() mutable { before.reset(); });
    return {};
  }
  const bool mount_point = errno == EBUSY;
  if (!mount_point) return system_error(state_->path, "cannot put the written file in its place");
  return state_->write_in_place();
}

void remember_new_files() noexcept {
  is_remembering = true;
}

void note_new_file(const std::string& path) {
  if (!is_remembering) return;
  auto* file = new NewFile{.path = path, .before = new_files.load()};  // never freed
  while (!new_files.compare_exchange_weak(file->before, file)) {
  }
}

void remove_new_files() noexcept {
  for (const NewFile* file = new_files.load(); file != nullptr; file = file->before) {
    if (::unlink(file->path.c_str()) != 0) ::rmdir(file->path.c_str());
  }
}

void remove_uncommitted_files() noexcept {
  for (const auto& slot : uncommitted) {
    if (const char* path = slot.load(); path != nullptr) ::unlink(path);
  }
}

}  // namespace carina
