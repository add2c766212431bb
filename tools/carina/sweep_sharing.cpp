#include "sweep_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/hash/sha256.h"
#include "base/io/file.h"
#include "command.h"
#include "driver/compile_options.h"
#include "report/sweep_job.h"

namespace carina::cli {

namespace sweep_command {
namespace {

namespace fs = std::filesystem;
using report::GivenOption;

// What an option is for. Rows depend on those that are not listed here.
enum class Use : uint8_t { kRow, kFile, kAxis, kHere };
struct Purpose {
  std::string_view option;
  Use use;
  bool cluster = true;  // whether it has a meaning on a cluster
};
constexpr std::array kPurposes{Purpose{.option = "--model_name", .use = Use::kFile},
                               Purpose{.option = "--calibrate", .use = Use::kFile},
                               Purpose{.option = "--config", .use = Use::kFile},
                               Purpose{.option = "--targets", .use = Use::kAxis},
                               Purpose{.option = "--memory-modes", .use = Use::kAxis},
                               Purpose{.option = "--quantize", .use = Use::kAxis},
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

Purpose purpose_of(std::string_view option) {
  const auto* known = std::ranges::find(kPurposes, option, &Purpose::option);
  return known == kPurposes.end() ? Purpose{.option = option, .use = Use::kRow} : *known;
}

// As the option takes it. CLI11 keeps the number that a name stands for.
std::string optimize_text(backends::Optimize optimize) {
  switch (optimize) {
    case backends::Optimize::kSpeed:
      return "performance";
    case backends::Optimize::kSearch:
      return "3";
    case backends::Optimize::kSize:
      return "size";
  }
  return "";
}

std::vector<GivenOption> given_options(const CLI::App& app, const SweepOptions& options, const std::string& model) {
  std::vector<GivenOption> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    GivenOption one{.name = "--" + option->get_lnames().front(), .values = {}};
    if (option->get_expected_min() > 0) one.values = option->results();
    if (one.name == "--model_name") one.values = {model};
    if (one.name == "--optimize") one.values = {optimize_text(options.request.model.optimize)};
    given.push_back(std::move(one));
  }
  return given;
}

Result<std::string> digest_of_file(const std::string& path) {
  CARINA_TRY(const Buffer content, map_file(path));
  const std::span<const std::byte> bytes = content.bytes();
  return sha256_hex(std::array{bytes});
}

// Of a file, or of the files of a folder.
Result<std::string> digest_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return digest_of_file(path);
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path().filename().string());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) {
    CARINA_TRY(const std::string digest, digest_of_file(path + "/" + file));
    all += file + '\0' + digest + '\0';
  }
  return all;
}

Result<std::string> program_digest() {
  return digest_of_file("/proc/self/exe");
}

std::string describe_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

Result<void> check_cluster_options(const CLI::App& app) {
  Diagnostics errors;
  for (const GivenOption& option : given_options(app, {}, "")) {
    if (purpose_of(option.name).cluster) continue;
    errors.push_back({.where = option.name,
                      .what = "this option has no meaning together with --scheduler",
                      .hint = "leave one of them out",
                      .fault = Fault::kUsage});
  }
  return errors.empty() ? Result<void>{} : fail(std::move(errors));
}

// Files are sent to workers only where an option of ours names them.
Result<void> check_vela_flags(const SweepOptions& options) {
  const driver::CompileRequest& model = options.request.model;
  CARINA_TRY(const driver::CompileRequest whole, driver::with_flags(model, Log{}));
  if (whole.target.config_files.size() == model.target.config_files.size()) return {};
  return fail({.where = "--extra-flag",
               .what = "a --config in here is not sent to the workers of a cluster",
               .hint = "use --config of `carina sweep`",
               .fault = Fault::kUsage});
}

Result<report::SweepDescription> describe_model(const CLI::App& app, const SweepOptions& options,
                                                const std::string& model) {
  report::SweepDescription sweep{.model = model};
  for (GivenOption& option : given_options(app, options, model)) {
    const Use use = purpose_of(option.name).use;
    if (use == Use::kRow || use == Use::kAxis)
      sweep.options.push_back(std::move(option));
    else if (use == Use::kFile)
      sweep.files.push_back(std::move(option));
  }
  CARINA_TRY(const explore::SweepRequest request, request_of(app, options, model));
  CARINA_TRY(explore::SweepAxes axes, explore::axes_of(request, Log{}));
  CARINA_TRY(sweep.key, state_key(app, options, model));
  sweep.schemes = std::move(axes.schemes);
  sweep.targets = std::move(axes.targets);
  sweep.memory_modes = std::move(axes.memory_modes);
  sweep.missing = std::move(axes.missing);
  return sweep;
}

Result<explore::SweepPart> part_of(const std::string& file) {
  CARINA_TRY(const Buffer text, map_file(file));
  CARINA_TRY(report::SweepJob job,
             report::read_sweep_job({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}, file));
  return explore::SweepPart{
      .combinations = std::move(job.combinations),
      .names = std::move(job.names),
      .started = [](size_t number) { static_cast<void>(print(report::started_line(number) + "\n")); },
      .finished = [](size_t,
                     const results::SweepLine& line) { static_cast<void>(print(report::to_json_line(line) + "\n")); }};
}

}  // namespace
}  // namespace sweep_command

using namespace sweep_command;

Result<std::string> identity_json() {
  CARINA_TRY(std::string digest, program_digest());
  return report::to_json({.version = CARINA_VERSION, .sha256 = std::move(digest)}, {}, {});
}

Result<std::string> state_key(const CLI::App& app, const SweepOptions& options, const std::string& model) {
  CARINA_TRY(std::string text, program_digest());
  text = describe_words({CARINA_VERSION, text});
  for (const GivenOption& option : given_options(app, options, model)) {
    const Use use = purpose_of(option.name).use;
    if (use == Use::kHere || use == Use::kAxis) continue;
    text += describe_words({option.name}) + describe_words(option.values);
    if (use != Use::kFile) continue;
    for (const std::string& file : option.values) {
      CARINA_TRY(const std::string digest, digest_of(file));
      text += describe_words({digest});
    }
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const char>(text));
  return sha256_hex(std::array{bytes});
}

Result<explore::SweepRequest> request_of(const CLI::App& app, const SweepOptions& options, const std::string& model) {
  explore::SweepRequest request = options.request;
  request.model.model = model;
  if (options.models.size() > 1) {
    request.keep_going = true;
    request.program_prefix = fs::path(model).stem().string() + "_";
  }
  if (request.state_folder.empty()) return request;
  CARINA_TRY(request.state_key, state_key(app, options, model));
  return request;
}

Result<std::string> describe_sweep(const CLI::App& app, const SweepOptions& options) {
  CARINA_CHECKED(check_cluster_options(app));
  CARINA_CHECKED(check_vela_flags(options));
  std::vector<report::SweepDescription> sweeps;
  for (const std::string& model : options.models) {
    CARINA_TRY(report::SweepDescription sweep, describe_model(app, options, model));
    sweeps.push_back(std::move(sweep));
  }
  std::vector<GivenOption> here = given_options(app, options, "");
  std::erase_if(here, [](const GivenOption& option) { return purpose_of(option.name).use != Use::kHere; });
  CARINA_TRY(std::string digest, program_digest());
  return report::to_json({.version = CARINA_VERSION, .sha256 = std::move(digest)}, here, sweeps);
}

int make_part(const SweepOptions& options) {
  explore::SweepRequest request = options.request;
  request.model.model = options.models.empty() ? "" : options.models.front();
  const Result<void> made = guarded([&]() -> Result<void> {
    CARINA_TRY(const explore::SweepPart part, part_of(options.job));
    return explore::sweep_part(request, part, Log{});
  });
  if (made) return 0;
  static_cast<void>(print(report::to_json_line(made.error()) + "\n"));
  return report_failure("", made.error(), Console{});
}

}  // namespace carina::cli
