#include "frontend/pt2/source_line_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace carina::pt2 {

namespace {

constexpr std::array<std::string_view, 3> kLibraries = {"site-packages/torch/", "site-packages/torchao/",
                                                        "site-packages/executorch/"};

bool is_library(std::string_view file) {
  return file.starts_with('<') ||
         std::ranges::any_of(kLibraries, [&](std::string_view library) { return file.contains(library); });
}

}  // namespace

std::string source_line(std::string_view stack_trace) {
  // Frames are lines '  File "model.py", line 41, in forward'.
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  for (size_t at = stack_trace.rfind(kFile); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : stack_trace.rfind(kFile, at - 1)) {
    const std::string_view frame = stack_trace.substr(at + kFile.size());
    const size_t end = frame.find(kLine);
    if (end == std::string_view::npos || frame.substr(0, end).contains('\n') || is_library(frame.substr(0, end)))
      continue;
    const std::string_view path = frame.substr(0, end);
    const std::string_view number = frame.substr(end + kLine.size());
    const size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    return fmt::format("{}:{}", path.substr(path.find_last_of("/\\") + 1), number.substr(0, digits));
  }
  return {};
}

}  // namespace carina::pt2
