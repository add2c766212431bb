#include "licenses.h"

#include <filesystem>
#include <system_error>

#include "base/io/file.h"

namespace carina::cli {

namespace fs = std::filesystem;

Result<std::string> third_party_notices() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path file = program.parent_path().parent_path() / "share" / "carina" / "THIRD-PARTY-NOTICES.txt";
  CARINA_TRY(const Buffer text, map_file(file.string()));
  const auto bytes = text.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace carina::cli
