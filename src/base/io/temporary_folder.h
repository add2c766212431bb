#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "carina/result.h"

namespace carina {

// A folder of this process. The destructor removes it with its content.
class TemporaryFolder {
 public:
  // Makes a folder whose name begins with `prefix` in the system's folder for temporary files. Errors: it cannot be
  // made.
  static Result<std::unique_ptr<TemporaryFolder>> make(std::string_view prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace carina
