#include "licenses.h"

#include <filesystem>

#include "base/io/file.h"
#include "base/system/process.h"

namespace carina::cli {

namespace fs = std::filesystem;

Result<std::string> third_party_notices() {
  const fs::path file = own_program().parent_path().parent_path() / "share" / "carina" / "THIRD-PARTY-NOTICES.txt";
  CARINA_TRY(const Buffer text, map_file(file.string()));
  const auto bytes = text.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace carina::cli
