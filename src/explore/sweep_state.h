#pragma once

#include <array>
#include <map>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "results/sweep_report.h"

namespace carina::explore {

// The finished combinations of a sweep in a folder, so that a later call does only the rest. A sweep is found by its
// key, which stands for all that its rows depend on besides the combination:
//
//   DIR/<key>.jsonl     a line (results::SweepLine) per combination, added when it is finished
//   DIR/<key>/<name>    the programs, where they were asked for; each is there before its line
//
// python/carina/cluster/state.py writes the same files.
class SweepState {
 public:
  using Combination = std::array<std::string, 3>;  // scheme, target, memory mode, as they were asked for

  // Nothing is kept.
  SweepState() = default;
  // Makes the folder where there is none. A line that is damaged, as the last one of a process that was killed may be,
  // does not count. Errors: the folder or the file cannot be made, read or written.
  static Result<SweepState> open(const std::string& folder, const std::string& key);

  // What is known of a combination, or null. Of several lines the last one counts.
  [[nodiscard]] const results::SweepLine* find(const Combination& combination) const;
  // The program of a line. Errors: it is missing, or has other bytes than its row says.
  [[nodiscard]] Result<Buffer> program_of(const results::SweepLine& line) const;
  // Keeps a line, and its program where `program` is not empty. Safe for concurrent calls. Errors: no disk space.
  Result<void> add(const results::SweepLine& line, std::span<const std::byte> program);

 private:
  std::string file_;    // empty: nothing is kept
  std::string folder_;  // of the programs
  std::map<Combination, results::SweepLine> lines_;
};

SweepState::Combination combination_of(const results::SweepLine& line);

}  // namespace carina::explore
