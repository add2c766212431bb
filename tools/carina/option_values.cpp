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
      return fmt::format("not a number of bytes: expected a whole number, with K, M or G after it or not, got {}",
                         typed);
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

CLI::Validator words(std::string (*complaint)(std::string_view), std::string shown) {
  return {[complaint](std::string& text) { return complaint(text); }, std::move(shown)};
}

CLI::Validator one_of(std::map<std::string, int> words) {
  std::string names;
  for (const auto& [word, number] : words) names += (names.empty() ? "" : ",") + word;
  const auto convert = [words = std::move(words), names](std::string& text) -> std::string {
    const auto found = words.find(CLI::detail::to_lower(text));
    if (found == words.end()) return fmt::format("unknown value: expected one of {}, got {}", names, text);
    text = std::to_string(found->second);
    return {};
  };
  return {convert, "{" + names + "}"};
}

}  // namespace carina::cli
