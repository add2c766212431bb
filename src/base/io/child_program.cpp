#include "base/io/child_program.h"

#include <algorithm>

#include "base/io/file.h"

namespace carina {

std::string text_of(const std::string& path) {
  const auto file = map_file(path);
  if (!file) return {};
  return {reinterpret_cast<const char*>(file->data()), file->size()};
}

std::string end_of(const std::string& text) {
  constexpr size_t kMaxBytes = 600;
  std::string end = text.substr(text.size() - std::min(text.size(), kMaxBytes));
  while (end.ends_with('\n')) end.pop_back();
  return end;
}

}  // namespace carina
