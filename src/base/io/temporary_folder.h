#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace carina {

// A folder of this process's own, which is removed with all that is in it when its owner ends.
class TemporaryFolder {
 public:
  // Where temporary files go; its name begins with `prefix`. Errors: it cannot be made.
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
