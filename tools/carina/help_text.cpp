#include "help_text.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "base/system/terminal.h"

namespace carina::cli {

namespace {

constexpr size_t kDescriptionColumn = 30;
constexpr size_t kOptionIndent = 2;
constexpr size_t kNamesIndent = 6;  // of further lines of an option's names

// The parts that a line may end after: words with the blank that follows, and the elements of "{a,b,c}".
std::vector<std::string_view> parts_of(std::string_view line) {
  constexpr size_t kLongWord = 40;  // shorter words stay whole: "node,op,module"
  std::vector<std::string_view> parts;
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    const size_t comma = line.find(',');
    if (end > kLongWord && comma < end) end = comma;
    parts.push_back(line.substr(0, std::min(end + 1, line.size())));
    line.remove_prefix(parts.back().size());
  }
  return parts;
}

std::string without_blanks_at_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string without(std::string text, std::string_view part) {
  const size_t at = text.find(part);
  if (at != std::string::npos) text.erase(at, part.size());
  return text;
}

std::string wrapped_line(std::string_view line, size_t width, size_t indent) {
  std::string done;
  std::string current;
  for (const std::string_view part : parts_of(line)) {
    const size_t shown = part.ends_with(' ') ? part.size() - 1 : part.size();
    const bool is_line_start = current.find_first_not_of(' ') == std::string::npos;
    if (!is_line_start && current.size() + shown > width) {
      done += without_blanks_at_end(std::move(current)) + "\n";
      current = std::string(indent, ' ');
    }
    current += part;
  }
  return done + without_blanks_at_end(std::move(current));
}

}  // namespace

std::string wrapped(std::string_view text, size_t width, size_t indent) {
  std::string result;
  std::string blanks;  // before the lines of the text after the first one
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    result += wrapped_line(blanks + std::string(text.substr(0, end)), width, indent);
    if (end == text.size()) return result;
    result += '\n';
    blanks.assign(indent, ' ');
    text.remove_prefix(end + 1);
  }
}

size_t help_columns() {
  constexpr size_t kMin = 60, kMax = 120, kDefault = 100;
  return std::clamp(terminal_columns().value_or(kDefault), kMin, kMax);
}

std::string HelpText::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return CLI::Formatter::make_help(app, std::move(name), mode);
  return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + sections_of(app) +
         make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpText::sections_of(const CLI::App* app) const {
  constexpr std::array<std::string_view, 5> kFirst{section::kMain, section::kQuantization, section::kPlacement,
                                                   section::kMemory, section::kReports};
  std::vector<std::string> groups = app->get_groups();
  const auto place = [&](const std::string& group) {  // sections without a place come last, as they were added
    const bool is_last = group == section::kPasses || group == section::kCluster;
    return std::ranges::find(kFirst, group) - kFirst.begin() + (is_last ? 1 : 0);
  };
  std::ranges::stable_sort(groups, {}, place);
  std::string out;
  for (const std::string& group : groups) {
    const std::vector<const CLI::Option*> options = app->get_options(
        [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
    if (!group.empty() && !options.empty()) out += make_group(group, false, options) + "\n";
  }
  return out;
}

HelpText::HelpText() : columns_(help_columns()) {
  column_width(kDescriptionColumn);
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string names = std::string(kOptionIndent, ' ') + make_option_name(option, is_positional);
  // `model` and --model_name are two names of one argument: only the first says that it is required.
  const bool is_second_name = !is_positional && option->get_positional();
  const std::string values = is_second_name ? without(make_option_opts(option), " REQUIRED") : make_option_opts(option);
  std::string text = wrapped(names + values, columns_, kNamesIndent);
  const std::string description = make_option_desc(option);
  if (description.empty()) return text + "\n";
  const bool fits_beside = text.find('\n') == std::string::npos && text.size() < kDescriptionColumn;
  if (!fits_beside) text += "\n";
  const std::string blanks(fits_beside ? kDescriptionColumn - text.size() : kDescriptionColumn, ' ');
  if (fits_beside) return wrapped(text + blanks + description, columns_, kDescriptionColumn) + "\n";
  return text + wrapped(blanks + description, columns_, kDescriptionColumn) + "\n";
}

std::string HelpText::make_description(const CLI::App* app) const {
  return wrapped(CLI::Formatter::make_description(app), columns_, 0);
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  std::string text = std::string(kOptionIndent, ' ') + command->get_name();
  text.resize(std::max(text.size() + 1, kDescriptionColumn), ' ');
  return wrapped(text + command->get_description(), columns_, kDescriptionColumn) + "\n";
}

std::string HelpText::make_footer(const CLI::App* app) const {
  constexpr std::string_view kContinued = " \\";
  std::istringstream lines(CLI::Formatter::make_footer(app));
  std::string footer;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > columns_) line = wrapped_line(line, columns_ - kContinued.size(), kNamesIndent);
    for (size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n', end + kContinued.size() + 1))
      line.insert(end, kContinued);
    footer += line + "\n";
  }
  return footer;
}

}  // namespace carina::cli
