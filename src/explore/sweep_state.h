#pragma once

#include <array>
#include <map>
#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "results/sweep_report.h"

namespace carina::explore {

// Keeps the finished combinations of a sweep in a folder, so that a later call compiles only the others. The key of a
// sweep is a digest of everything that its rows depend on, except the combination itself.
//
//   DIR/<key>.jsonl     a line (results::SweepLine) per combination, added when the combination is finished
//   DIR/<key>/<name>    the programs, if they are requested; each is written before its line
//
// python/carina/cluster/state.py writes the same files.
class SweepState {
 public:
  using Combination = std::array<std::string, 3>;  // scheme, target, memory mode, as the user wrote them

  // Keeps nothing.
  SweepState() = default;
  // Creates the folder if it is missing. A damaged line does not count: the last line of a killed process may be
  // incomplete. Errors: the folder or the file cannot be created, read or written.
  static Result<SweepState> open(const std::string& folder, const std::string& key);

  // Returns the line of a combination, or null. If there are several, the last one counts.
  [[nodiscard]] const results::SweepLine* find(const Combination& combination) const;
  // Returns the program of a line. Errors: it is missing, or its SHA-256 is not that of the row.
  [[nodiscard]] Result<Buffer> program_of(const results::SweepLine& line) const;
  // Adds a line, and its program if `program` is not empty. Safe for concurrent calls. Errors: no disk space.
  Result<void> add(const results::SweepLine& line, std::span<const std::byte> program);

 private:
  std::string file_;    // empty: nothing is kept
  std::string folder_;  // of the programs
  std::map<Combination, results::SweepLine> lines_;
};

SweepState::Combination combination_of(const results::SweepLine& line);

}  // namespace carina::explore
