#include "state_key.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "base/hash/sha256.h"
#include "base/io/file.h"
#include "base/system/process.h"

namespace carina::cli {

namespace state_keys {
namespace {

namespace fs = std::filesystem;

Result<std::string> digest_of_file(const std::string& path) {
  CARINA_TRY(const Buffer content, map_file(path));
  const std::span<const std::byte> bytes = content.bytes();
  return sha256_hex(std::array{bytes});
}

// Of a file, or of the files of a folder.
Result<std::string> digest_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return digest_of_file(path);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {  // images are in folders by class
    if (entry.is_regular_file(error)) files.push_back(fs::relative(entry.path(), path, error).generic_string());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) {
    CARINA_TRY(const std::string digest, digest_of_file(path + "/" + file));
    all += file + '\0' + digest + '\0';
  }
  return all;
}

}  // namespace
}  // namespace state_keys

Result<std::string> program_digest() {
  static const Result<std::string> digest = state_keys::digest_of_file(own_program().string());
  return digest;
}

Result<std::string> state_key(const std::vector<std::string>& words, const std::vector<std::string>& files) {
  CARINA_TRY(const std::string program, program_digest());
  std::string text = std::string(CARINA_VERSION) + '\0' + program + '\0';
  for (const std::string& word : words) text += word + '\0';
  for (const std::string& file : files) {
    CARINA_TRY(const std::string digest, state_keys::digest_of(file));
    text += file + '\0' + digest + '\0';
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const char>(text));
  return sha256_hex(std::array{bytes});
}

}  // namespace carina::cli
