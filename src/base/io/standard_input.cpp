#include "base/io/standard_input.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

namespace carina {

Result<std::vector<std::byte>> read_standard_input() {
  const std::string where = "standard input";
#ifdef _WIN32
  ::_setmode(::_fileno(stdin), _O_BINARY);  // no conversion of line ends
#endif
  constexpr size_t kBlockBytes = size_t{1} << 16;
  std::array<std::byte, kBlockBytes> block;
  std::vector<std::byte> bytes;
  while (const size_t count = std::fread(block.data(), 1, block.size(), stdin))
    bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  if (std::ferror(stdin) != 0)
    return fail(
        {.where = where, .what = fmt::format("cannot read: {}", std::strerror(errno)), .fault = Fault::kEnvironment});
  if (bytes.empty()) return fail({.where = where, .what = "no bytes", .hint = "did the command before | fail?"});
  return bytes;
}

}  // namespace carina
