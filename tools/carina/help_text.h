#pragma once

#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace carina::cli {

// The sections of --help, for CLI::Option::group().
namespace section {
inline constexpr const char* kMain = "Target and output";
inline constexpr const char* kQuantization = "Quantization";
inline constexpr const char* kPlacement = "NPU or CPU";
inline constexpr const char* kMemory = "Memory, budgets and speed";
inline constexpr const char* kReports = "Reports";
inline constexpr const char* kPasses = "Passes (for work on Carina)";
inline constexpr const char* kCluster = "On a cluster";
}  // namespace section

// Breaks a text at blanks, and long words after commas, so that lines have at most `width` characters if the text
// allows it. Lines after the first start with `indent` blanks, which count. Line ends in the text are kept.
//   wrapped("one two three", 9, 2) is "one two\n  three"
std::string wrapped(std::string_view text, size_t width, size_t indent);

// The columns of the terminal that standard output is, from 60 to 120; 100 if it is none.
size_t help_columns();

// Formats --help so that it fits the terminal.
class HelpText : public CLI::Formatter {
 public:
  HelpText();
  // The sections stand in a fixed order, what a command needs first.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  // Examples of commands: broken lines end in a backslash, so that a shell still takes them.
  std::string make_footer(const CLI::App* app) const override;

 private:
  [[nodiscard]] std::string sections_of(const CLI::App* app) const;

  size_t columns_;
};

}  // namespace carina::cli
