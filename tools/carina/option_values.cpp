#include "option_values.h"

#include <fmt/format.h>

namespace carina::cli {

CLI::Validator byte_size() {
  const auto convert = [](std::string& text) -> std::string {
    const std::string typed = text;
    try {
      if (typed.find('-') != std::string::npos) throw CLI::ValidationError("negative");
      return CLI::AsSizeValue(/*kb_is_1000=*/false)(text);
    } catch (const CLI::ValidationError&) {
      return fmt::format("not a number of bytes: expected a whole number, optionally with K, M or G, got {}", typed);
    }
  };
  return {convert, "BYTES"};
}

CLI::Validator path() {
  return {[](std::string& text) { return text.empty() ? std::string("the path is empty") : std::string(); }, "PATH"};
}

CLI::Validator lower_case() {
  return {[](std::string& text) {
            text = CLI::detail::to_lower(text);
            return std::string();
          },
          ""};
}

CLI::Validator spec(std::string (*error_of)(std::string_view), std::string shown) {
  return {[error_of](std::string& text) { return error_of(text); }, std::move(shown)};
}

CLI::Validator one_of(std::map<std::string, int> values) {
  std::string names;
  for (const auto& [word, number] : values) names += (names.empty() ? "" : ",") + word;
  const auto convert = [values = std::move(values), names](std::string& text) -> std::string {
    const auto found = values.find(CLI::detail::to_lower(text));
    if (found == values.end()) return fmt::format("unknown value: expected one of {}, got {}", names, text);
    text = std::to_string(found->second);
    return {};
  };
  return {convert, "{" + names + "}"};
}

}  // namespace carina::cli
