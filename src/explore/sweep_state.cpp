#include "explore/sweep_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/hash/sha256.h"
#include "base/io/file.h"
#include "report/tables/sweep_json.h"

namespace carina::explore {

namespace {

namespace fs = std::filesystem;
using results::SweepLine;

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return fail({.where = "--state",
               .what = fmt::format("cannot create the folder {}: {}", path, error.message()),
               .fault = Fault::kEnvironment});
}

}  // namespace

SweepState::Combination combination_of(const SweepLine& line) {
  return {line.scheme, line.target, line.memory_mode};
}

Result<SweepState> SweepState::open(const std::string& folder, const std::string& key) {
  SweepState state;
  CARINA_CHECKED(make_folder(folder));
  state.file_ = folder + "/" + key + ".jsonl";
  state.folder_ = folder + "/" + key;
  // Ends the incomplete line of a killed process. An empty line does not count.
  CARINA_CHECKED(append_to_file(state.file_, "\n"));
  CARINA_TRY(const Buffer content, map_file(state.file_));
  std::string_view rest(reinterpret_cast<const char*>(content.bytes().data()), content.bytes().size());
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    auto line = report::read_sweep_line(rest.substr(0, end), state.file_);
    if (line) state.lines_.insert_or_assign(combination_of(*line), std::move(*line));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return state;
}

const SweepLine* SweepState::find(const Combination& combination) const {
  const auto found = lines_.find(combination);
  return found == lines_.end() ? nullptr : &found->second;
}

Result<Buffer> SweepState::program_of(const SweepLine& line) const {
  CARINA_TRY(Buffer program, map_file(folder_ + "/" + line.program));
  const std::span<const std::byte> bytes = program.bytes();
  if (sha256_hex(std::array{bytes}) == line.row.program_sha256) return program;
  return fail({.where = folder_ + "/" + line.program, .what = "the program is damaged", .fault = Fault::kEnvironment});
}

Result<void> SweepState::add(const SweepLine& line, std::span<const std::byte> program) {
  if (file_.empty()) return {};
  if (!program.empty()) {
    CARINA_CHECKED(make_folder(folder_));
    CARINA_CHECKED(write_file(folder_ + "/" + line.program, program));
  }
  return append_to_file(file_, report::to_json_line(line) + "\n");
}

}  // namespace carina::explore
