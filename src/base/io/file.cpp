#include "base/io/file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <ranges>
#include <vector>

#include "base/checked_math.h"
#include "base/io/descriptor.h"
#include "base/io/file_pages_internal.h"
#include "base/io/output_file.h"
#include "base/memory/mapped_pages.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

// To open a FIFO without a writer would block, before fstat() can report that it is no regular file.
#ifdef O_NONBLOCK
constexpr int kDoNotWait = O_NONBLOCK;
#else
constexpr int kDoNotWait = 0;
#endif
constexpr size_t kAtOnce = size_t{1} << 30;  // bytes of one read(), whose count has 32 bits on Windows
constexpr size_t kReadBytes = size_t{16} << 20;
constexpr size_t kWorthLeaving = size_t{1} << 20;  // bytes; the release of a smaller buffer is not worth a system call
// bytes; a reader of a larger file releases the pages that it has read
constexpr size_t kWorthPassing = size_t{8} << 20;

// A mapped file, for the handler of SIGBUS.
struct Mapping {
  const std::byte* begin;
  size_t size;
  std::string path;
};
constexpr size_t kMappings = 64;  // maximum number of mappings that the handler knows
std::array<std::atomic<const Mapping*>, kMappings> mappings{};

void add_mapping(const Mapping* mapping) {
  for (auto& slot : mappings) {
    const Mapping* empty = nullptr;
    if (slot.compare_exchange_strong(empty, mapping)) return;
  }
}

void remove_mapping(const Mapping* mapping) {
  for (auto& slot : mappings) {
    const Mapping* expected = mapping;
    if (slot.compare_exchange_strong(expected, nullptr)) return;
  }
}

void unmap(const Mapping* mapping) {
  remove_mapping(mapping);
  unmap_pages(mapping->begin, mapping->size);
  delete mapping;
}

Result<Buffer> mapped(const std::string& path, int fd, size_t size) {
  const std::byte* memory = map_pages(fd, size);
  if (memory == nullptr) return system_error(path, "cannot map the file");
  const std::shared_ptr<const Mapping> mapping(new Mapping{.begin = memory, .size = size, .path = path}, unmap);
  add_mapping(mapping.get());
  return Buffer(mapping, {mapping->begin, size});
}

bool same_content(const struct stat& before, const struct stat& after) {
  const timespec first = changed_at(before);
  const timespec second = changed_at(after);
  return before.st_size == after.st_size && first.tv_sec == second.tv_sec && first.tv_nsec == second.tv_nsec;
}

Result<Buffer> read_whole(const std::string& path, int fd, const struct stat& before) {
  MutableBuffer buffer = MutableBuffer::allocate(static_cast<size_t>(before.st_size));
  std::span<std::byte> rest = buffer.bytes();
  while (!rest.empty()) {
    const ssize_t count = ::read(fd, rest.data(), static_cast<unsigned>(std::min(rest.size(), kAtOnce)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path, "cannot read the file");
    if (count == 0) break;
    rest = rest.subspan(static_cast<size_t>(count));
  }
  struct stat after{};
  if (!rest.empty() || ::fstat(fd, &after) != 0 || !same_content(before, after)) {
    return fail({.where = path,
                 .what = "the file changed while it was read",
                 .hint = "try again when the program that writes the file has finished",
                 .fault = Fault::kEnvironment});
  }
  return std::move(buffer).freeze();
}

Result<Buffer> file_bytes(const std::string& path, size_t max_read) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | kOwnBytes | kDoNotWait));
  if (file.get() < 0) return system_error(path, "cannot open the file");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error(path, "cannot read the file's size");
  if (!S_ISREG(status.st_mode)) {
    return fail({.where = path, .what = "not a regular file", .fault = Fault::kEnvironment});
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return Buffer();
  return size <= max_read ? read_whole(path, file.get(), status) : mapped(path, file.get(), size);
}

}  // namespace

Result<Buffer> map_file(const std::string& path) {
  return file_bytes(path, kReadBytes);
}

Result<Buffer> map_large_file(const std::string& path) {
  CARINA_TRY(Buffer file, file_bytes(path, 0));
  if (file.size() > 0) prefer_small_pages(file.data(), file.size());
  return file;
}

namespace {

// Async-signal-safe, because mapped_file_at() is called in a signal handler.
const Mapping* mapping_at(const void* address) noexcept {
  const auto* byte = static_cast<const std::byte*>(address);
  for (const auto& slot : mappings) {
    const Mapping* mapping = slot.load();
    if (mapping != nullptr && byte >= mapping->begin && byte < mapping->begin + mapping->size) return mapping;
  }
  return nullptr;
}

}  // namespace

const char* mapped_file_at(const void* address) noexcept {
  const Mapping* mapping = mapping_at(address);
  return mapping == nullptr ? nullptr : mapping->path.c_str();
}

namespace {

void release_between(uintptr_t first, uintptr_t last) {
  if (first < last) release_mapped(first, last);
}

}  // namespace

// Releases whole pages only. The first and the last page may contain other parts of the file.
void release_pages(const Buffer& buffer, size_t begin, size_t end) {
  if (begin >= end || mapped_file_at(buffer.data()) == nullptr) return;
  const uintptr_t page = page_bytes();
  release_between(round_up(reinterpret_cast<uintptr_t>(buffer.data() + begin), page),
                  reinterpret_cast<uintptr_t>(buffer.data() + end) / page * page);
}

void release_pages_around(std::span<const std::byte> bytes) {
  if (bytes.empty() || mapped_file_at(bytes.data()) == nullptr) return;
  const uintptr_t page = page_bytes();
  release_between(reinterpret_cast<uintptr_t>(bytes.data()) / page * page,
                  round_up(reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()), page));
}

void PageReleaser::add(std::span<const std::byte> read) {
  const Mapping* mapping = read.empty() ? nullptr : mapping_at(read.data());
  if (mapping == nullptr || mapping->size <= kWorthPassing) return;
  bytes_ += read.size();
  if (bytes_ < kWorthLeaving) return;
  release_pages_around({mapping->begin, mapping->size});
  bytes_ = 0;
}

Buffer part_with_pages(const Buffer& whole, size_t offset, size_t size) {
  const Buffer part = whole.slice(offset, size);
  // Only pages of a file can be released; the content of other memory would be lost.
  if (size < kWorthLeaving || mapped_file_at(part.data()) == nullptr) return part;
  const std::shared_ptr<const Buffer> owner(new Buffer(part), [](const Buffer* held) {
    run_async([held] {
      release_pages(*held, 0, held->size());
      delete held;
    });
  });
  return {owner, part.bytes()};
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  CARINA_TRY(OutputFile file, OutputFile::prepare(path, bytes));
  return file.commit();
}

Result<void> write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

// Uses one call of write().
Result<void> append_to_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | kOwnBytes, 0666));
  if (file.get() < 0) return system_error(path, "cannot open the file");
  const ssize_t written = ::write(file.get(), text.data(), static_cast<unsigned>(text.size()));
  if (written == static_cast<ssize_t>(text.size())) return {};
  if (written >= 0) errno = ENOSPC;
  return system_error(path, "cannot write");
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> missing;  // the innermost first
  for (std::filesystem::path path = folder; !path.empty() && !std::filesystem::exists(path, error);
       path = path.parent_path()) {
    missing.push_back(path);
    if (path == path.parent_path()) break;
  }
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail({.where = folder, .what = "cannot make the folder: " + error.message(), .fault = Fault::kEnvironment});
  for (const std::filesystem::path& path : std::views::reverse(missing)) note_new_file(path.string());
  return {};
}

}  // namespace carina
