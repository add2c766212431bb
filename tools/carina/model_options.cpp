#include "model_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string_view>
#include <type_traits>

#include "help_text.h"
#include "image_options.h"
#include "ir/text.h"
#include "models/passes.h"
#include "option_values.h"

namespace carina::cli {

namespace {

using options::OptionKind;
using options::OptionRow;

// Adds the checks and conversions of a kind of text.
void add_conversions(CLI::Option& option, OptionKind kind) {
  switch (kind) {
    case OptionKind::kBytes:
      option.transform(byte_size());
      return;
    case OptionKind::kName:
      option.transform(lower_case());
      return;
    case OptionKind::kScheme:
      option.transform(spec(models::scheme_error, "SCHEME"));
      option.transform(lower_case());
      return;
    case OptionKind::kOverrides:
      option.check(spec(models::override_error, "SELECTOR=SCHEME"));
      return;
    case OptionKind::kInput:
      option.transform(input_path());
      return;
    case OptionKind::kPath:
    case OptionKind::kPaths:
      option.check(path());
      return;
    case OptionKind::kFlag:
    case OptionKind::kCount:
    case OptionKind::kText:
    case OptionKind::kChoice:
    case OptionKind::kTexts:
      return;
  }
}

// "1..1024"
void add_range(CLI::Option& option, std::string_view range) {
  const size_t dots = range.find("..");
  if (dots == std::string_view::npos) return;
  option.check(
      CLI::Range(std::stoll(std::string(range.substr(0, dots))), std::stoll(std::string(range.substr(dots + 2)))));
}

template <typename Enum>
CLI::Validator choice() {
  std::map<std::string, int> names;
  for (const auto& [name, value] : options::names_of<Enum>()) names.emplace(name, static_cast<int>(value));
  return one_of(std::move(names));
}

// The section of --help that lists a row.
const char* section_of(const OptionRow& row) {
  switch (row.group) {
    case OptionGroup::kTarget:
      return std::string_view(row.names).starts_with("-t,") ? section::kMain : section::kMemory;
    case OptionGroup::kBoard:
      return section::kMain;
    case OptionGroup::kQuantize:
      return section::kQuantization;
    case OptionGroup::kPartition:
      return section::kPlacement;
    case OptionGroup::kMemory:
    case OptionGroup::kSchedule:
    case OptionGroup::kLiteRt:
      return section::kMemory;
    case OptionGroup::kLoop:
    case OptionGroup::kMethods:
    case OptionGroup::kCompile:
    case OptionGroup::kCheck:
      return section::kPlacement;
  }
  return section::kPlacement;
}

template <typename T>
void add_row(CLI::App& app, const OptionRow& row, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    app.add_flag(row.names, value, row.help)->group(section_of(row));
  } else {
    CLI::Option& option = *app.add_option(row.names, value, row.help)->group(section_of(row));
    if constexpr (std::is_enum_v<T>) option.transform(choice<T>());
    if constexpr (std::is_same_v<T, std::vector<std::string>>) option.allow_extra_args(false);
    add_conversions(option, row.kind);
    add_range(option, row.range);
  }
}

template <typename Stage>
void add_rows(CLI::App& app, std::initializer_list<OptionGroup> groups, Stage& stage) {
  options::visit_options<Stage>([&](const OptionRow& row, auto member) {
    if (*row.names != '\0' && std::ranges::find(groups, row.group) != groups.end()) add_row(app, row, stage.*member);
  });
}

// Flags that set one member exclude each other.
void add_flags(CLI::App& app, std::initializer_list<OptionGroup> groups, options::PartitionOptions& stage) {
  std::vector<CLI::Option*> added;
  options::visit_flags([&](const auto& flag, auto member) {
    if (std::ranges::find(groups, flag.group) == groups.end()) return;
    const auto set = [&stage, member, value = flag.value] { stage.*member = value; };
    CLI::Option* option = app.add_flag_callback(flag.names, set, flag.help)->group(section::kPlacement);
    for (CLI::Option* other : added) option->excludes(other);
    added.push_back(option);
  });
}

// Prints graphs to stderr after the passes of these names.
std::function<void(std::string_view, const ir::Graph&)> print_after(const std::vector<std::string>& names) {
  return [names](std::string_view pass, const ir::Graph& graph) {
    if (std::ranges::find(names, pass) != names.end()) std::cerr << "# after " << pass << "\n" << ir::print(graph);
  };
}

}  // namespace

void add_options_of(CLI::App& app, std::initializer_list<OptionGroup> groups, driver::CompileRequest& request) {
  add_rows<options::TargetOptions>(app, groups, request.target);
  add_rows<options::QuantizeOptions>(app, groups, request.quantize);
  add_flags(app, groups, request);
  add_rows<options::PartitionOptions>(app, groups, request);
  add_rows<options::PipelineOptions>(app, groups, request);
  add_rows<options::ScheduleOptions>(app, groups, request);
  add_rows<options::DriverOptions>(app, groups, request);
}

void add_model_options(CLI::App& app, driver::CompileRequest& request) {
  app.add_option("-m,--model_name,model", request.model, "A .pt2 of torch.export.save, a .tosa or a .tflite")
      ->group(section::kMain)
      ->required()
      ->transform(input_path());
  add_options_of(app, {OptionGroup::kLoop, OptionGroup::kQuantize}, request);
  add_image_options(app, request.images);
}

void add_pass_options(CLI::App& app, driver::CompileRequest& request) {
  CLI::IsMember known(models::pass_names());
  known.description("PASS");  // an error lists them
  app.add_option_function<std::vector<std::string>>(
         "--print-after",
         [&request](const std::vector<std::string>& names) { request.passes.after = print_after(names); },
         "Print the graph to stderr after these passes, as text")
      ->delimiter(',')
      ->check(known)
      ->group(section::kPasses);
  app.add_option("--stop-after", request.passes.stop_after, "Skip the passes after this one")
      ->check(known)
      ->group(section::kPasses);
  app.add_option("--disable-pass", request.passes.disabled, "Skip these passes")
      ->delimiter(',')
      ->check(known)
      ->group(section::kPasses);
}

void add_memory_options(CLI::App& app, std::string& system_config, std::string& memory_mode,
                        std::vector<std::string>& config_files) {
  using Text = std::string options::TargetOptions::*;
  using Texts = std::vector<std::string> options::TargetOptions::*;
  options::visit_options<options::TargetOptions>([&](const OptionRow& row, auto member) {
    if (row.group != OptionGroup::kMemory) return;
    if constexpr (std::is_same_v<decltype(member), Text>)
      add_row(app, row, member == &options::TargetOptions::system_config ? system_config : memory_mode);
    if constexpr (std::is_same_v<decltype(member), Texts>) add_row(app, row, config_files);
  });
}

void add_target_options(CLI::App& app, targets::TargetRequest& target, Target needed) {
  add_rows<options::TargetOptions>(app, {OptionGroup::kTarget, OptionGroup::kMemory}, target);
  app.get_option("--target")->required(needed == Target::kRequired);
}

void add_target_options(CLI::App& app, driver::CompileRequest& request) {
  add_target_options(app, request.target, Target::kOptional);
  add_options_of(app, {OptionGroup::kBoard}, request);
  app.parse_complete_callback([&app] {
    if (app.get_option("--target")->empty() && app.get_option("--board")->empty())
      throw CLI::RequiredError("--target (or --board)");
  });
}

}  // namespace carina::cli
