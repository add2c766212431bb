#include "sweep_sharing.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/io/file.h"
#include "command.h"
#include "driver/compile_options.h"
#include "report/sweep_job.h"
#include "state_key.h"

namespace carina::cli {

namespace sweep_command {
namespace {

using report::GivenOption;

Result<void> check_cluster_options(const CLI::App& app) {
  Diagnostics errors;
  for (const GivenOption& option : given_options(app, {}, "")) {
    if (is_for_cluster(option.name)) continue;
    errors.push_back({.where = option.name,
                      .what = "this option cannot be used with --scheduler",
                      .hint = "remove one of the two options",
                      .fault = Fault::kUsage});
  }
  return errors.empty() ? Result<void>{} : fail(std::move(errors));
}

// Only files that options of `carina sweep` name are sent to workers.
Result<void> check_vela_flags(const driver::CompileRequest& model) {
  CARINA_TRY(const driver::CompileRequest whole, driver::with_flags(model, Log{}));
  if (whole.target.config_files.size() == model.target.config_files.size()) return {};
  return fail({.where = "--extra-flag",
               .what = "a --config in these flags is not sent to the workers of a cluster",
               .hint = "use --config of `carina sweep`",
               .fault = Fault::kUsage});
}

Result<std::string> key_of(const std::vector<GivenOption>& given) {
  std::vector<std::string> words;
  std::vector<std::string> files;
  for (const GivenOption& option : given) {
    const Use use = use_of(option);
    if (use == Use::kHere || use == Use::kAxis) continue;
    words.push_back(option.name);
    std::vector<std::string>& values = use == Use::kFile ? files : words;
    values.insert(values.end(), option.values.begin(), option.values.end());
  }
  return state_key(words, files);
}

Result<report::SweepDescription> describe_model(const ModelSweep& model) {
  CARINA_CHECKED(check_vela_flags(model.request.model));
  report::SweepDescription sweep{.model = model.name};
  for (const GivenOption& option : model.given) {
    const Use use = use_of(option);
    if (use == Use::kRow || use == Use::kAxis)
      sweep.options.push_back(option);
    else if (use == Use::kFile)
      sweep.files.push_back(option);
  }
  CARINA_TRY(const explore::SweepRequest request, with_state_key(model));
  CARINA_TRY(explore::SweepAxes axes, explore::axes_of(request, Log{}));
  sweep.key = request.state_key;
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
  return report::to_json({.version = CARINA_VERSION, .sha256 = std::move(digest)}, {},
                         std::vector<report::SweepDescription>());
}

Result<explore::SweepRequest> with_state_key(ModelSweep model) {
  if (!model.request.state_folder.empty()) {
    CARINA_TRY(model.request.state_key, key_of(model.given));
  }
  return std::move(model.request);
}

Result<std::string> describe_sweep(const CLI::App& app, const std::vector<ModelSweep>& models) {
  CARINA_CHECKED(check_cluster_options(app));
  std::vector<report::SweepDescription> sweeps;
  for (const ModelSweep& model : models) {
    CARINA_TRY(report::SweepDescription sweep, describe_model(model));
    sweeps.push_back(std::move(sweep));
  }
  std::vector<GivenOption> here = given_options(app, {}, "");
  std::erase_if(here, [](const GivenOption& option) { return use_of(option) != Use::kHere; });
  CARINA_TRY(std::string digest, program_digest());
  return report::to_json({.version = CARINA_VERSION, .sha256 = std::move(digest)}, here, sweeps);
}

int make_part(const SweepOptions& options) {
  explore::SweepRequest request = options.request;
  request.model.model = options.models.empty() ? "" : options.models.front();
  const Result<void> made = guarded([&]() -> Result<void> {
    CARINA_TRY(const explore::SweepPart part, part_of(options.cluster.job));
    return explore::sweep_part(request, part, Log{});
  });
  if (made) return 0;
  static_cast<void>(print(report::to_json_line(made.error()) + "\n"));
  return report_failure("", made.error(), Console{});
}

}  // namespace carina::cli
