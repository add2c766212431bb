#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"
#include "results/sweep_report.h"

// Compiles a model in many combinations of scheme, target and memory mode.
//   Example: 2 schemes, 3 targets, 2 modes: combination 7 is scheme 1, target 0, mode 1, as 7 = (1 * 3 + 0) * 2 + 1.
namespace carina::explore {

struct SweepRequest {
  // The options that all combinations share. Its target, memory mode and quantization scheme are replaced by those of
  // the lists.
  driver::CompileRequest model;
  std::vector<std::string> targets;        // names, or what they begin with, or "all"; none: the board's, or all
  std::vector<std::string> memory_modes;   // names, "all", or none: the board's, or each target's default
  std::vector<std::string> quantizations;  // as QuantizeFlags::scheme; none: as the model is
  std::string program_folder;       // <target>_<memory mode>_<quantization>.pte go there; empty: none are written
  std::string program_prefix = {};  // what their names begin with
  // Only the combinations whose index n has n % parts == part are compiled.
  size_t part = 0;
  size_t parts = 1;
  // Finished combinations are kept in this folder under `state_key` (SweepState), and are not compiled again. Those
  // that failed because of the machine are compiled again. Empty: none are kept.
  std::string state_folder = {};
  std::string state_key = {};
  std::string data = {};    // samples on which each program is compared with the float model; empty: none
  std::string metric = {};  // as of AccuracyRequest
  bool keep_going = false;  // a model that cannot be prepared with any scheme gives failed rows instead of an error
};

// Indices of combinations: first and last.
using SweepRange = std::pair<size_t, size_t>;

// The part of a sweep that one worker of a cluster compiles.
struct SweepPart {
  std::vector<SweepRange> combinations;  // by index
  // Paths on this machine, and the user's names of the same files. Messages have the user's names.
  std::vector<std::pair<std::string, std::string>> names;
  std::function<void(size_t combination)> started;
  std::function<void(size_t combination, const results::SweepLine& line)> finished;
};

// The axes of a sweep. The index of a combination is (scheme * targets + target) * memory modes + memory mode.
struct SweepAxes {
  std::vector<std::string> schemes;  // "": as the model is
  std::vector<std::string> targets;
  std::vector<std::string> memory_modes;  // "": each target's default
  std::vector<SweepRange> missing;        // combinations that --state does not have
};

// Errors: as of sweep(), without compiling.
Result<SweepAxes> axes_of(const SweepRequest& request, const Log& log);

// Compiles a model for every combination, at the same time on `model.threads` threads, quantizing it once per scheme.
// Rows stand in the order quantization, target, memory mode, whatever the number of threads. What is wrong with one
// combination is said in its row. Errors: names that there are not (usage); a file that cannot be read; a folder that
// cannot be written; a model that cannot be prepared with any scheme.
Result<results::SweepReport> sweep(const SweepRequest& request, const Log& log);

// Compiles a part of the combinations, one after the other, and reports each when it is finished. Errors: as of
// sweep(), except that a model that cannot be prepared gives failed rows; an index out of range (usage).
Result<void> sweep_part(const SweepRequest& request, const SweepPart& part, const Log& log);

// Returns the report of a sweep whose combinations are all in the state, without compiling. Errors: as of sweep(); a
// combination is missing there.
Result<results::SweepReport> kept_sweep(const SweepRequest& request, const Log& log);

}  // namespace carina::explore
