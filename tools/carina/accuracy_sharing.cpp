#include "accuracy_sharing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/io/file.h"
#include "command.h"
#include "report/sweep_job.h"
#include "state_key.h"

namespace carina::cli {

namespace accuracy_sharing {
namespace {

using report::GivenOption;
using results::SampleScore;

std::vector<GivenOption> files_of(const explore::AccuracyRequest& request) {
  std::vector<GivenOption> files{{.name = "", .values = {request.model}},
                                 {.name = "", .values = {request.program}},
                                 {.name = "--data", .values = {request.data}}};
  if (!request.dump_folder.empty()) files.push_back({.name = "--dump", .values = {request.dump_folder}});
  return files;
}

std::vector<std::string> words_of(const explore::AccuracyRequest& request) {
  std::vector<std::string> words;
  if (request.loop_rounds != 0) words.push_back(fmt::format("--loop-rounds={}", request.loop_rounds));
  if (!request.images.mean.empty()) words.push_back(fmt::format("--mean={}", fmt::join(request.images.mean, ",")));
  if (!request.images.std.empty()) words.push_back(fmt::format("--std={}", fmt::join(request.images.std, ",")));
  return words;
}

Result<std::string> key_of(const explore::AccuracyRequest& request) {
  std::vector<std::string> words = words_of(request);
  words.insert(words.begin(), "accuracy");
  std::vector<std::string> files;
  for (const GivenOption& file : files_of(request)) files.push_back(file.values.front());
  return state_key(words, files);
}

std::string_view text_of(const Buffer& content) {
  return {reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size()};
}

// Returns the scores by sample number. A damaged line does not count.
Result<std::vector<std::optional<SampleScore>>> kept_scores(const SharedAccuracy& shared,
                                                            const results::AccuracyReport& empty) {
  std::vector<std::optional<SampleScore>> scores(static_cast<size_t>(empty.samples));
  CARINA_TRY(const std::string key, key_of(shared.request));
  const std::string file = shared.state + "/" + key + ".jsonl";
  std::error_code error;
  if (shared.state.empty() || !std::filesystem::exists(file, error)) return scores;
  CARINA_TRY(const Buffer content, map_file(file));
  for (std::string_view rest = text_of(content); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const auto line = report::read_score_line(rest.substr(0, end), file);
    if (line && line->first < scores.size() && line->second.outputs.size() == empty.outputs.size())
      scores[line->first] = line->second;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return scores;
}

std::vector<std::pair<size_t, size_t>> missing_of(const std::vector<std::optional<SampleScore>>& scores) {
  std::vector<std::pair<size_t, size_t>> missing;
  for (size_t n = 0; n < scores.size(); ++n) {
    if (scores[n]) continue;
    if (!missing.empty() && missing.back().second + 1 == n)
      missing.back().second = n;
    else
      missing.emplace_back(n, n);
  }
  return missing;
}

std::vector<GivenOption> options_here(const CLI::App& app) {
  std::vector<GivenOption> here;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const bool flag = option->get_expected_min() == 0;
    here.push_back(
        {.name = "--" + option->get_lnames().front(), .values = flag ? std::vector<std::string>{} : option->results()});
  }
  return here;
}

Result<explore::SamplePart> samples_of_job(const std::string& file) {
  CARINA_TRY(const Buffer text, map_file(file));
  CARINA_TRY(report::SweepJob job, report::read_sweep_job(text_of(text), file));
  return explore::SamplePart{
      .samples = std::move(job.combinations),
      .started = [](size_t n) { static_cast<void>(print(report::started_line(n) + "\n")); },
      .finished = [](size_t n,
                     const SampleScore& score) { static_cast<void>(print(report::to_json_line(n, score) + "\n")); }};
}

}  // namespace
}  // namespace accuracy_sharing

using namespace accuracy_sharing;

Result<std::string> describe_accuracy(const CLI::App& app, const SharedAccuracy& shared) {
  CARINA_TRY(const results::AccuracyReport empty, explore::accuracy_without_scores(shared.request, Log{}));
  CARINA_TRY(const auto scores, kept_scores(shared, empty));
  CARINA_TRY(std::string key, key_of(shared.request));
  CARINA_TRY(std::string digest, program_digest());
  return report::to_json(report::ProgramIdentity{.version = CARINA_VERSION, .sha256 = std::move(digest)},
                         options_here(app),
                         report::AccuracyDescription{.key = std::move(key),
                                                     .words = words_of(shared.request),
                                                     .files = files_of(shared.request),
                                                     .samples = scores.size(),
                                                     .missing = missing_of(scores)});
}

Result<results::AccuracyReport> kept_accuracy(const SharedAccuracy& shared) {
  CARINA_TRY(const results::AccuracyReport empty, explore::accuracy_without_scores(shared.request, Log{}));
  CARINA_TRY(const auto scores, kept_scores(shared, empty));
  explore::AccuracySums sums(empty);
  for (size_t n = 0; n < scores.size(); ++n) {
    if (!scores[n])
      return fail({.where = "--state",
                   .what = fmt::format("the score of sample {} is missing", n),
                   .fault = Fault::kEnvironment});
    sums.add(*scores[n]);
  }
  return sums.report();
}

int score_part(const SharedAccuracy& shared) {
  const Result<void> scored = guarded([&]() -> Result<void> {
    CARINA_TRY(const explore::SamplePart part, samples_of_job(shared.job));
    return explore::score_samples(shared.request, part, Log{});
  });
  if (scored) return 0;
  static_cast<void>(print(report::to_json_line(scored.error()) + "\n"));
  return report_failure("", scored.error(), Console{});
}

}  // namespace carina::cli
