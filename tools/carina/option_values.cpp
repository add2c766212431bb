#include "option_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text/nearest.h"
#include "standard_input.h"

namespace carina::cli {

CLI::Validator byte_size() {
  const auto convert = [](std::string& text) -> std::string {
    const std::string typed = text;
    try {
      if (typed.find('-') != std::string::npos) throw CLI::ValidationError("negative");
      uint64_t number = 0;  // CLI11 takes what is too large for the type as the largest of the type
      if (std::from_chars(typed.data(), typed.data() + typed.size(), number).ec == std::errc::result_out_of_range)
        throw CLI::ValidationError("too large");
      std::string error = CLI::AsSizeValue(/*kb_is_1000=*/false)(text);
      const char* end = text.data() + text.size();
      if (error.empty() &&
          (std::from_chars(text.data(), end, number).ec != std::errc() || !std::in_range<int64_t>(number)))
        throw CLI::ValidationError("too large");
      return error;
    } catch (const CLI::ValidationError&) {
      return fmt::format("not a number of bytes: expected a whole number, optionally with K, M or G, got {}", typed);
    }
  };
  return {convert, "BYTES"};
}

CLI::Validator path() {
  return {[](std::string& text) -> std::string {
            if (text.starts_with('='))
              return fmt::format("a short option takes no =: expected a space before {}", text.substr(1));
            return text.empty() ? "the path is empty" : "";
          },
          "PATH"};
}

CLI::Validator input_path() {
  const auto convert = [](std::string& text) -> std::string {
    if (text == "-") {
      const Result<std::string> file = standard_input_file();
      if (!file) return to_string(file.error().front());
      text = *file;
    }
    return path()(text);
  };
  return {convert, "PATH"};
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
    if (found == values.end()) {
      std::vector<std::string> words;
      for (const auto& [word, number] : values) words.push_back(word);
      const std::string nearest = nearest_hint(text, words);
      return fmt::format("unknown value: expected one of {}, got {}{}{}", names, text, nearest.empty() ? "" : "; ",
                         nearest);
    }
    text = std::to_string(found->second);
    return {};
  };
  return {convert, "{" + names + "}"};
}

}  // namespace carina::cli
