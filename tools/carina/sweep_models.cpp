#include "sweep_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "base/io/file.h"
#include "datasets/random_samples.h"
#include "options/rows.h"

namespace carina::cli {

namespace sweep_models {
namespace {

namespace fs = std::filesystem;
using report::GivenOption;

struct Purpose {
  std::string_view option;
  Use use;
  bool cluster = true;  // whether it can be used on a cluster
};
constexpr std::array kPurposes{Purpose{.option = "--model_name", .use = Use::kFile},
                               Purpose{.option = "--calibrate", .use = Use::kFile},
                               Purpose{.option = "--config", .use = Use::kFile},
                               Purpose{.option = "--data", .use = Use::kFile},
                               Purpose{.option = "--fitting", .use = Use::kHere},
                               Purpose{.option = "--targets", .use = Use::kAxis},
                               Purpose{.option = "--memory-modes", .use = Use::kAxis},
                               Purpose{.option = "--quantize", .use = Use::kAxis},
                               Purpose{.option = "--models", .use = Use::kHere},
                               Purpose{.option = "--json", .use = Use::kHere},
                               Purpose{.option = "--table", .use = Use::kHere},
                               Purpose{.option = "--report", .use = Use::kHere},
                               Purpose{.option = "--output", .use = Use::kHere},
                               Purpose{.option = "--state", .use = Use::kHere},
                               Purpose{.option = "--strict", .use = Use::kHere},
                               Purpose{.option = "--scheduler", .use = Use::kHere},
                               Purpose{.option = "--wait", .use = Use::kHere},
                               Purpose{.option = "--timeout", .use = Use::kHere},
                               Purpose{.option = "--progress", .use = Use::kHere},
                               Purpose{.option = "--performance-report", .use = Use::kHere},
                               Purpose{.option = "--tls-ca", .use = Use::kHere},
                               Purpose{.option = "--tls-cert", .use = Use::kHere},
                               Purpose{.option = "--tls-key", .use = Use::kHere},
                               Purpose{.option = "--identity", .use = Use::kHere},
                               Purpose{.option = "--describe", .use = Use::kHere},
                               Purpose{.option = "--only-kept", .use = Use::kHere},
                               Purpose{.option = "--job", .use = Use::kHere},
                               Purpose{.option = "--rows", .use = Use::kHere, .cluster = false},
                               Purpose{.option = "--threads", .use = Use::kHere, .cluster = false},
                               Purpose{.option = "--part", .use = Use::kHere, .cluster = false},
                               Purpose{.option = "--parts", .use = Use::kHere, .cluster = false}};

// A section of --models: a name, and options without their dashes.
struct Section {
  std::string name;
  std::vector<CLI::ConfigItem> items;
};

std::unexpected<Diagnostics> wrong(const std::string& where, std::string what, std::string expected) {
  return fail({.where = where, .what = std::move(what), .expected = std::move(expected), .fault = Fault::kUsage});
}

// Removes comments after section names, which CLI11 does not: "[name]  # comment".
std::string without_comments(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const size_t close = line.find(']');
    if (line.starts_with('[') && close != std::string_view::npos &&
        line.substr(std::min(line.find_first_not_of(" \t", close + 1), line.size())).starts_with('#'))
      line = line.substr(0, close + 1);
    lines.append(line).append(1, '\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::vector<Section>> read_sections(const std::string& file) {
  CARINA_TRY(const Buffer content, map_file(file));
  std::istringstream text(
      without_comments({reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size()}));
  std::vector<Section> sections;
  for (CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    if (item.name == "++" || item.name == "--") continue;
    if (item.parents.empty())
      return wrong(file, item.name + " is outside of a section", "a line with [name] before it");
    const std::string name = CLI::detail::join(item.parents, ".");
    if (sections.empty() || sections.back().name != name) sections.push_back({.name = name, .items = {}});
    sections.back().items.push_back(std::move(item));
  }
  if (!sections.empty()) return sections;
  return wrong(file, "the file has no model", "a section [name] with model = \"model.pt2\" and options");
}

// Paths in the file are relative to its folder.
std::string path_beside(const std::string& file, const std::string& path) {
  return fs::path(path).is_absolute() ? path : (fs::path(file).parent_path() / path).string();
}

std::vector<std::string> words_of(const GivenOption& option) {
  std::vector<std::string> words;
  for (const std::string& value : option.values) words.push_back(fmt::format("{}={}", option.name, value));
  if (option.values.empty()) words.push_back(option.name);
  return words;
}

// Returns the options of a section in the form of a command line. Errors: an unknown option, or an option that applies
// to all models.
Result<std::vector<GivenOption>> options_of(const CLI::App& app, const std::string& file, const Section& section) {
  std::vector<GivenOption> given;
  for (const CLI::ConfigItem& item : section.items) {
    const CLI::Option* known = app.get_option_no_throw(item.name == "model" ? "--model_name" : "--" + item.name);
    const std::string where = fmt::format("{}:[{}]", file, section.name);
    if (known == nullptr) return wrong(where, "unknown option: " + item.name, "an option of `carina sweep` without --");
    GivenOption one{.name = "--" + known->get_lnames().front(), .values = item.inputs};
    const Use use = use_of(one);
    if (use == Use::kHere) return wrong(where, one.name + " applies to all models", "the option on the command line");
    if (use == Use::kFile)
      for (std::string& path : one.values) path = path_beside(file, path);
    given.push_back(std::move(one));
  }
  if (std::ranges::find(given, "--model_name", &GivenOption::name) != given.end()) return given;
  return wrong(fmt::format("{}:[{}]", file, section.name), "the model is missing", "model = \"model.pt2\"");
}

Result<ModelSweep> parsed(std::vector<std::string> words, const std::string& where, const std::string& name) {
  CLI::App app;
  SweepOptions options;
  add_sweep_options(app, options);
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::Error& error) {
    return wrong(where, error.what(), "an option of `carina sweep` without --");
  }
  if (options.models.size() != 1) return wrong(where, "more than one model in a section", "one");
  ModelSweep one{.name = name, .request = options.request, .given = given_options(app, options, options.models[0])};
  one.request.model.model = options.models.front();
  return one;
}

// Combines the options of a section with those of the command line. The section has priority.
Result<ModelSweep> model_of(const CLI::App& app, const SweepOptions& options, const Section& section) {
  CARINA_TRY(const std::vector<GivenOption> own, options_of(app, options.list, section));
  std::vector<std::string> words;
  for (const GivenOption& shared : given_options(app, options, "")) {
    if (use_of(shared) == Use::kHere) continue;
    if (std::ranges::find(own, shared.name, &GivenOption::name) != own.end()) continue;
    std::ranges::copy(words_of(shared), std::back_inserter(words));
  }
  for (const GivenOption& option : own) std::ranges::copy(words_of(option), std::back_inserter(words));
  CARINA_TRY(ModelSweep one,
             parsed(std::move(words), fmt::format("{}:[{}]", options.list, section.name), section.name));
  const explore::SweepRequest& all = options.request;
  one.request.program_folder = all.program_folder;
  one.request.state_folder = all.state_folder;
  one.request.part = all.part;
  one.request.parts = all.parts;
  return one;
}

std::string short_name(const std::string& model) {
  std::string name = fs::path(model).extension() == ".pt2" || fs::path(model).extension() == ".tosa" ||
                             fs::path(model).extension() == ".tflite"
                         ? fs::path(model).stem().string()
                         : model;
  std::ranges::replace(name, '/', '-');
  return name;
}

// Checks that names differ, because files of programs and pages have them.
Result<void> check_names(const std::vector<ModelSweep>& models) {
  std::set<std::string> names;
  for (const ModelSweep& model : models) {
    if (names.insert(short_name(model.name)).second) continue;
    return fail({.where = model.name,
                 .what = "another model of this sweep has the same name",
                 .hint = "rename one of them, or use --models with a section for each",
                 .fault = Fault::kUsage});
  }
  return {};
}

}  // namespace
}  // namespace sweep_models

using namespace sweep_models;

Use use_of(std::string_view option) {
  const auto* known = std::ranges::find(kPurposes, option, &Purpose::option);
  return known == kPurposes.end() ? Use::kRow : known->use;
}

Use use_of(const GivenOption& option) {
  const bool is_random =
      option.name == "--calibrate" && option.values == std::vector{std::string(datasets::kRandomData)};
  return is_random ? Use::kRow : use_of(std::string_view(option.name));
}

bool is_for_cluster(std::string_view option) {
  const auto* known = std::ranges::find(kPurposes, option, &Purpose::option);
  return known == kPurposes.end() || known->cluster;
}

std::vector<GivenOption> given_options(const CLI::App& app, const SweepOptions& options, const std::string& model) {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    GivenOption one{.name = "--" + option->get_lnames().front(), .values = {}};
    if (option->get_expected_min() > 0) one.values = option->results();
    if (one.name == "--model_name") one.values = {model};
    // CLI11 returns the number that a name was converted to.
    if (one.name == "--optimize") one.values = {std::string(options::name_of_value(options.request.model.optimize))};
    given.push_back(std::move(one));
  }
  return given;
}

Result<std::vector<ModelSweep>> models_of(const CLI::App& app, const SweepOptions& options) {
  std::vector<ModelSweep> models;
  for (const std::string& path : options.models) {
    ModelSweep one{.name = path, .request = options.request, .given = given_options(app, options, path)};
    one.request.model.model = path;
    models.push_back(std::move(one));
  }
  if (!options.list.empty()) {
    CARINA_TRY(const std::vector<Section> sections, read_sections(options.list));
    for (const Section& section : sections) {
      CARINA_TRY(ModelSweep one, model_of(app, options, section));
      models.push_back(std::move(one));
    }
  }
  CARINA_CHECKED(check_names(models));
  for (ModelSweep& one : models) {
    if (models.size() == 1) break;
    one.request.keep_going = true;
    one.request.program_prefix = short_name(one.name) + "_";
  }
  return models;
}

std::string page_of_model(const std::string& page, const std::string& model) {
  const fs::path path(page);
  return (path.parent_path() / (path.stem().string() + "_" + short_name(model) + path.extension().string())).string();
}

}  // namespace carina::cli
